"""The tests of `addons/xs2a_sandbox/FOLDER/NAME.py` are in `tests/FOLDER/test_NAME.py`."""

from pathlib import Path

import xs2a_sandbox

PACKAGE = Path(xs2a_sandbox.__file__).parent
TESTS = Path(__file__).parents[1]


def test_every_module_has_a_file_of_tests() -> None:
    modules = [file.relative_to(PACKAGE) for file in PACKAGE.rglob("*.py") if not file.stem.startswith("__")]

    assert modules
    assert [str(file) for file in modules if not (TESTS / file).with_stem(f"test_{file.stem}").is_file()] == []
