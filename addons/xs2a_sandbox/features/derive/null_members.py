"""Rules for members that are always null in a bank's data, but required in test data."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from xs2a_sandbox.features.derive.learning.as_recorded import RecordedRule
from xs2a_sandbox.features.derive.learning.changes import reads_data
from xs2a_sandbox.features.derive.learning.recognised_exchange import RecognisedExchange
from xs2a_sandbox.features.derive.rehearsal import Rehearsed, shape
from xs2a_sandbox.http import body

_NULL = frozenset({"null"})
_PLAIN = re.compile(r"(/[\w.*-]+)+")


def null_members(rehearsed: Iterable[tuple[RecognisedExchange, Rehearsed]]) -> Iterator[RecordedRule]:
    """Yield a rule for each operation with members that are always null at the bank and not in the dialect."""
    nulls: defaultdict[str, set[str]] = defaultdict(set)
    others: defaultdict[str, set[str]] = defaultdict(set)
    unlike: defaultdict[str, set[str]] = defaultdict(set)
    places: defaultdict[str, list[str]] = defaultdict(list)
    for exchange, outcome in rehearsed:
        if (
            exchange.operation is None
            or not reads_data(exchange.operation)
            or not exchange.succeeded
            or outcome.answer is None
            or outcome.answer.status >= 400
        ):
            continue
        id = exchange.operation.id
        states, answer = exchange.interface.things.states, body.read(outcome.answer.answer_body)
        bank, ours = dict(shape(exchange.answer, states)), dict(shape(answer.value, states))
        nulls[id] |= {place for place, kinds in bank.items() if kinds == _NULL}
        others[id] |= {place for place, kinds in bank.items() if kinds != _NULL}
        unlike[id] |= {place for place, kinds in ours.items() if place in bank and kinds != _NULL}
        places[id].append(exchange.place)
    for id in nulls:
        members = sorted(place for place in (nulls[id] - others[id]) & unlike[id] if _PLAIN.fullmatch(place))
        if members:
            rule = {
                "id": f"null-members-{id}",
                "doc": "Recorded: the bank never shows a value there.",
                "match": {"operation": id},
                "amend": {"patch": [{"op": "add", "path": place, "value": None} for place in members]},
            }
            yield RecordedRule(rule, tuple(places[id]))
