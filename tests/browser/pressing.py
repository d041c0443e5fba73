"""What a person does with a button."""

from typing import Any


def press(page: Any, button: Any) -> None:
    """A click alone does not wait until the page that it leads to is there."""
    with page.expect_navigation():
        button.click()
