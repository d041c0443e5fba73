"""The pages of the documentation that are generated from code; they are in no file."""

from collections.abc import Callable, Mapping

from xs2a_sandbox.documentation import domain_page, handlers_page, openapi, operations_page, states_page

GENERATED: Mapping[str, Callable[[], str]] = {
    "domain.md": domain_page.page,
    "handlers.md": handlers_page.page,
    "states.md": states_page.page,
    "operations.md": operations_page.page,
    "openapi.yaml": openapi.text,
}
