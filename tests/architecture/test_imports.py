"""Modules import only from folders below their own, and heavy libraries only when needed."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

import xs2a_sandbox
from xs2a_sandbox import features

PACKAGE = Path(xs2a_sandbox.__file__).parent
FOLDERS = (
    *("features", "cli", "doors", "engine", "control", "documentation", "bank", "explain", "recording", "compare"),
    *("journal", "cassette", "upstream", "redaction", "config", "state", "signatures", "tpp", "documents", "http"),
)
"""From top to bottom: a module imports from its own folder and those to the right, so nothing imports a feature."""

BENEATH = {
    "bank/domain/": ("bank/domain/",),
    "bank/formats/": ("bank/formats/", "bank/domain/"),
    "cassette/evaluation/": ("cassette/evaluation/",),
}
"""Subfolders that the rest of their folder builds on, with the parts of it that they may import."""

GROUND = ("errors", "clock", "bundled", "plugins", "random_bytes", "wording")
MITMPROXY = ("doors/", "features/importing/")
CONNECTIONS = ("upstream/", "control/client.py")
"""The modules that open connections: to real banks, and from commands to a running sandbox."""

CONNECTING = frozenset({"aiohttp", "httpcore", "httpx", "http.client", "requests", "urllib.request", "urllib3"})


@cache
def files() -> dict[str, ast.Module]:
    return {file.relative_to(PACKAGE).as_posix(): ast.parse(file.read_text()) for file in PACKAGE.rglob("*.py")}


@cache
def imports(name: str) -> tuple[str, ...]:
    """Return the dotted names of all imports anywhere in a file, except for those for type checkers."""
    return tuple(_imports(name, files()[name]))


def _imports(name: str, tree: ast.Module) -> Iterator[str]:
    for_types = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and node not in for_types:
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node not in for_types:
            assert node.level == 0, f"{name}: a relative import"
            assert node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def ours(name: str) -> set[str]:
    """Return the imports from this package, as paths of modules and folders: `bank`, `bank/bank`."""
    names = (one for one in imports(name) if one.partition(".")[0] == "xs2a_sandbox")
    paths = (one.partition(".")[2].replace(".", "/") for one in names)
    return {path if is_place(path) else path.rpartition("/")[0] for path in paths if path}


def is_place(path: str) -> bool:
    return f"{path}.py" in files() or f"{path}/__init__.py" in files()


def test_every_folder_is_in_the_list() -> None:
    assert {name.partition("/")[0] for name in files() if "/" in name} == set(FOLDERS)


@pytest.mark.parametrize("folder", FOLDERS)
def test_imports_point_downwards(folder: str) -> None:
    below = {*FOLDERS[FOLDERS.index(folder) :], *GROUND, "", "__version__"}
    upwards = {
        f"{name} imports {path}"
        for name in files()
        if name.startswith(f"{folder}/")
        for path in ours(name)
        if path.partition("/")[0] not in below
    }

    assert not upwards


@pytest.mark.parametrize("feature", sorted(module.name for module in iter_modules(features.__path__)))
def test_a_feature_imports_from_other_features_only_what_it_declares(feature: str) -> None:
    uses = import_module(f"xs2a_sandbox.features.{feature}.feature").USES
    imported = {
        path.split("/")[1]
        for name in files()
        if name.startswith(f"features/{feature}/")
        for path in ours(name)
        if path.startswith("features/")
    }

    assert imported - {feature} == set(uses)


@pytest.mark.parametrize("folder", BENEATH)
def test_imports_inside_a_folder_point_downwards(folder: str) -> None:
    outer = folder.partition("/")[0]
    inside = {
        f"{name} imports {path}"
        for name in files()
        if name.startswith(folder)
        for path in ours(name)
        if path.partition("/")[0] == outer and not f"{path}/".startswith(BENEATH[folder])
    }

    assert any(name.startswith(folder) for name in files())
    assert not inside


@pytest.mark.parametrize("name", [f"{name}.py" for name in GROUND])
def test_the_lowest_modules_import_nothing_from_the_package(name: str) -> None:
    assert not ours(name)


def test_modules_have_no_import_cycles() -> None:
    def reaches(name: str, above: tuple[str, ...]) -> None:
        assert name not in above, " → ".join((*above, name))
        for path in ours(name):
            below = f"{path}.py"
            if below in files() and below not in done and below != name:
                reaches(below, (*above, name))
        done.add(name)

    done: set[str] = set()
    for name in files():
        if not name.endswith("__init__.py"):
            reaches(name, ())


def test_only_doors_and_importers_import_mitmproxy() -> None:
    strangers = {name for name in files() for one in imports(name) if one.partition(".")[0] == "mitmproxy"}

    assert strangers
    assert all(name.startswith(MITMPROXY) for name in strangers)


def test_only_the_bank_client_and_the_control_client_open_connections() -> None:
    opening = {
        name
        for name in files()
        for one in imports(name)
        if CONNECTING & {one, one.rpartition(".")[0], one.partition(".")[0]}
    }

    assert opening
    assert all(name.startswith((*CONNECTIONS, "features/pytest/")) for name in opening)


@pytest.mark.parametrize("module", ["", ".engine", ".engine.build", ".cli.main", ".features.pytest.plugin"])
def test_heavy_libraries_are_imported_only_when_needed(module: str) -> None:
    code = f"import sys, xs2a_sandbox{module}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)

    assert not {"mitmproxy", "aiohttp", "schwifty", "rich", "httptools", "lxml", "holidays"} & set(done.stdout.split())


def test_a_start_imports_only_what_it_uses() -> None:
    code = "import sys; import xs2a_sandbox.cli.main, xs2a_sandbox.engine.build; "
    code += "from xs2a_sandbox.plugins import plugins; print(len(plugins().collect('run_parts')), *sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    parts, *modules = done.stdout.split()

    features = "xs2a_sandbox.features"
    assert int(parts) >= 4
    assert f"{features}.console.console" in modules
    names = ("agents.tools", "console.pages", "console.bank", "derive.derive", "campaign.campaign")
    unused = {f"{features}.{name}" for name in names}
    assert not {*unused, "mcp", "xs2a_sandbox.compare.comparison", "xs2a_sandbox.doors.tls"} & set(modules)


def test_only_the_clock_reads_the_time() -> None:
    """No other module reads the time of day; measuring durations is allowed."""
    askers = {
        f"{name}:{node.lineno}"
        for name, tree in files().items()
        if name != "clock.py"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in ("now", "today", "utcnow")
        if isinstance(node.value, ast.Name) and node.value.id in ("datetime", "date")
    }

    assert not askers
