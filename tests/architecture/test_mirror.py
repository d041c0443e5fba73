"""The tests of `addons/xs2a_sandbox/FOLDER/NAME.py` are in `tests/FOLDER/test_NAME.py`."""

from pathlib import Path

import xs2a_sandbox

PACKAGE = Path(xs2a_sandbox.__file__).parent
TESTS = Path(__file__).parents[1]

ELSEWHERE = {
    "state/stream.py": "state/test_redis_stream.py",
}
"""Modules that do nothing, with the tests of what does it in their name."""


def mirror(module: str) -> str:
    folder, _, name = module.rpartition("/")
    return f"{folder}/test_{name}".removeprefix("/")


def test_every_module_has_a_file_of_tests() -> None:
    modules = {file.relative_to(PACKAGE).as_posix() for file in PACKAGE.rglob("*.py") if not file.stem.startswith("__")}

    assert modules > ELSEWHERE.keys()
    places = {module: ELSEWHERE.get(module) or mirror(module) for module in modules}
    assert [module for module, place in sorted(places.items()) if not (TESTS / place).is_file()] == []
    assert [module for module in ELSEWHERE if (TESTS / mirror(module)).is_file()] == []
