"""How long things such as tokens last, as the answers with them say."""

import re
from collections.abc import Iterator

from xs2a_sandbox.features.derive.unknown.recorded.forms import date_form
from xs2a_sandbox.features.derive.unknown.recorded.seen import answer_values
from xs2a_sandbox.features.derive.unknown.things.things import LearnedThing

_TIMES = re.compile(
    "expire|lifetime|ttl|seconds|secondes|secunde|segundos|sekunde|sekundy|sekunti|saniye|masodperc", re.IGNORECASE
)
"""Parts of the names of times in seconds. The plural tells them from words such as `secondary`."""


def told_lifetimes(thing: LearnedThing, offset: int) -> Iterator[int]:
    """Yield after how many seconds a thing may end. `offset` is how many seconds the bank's clock is ahead of UTC."""
    for place, value in answer_values(thing.created):
        if isinstance(value, int) and _TIMES.search(str(place[-1])) and 0 < value < 10_000_000:
            yield value
        elif (form := date_form(value)) and form.has_time:
            ahead = offset if form.is_local else 0
            seconds = int((form.moment(value) - thing.created.time).total_seconds()) - ahead
            if seconds > 0:
                yield seconds
