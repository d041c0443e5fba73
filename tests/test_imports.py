"""Imports lead downwards only, and the heavy libraries are not imported before they are needed."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import xs2a_sandbox

PACKAGE = Path(xs2a_sandbox.__file__).parent
NAME = PACKAGE.name
GROUND = {"messages", "errors", "clock", "bundled"}
ENGINE = {"attempt", "bank", "banks", "control", "engine", "sca_decision", "status"}
ABOVE_ENGINE = {"assembly", "coverage", "dry_run", "example", "lint", "new_case", "openapi", "reload", "run", "trial"}
ABOVE_ENGINE |= {"blueprint", "script", "sandbox", "served", "steering"}
DOORS = {"addon", "layers", "proxy", "proxy_log", "server", "serving", "flows", "pytest_plugin", "cli", "__main__"}
DOORS |= {"authoring_commands", "compare_command", "explain_command", "recording_commands", "serve_commands"}
HANDLED = {"handlers"}
MITMPROXY = {"addon", "layers", "proxy", "flows"}
LAZY = {
    "serving": {"server", "proxy"},
    "cli": {"authoring_commands", "compare_command", "explain_command", "recording_commands", "serve_commands"},
    "serve_commands": {"authoring_commands", "serving"},
    "recording_commands": {"flows"},
    "__main__": {"cli"},
    "proxy": {"addon", "proxy_log"},
    "addon": {"layers", "proxy_log"},
    "layers": {"proxy_log"},
}
"""Doors that are made of others: the loop that opens them all, the command that starts the loop."""


def modules() -> dict[str, Path]:
    """By dotted name inside the package; its own `__init__` is the empty name."""
    found = {}
    for file in PACKAGE.rglob("*.py"):
        parts = file.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def imports(file: Path, *, typing: bool = False) -> Iterator[str]:
    """Every module that is imported anywhere in the file, those for type checkers left out."""
    tree = ast.parse(file.read_text())
    hidden = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if node in hidden:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import"
            assert node.module
            submodules = (f"{node.module}.{alias.name}" for alias in node.names)
            known = [name for name in submodules if name.removeprefix(NAME + ".") in MODULES]
            yield from known or [node.module]


MODULES = modules()
OWN = {
    name: {one.removeprefix(NAME).removeprefix(".") for one in imports(file) if one.partition(".")[0] == NAME}
    for name, file in MODULES.items()
}


def layer(name: str) -> int:
    top = name.partition(".")[0]
    if top in GROUND or not top:
        return 0
    for number, names in enumerate([HANDLED, ENGINE, ABOVE_ENGINE, DOORS], start=2):
        if top in names:
            return number
    return 1


def test_the_modules_are_found() -> None:
    assert {"", "engine", "handlers", "handlers.payments", *GROUND, *MITMPROXY} <= MODULES.keys()
    assert "store" in OWN["engine"]


@pytest.mark.parametrize("name", sorted(GROUND - {"messages"}))
def test_the_ground_imports_nothing_of_ours(name: str) -> None:
    assert OWN[name] == set()


def test_messages_know_what_can_go_wrong_with_them() -> None:
    assert OWN["messages"] <= {"errors"}


@pytest.mark.parametrize("name", sorted(MODULES))
def test_imports_lead_downwards(name: str) -> None:
    upwards = {one for one in OWN[name] if layer(one) > layer(name)}

    assert not upwards


def test_no_circles() -> None:
    def reaches(name: str, above: tuple[str, ...]) -> None:
        assert name not in above, " → ".join((*above, name))
        for below in OWN[name] - {name}:
            if below not in done:
                reaches(below, (*above, name))
        done.add(name)

    done: set[str] = set()
    for name in MODULES:
        reaches(name, ())


@pytest.mark.parametrize("name", sorted(DOORS & MODULES.keys()))
def test_doors_do_not_import_each_other(name: str) -> None:
    assert OWN[name] & DOORS <= LAZY.get(name, set())


@pytest.mark.parametrize("name", sorted(MODULES.keys() - MITMPROXY))
def test_only_the_proxy_imports_mitmproxy(name: str) -> None:
    assert "mitmproxy" not in {one.partition(".")[0] for one in imports(MODULES[name])}


@pytest.mark.parametrize("module", ["xs2a_sandbox", "xs2a_sandbox.engine", "xs2a_sandbox.assembly", "xs2a_sandbox.cli"])
def test_heavy_libraries_wait(module: str) -> None:
    code = f"import sys, {module}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)

    assert not {"mitmproxy", "aiohttp", "schwifty", "rich", "uvicorn"} & set(done.stdout.split())


@pytest.mark.parametrize("name", sorted(MODULES))
def test_time_is_the_clocks(name: str) -> None:
    """No other module asks what time it is; how long something takes is another matter."""
    if name == "clock":
        return
    for node in ast.walk(ast.parse(MODULES[name].read_text())):
        if isinstance(node, ast.Attribute) and node.attr in ("now", "today", "utcnow"):
            assert not (isinstance(node.value, ast.Name) and node.value.id in ("datetime", "date")), node.lineno
