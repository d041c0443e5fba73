"""docs/handlers.md contains the declarations of all handlers."""

import pytest
from tools.generate.handlers_page import page

from xs2a_sandbox.bank.handlers.table import HANDLERS
from xs2a_sandbox.cassette.handler import Handler


@pytest.mark.parametrize("handler", HANDLERS.values(), ids=HANDLERS)
def test_a_section_documents_the_complete_handler(handler: Handler) -> None:
    section = page().partition(f"\n## {handler.name}\n")[2].partition("\n## ")[0]
    names = {*handler.options, *handler.returns, *handler.errors}
    assert {name for name in names if f"`{name}`" not in section} == set()
    assert handler.doc in section
