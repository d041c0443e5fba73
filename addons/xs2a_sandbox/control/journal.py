"""The journal as the control interface shows it: filtered, with assertions, redacted."""

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from xs2a_sandbox.cassette import Call
from xs2a_sandbox.control.redacted_view import redact_like
from xs2a_sandbox.control.route import ControlAnswer, kind
from xs2a_sandbox.errors import Refused, body_invalid
from xs2a_sandbox.explain import request as described_request
from xs2a_sandbox.explain.explanation import Explanation, describe
from xs2a_sandbox.http import Headers, Request, Response, to_json
from xs2a_sandbox.http.target import split_target
from xs2a_sandbox.journal.assertions import FILTERS, Search, Times, candidates, select, verify
from xs2a_sandbox.journal.journal import KEPT_BODY, Journal, Journaled, entry_of, read_json
from xs2a_sandbox.journal.reason import of_answer
from xs2a_sandbox.journal.search import Term, count_values, fits, parse
from xs2a_sandbox.state import Documents
from xs2a_sandbox.state.session import DEFAULT

if TYPE_CHECKING:
    from xs2a_sandbox.compare.reports.report import ComparedExchange

LIMIT = 50
PLAIN = "plain"
SEARCH = "search"
COUNTS = "counts"
_PLAIN_FILTERS = [journal_filter for journal_filter in FILTERS if journal_filter.kind in ("text", "number")]
QUERY: Mapping[str, type] = {
    **{plain_filter.name: str if plain_filter.kind == "text" else int for plain_filter in _PLAIN_FILTERS},
    SEARCH: str,
    "limit": int,
    COUNTS: bool,
    PLAIN: bool,
}
"""The query parameters of the list, with their types."""
_AS_DISPLAYED = (
    *"number session method target status source rule milliseconds fault cut".split(),
    *"reason operation client verdict cause".split(),
)
"""The members of an exchange that are shown without conversion."""


class Answering(Protocol):
    """A sandbox that answers requests and compares answers with its bank."""

    @property
    def journal(self) -> Journal: ...

    async def answer(self, request: Request) -> Response: ...

    async def compare(self, exchange: Journaled, *, allow_writes: bool) -> "ComparedExchange": ...


class Explaining(Protocol):
    """A sandbox that explains requests."""

    def explain(self, request: Request, documents: Documents) -> Explanation: ...

    def displayed_text(self, text: str, personal: bool | None = None) -> str: ...


def list_entries(journal: Journal, call: Call) -> dict[str, Any]:
    """Return the last `limit` exchanges that match, oldest first. Raises Refused."""
    query = call.query
    if unknown := sorted(query.keys() - set(QUERY)):
        text = f"unknown filter {unknown[0]!r} in the query; the filters are {', '.join(QUERY)}"
        raise Refused(400, "query-invalid", text)
    values = {
        plain_filter.name: query[plain_filter.name]
        if plain_filter.kind == "text"
        else _number(plain_filter.name, query[plain_filter.name])
        for plain_filter in _PLAIN_FILTERS
        if plain_filter.name in query
    }
    limit = _number("limit", query["limit"]) if "limit" in query else LIMIT
    search, after, plain = _search(call, values), since(call.request), _is_plain(query)
    kept = journal.kept_after(after)
    if terms := _terms(query.get(SEARCH, "")):
        kept = [one for one in kept if fits(terms, one)]
    if search != Search(since=search.since):
        numbers = {entry.number for entry in select(map(entry_of, kept), search)}
        kept = [one for one in kept if one.number in numbers]
    # Create complete entries only for those that are shown.
    entries = [entry_of(one) for one in kept[len(kept) - min(limit, len(kept)) :]]
    return {
        "exchanges": [summary(entry, _display(journal, entry, plain)) for entry in entries],
        "found": len(kept),
        "kept": len(journal),
        **({"counts": count_values(kept)} if is_set(query, COUNTS) else {}),
    }


def _terms(text: str) -> tuple[Term, ...]:
    """Parse the search. Raises Refused."""
    try:
        return parse(text)
    except ValueError as error:
        raise Refused(400, "query-invalid", f"search: {error}") from None


def one(journal: Journal, call: Call, number: str) -> dict[str, Any]:
    """Return an exchange completely. Raises Refused."""
    entry = _entry(journal, number)
    return describe_whole(entry, _display(journal, entry, _is_plain(call.query)))


def since(request: Request) -> int:
    """Return the query parameter `since`, the number of an exchange, or 0 if it is missing or invalid."""
    text = dict(split_target(request.target).query).get("since", "")
    return int(text) if _is_number(text) else 0


def find_sendable(journal: Journal, number: str) -> Journaled:
    """Return an exchange whose request can be sent again. Raises Refused if the request is too large."""
    entry = _not_to_app(_entry(journal, number))
    if entry.cut and len(entry.body) >= KEPT_BODY:
        text = f"the body of request {number} is too large for the journal, so the request cannot be sent again"
        raise Refused(409, "exchange-cut", text)
    return entry


def _not_to_app(entry: Journaled) -> Journaled:
    """Return the exchange if an app sent its request. Raises Refused."""
    if entry.cause:
        text = f"exchange {entry.number} is a callback, which the bank has sent because of {entry.cause}"
        raise Refused(409, "exchange-callback", f"{text}; xs2a-sandbox callbacks --resend sends one again")
    return entry


def find_comparable(journal: Journal, number: str) -> Journaled:
    """Return an exchange that can be compared with the bank. Raises Refused."""
    entry = _not_to_app(_entry(journal, number))
    if entry.cut:
        text = f"exchange {number} is too large for the journal, so it cannot be compared"
        raise Refused(409, "exchange-cut", text)
    return entry


def explain(sandbox: Explaining, journal: Journal, call: Call, number: str, documents: Documents) -> dict[str, Any]:
    """Explain the response to the request of an exchange in the current state, redacted like the exchange.

    Raises Refused.
    """
    entry = _not_to_app(_entry(journal, number))
    explanation = describe(sandbox.explain(described_request.of(entry), documents))
    if _is_plain(call.query):
        return explanation
    plain, displayed = (describe_whole(entry, _display(journal, entry, is_plain)) for is_plain in (True, False))
    shown: dict[str, Any] = redact_like(plain, displayed, lambda text: sandbox.displayed_text(text, False))(explanation)
    return shown


async def send_again(sandbox: Answering, entry: Journaled) -> ControlAnswer:
    """Send a request again, and return a summary of the new exchange."""
    last = max((entry.number for entry in await sandbox.journal.read_whole()), default=0)
    request = described_request.of(entry)
    response = await sandbox.answer(request)
    if response.rest is not None:
        await response.rest.aclose()
    as_sent = entry.method, entry.target, entry.headers.pairs
    newer = (await sandbox.journal.read_whole(last)).entries(last)
    sent = next((one for one in newer if (one.method, one.target, one.headers.pairs) == as_sent), None)
    if sent is None:
        text = (
            f"request {entry.number} was sent again and answered with {response.status}, but the journal is too small"
        )
        raise Refused(
            409, "exchange-not-kept", f"{text} to keep the exchange. Start the sandbox with a larger --journal"
        )
    return 201, summary(sent, sandbox.journal.displayed(sent))


async def compare(sandbox: Answering, entry: Journaled, body: Mapping[str, Any]) -> ControlAnswer:
    """Send the request of an exchange to the bank, and return the differences. Raises Refused."""
    allow_writes = body.get("allow_writes", False)
    if not isinstance(allow_writes, bool):
        raise body_invalid(f"allow_writes must be true or false, not {kind(allow_writes)}")
    comparison = await sandbox.compare(entry, allow_writes=allow_writes)
    return 200, {
        "number": entry.number,
        "operation": comparison.operation,
        "bank": comparison.bank.bank if comparison.bank else "",
        "verdict": comparison.verdict,
        "findings": [
            {name: getattr(difference, name) for name in ("severity", "kind", "place", "bank", "sandbox")}
            for difference in comparison.findings
        ],
        "masked": len(comparison.masked),
        "trouble": comparison.trouble,
        "remark": comparison.remark,
    }


def empty(journal: Journal, call: Call) -> dict[str, Any]:
    return {"deleted": journal.clear(_session(call))}


def check_assertions(journal: Journal, call: Call, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the matching exchanges.

    Raises Refused with 409 and what was found instead if the assertion is not met.
    """
    match = body.get("match", {})
    if not isinstance(match, dict):
        raise body_invalid("match must be an object")
    if unknown := sorted(match.keys() - {journal_filter.name for journal_filter in FILTERS}):
        names = ", ".join(journal_filter.name for journal_filter in FILTERS)
        raise body_invalid(f"unknown member {unknown[0]!r} in match; the members are {names}")
    for journal_filter in FILTERS:
        takes, what = _KINDS[journal_filter.kind]
        if journal_filter.name in match and not takes(match[journal_filter.name]):
            raise body_invalid(f"match.{journal_filter.name} must be {what}")
    verdict = verify(select(journal, _search(call, {})), _search(call, match), _times(body.get("times")))
    if verdict.holds:
        return {"found": len(verdict.fitting), "numbers": [entry.number for entry in verdict.fitting]}
    raise Refused(
        409,
        "journal-mismatch",
        f"expected {verdict.times}, found {len(verdict.fitting)}: {verdict.search}",
        found=[summary(entry, journal.displayed(entry)) for entry in verdict.fitting[-LIMIT:]],
        nearest=[
            # Only the places that differ: the values could reveal what was sent.
            {**summary(entry, journal.displayed(entry)), "differs": [place for place, _ in differences]}
            for entry, differences in verdict.nearest
        ],
    )


def summary(entry: Journaled, view: Journaled) -> dict[str, Any]:
    """Return a summary of `view`, with the candidates nearest to the entry.

    These are words of the interface, not the app.
    """
    return {
        "number": view.number,
        "time": view.time.isoformat(timespec="milliseconds"),
        "session": view.session,
        "method": view.method,
        "target": view.target,
        "status": view.status,
        "source": view.source,
        "rule": view.rule,
        "amended": list(view.amended),
        "fault": view.fault,
        "milliseconds": round(view.milliseconds, 1),
        "warnings": list(view.warnings),
        "reason": view.reason,
        "cause": view.cause,
        "nearest": candidates(entry),
        "operation": view.operation,
        "client": view.client,
        "verdict": view.verdict,
    }


def describe_whole(entry: Journaled, view: Journaled) -> dict[str, Any]:
    return {
        **summary(entry, view),
        "origin": view.origin,
        "cut": view.cut,
        "request": {"headers": [list(pair) for pair in view.headers], **describe_body(view.body)},
        "answer": {
            "status": view.status,
            "headers": [list(pair) for pair in view.answer_headers],
            **describe_body(view.answer_body),
        },
    }


def read(document: Mapping[str, Any]) -> Journaled:
    """Return the exchange from a document of `describe_whole`.

    JSON bodies are formatted again, so their blanks are lost.
    """
    request, answer = document["request"], document["answer"]
    return Journaled(
        time=datetime.fromisoformat(document["time"]),
        bank=document["origin"],
        headers=_headers(request),
        body=_bytes(request),
        answer_headers=_headers(answer),
        answer_body=_bytes(answer),
        warnings=tuple(document["warnings"]),
        amended=tuple(document["amended"]),
        **{name: document[name] for name in _AS_DISPLAYED},
    )


def _headers(message: Mapping[str, Any]) -> Headers:
    return Headers((name, value) for name, value in message["headers"])


def _bytes(message: Mapping[str, Any]) -> bytes:
    if "body" in message:
        return to_json(message["body"])
    return b64decode(message["base64"]) if "base64" in message else str(message.get("text", "")).encode()


def describe_body(body: bytes) -> dict[str, Any]:
    """Return the body as JSON in `body`, as `text`, or as `base64`. Return nothing if it is empty."""
    if not body:
        return {}
    if (value := read_json(body)) is not None:
        return {"body": value}
    try:
        return {"text": body.decode()}
    except UnicodeDecodeError:
        return {"base64": b64encode(body).decode()}


def _display(journal: Journal, entry: Journaled, plain: bool) -> Journaled:
    if not plain:
        return journal.displayed(entry)
    if not 400 <= entry.status < 500 or entry.is_shown:
        return entry
    # The reason was redacted when it was written. The answer still has it, except for a failure of the sandbox (5xx).
    answer = Response(entry.status, entry.answer_headers.pairs, entry.answer_body)
    return replace(entry, reason=of_answer(answer) or entry.reason)


def _is_plain(query: Mapping[str, str]) -> bool:
    return is_set(query, PLAIN)


def is_set(query: Mapping[str, str], name: str) -> bool:
    if query.get(name, "true") != "true":
        raise Refused(400, "query-invalid", f"{name} must be true or missing")
    return name in query


def _search(call: Call, filters: Mapping[str, Any]) -> Search:
    return Search(**({"session": _session(call)} | dict(filters)))


def _session(call: Call) -> str | None:
    """Return the session to filter by.

    Without a session in the request all match: the journal belongs to the sandbox.
    """
    return None if call.session.id == DEFAULT else call.session.id


def _times(value: Any) -> Times:
    if value is None:
        return Times()
    if _is_count(value):
        return Times(value, value)
    if isinstance(value, dict) and value and value.keys() <= {"min", "max"} and all(map(_is_count, value.values())):
        return Times(value.get("min", 0), value.get("max"))
    raise body_invalid('times must be a number, or {"min": …, "max": …} with one or both')


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


_KINDS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "text": (lambda value: isinstance(value, str), "text"),
    "number": (_is_count, "a whole number"),
    "texts": (
        lambda value: isinstance(value, dict) and all(isinstance(v, str) for v in value.values()),
        "an object with strings as values",
    ),
    "json": (lambda value: True, "JSON"),
}


def _entry(journal: Journal, number: str) -> Journaled:
    entry = journal.get(_number("the number", number))
    if entry is None:
        text = (
            f"the journal has no exchange {number}: it keeps only the last {journal.count} exchanges; --journal "
            "changes that"
        )
        raise Refused(404, "exchange-unknown", text)
    return entry


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 20


def _number(name: str, text: str) -> int:
    if not _is_number(text):
        raise Refused(400, "query-invalid", f"{name} must be a whole number")
    return int(text)
