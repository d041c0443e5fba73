"""A guess: where an access was recorded for all accounts, by a word, it can also name accounts by their numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xs2a_sandbox.features.derive.expression_text import braced, expression
from xs2a_sandbox.features.derive.unknown.forms import pattern_of
from xs2a_sandbox.features.derive.unknown.operations import LearnedOperation
from xs2a_sandbox.features.derive.unknown.places import Place, change_texts, leaves
from xs2a_sandbox.features.derive.unknown.scopes import ExchangeScopes, ThingLookup
from xs2a_sandbox.features.derive.unknown.things import Rows, ThingKind

_KEY_LENGTH = 12


@dataclass(frozen=True)
class NamedAccounts:
    """Things of a kind that may have a list of account numbers at `place`. `number` is the member of the accounts."""

    kind: ThingKind
    place: Place
    rows: Rows
    number: str

    def lets(
        self, lookups: Sequence[ThingLookup], operation: LearnedOperation, known: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the named values of an operation for the accounts that its access names by number."""
        access = next((one for one in lookups if [kind for kind, _ in one.kinds] == [self.kind]), None)
        if access is None:
            return {}
        numbers = expression(f"let.{access.name}.sent", self.place)
        is_list = f"{numbers} is not string and {numbers} is not none"
        named, give = {"each": braced(numbers), "as": "number"}, {"give": self._account()}
        made: dict[str, Any] = {}
        if self.rows.told_by is operation:
            made["named"] = named | give
            made["chosen"] = braced(f"let.named if {is_list} else none")
        for lookup in lookups:
            if lookup.rows is self.rows:
                made["named"] = named | {"when": f"number[-{_KEY_LENGTH}:] == {lookup.source}"} | give
                every = str(known[lookup.name]).removeprefix("{{ ").removesuffix(" }}")
                made[lookup.name] = braced(f"let.named[0] if {is_list} else {every}")
        return made

    def _account(self) -> Any:
        """Return an account like the recorded ones, with another number and key."""
        first = self.rows.entries[0]
        number, key = str(first[self.number]), str(first[self.rows.key])
        new_key = "{{ number[-" + str(_KEY_LENGTH) + ":] }}"
        return change_texts(first, lambda text: text.replace(number, "{{ number }}").replace(key, new_key))


def find_named_accounts(scopes: ExchangeScopes) -> list[NamedAccounts]:
    found = []
    for rows in scopes.world.rows:
        numbers = [
            name
            for name in rows.entries[0]
            if name != rows.key
            and all(isinstance(row.get(name), str) for row in rows.entries)
            and pattern_of([row[name] for row in rows.entries])
            and len({row[name] for row in rows.entries}) == len(rows.entries)
        ]
        access = next(
            (one for one in scopes.lookups[rows.told_by] if len(one.kinds) == 1 and scopes.machines_of(one)), None
        )
        if not numbers or access is None or not isinstance(rows.entries[0][rows.key], str):
            continue
        kind = access.kinds[0][0]
        words = [(place, value) for place, value in leaves(kind.example.body) if isinstance(value, str)]
        listed = rows.at[-1] if rows.at else ""
        for place, value in words:
            if value.isalpha() and str(place[-1]).lower()[:5] in str(listed).lower():
                found.append(NamedAccounts(kind, place, rows, numbers[0]))
                break
    return found
