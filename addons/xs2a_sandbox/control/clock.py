"""A session's clock as the control interface shows, sets and moves it."""

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from xs2a_sandbox.bank import timeline
from xs2a_sandbox.bank.domain import bookings
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.clock import BANK_ZONE, EXPECTED_TIME, TOO_FAR, Clock, can_show, read_time
from xs2a_sandbox.config.readers import EXPECTED, parse_duration
from xs2a_sandbox.errors import Refused, body_invalid
from xs2a_sandbox.state.session import keep_clock

_LONGEST_SEED = 200
_DUE = 50
"""The most due events that are listed."""


def describe(clock: Clock) -> dict[str, Any]:
    """Return the clock. `shift` is in seconds, and 0 while the clock is frozen."""
    return {
        "now": clock.now().isoformat(timespec="seconds"),
        "today": clock.today().isoformat(),
        "shift": int(clock.shift.total_seconds()),
        "frozen": clock.frozen.isoformat() if clock.frozen else None,
        "seed": clock.seed,
    }


def due(call: Call) -> dict[str, Any]:
    """Return the next events that happen by themselves, soonest first, in the bank's time zone."""
    return {
        "due": [
            {
                "at": datetime.fromisoformat(event.at).astimezone(BANK_ZONE).isoformat(timespec="seconds"),
                "collection": event.collection,
                "id": event.id,
            }
            for event in timeline.upcoming(call)[:_DUE]
        ]
    }


def put(call: Call, body: Mapping[str, Any]) -> dict[str, Any]:
    """Set the clock with exactly one of `shift`, `frozen` (and `seed`) and `real: true`.

    Raises Refused.
    """
    match dict(body):
        case {"shift": shift, **rest} if not rest:
            return _keep(call, Clock(_span("shift", shift)))
        case {"frozen": frozen, **rest} if rest.keys() <= {"seed"}:
            return _keep(call, Clock(frozen=_moment(frozen), seed=_seed(rest.get("seed"))))
        case {"real": True, **rest} if not rest:
            return _keep(call, Clock())
    text = 'the body must be one of {"shift": …}, {"frozen": …}, {"frozen": …, "seed": …} and {"real": true}'
    raise body_invalid(text)


def move(call: Call, body: Mapping[str, Any]) -> dict[str, Any]:
    """Move the clock forward. A frozen clock moves only by this. Raises Refused."""
    if "move" not in body:
        raise body_invalid('the body must be {"move": …}')
    clock, span = call.clock, _span("move", body["move"])
    try:
        frozen = clock.frozen and (clock.frozen.astimezone(UTC) + span).astimezone(BANK_ZONE)
        return _keep(call, Clock(clock.shift + span, frozen, clock.seed))
    except OverflowError:
        raise _too_far() from None


def _keep(call: Call, clock: Clock) -> dict[str, Any]:
    if clock.frozen:
        clock = replace(clock, shift=timedelta())
    try:
        if not can_show(clock.now()):
            raise _too_far()
    except OverflowError:
        raise _too_far() from None
    if clock.timestamp() < call.clock.timestamp():
        bookings.keep_booked(call)
    call.state.testdata()  # fixes the day from which dates count, so that the new time does not change them
    keep_clock(call.state, clock)
    return describe(clock)


def _span(member: str, value: Any) -> timedelta:
    try:
        if isinstance(value, str):
            # The command line sends a number of seconds as text.
            seconds = re.fullmatch(r"[+-]?\d{1,12}", value, re.ASCII)
            return timedelta(seconds=int(value)) if seconds else parse_duration(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return timedelta(seconds=value)
    except ValueError as error:
        raise body_invalid(f"{member}: {error}") from None
    except OverflowError:
        raise _too_far() from None
    raise body_invalid(f"{member} must be a whole number of seconds or {EXPECTED}")


def _moment(value: Any) -> datetime:
    try:
        return read_time(value)
    except (TypeError, ValueError):
        raise body_invalid(f"frozen must be {EXPECTED_TIME}") from None
    except OverflowError:
        raise _too_far() from None


def _seed(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | str) or not 0 < len(str(value)) <= _LONGEST_SEED:
        raise body_invalid(f"seed must be a whole number or a string of 1 to {_LONGEST_SEED} characters")
    return str(value)


def _too_far() -> Refused:
    return body_invalid(TOO_FAR)
