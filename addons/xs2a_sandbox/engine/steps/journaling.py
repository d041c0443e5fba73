"""Writes exchanges to the journal and the log, redacted as needed, and with the reason why they failed."""

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from msgspec import structs

from xs2a_sandbox.bank import Answer
from xs2a_sandbox.engine.route import Route, Step
from xs2a_sandbox.http import Request, Response
from xs2a_sandbox.http.target import outline
from xs2a_sandbox.journal import reason as reasons
from xs2a_sandbox.journal.display import Display
from xs2a_sandbox.journal.journal import Journal
from xs2a_sandbox.journal.log_line import LogEntry, redact_path
from xs2a_sandbox.journal.metrics import Metrics
from xs2a_sandbox.journal.tracing import Tracing

log = logging.getLogger("xs2a_sandbox")

type Listener = Callable[[LogEntry], None]
"""Called with every exchange after it is answered, redacted as needed."""

type PassTime = Callable[[float, str], Awaitable[None]]
"""Waits for a delay in a session. Raises TimeoutError if no client waits that long."""

_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")

_UNSAID = {
    "bank": "the bank gives no reason",
    "rule": "this is the response of the rule",
    "handler": "this is the response of the rule",
    "sandbox": "the answer gives no reason",
}


async def sleep(seconds: float, session: str) -> None:
    await asyncio.sleep(seconds)


@dataclass(frozen=True, slots=True)
class Journaling:
    """`fail` returns the answer if the step below raised an exception."""

    step: Step
    fail: Callable[[Route, Exception], Awaitable[Answer]]
    journal: Journal
    metrics: Metrics
    listeners: Sequence[Listener]
    tracing: Tracing | None
    display: Display | None
    pass_time: PassTime = sleep

    async def __call__(self, route: Route) -> Answer:
        """Return the answer after its delay, with its log entry if it is journaled.

        Raises TimeoutError if `pass_time` does.
        """
        started = time.perf_counter()
        try:
            answer = await self.step(route)
        except Exception as failure:
            answer = await self.fail(route, failure)
        if answer.delay:
            try:
                await self.pass_time(answer.delay, route.session)
            except TimeoutError:
                self.tell(route.request, answer, route.session, time.perf_counter() - started)
                raise
        answer = self.tell(route.request, answer, route.session, time.perf_counter() - started)
        if answer.failure:
            # The traceback follows the log entry, which has the reason in a few words.
            text = "the sandbox failed on %s %s"
            more = {"request": route.request, "personal": answer.is_personal}
            log.error(text, route.request.method, outline(route.request.target), exc_info=answer.failure, extra=more)
        return answer

    def tell(self, request: Request, answer: Answer, session: str, seconds: float) -> Answer:
        """Return the answer, with its log entry if it is journaled."""
        try:
            entry = log_entry(request, answer, session, seconds, self.display)
            self.metrics.count_answer(entry, request.door)
            if answer.is_journaled:
                number = self.journal.add(request, answer.response, entry, answer.outcome)
                answer = structs.replace(answer, entry=entry, number=number)
            if answer.is_logged:
                self._tell_listeners(request, entry)
        except Exception:
            log.exception("the exchange could not be recorded", extra={"request": request})
            return structs.replace(answer, entry=None)
        return answer

    def tell_again(self, request: Request, response: Response, entry: LogEntry, seconds: float) -> None:
        """Record an exchange that repeats an earlier one."""
        try:
            entry = structs.replace(entry, milliseconds=seconds * 1000, request_id=request_id(request))
            self.metrics.count_answer(entry, request.door)
            self.journal.add(request, response, entry)
            self._tell_listeners(request, entry)
        except Exception:
            log.exception("the exchange could not be recorded", extra={"request": request})

    def _tell_listeners(self, request: Request, entry: LogEntry) -> None:
        if self.tracing:
            self.tracing.trace_answer(request, entry)
        for listener in self.listeners:
            listener(entry)


def display_text(text: str, personal: bool, display: Display | None) -> str:
    return display.text(text, personal) if display else text


def reason_of(request: Request, answer: Answer, personal: bool, display: Display | None) -> str | None:
    """Return why a request failed, as it may be shown, or None if it did not.

    `personal` applies if the answer itself does not say whether it is personal.
    """
    response = answer.response
    if response.status < 400:
        return None
    if answer.source == "bank" and answer.error is None and display:
        # Redact only once: redacting twice would give other pseudonyms than in the journal.
        text = reasons.of_answer(display.answer(response)) or _UNSAID["bank"]
        return reasons.without_secrets(text, request, str)
    text = answer.reason or reasons.of_answer(response) or _UNSAID[answer.source]
    is_personal = personal if answer.is_personal is None else answer.is_personal
    return reasons.without_secrets(text, request, lambda text: display_text(text, is_personal, display))


def request_id(request: Request) -> str | None:
    """Return the app's id of the request, or None if it is not a UUID and so could be anything."""
    id = request.headers.first.get("x-request-id")
    return id if id and _UUID.fullmatch(id) else None


def log_entry(request: Request, answer: Answer, session: str, seconds: float, display: Display | None) -> LogEntry:
    """Return the log entry of a finished answer."""
    path, personal = request.target.partition("?")[0], answer.is_personal is not False
    return LogEntry(
        session=session,
        method=request.method,
        path=redact_path(path, lambda path: display.path(path, personal)) if display else path,
        status=answer.response.status,
        milliseconds=seconds * 1000,
        source=answer.source,
        rule=answer.rule,
        warnings=tuple([display_text(text, personal, display) for text in answer.warnings]),
        error=answer.error,
        personal=personal,
        reason=answer.reason,
        amended=answer.amended,
        request_id=request_id(request),
        operation=answer.call.operation if answer.call else None,
        fault=answer.response.fault or answer.fault,
    )
