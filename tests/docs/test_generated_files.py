"""The committed generated files are up to date."""

import pytest
from tools.generate import FILES, ROOT


@pytest.mark.parametrize("name", FILES)
def test_a_generated_file_is_up_to_date(name: str) -> None:
    is_current = (ROOT / name).read_text("utf-8") == FILES[name]()
    assert is_current, f"{name} is out of date: run make generate"
