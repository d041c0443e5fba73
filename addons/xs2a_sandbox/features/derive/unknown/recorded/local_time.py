"""The zone in which a bank writes days, and times without a zone."""

from collections import Counter
from collections.abc import Sequence

from xs2a_sandbox.features.derive.unknown.recorded.forms import date_form
from xs2a_sandbox.features.derive.unknown.recorded.places import leaves
from xs2a_sandbox.features.derive.unknown.recorded.seen import SeenExchange

_QUARTER = 900
_MOST = 14 * 3600
_LEAST = 5


def find_offset(seen: Sequence[SeenExchange]) -> int:
    """Return how many seconds a bank's clock is ahead of UTC: many answers have the time at which they were sent."""
    offsets: Counter[int] = Counter()
    for one in seen:
        for _, value in leaves(one.document):
            form = date_form(value)
            if form and form.offset:
                offsets[form.offset] += 1
            elif form and form.has_time and form.is_local:
                ahead = (form.moment(value) - one.time).total_seconds()
                offset = round(ahead / _QUARTER) * _QUARTER
                if abs(ahead - offset) <= 1 and abs(offset) <= _MOST:
                    offsets[offset] += 1
    offset, count = max(offsets.items(), key=lambda pair: (pair[1], -abs(pair[0])), default=(0, 0))
    return offset if count >= _LEAST else 0
