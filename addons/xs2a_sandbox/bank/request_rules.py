"""The checks of what a request says beside what it is for: where customers go back to, wishes, facts about them."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from xs2a_sandbox.bank.presented_token import client_of
from xs2a_sandbox.cassette import Call, Operation
from xs2a_sandbox.documents.formats import is_uuid
from xs2a_sandbox.errors import BankError

_CREATES_CONSENT = "consents.create"
_REDIRECTS = ("TPP-Redirect-URI", "TPP-Nok-Redirect-URI")
_WISHES = (
    "TPP-Redirect-Preferred",
    "TPP-Decoupled-Preferred",
    "TPP-Explicit-Authorisation-Preferred",
    "TPP-Rejection-NoFunds-Preferred",
)
_NUMBER = r"[-+]?[0-9]+(\.[0-9]+)?"
_FACTS: Mapping[str, tuple[Callable[[str], Any], str]] = {
    "PSU-IP-Port": (lambda text: re.fullmatch(r"[1-9][0-9]{0,4}", text) and int(text) <= 65535, "a port"),
    "PSU-Http-Method": (re.compile("GET|POST|PUT|PATCH|DELETE").fullmatch, "GET, POST, PUT, PATCH or DELETE"),
    "PSU-Device-ID": (is_uuid, "a UUID"),
    "PSU-Geo-Location": (re.compile(f"GEO:{_NUMBER};{_NUMBER}").fullmatch, "such as GEO:52.506931;13.144558"),
}
"""Headers about the customer's device, each with its form."""


def redirect_mistakes(call: Call) -> Iterator[BankError]:
    """The mistakes in where the customer is sent back to, and in the wishes for it."""
    wish = call.headers.get("tpp-redirect-preferred", "").lower()
    if wish == "true" and call.request.method == "POST" and "tpp-redirect-uri" not in call.headers:
        yield _mistake("TPP-Redirect-Preferred is true: the header TPP-Redirect-URI has to say where customers go back")
    client = call.state.get("clients", client_of(call) or "") or {}
    if not (own := client.get("redirectUris")):
        return
    for name in _REDIRECTS:
        if (uri := call.headers.get(name.lower())) and not any(_is_below(uri, uri_of_client) for uri_of_client in own):
            yield _mistake(f"the header {name} must be an address that the client has registered: {', '.join(own)}")


def _is_below(uri: str, registered: str) -> bool:
    rest = uri[len(registered) :]
    # A browser takes `..` out, however it is written, before it goes there.
    climbs = ".." in re.split(r"[/\\\\]", re.split("[?#]", rest)[0].lower().replace("%2e", "."))
    return uri.startswith(registered) and not climbs and (not rest or registered.endswith("/") or rest[0] in "/?")


def validity_mistakes(call: Call, operation: Operation) -> Iterator[BankError]:
    """The mistakes in what is said of customer and consent that the documented interface does not look at."""
    for name in _WISHES:
        if call.headers.get(name.lower(), "true").lower() not in ("true", "false"):
            yield _mistake(f"the header {name} must be true or false")
    for name, (fits, expected) in _FACTS.items():
        value = call.headers.get(name.lower())
        if value is not None and not fits(value):
            yield _mistake(f"the header {name} must be {expected}")
    body = call.body_or_null if operation.behaviour.handler == _CREATES_CONSENT else None
    if not isinstance(body, dict):
        return
    if body.get("recurringIndicator") is False and body.get("frequencyPerDay") not in (None, 1):
        text = "a consent that is not recurring has a frequencyPerDay of 1"
        yield BankError("format-error", path="/frequencyPerDay", expected=text)
    if body.get("combinedServiceIndicator") is True:
        yield BankError("sessions-not-supported", path="/combinedServiceIndicator")


def _mistake(text: str) -> BankError:
    return BankError("format-error", expected=text)
