"""The tests of the pages share a browser that has signed in."""

from pathlib import Path

import pytest

from tests.console.browser import Browser


@pytest.fixture
def browser(tmp_path: Path) -> Browser:
    return Browser(tmp_path).sign_in()
