"""Learns how often an access can be used in a day, such as four times without the customer (PSD2, RTS article 36)."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from xs2a_sandbox.features.derive.expression_text import braced, expression, literal
from xs2a_sandbox.features.derive.unknown.conditions.classes import AnswerClass
from xs2a_sandbox.features.derive.unknown.conditions.conditions import Condition
from xs2a_sandbox.features.derive.unknown.recorded.places import Place, leaves
from xs2a_sandbox.features.derive.unknown.recorded.seen import SeenExchange
from xs2a_sandbox.features.derive.unknown.scopes import USES, ExchangeScopes
from xs2a_sandbox.features.derive.unknown.things.lookups import ThingLookup
from xs2a_sandbox.features.derive.unknown.things.operations import LearnedOperation
from xs2a_sandbox.features.derive.unknown.things.things import LearnedThing, ThingKind

_PRESENCE = "psu-ip-address"
_RANK, _LATE = 36, 72
"""After the checks of the access, before those of the account and of parameters; or after these, too."""


@dataclass(frozen=True)
class Quota:
    """How often a thing of a kind can be named at `place` in a day: a number, or the member of its request with it.

    Requests of these operations count, except for those with the header `unless`. Those that are refused for another
    reason count only with `counts_refused`. With `by_address`, each address can be read so often.
    """

    kind: ThingKind
    place: Place
    unless: str
    most: Place | int
    reads: Sequence[LearnedOperation]
    counts_refused: bool
    by_address: bool = False

    def is_for(self, lookup: ThingLookup) -> bool:
        return lookup.place == self.place and [kind for kind, _ in lookup.kinds] == [self.kind]

    def condition(self, lookup: ThingLookup) -> Condition:
        """Return when a thing was named as often as it can be today."""
        name = f"let.{lookup.name}"
        most = str(self.most) if isinstance(self.most, int) else f"({expression(f'{name}.sent', self.most)} | int)"
        rank = _RANK if self.counts_refused else _LATE
        return Condition(f"{self._counts}{name}{USES} >= {most}", rank, "quota", self.place, lookup.name)

    @property
    def _counts(self) -> str:
        return f"headers[{literal(self.unless)}] is none and " if self.unless else ""

    def let(self, lookup: ThingLookup) -> dict[str, str]:
        """Return the named value with the number of uses today."""
        known = self._known(lookup)
        return {f"{lookup.name}{USES}": braced(f"{known}.count if {known}.day == today(0) else 0")}

    def count(self, lookup: ThingLookup, refused: Sequence[str]) -> dict[str, Any]:
        """Return the effect that counts a use. Requests with the outcomes `refused` do not count."""
        return {
            "set": self._known(lookup),
            "to": {"day": "{{ today(0) }}", "count": braced(f"let.{lookup.name}{USES} + 1")},
            "when": f"{self._counts}let.{lookup.name} and let.outcome not in {literal(list(refused))}",
        }

    def _known(self, lookup: ThingLookup) -> str:
        return f"state.our_uses[let.{lookup.name}.id ~ ' ' ~ {'request.path' if self.by_address else literal('')}]"


def find_quotas(
    scopes: ExchangeScopes, classes: Mapping[LearnedOperation, Sequence[AnswerClass]]
) -> dict[ThingKind, Quota]:
    """Find the quotas, and give the scopes how often each thing has been used, and the conditions."""
    found: dict[ThingKind, Quota] = {}
    reads = [operation for operation in classes if _reads_accounts(scopes, operation)]
    for operation in reads:
        for answer in (answer for answer in classes[operation] if not answer.is_ok):
            for lookup in scopes.lookups[operation]:
                if lookup.kinds and lookup.kinds[0][0] not in found and (quota := _find(scopes, reads, lookup, answer)):
                    found[quota.kind] = quota if quota.unless else _guess_presence(quota)
    for quota in found.values():
        scopes.add_uses({(thing, one): count for one, thing, count in _count_uses(scopes, quota)})
        for operation in quota.reads:
            own = [quota.condition(lookup) for lookup in scopes.lookups[operation] if quota.is_for(lookup)]
            scopes.quotas.setdefault(operation, []).extend(own)
    return found


def _guess_presence(quota: Quota) -> Quota:
    """Return a quota that does not count requests with the standard header for a customer who is there."""
    is_sent = any(_PRESENCE in one.headers for operation in quota.reads for one in operation.seen)
    return quota if is_sent else replace(quota, unless=_PRESENCE)


def _reads_accounts(scopes: ExchangeScopes, operation: LearnedOperation) -> bool:
    has_rows = any(lookup.rows for lookup in scopes.lookups[operation])
    tells_rows = any(rows.told_by is operation for rows in scopes.world.rows)
    return (has_rows or tells_rows) and scopes.world.made_by(operation) is None


def _find(
    scopes: ExchangeScopes, reads: Sequence[LearnedOperation], lookup: ThingLookup, answer: AnswerClass
) -> Quota | None:
    """Return the quota that explains an error."""
    if len(lookup.kinds) != 1 or not scopes.machines_of(lookup):
        return None
    kind = lookup.kinds[0][0]
    oks = {name for one in scopes.is_ok if scopes.is_ok[one] for name in one.headers}
    unless = ["", *sorted(oks - {name for one in answer.seen for name in one.headers})]
    numbers = [place for place, value in leaves(kind.example.body) if place and _count(value)]
    of_accounts = [one for one in reads if any(lookup.rows for lookup in scopes.lookups[one])]
    counting = [one for one in (reads, of_accounts, [answer.operation]) if answer.operation in one]
    for quota in (
        Quota(kind, lookup.place, name, most, own, counts_refused, by_address)
        for limits in (numbers, [0])
        for own, by_address in ((reads, True), *((own, False) for own in counting))
        for counts_refused in (False, True)
        for name in unless
        for most in limits
    ):
        used = _count_uses(scopes, quota)
        refused = [count for one, _, count in used if one in answer.seen]
        good = [count for one, _, count in used if scopes.is_ok[one]]
        if len(refused) < len(answer.seen) or min(refused) < (2 if isinstance(quota.most, int) else 1):
            continue
        if isinstance(quota.most, int):
            if answer.status == 429 and all(count < min(refused) for count in good):
                return replace(quota, most=min(refused))
        elif all(
            (count >= _limit(quota.most, thing)) == (one in answer.seen)
            for one, thing, count in used
            if scopes.is_ok[one] or one in answer.seen
        ):
            return quota
    return None


def _limit(place: Place, thing: LearnedThing) -> int:
    return _count(dict(leaves(thing.created.body)).get(place))


def _count(value: Any) -> int:
    """Return a number of uses, which may be a text, or 0."""
    is_number = type(value) is int or (isinstance(value, str) and re.fullmatch(r"[1-9]\d{0,3}", value))
    return int(value) if is_number else 0


def _count_uses(scopes: ExchangeScopes, quota: Quota) -> list[tuple[SeenExchange, LearnedThing, int]]:
    """Return the requests that name a thing in a state that is good for them, and how often it was used that day."""
    named = [
        (one, thing, scopes.snapshot(thing, one, after=False)["state"])
        for operation in quota.reads
        for one in operation.seen
        for lookup, thing in scopes.found(one)
        if quota.is_for(lookup) and quota.unless not in one.headers
    ]
    good = {state for one, _, state in named if scopes.is_ok[one]}
    uses: Counter[tuple[LearnedThing, date, Sequence[str]]] = Counter()
    counted = []
    for one, thing, state in sorted(named, key=lambda use: use[0].number):
        if state in good:
            day = (thing, one.time.date(), one.path if quota.by_address else ())
            counted.append((one, thing, uses[day]))
            uses[day] += quota.counts_refused or scopes.is_ok[one]
    return counted
