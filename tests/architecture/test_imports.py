"""Imports lead down the list of folders, and the heavy libraries are not imported before they are needed."""

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
"""Top down: a module imports from its own folder and from those to the right, so that nothing imports a feature."""

BENEATH = {
    "bank/domain/": ("bank/domain/",),
    "bank/formats/": ("bank/formats/", "bank/domain/"),
    "cassette/evaluation/": ("cassette/evaluation/",),
}
"""Of the folders in folders those that the rest of theirs stands on, with what they import of it."""

GROUND = ("errors", "clock", "bundled", "plugins", "wording")
MITMPROXY = ("doors/", "features/importing/")
CONNECTIONS = ("upstream/", "control/client.py")
"""What opens connections: to real banks, and from the commands to a running sandbox."""

CONNECTING = frozenset({"aiohttp", "httpcore", "httpx", "http.client", "requests", "urllib.request", "urllib3"})


@cache
def files() -> dict[str, ast.Module]:
    return {file.relative_to(PACKAGE).as_posix(): ast.parse(file.read_text()) for file in PACKAGE.rglob("*.py")}


@cache
def imports(name: str) -> tuple[str, ...]:
    """The dotted names of all that a file imports, wherever in it, those for type checkers left out."""
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
    """What a file imports of the package, as paths of modules and folders: `bank`, `bank/bank`."""
    names = (one for one in imports(name) if one.partition(".")[0] == "xs2a_sandbox")
    paths = (one.partition(".")[2].replace(".", "/") for one in names)
    return {path if is_place(path) else path.rpartition("/")[0] for path in paths if path}


def is_place(path: str) -> bool:
    return f"{path}.py" in files() or f"{path}/__init__.py" in files()


def test_every_folder_stands_in_the_list() -> None:
    assert {name.partition("/")[0] for name in files() if "/" in name} == set(FOLDERS)


@pytest.mark.parametrize("folder", FOLDERS)
def test_imports_lead_downwards(folder: str) -> None:
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
def test_a_feature_imports_of_others_what_it_declares(feature: str) -> None:
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
def test_imports_lead_downwards_in_a_folder_too(folder: str) -> None:
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
def test_the_ground_imports_nothing_of_ours(name: str) -> None:
    assert not ours(name)


def test_no_circles_of_modules() -> None:
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


def test_only_the_doors_and_importers_know_mitmproxy() -> None:
    strangers = {name for name in files() for one in imports(name) if one.partition(".")[0] == "mitmproxy"}

    assert strangers
    assert all(name.startswith(MITMPROXY) for name in strangers)


def test_only_the_way_to_the_banks_and_the_control_client_open_connections() -> None:
    opening = {
        name
        for name in files()
        for one in imports(name)
        if CONNECTING & {one, one.rpartition(".")[0], one.partition(".")[0]}
    }

    assert opening
    assert all(name.startswith((*CONNECTIONS, "features/pytest/")) for name in opening)


@pytest.mark.parametrize("module", ["", ".engine", ".engine.build", ".cli.main", ".features.pytest.plugin"])
def test_heavy_libraries_wait(module: str) -> None:
    code = f"import sys, xs2a_sandbox{module}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)

    assert not {"mitmproxy", "aiohttp", "schwifty", "rich", "httptools", "lxml", "holidays"} & set(done.stdout.split())


def test_time_is_the_clocks() -> None:
    """No other module asks what time it is; how long something takes is another matter."""
    askers = {
        f"{name}:{node.lineno}"
        for name, tree in files().items()
        if name != "clock.py"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in ("now", "today", "utcnow")
        if isinstance(node.value, ast.Name) and node.value.id in ("datetime", "date")
    }

    assert not askers
