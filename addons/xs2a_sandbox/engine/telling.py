"""Writes an exchange to the log and the journal, as it may be shown there and with the reason why it failed."""

import re

from xs2a_sandbox.bank import Outcome
from xs2a_sandbox.http import Request, Response
from xs2a_sandbox.journal import reason as reasons
from xs2a_sandbox.journal.display import Display
from xs2a_sandbox.journal.log_line import LogEntry, redacted_path

_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")

_UNSAID = {
    "bank": "the bank does not say why",
    "rule": "the rule answers so",
    "handler": "the rule answers so",
    "sandbox": "the answer does not say why",
}


def displayed_text(text: str, personal: bool, display: Display | None) -> str:
    return display.text(text, personal) if display else text


def reason_of(request: Request, response: Response, outcome: Outcome, display: Display | None) -> str | None:
    """The reason why a request failed, as it may be shown; None for one that did not."""
    if response.status < 400:
        return None
    if outcome.source == "bank" and outcome.error is None and display:
        # Redacted once: twice, names would have other pseudonyms than in the journal.
        text = reasons.of_answer(display.answer(response)) or _UNSAID["bank"]
        return reasons.without_secrets(text, request, str)
    text = outcome.reason or reasons.of_answer(response) or _UNSAID[outcome.source]
    return reasons.without_secrets(text, request, lambda text: displayed_text(text, outcome.personal, display))


def request_id(request: Request) -> str | None:
    """The app's id of the request; None for one that is no UUID, and could be anything."""
    id = request.headers.first.get("x-request-id")
    return id if id and _UUID.fullmatch(id) else None


def log_entry(
    request: Request, response: Response, outcome: Outcome, seconds: float, reason: str | None, display: Display | None
) -> LogEntry:
    """The line for the log."""
    path = request.target.partition("?")[0]
    return LogEntry(
        session=outcome.session,
        method=request.method,
        path=redacted_path(path, lambda path: display.path(path, outcome.personal)) if display else path,
        status=response.status,
        milliseconds=seconds * 1000,
        source=outcome.source,
        rule=outcome.rule,
        warnings=tuple([displayed_text(text, outcome.personal, display) for text in outcome.warnings]),
        error=outcome.error,
        personal=outcome.personal,
        reason=reason,
        amended=outcome.amended,
        request_id=request_id(request),
        operation=outcome.call.operation if outcome.call else None,
    )
