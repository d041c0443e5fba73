"""A guess: where an access was recorded for all accounts, by a word, it can also name accounts by their numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xs2a_sandbox.documents.formats import FORMATS
from xs2a_sandbox.features.derive.expression_text import braced, expression, literal
from xs2a_sandbox.features.derive.unknown.conditions.checks import LearnedCheck
from xs2a_sandbox.features.derive.unknown.conditions.conditions import Condition
from xs2a_sandbox.features.derive.unknown.conditions.mentions import find_mention, instead
from xs2a_sandbox.features.derive.unknown.recorded.forms import pattern_of
from xs2a_sandbox.features.derive.unknown.recorded.places import Place, change_texts, leaves, source_of
from xs2a_sandbox.features.derive.unknown.scopes import TICKED, ExchangeScopes, plural
from xs2a_sandbox.features.derive.unknown.things.lookups import ThingLookup
from xs2a_sandbox.features.derive.unknown.things.operations import LearnedOperation
from xs2a_sandbox.features.derive.unknown.things.things import Rows, ThingKind

_KEY_LENGTH = 12


@dataclass(frozen=True)
class NamedAccounts:
    """Things of a kind that may name their accounts by numbers. `number` is the member of the accounts.

    `place` is in the request that makes the thing, or in the customer's form if it begins with "form". The numbers are
    a list there. `member` is the one of its entries that has the number, if they are objects. A single word stands for
    all accounts, also one of `words` in the list.
    """

    kind: ThingKind
    place: Place
    rows: Rows
    number: str
    member: Place = ()
    words: tuple[str, ...] = ()

    @property
    def field(self) -> str:
        """The field of the customer's form, or an empty text."""
        return str(self.place[1]) if self.place[0] == "form" else ""

    def read_field(self) -> dict[str, Any]:
        """Return the named value with all numbers in a form: each has a field of its own."""
        start = f"{self.field}="
        return {
            "each": "{{ request.text | split('&') }}",
            "as": "field",
            "when": f"field | matches({literal(f'^{start}.+')})",
            "give": braced(f"field[{len(start)}:]"),
        }

    def lets(
        self, lookups: Sequence[ThingLookup], operation: LearnedOperation, known: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the named values of an operation for the accounts that its access names by number."""
        access = self._find_access(lookups)
        if access is None:
            return {}
        account = self._account()
        numbers, named = (f"{self.rows.name}_{what}" for what in ("numbers", "named"))
        unrecorded = {"each": braced(f"let.{numbers}"), "as": "number"}
        made: dict[str, Any] = {}
        if self.rows.told_by is operation:
            made[numbers] = braced(self._numbers(access))
            made[named] = unrecorded | {"when": f"number not in ({self._recorded})", "give": account}
            own = f"{self._every} | selectattr({literal(self.number)}, 'in', let.{numbers}) | list"
            made["chosen"] = braced(f"({own}) + let.{named} if let.{numbers} is not none else none")
        for lookup in lookups:
            if lookup.rows is self.rows:
                made[numbers] = braced(self._numbers(access))
                row = str(known[lookup.name]).removeprefix("{{ ").removesuffix(" }}")
                other = f"{self._key} == {lookup.source} and number not in ({self._recorded})"
                made[named] = unrecorded | {"when": other, "give": account}
                is_own = f"let.{numbers} is none or {row}[{literal(self.number)}] in let.{numbers}"
                made[lookup.name] = braced(f"{row} if {row} and ({is_own}) else let.{named}[0]")
        return made

    @property
    def _key(self) -> str:
        """The expression for the key of an account that was not recorded."""
        return "number" if self.number == self.rows.key else f"number[-{_KEY_LENGTH}:]"

    @property
    def _every(self) -> str:
        """The expression for the recorded accounts, in the order of the recording."""
        keys = (literal(str(row[self.rows.key])) for row in self.rows.entries)
        return f"[{', '.join(f'let.{self.rows.name}_rows[{key}]' for key in keys)}]"

    @property
    def _recorded(self) -> str:
        """The expression for the numbers of the recorded accounts."""
        return f"{self._every} | map(attribute={literal(self.number)}) | list"

    def _numbers(self, access: ThingLookup) -> str:
        """Return the expression for the numbers that an access names. It is null for all accounts."""
        if self.field:
            return f"{expression('let', (access.name, TICKED))} or none"
        member = f" | map(attribute={literal('.'.join(map(str, self.member)))})" if self.member else ""
        if len(self.place) > 1:
            # Next to this list, such as that for balances, there can be others, such as that for transactions.
            lists = expression(f"let.{access.name}.sent", self.place[:-1])
            named = f"{lists} | dictsort | map('last') | reject('string') | reject('none') | sum(start=[])"
            return f"({named}{member} | unique | list) or none"
        named = expression(f"let.{access.name}.sent", self.place)
        if self.words:
            numbers = f"({named}{member} | list)"
            every = f"{numbers} | select('in', {literal(list(self.words))}) | list"
            return f"{numbers} if {named} is not none and not ({every}) else none"
        return f"{named}{member} | list if {named} is not string and {named} is not none else none"

    def add_checks(self, scopes: ExchangeScopes, operation: LearnedOperation, known: list[LearnedCheck]) -> None:
        """Add, as guesses, that numbers must be right, and that an access is only good for its own accounts."""
        if operation is self.kind.made_by and self.place[0] != "form" and not self.member:
            source = source_of(("body", *self.place))
            donors = [check for check in known if check.condition.place[:1] == ("body",) and find_mention(check)]
            wrong = f"{source} == [] or false in ({source} | map('has_format', 'iban') | list)"
            condition = Condition(f"{source} is not string and ({wrong})", 53, "form", ("body", *self.place))
            if donors and all(FORMATS["iban"](row[self.number]) for row in self.rows.entries):
                known.append(donors[0].guess(condition, instead(donors[0], condition)))
        access = self._find_access(scopes.lookups[operation])
        donor = next((check for check in known if _is_on(check, access, "state")), None)
        for lookup in scopes.lookups[operation] if access and donor else ():
            at = next((at for at, check in enumerate(known) if _is_on(check, lookup, "unknown")), None)
            if self.member or self.place[0] == "form":
                continue
            if lookup.rows is self.rows and access and donor and at is not None:
                every = f"map(attribute={literal('.'.join(('sent', *map(str, self.place))))})"
                elsewhere = f"{lookup.source} in (let.{plural(self.kind)} | {every} | join(' '))"
                source = f"let.{access.name} and not let.{lookup.name} and {elsewhere}"
                known.insert(at, donor.guess(Condition(source, 39, "outside", lookup.place, lookup.name)))

    def _find_access(self, lookups: Sequence[ThingLookup]) -> ThingLookup | None:
        return next((one for one in lookups if [kind for kind, _ in one.kinds] == [self.kind]), None)

    def _account(self) -> Any:
        """Return an account like the recorded ones, with another number and key."""
        first = self.rows.entries[0]
        number, key = str(first[self.number]), str(first[self.rows.key])
        return change_texts(first, lambda text: text.replace(number, "{{ number }}").replace(key, braced(self._key)))


def _is_on(check: LearnedCheck, lookup: ThingLookup | None, kind: str) -> bool:
    return lookup is not None and check.condition.kind == kind and check.condition.name == lookup.name


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
        if access is None or not isinstance(rows.entries[0][rows.key], str):
            continue
        kind = access.kinds[0][0]
        if (place := _find_numbers(kind, [row[rows.key] for row in rows.entries])) and place[0][0] == "form":
            found.append(NamedAccounts(kind, place[0], rows, rows.key))
            continue
        if not numbers:
            continue
        number = numbers[0]
        if place := _find_numbers(kind, [row[number] for row in rows.entries]):
            every = _find_words(kind, *place, [row[number] for row in rows.entries])
            found.append(NamedAccounts(kind, place[0], rows, number, place[1], every))
            continue
        words = [(place, value) for place, value in leaves(kind.example.body) if isinstance(value, str)]
        listed = rows.at[-1] if rows.at else ""
        for at, value in words:
            if value.isalpha() and str(at[-1]).lower()[:5] in str(listed).lower():
                found.append(NamedAccounts(kind, at, rows, number))
                break
    return found


def _find_numbers(kind: ThingKind, numbers: Sequence[str]) -> tuple[Place, Place] | None:
    """Return the list in requests that make a thing, or the field of the customer's form, that has account numbers."""
    for thing in kind.things:
        for place, value in leaves(thing.created.body):
            at = next((at for at, step in enumerate(place) if isinstance(step, int)), None)
            if value in numbers and at is not None:
                return place[:at], place[at + 1 :]
        for event in thing.events:
            for name, value in (event.form or {}).items():
                if value in numbers:
                    return ("form", name), ()
    return None


def _find_words(kind: ThingKind, place: Place, member: Place, numbers: Sequence[str]) -> tuple[str, ...]:
    """Return the words that a list for account numbers has, such as one for all accounts."""
    texts = [
        value
        for thing in kind.things
        for at, value in leaves(thing.created.body)
        if at[: len(place)] == place and at[len(place) + 1 :] == member and isinstance(value, str)
    ]
    return tuple(dict.fromkeys(text for text in texts if text not in numbers and text.isalpha()))
