"""Sends one callback, and writes it to the journal and the log."""

import time
from dataclasses import dataclass
from urllib.parse import urlsplit

from xs2a_sandbox.engine import Engine
from xs2a_sandbox.errors import BankError, ConfigError, Refused
from xs2a_sandbox.http import Headers, Request, Response
from xs2a_sandbox.journal.log_line import LogEntry
from xs2a_sandbox.state import Document

SOURCE = "app"
"""The source of the answers to callbacks in the journal."""
_SIGNED = ("signature", "x-jws-signature")


@dataclass(frozen=True, slots=True)
class SendResult:
    """The app's answer in words, or why there is none. If it `is_refused`, the callback must never be sent."""

    text: str
    is_accepted: bool = False
    is_refused: bool = False


async def send(engine: Engine, session: str, callback: Document, cause: int | None) -> SendResult:
    """Send the callback once."""
    body = callback["body"].encode()
    headers = [(str(name), str(value)) for name, value in callback["headers"]]
    started, answer = time.perf_counter(), None
    try:
        headers = _seal(engine, headers, body)
        if callback.get("fault") == "wrong-signature":
            headers, body = _falsify(headers, body)
        answer = await engine.parts.egress.call_back(callback["method"], callback["to"], headers, body)
        accepted = answer.status in (callback["accepted"] or range(200, 300))
        outcome = SendResult(f"{answer.status}", accepted)
    except Refused as refused:
        outcome = SendResult(str(refused), is_refused=True)
    except BankError as error:
        outcome = SendResult(_explain(error))
    except ConfigError as error:
        outcome = SendResult(f"it cannot be signed: {error}")
    seconds = time.perf_counter() - started
    _record(engine, session, callback, Headers(headers), body, answer, outcome, cause, seconds)
    return outcome


def _seal(engine: Engine, headers: list[tuple[str, str]], body: bytes) -> list[tuple[str, str]]:
    """Return the headers with the bank's signature, if it signs all its answers. Raises ConfigError."""
    rules, seal = engine.parts.banks.default.interface.signatures, engine.parts.seal
    if seal is None or rules.answers is None or rules.paths:
        return headers
    return list(seal(Response(200, tuple(headers), body), rules).headers)


def _explain(error: BankError) -> str:
    reason = str(error.values.get("reason", error.name)).partition("; set `client_cert`")[0]
    return reason.replace("`ca`", "`callback_ca`")


def _record(
    engine: Engine,
    session: str,
    callback: Document,
    headers: Headers,
    body: bytes,
    answer: Response | None,
    outcome: SendResult,
    cause: int | None,
    seconds: float,
) -> None:
    parts = urlsplit(callback["to"])
    target = f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"
    request = Request(callback["method"], target, headers, body, host=parts.netloc, scheme=parts.scheme)
    entry = LogEntry(
        session=session,
        method=request.method,
        path=f"{parts.scheme}://{parts.netloc}{parts.path}",
        status=answer.status if answer else 502,
        milliseconds=seconds * 1000,
        source=SOURCE,
        rule=callback["callback"],
        personal=False,
        reason=None if outcome.is_accepted else outcome.text,
        fault=callback.get("fault"),
        cause=describe_cause(callback, cause),
    )
    engine.parts.journal.add(request, answer or Response(502), entry)
    if engine.parts.on_exchange:
        engine.parts.on_exchange(entry)


def describe_cause(callback: Document, number: int | None) -> str:
    """Describe what has caused the callback. The `number` is that of an exchange in the journal, if it is known."""
    cause = callback["cause"]
    if cause.get("event"):
        return "an event at its time"
    return f"{f'exchange {number}: ' if number else ''}{cause['method']} {cause['path']}"


def _falsify(headers: list[tuple[str, str]], body: bytes) -> tuple[list[tuple[str, str]], bytes]:
    """Return the message with a wrong signature, in the header or in the token that is the body."""
    changed = [(name, _change(value) if name.lower() in _SIGNED else value) for name, value in headers]
    if changed == headers and body.count(b".") == 2 and body.isascii():
        return headers, _change(body.decode()).encode()
    return changed, body


def _change(signature: str) -> str:
    """Change a character in the last third of the text, where the signature is."""
    place = len(signature) - max(3, len(signature) // 8)
    return f"{signature[:place]}{'A' if signature[place] != 'A' else 'B'}{signature[place + 1 :]}"
