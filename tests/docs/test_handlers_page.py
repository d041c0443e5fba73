"""docs/handlers.md says what the handlers declare."""

import pytest

from xs2a_sandbox.bank.handlers.table import HANDLERS
from xs2a_sandbox.cassette.handler import Handler
from xs2a_sandbox.documentation.handlers_page import page


@pytest.mark.parametrize("handler", HANDLERS.values(), ids=HANDLERS)
def test_a_section_says_all(handler: Handler) -> None:
    section = page().partition(f"\n## {handler.name}\n")[2].partition("\n## ")[0]
    names = {*handler.options, *handler.returns, *handler.errors}
    assert {name for name in names if f"`{name}`" not in section} == set()
    assert handler.doc in section
