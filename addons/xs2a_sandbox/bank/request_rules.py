"""The checks of redirect addresses, and of the further requirements that a dialect has for strict banks."""

import re
from collections.abc import Iterator

from xs2a_sandbox.bank.handlers.inputs import NOK_REDIRECT_URI, PREFERS_REDIRECT, REDIRECT_URI, read_wish
from xs2a_sandbox.bank.handlers.table import collect_handlers
from xs2a_sandbox.bank.presented_token import client_of
from xs2a_sandbox.cassette import Call, Operation, requirements
from xs2a_sandbox.documents import Schemas
from xs2a_sandbox.errors import BankError


def redirect_mistakes(call: Call, operation: Operation) -> Iterator[BankError]:
    """Yield the mistakes in the redirect addresses and in the preferences about redirects."""
    handler = collect_handlers().get(operation.behaviour.handler or "")
    sends_back = handler is not None and REDIRECT_URI in handler.takes
    if sends_back and read_wish(call, PREFERS_REDIRECT) and call.take("redirect_uri") is None:
        text = f"{call.place_of('redirect_uri')} must be the address to which customers return"
        yield BankError("format-error", expected=f"{call.name_of('prefers_redirect')} is true: {text}")
    client = call.state.get("clients", client_of(call) or "") or {}
    if not (own := client.get("redirectUris")):
        return
    for input in (REDIRECT_URI.name, NOK_REDIRECT_URI.name):
        if (uri := call.take(input)) and not any(_is_below(uri, uri_of_client) for uri_of_client in own):
            text = f"{call.place_of(input)} must be an address that the client has registered: {', '.join(own)}"
            yield BankError("format-error", path=call.pointer_of(input), expected=text)


def _is_below(uri: str, registered: str) -> bool:
    rest = uri[len(registered) :]
    # A browser resolves `..` first, in any spelling.
    climbs = ".." in re.split(r"[/\\\\]", re.split("[?#]", rest)[0].lower().replace("%2e", "."))
    return uri.startswith(registered) and not climbs and (not rest or registered.endswith("/") or rest[0] in "/?")


def mistakes(call: Call, check: str, operation: Operation, schemas: Schemas) -> Iterator[BankError]:
    """Yield the requirements of this check in the dialect that the request does not meet."""
    for requirement in operation.checks.get(check, ()):
        try:
            requirements.check(requirement, call, schemas)
        except BankError as error:
            yield error
