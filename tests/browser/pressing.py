"""Press buttons like a user."""

from typing import Any


def press(page: Any, button: Any) -> None:
    """Press the button and wait for the next page. A simple click does not wait for it."""
    with page.expect_navigation():
        button.click()
