"""Waits for the payment user, who must act at a bank before later requests of the recording can be sent."""

import asyncio
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

from msgspec import structs

from xs2a_sandbox.cassette.addressing import address
from xs2a_sandbox.cassette.dialect.things import default_things
from xs2a_sandbox.cassette.index import Index
from xs2a_sandbox.cassette.path_pattern import LITERAL
from xs2a_sandbox.cassette.things import Act, Things
from xs2a_sandbox.compare.loaded_answer import Ask
from xs2a_sandbox.compare.states import Asked, Thing, find_used_consent, is_decided, reported_state, resource
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.http import Headers, Request
from xs2a_sandbox.http import body as content
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.http.target import cut_target, split_target

_OF_A_BODY = ("content-", "digest", "signature", "x-request-id")


@dataclass(frozen=True, slots=True)
class PaymentUser:
    """Calls `tell` with the page, and asks the bank for the state every `pause` seconds until it changes.

    With `seconds` 0 it does not wait. `count_down` is called with the seconds that are left, the last time with 0.
    """

    tell: Callable[[str], None]
    seconds: float
    pause: float = 2.0
    count_down: Callable[[float], None] = lambda seconds: None

    async def act(self, bank: Ask, made: Exchange, index: Index) -> str | None:
        """Wait until the state of what was made changes. Returns a remark if it does not."""
        things, asked, answer = index.interface.things, Asked.in_exchange(index, made), content.read(made.answer_body)
        subject, link = resource(asked, answer), next(links(made, things), None)
        if subject is None or link is None:
            return None
        thing, id = subject
        if not self.seconds:
            return (
                f"in the recording the payment user had decided about the {thing} at this point; this comparison "
                "does not wait for the decision"
            )
        if (status := _ask_for_state(made, thing, id, index)) is None:
            return (
                f"the interface cannot report the status of a {thing}, so this comparison cannot wait for the "
                "payment user"
            )
        last = reported_state(asked, answer)
        before = last.state if last and last.thing == thing else await _state(bank, status, index, thing)
        if before and is_decided(things, thing, before):
            return None
        limit = f"within {self.seconds:g} s (--sca-timeout)"
        self.tell(f"the payment user must decide about the {thing} at the bank, {limit}: {link}")
        end = monotonic() + self.seconds
        try:
            while (left := end - monotonic()) > 0:
                state = await _state(bank, status, index, thing)
                if state and (is_decided(things, thing, state) or (before and state != before)):
                    return None
                before = before or state
                self.count_down(left)
                await asyncio.sleep(min(self.pause, max(0.0, end - monotonic())))
        finally:
            self.count_down(0)
        return f"the payment user has not decided about the {thing} at the bank {limit}"


def visits(recorded: Sequence[Exchange | None], index: Index) -> dict[int, int]:
    """Return the positions of exchanges after which the payment user acted, each with the position of the link.

    Of several links for the same thing the last one counts. Things that were decided from the start had no visit.
    """
    things, visits = index.interface.things, dict[int, int]()
    for position, made in enumerate(recorded):
        if made is None or made.status >= 300 or not any(links(made, things)):
            continue
        asked, answer = Asked.in_exchange(index, made), content.read(made.answer_body)
        subject, begun = resource(asked, answer), reported_state(asked, answer)
        if begun and is_decided(things, begun.thing, begun.state):
            continue
        for later, exchange in enumerate(recorded[position + 1 :], position + 1):
            if subject is None or exchange is None:
                continue
            asked = Asked.in_exchange(index, exchange)
            if find_used_consent(asked, exchange) == subject[1]:
                visits[later] = position
                break
            if resource(asked, None) != subject:
                continue
            if asked.verb in ("decide", "end"):
                break
            now = reported_state(asked, content.read(exchange.answer_body)) if exchange.status < 300 else None
            if now is None:
                continue
            if now.thing == "authorisation" or begun is None or begun.thing != now.thing:
                has_changed = is_decided(things, now.thing, now.state)
                begun = begun if now.thing == "authorisation" else now
            else:
                has_changed = now.state != begun.state
            if has_changed:
                visits[later] = position
                break
    return visits


def links(exchange: Exchange, things: Things | None = None) -> Iterator[str]:
    """Yield the addresses in an answer that are meant for the payment user."""
    pages = (things or default_things()).pages
    waiting: list[Any] = [content.read(exchange.answer_body).value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            for name in pages & value.keys():
                href = value[name].get("href") if isinstance(value[name], dict) else value[name]
                if isinstance(href, str):
                    yield href
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value


def _ask_for_state(made: Exchange, thing: Thing, id: str, index: Index) -> Request | None:
    """Return the request for the state of what was made, or None if the interface has none."""
    interface, segments = index.interface, split_target(made.target).segments
    begun = index.find(made.method, segments)
    skipped = len(segments) - len(begun.operation.pattern.segments) if begun.operation else 0
    before = cut_target(made.target, len(segments) - skipped)[0]
    headers = [pair for pair in made.headers if not pair[0].lower().startswith(_OF_A_BODY)]
    reads = (Act("read", "state", thing), Act("read", thing))
    reading = [operation for does in reads for operation in interface.operations.values() if operation.does == does]
    for operation in reading:
        # A fixed word in one path may be a parameter in the other.
        places = zip(operation.pattern.segments, segments[skipped:], strict=False)
        values = {segment.text: word for segment, word in places if segment.kind != LITERAL} | begun.parameters
        request = address(operation, interface.things, {thing: id}, values)
        if request and index.find(request.method, split_target(request.target).segments).operation is operation:
            all_headers = Headers((*request.headers, *headers))
            return structs.replace(request, target=before + request.target, headers=all_headers)
    return None


async def _state(bank: Ask, status: Request, index: Index, thing: Thing) -> str | None:
    """Return the state that the bank reports now, or None if it does not answer or report one."""
    sent = structs.replace(status, headers=Headers((*status.headers, ("X-Request-ID", str(uuid.uuid4())))))
    try:
        answer = await bank(sent)
    except BankError:
        return None
    now = reported_state(Asked.of(index, sent.method, sent), content.read(answer.body))
    return now.state if now and now.thing == thing and answer.status < 300 else None
