"""A session's clock as the control interface shows, sets and moves it."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from xs2a_sandbox.call import Call
from xs2a_sandbox.clock import BANK_ZONE, Clock
from xs2a_sandbox.duration import EXPECTED, parse_duration
from xs2a_sandbox.errors import Refused
from xs2a_sandbox.session import keep_clock

_FIRST, _LAST = datetime(1970, 1, 2, tzinfo=UTC), datetime(2999, 12, 31, tzinfo=UTC)


def described(clock: Clock) -> dict[str, Any]:
    """`shift` in seconds, 0 while the clock is frozen."""
    return {
        "now": clock.now().isoformat(timespec="seconds"),
        "today": clock.today().isoformat(),
        "shift": int(clock.shift.total_seconds()),
        "frozen": clock.frozen.isoformat() if clock.frozen else None,
    }


def put(call: Call, body: Mapping[str, Any]) -> dict[str, Any]:
    """Whatever the clock was before; just one of `shift`, `frozen` and `real: true`. Raises Refused."""
    match dict(body):
        case {"shift": shift, **rest} if not rest:
            return _keep(call, Clock(_span("shift", shift)))
        case {"frozen": frozen, **rest} if not rest:
            return _keep(call, Clock(frozen=_moment(frozen)))
        case {"real": True, **rest} if not rest:
            return _keep(call, Clock())
    raise _wrong('the body must be one of {"shift": …}, {"frozen": …} and {"real": true}')


def move(call: Call, body: Mapping[str, Any]) -> dict[str, Any]:
    """Time passes: at once for a clock that runs, and for a frozen one only so. Raises Refused."""
    if "move" not in body:
        raise _wrong('the body must be {"move": …}')
    clock, span = call.clock, _span("move", body["move"])
    try:
        return _keep(call, Clock(clock.shift + span, clock.frozen and _in_bank(clock.frozen.astimezone(UTC) + span)))
    except OverflowError:
        raise _too_far() from None


def _keep(call: Call, clock: Clock) -> dict[str, Any]:
    if clock.frozen:
        clock = Clock(frozen=clock.frozen)
    try:
        if not _FIRST <= clock.now() <= _LAST:
            raise _too_far()
    except OverflowError:
        raise _too_far() from None
    call.state.testdata()  # what its dates count from is kept now: the new time does not change them
    keep_clock(call.state, clock)
    return described(clock)


def _span(member: str, value: Any) -> timedelta:
    try:
        if isinstance(value, str):
            # On a command line a number of seconds is a text.
            seconds = re.fullmatch(r"[+-]?\d{1,12}", value, re.ASCII)
            return timedelta(seconds=int(value)) if seconds else parse_duration(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return timedelta(seconds=value)
    except ValueError as error:
        raise _wrong(f"{member}: {error}") from None
    except OverflowError:
        raise _too_far() from None
    raise _wrong(f"{member} must be a whole number of seconds or {EXPECTED}")


def _moment(value: Any) -> datetime:
    try:
        moment = datetime.fromisoformat(value)
        return _in_bank(moment if moment.tzinfo else moment.replace(tzinfo=BANK_ZONE))
    except (TypeError, ValueError):
        text = "frozen must be an ISO 8601 time such as 2026-11-21T09:00:00 (the bank's time) or 2026-11-21T08:00:00Z"
        raise _wrong(text) from None
    except OverflowError:
        raise _too_far() from None


def _in_bank(moment: datetime) -> datetime:
    return moment.astimezone(BANK_ZONE)


def _too_far() -> Refused:
    return _wrong("the clock can only show times from 1970 to 2999")


def _wrong(message: str) -> Refused:
    return Refused(400, "body-invalid", message)
