"""Waits for the payment user, who has to act at a bank before what was recorded after it can be asked again."""

import asyncio
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

from xs2a_sandbox.cassette.index import Index, Lookup
from xs2a_sandbox.compare.diff import PAGES
from xs2a_sandbox.compare.loaded_answer import Ask
from xs2a_sandbox.compare.states import Thing, find_used_consent, reported_state, resource
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.http import Headers, Request
from xs2a_sandbox.http import body as content
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.http.target import split_target

_DECIDED = frozenset(
    "valid rejected expired revokedByPsu terminatedByTpp "
    "ACSP ACSC ACCC ACWC RJCT CANC finalised failed exempted".split()
)
"""States of consents, payments, baskets and authorisations in which no payment user has anything to decide."""
_OF_A_BODY = ("content-", "digest", "signature", "x-request-id")


@dataclass(frozen=True, slots=True)
class PaymentUser:
    """Is told, with `tell`, where to act, and waited for by asking the bank each `pause` for the state.

    With 0 `seconds` nobody is waited for. `count_down` is called with the seconds that are left, at last with 0.
    """

    tell: Callable[[str], None]
    seconds: float
    pause: float = 2.0
    count_down: Callable[[float], None] = lambda seconds: None

    async def act(self, bank: Ask, made: Exchange, index: Index) -> str | None:
        """Waits until what was made is in another state. Returns a remark if it is not."""
        lookup, answer = _lookup(index, made), content.read(made.answer_body)
        subject, link = resource(lookup, answer), next(links(made), None)
        if subject is None or link is None:
            return None
        thing, id = subject
        if not self.seconds:
            return f"in the recording the payment user had decided about the {thing} by now, and is not waited for"
        if (target := _status_target(made, id, index)) is None:
            return f"the interface has no status of a {thing} by which to wait for the payment user"
        headers = [pair for pair in made.headers if not pair[0].lower().startswith(_OF_A_BODY)]
        last = reported_state(lookup, answer)
        before = last.state if last and last.thing == thing else await _state(bank, target, headers, index, thing)
        if before in _DECIDED:
            return None
        limit = f"within {self.seconds:g} s (--sca-timeout)"
        self.tell(f"the payment user decides about the {thing} at the bank, {limit}: {link}")
        end = monotonic() + self.seconds
        try:
            while (left := end - monotonic()) > 0:
                state = await _state(bank, target, headers, index, thing)
                if state in _DECIDED or (state and before and state != before):
                    return None
                before = before or state
                self.count_down(left)
                await asyncio.sleep(min(self.pause, max(0.0, end - monotonic())))
        finally:
            self.count_down(0)
        return f"the payment user has not decided about the {thing} at the bank {limit}"


def visits(recorded: Sequence[Exchange | None], index: Index) -> dict[int, int]:
    """The positions of exchanges in which the payment user has acted, each with that of the one that handed out the
    link; of several links for the same thing the last. Nothing that was decided from the start had a visit.
    """
    visits: dict[int, int] = {}
    for position, made in enumerate(recorded):
        if made is None or made.status >= 300 or not any(links(made)):
            continue
        lookup, answer = _lookup(index, made), content.read(made.answer_body)
        subject, begun = resource(lookup, answer), reported_state(lookup, answer)
        if begun and begun.state in _DECIDED:
            continue
        for later, exchange in enumerate(recorded[position + 1 :], position + 1):
            if subject is None or exchange is None:
                continue
            lookup = _lookup(index, exchange)
            now = reported_state(lookup, content.read(exchange.answer_body))
            if find_used_consent(lookup, exchange) == subject[1]:
                visits[later] = position
                break
            if resource(lookup, None) != subject:
                continue
            if exchange.method in ("PUT", "PATCH", "DELETE"):
                break
            if now is None or exchange.status >= 300:
                continue
            if now.thing == "authorisation" or begun is None or begun.thing != now.thing:
                has_changed = now.state in _DECIDED
                begun = begun if now.thing == "authorisation" else now
            else:
                has_changed = now.state != begun.state
            if has_changed:
                visits[later] = position
                break
    return visits


def links(exchange: Exchange) -> Iterator[str]:
    """The addresses that an answer hands out for the payment user."""
    waiting: list[Any] = [content.read(exchange.answer_body).value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            for name in PAGES & value.keys():
                href = value[name].get("href") if isinstance(value[name], dict) else value[name]
                if isinstance(href, str):
                    yield href
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value


def _lookup(index: Index, exchange: Exchange) -> Lookup:
    return index.find(exchange.method, split_target(exchange.target).segments)


def _status_target(made: Exchange, id: str, index: Index) -> str | None:
    """The place where the bank tells the state of what was made; None if the interface has none such."""
    segments = made.target.partition("?")[0].split("/")
    segments = segments[: segments.index(id) + 1] if id in segments else [*segments, id]
    target = "/".join([*segments, "status"])
    return target if index.find("GET", split_target(target).segments).operation else None


async def _state(bank: Ask, target: str, headers: Sequence[tuple[str, str]], index: Index, thing: Thing) -> str | None:
    """The state that the bank tells now; None where it does not answer, or says nothing of it."""
    sent = Headers((*headers, ("X-Request-ID", str(uuid.uuid4()))))
    try:
        answer = await bank(Request("GET", target, sent))
    except BankError:
        return None
    now = reported_state(index.find("GET", split_target(target).segments), content.read(answer.body))
    return now.state if now and now.thing == thing and answer.status < 300 else None
