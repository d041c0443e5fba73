"""The recording as expressions see it: for every exchange the roots that a cassette would have, and the things then."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import cached_property, partial
from typing import Any

from xs2a_sandbox.cassette.call import patched
from xs2a_sandbox.cassette.evaluation.expressions import compile_text, render
from xs2a_sandbox.errors import ExpressionError
from xs2a_sandbox.features.derive.expression_text import braced
from xs2a_sandbox.features.derive.unknown.conditions.conditions import Condition
from xs2a_sandbox.features.derive.unknown.recorded.forms import account_digits, find_iban_country, read_number
from xs2a_sandbox.features.derive.unknown.recorded.local_time import find_offset
from xs2a_sandbox.features.derive.unknown.recorded.places import Place, leaves
from xs2a_sandbox.features.derive.unknown.recorded.seen import REDIRECTS, SeenExchange, answer_values, parts
from xs2a_sandbox.features.derive.unknown.states.machines import ByRequest, StateMachine
from xs2a_sandbox.features.derive.unknown.states.standing_orders import count_paid
from xs2a_sandbox.features.derive.unknown.states.states import unix_seconds
from xs2a_sandbox.features.derive.unknown.things.charges import find_charges, told_charges
from xs2a_sandbox.features.derive.unknown.things.lifetimes import told_lifetimes
from xs2a_sandbox.features.derive.unknown.things.lookups import ThingLookup, find_lookups, find_secondary
from xs2a_sandbox.features.derive.unknown.things.operations import LearnedOperation
from xs2a_sandbox.features.derive.unknown.things.repeated_members import RepeatedMembers, find_repeated_members
from xs2a_sandbox.features.derive.unknown.things.request_keys import find_nonces, find_request_keys
from xs2a_sandbox.features.derive.unknown.things.things import LearnedThing, ThingKind, World, pick

_FEW = 2
"""So many values of a header can be those of several apps."""
AFTER = "_after"
USES = "_uses"
"""The end of the name of the value that says how often a thing was used today."""
AGAIN = "again"
"""The named value with the thing that the same request has made before."""
TICKED = "ticked"
"""The member of a thing with the accounts that the customer has chosen on a page."""


class _Lets(dict[str, Any]):
    """The named values of an exchange. Lists of all things are made at first use."""

    def __init__(self, lists: Mapping[str, Callable[[], Any]]) -> None:
        super().__init__()
        self._lists = lists

    def __missing__(self, name: str) -> Any:
        self[name] = self._lists[name]()
        return self[name]

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self or name in self._lists else default


class ExchangeScopes:
    """The things and values of every exchange.

    `covers` has when a balance does not cover an amount, `quotas` when a thing has been used too often. The balances
    change by exactly `exact_amounts`, so redaction has kept these. `ticked` has the field of a form with the accounts
    that the customer chooses for a thing. `made` are the ids and secrets that the bank has made, `told` all texts that
    its JSON had before a request had them.
    """

    def __init__(self, world: World, machines: Mapping[ThingKind, StateMachine]) -> None:
        self.world = world
        self.machines = machines
        self.is_ok = world.is_ok
        self.offset = find_offset(list(world.operation_of))
        self.lifetimes = {thing: next(told_lifetimes(thing, self.offset), None) for thing in world.things}
        tokens = {thing.kind for thing, seconds in self.lifetimes.items() if seconds}
        tokens |= {use.kind for own in world.uses.values() for use in own if use.place == ("headers", "authorization")}
        self.lookups = {operation: list(find_lookups(world, operation, tokens)) for operation in world.operations}
        self.secondary = {operation: list(find_secondary(world, operation)) for operation in world.operations}
        self.charges = {kind: find_charges(kind) if kind in machines else [] for kind in world.kinds}
        self.nonces = find_nonces(world)
        self._edits_of: dict[LearnedThing, set[int]] = {}
        self._owners_of: dict[LearnedThing, dict[str, LearnedThing]] = {}
        for operation in world.operations:
            self.lookups[operation] += list(self._find_owners(operation))
            self._owners_of.clear()
        self.is_redacted = world.ids.is_redacted
        self.iban_country = self._find_iban_country()
        self.request_keys = find_request_keys(world, self.nonces)
        links = [one.answer_headers.get("location") for one in world.operation_of if one.status in REDIRECTS]
        codes = {text for link in links for text in parts(link) if world.ids.has(text)}
        self.made = frozenset(text for thing in world.things for text in thing.key_texts) | codes
        rows = (value for rows in world.rows for entry in rows.entries for _, value in leaves(entry))
        self.row_texts = frozenset(value for value in rows if isinstance(value, str))
        self.told = frozenset(self._find_told())
        self.covers: dict[LearnedOperation, list[Condition]] = {}
        self.exact_amounts: set[tuple[LearnedOperation, Place]] = set()
        self.quotas: dict[LearnedOperation, list[Condition]] = {}
        self.endings: dict[ThingKind, set[LearnedOperation]] = {}
        self.ticked: dict[ThingKind, str] = {}
        self._used: dict[tuple[LearnedThing, SeenExchange], int] = {}
        self.extra: dict[SeenExchange, dict[str, Any]] = {}
        self._firsts: dict[LearnedOperation, dict[str, LearnedThing]] = {}
        self._scopes: dict[tuple[SeenExchange, bool], dict[str, Any]] = {}
        self.late_keys = dict(self._find_late_keys())
        self.endings = {kind: found for kind in world.kinds if (found := self._find_endings(kind))}
        self._scopes.clear()
        self.state_texts = self._find_state_texts()
        self.error_codes = frozenset(self._find_error_codes())

    def _find_told(self) -> Iterator[str]:
        sent: set[str] = set()
        for one in sorted(self.world.operation_of, key=lambda one: one.number):
            sent |= {str(value) for _, value in one.values()}
            yield from (value for _, value in leaves(one.document) if isinstance(value, str) and value not in sent)

    def _find_error_codes(self) -> Iterator[Place]:
        """Yield the places where most errors have a number that is not their status, such as a code."""
        errors = [one for one, is_ok in self.is_ok.items() if not is_ok and one.document is not None]
        told = [
            {place for place, value in leaves(one.document) if read_number(value) is not None and value != one.status}
            for one in errors
        ]
        yield from (
            place
            for place in {place for places in told for place in places}
            if sum(place in own for own in told) * 2 > len(told)
        )

    @cached_property
    def _sent_headers(self) -> Mapping[str, Counter[str]]:
        """How often accepted requests have each value of a header."""
        told: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for one in (one for one, is_ok in self.is_ok.items() if is_ok):
            for name, value in one.headers.items():
                told[name][value] += 1
        return told

    @cached_property
    def app_headers(self) -> Mapping[str, str]:
        """The headers that most accepted requests have with one value, such as the key of the app."""
        most = sum(self.is_ok.values()) / 2
        every = self._sent_headers.items()
        return {name: min(values) for name, values in every if len(values) == 1 and values.total() > most}

    @cached_property
    def body_headers(self) -> frozenset[str]:
        """The headers that accepted requests have differ like an id, such as the digest of the body."""
        every = self._sent_headers.items()
        return frozenset(name for name, values in every if len(values) > _FEW and all(map(self.world.ids.has, values)))

    def _find_iban_country(self) -> str | None:
        """Return the country whose IBANs begin with it before all account numbers, if these are of digits only."""
        held = {str(value) for rows in self.world.rows for row in rows.entries for value in row.values()}
        sent = {str(value) for one, is_ok in self.is_ok.items() if is_ok for _, value in leaves(one.body)}
        told, said = ({number for text in texts if (number := account_digits(text))} for texts in (held, sent))
        for length in dict.fromkeys(map(len, sorted(told or said, key=len))):
            numbers = {number for number in told | said if len(number) == length}
            if len(numbers) > 1 and (country := find_iban_country(numbers)):
                return country
        return None

    def _find_late_keys(self) -> Iterator[tuple[tuple[str, str], list[Any]]]:
        """Yield keys that answers have only in some states of a thing, such as after its approval, with these states.

        Each comes with the name of the kind of thing.
        """
        for kind, machine in self.machines.items():
            for key, (operation, place, _) in kind.told.items():
                oks = [one for one in operation.seen if self.is_ok[one] and kind.is_told_late(key)]
                # A page tells what its form hides whenever it shows this form.
                oks = [one for one in oks if "<form" not in one.text]
                told = [one for one in oks if dict(answer_values(one)).get(place)]
                things = [(one, thing) for one in told for _, thing in self.found(one) if thing.kind is kind]
                states = {self.snapshot(thing, one, after=True)["state"] for one, thing in things}
                if states and len(told) < len(oks):
                    states |= {word for state in states for word in machine.later(state)}
                    yield (kind.name, key), [word for word in machine.words if word in states]

    @cached_property
    def _naming(self) -> Mapping[LearnedThing, Sequence[SeenExchange]]:
        """The requests that name a thing, in order."""
        naming: defaultdict[LearnedThing, dict[SeenExchange, None]] = defaultdict(dict)
        for one in sorted(self.world.operation_of, key=lambda one: one.number):
            for _, thing in self.found(one):
                naming[thing][one] = None
        return {thing: list(ones) for thing, ones in naming.items()}

    @cached_property
    def repeated_members(self) -> RepeatedMembers:
        oks = [one for one, is_ok in self.is_ok.items() if is_ok]
        made = ((one, thing) for one in oks if (thing := self.world.made(one)))
        return find_repeated_members([*made, *((one, thing) for one in oks for _, thing in self.found(one))])

    def _find_endings(self, kind: ThingKind) -> set[LearnedOperation]:
        """Return the operations after which things without states are refused, such as one that revokes a token."""
        endings: set[LearnedOperation] = set()
        others: set[LearnedOperation] = set()
        for thing in kind.things if kind not in self.machines else ():
            uses = self._naming.get(thing, [])
            oks = [one for one in uses if self.is_ok[one]]
            refused = [one for one in uses if oks and one.number > oks[-1].number and self._are_alive(one)]
            others |= {self.world.operation_of[one] for one in oks[:-1]}
            if refused and oks[-1].method != "GET" and not self.world.made_by(self.world.operation_of[oks[-1]]):
                endings.add(self.world.operation_of[oks[-1]])
        return endings - others

    def _are_alive(self, one: SeenExchange) -> bool:
        """Return whether no token in a request has ended by itself."""
        ages = ((thing, (one.time - thing.created.time).total_seconds()) for _, thing in self.found(one))
        return all(age < (self.lifetimes[thing] or age + 1) for thing, age in ages)

    def _is_ended(self, thing: LearnedThing, one: SeenExchange, *, after: bool) -> bool:
        endings = self.endings.get(thing.kind, ())
        return any(
            self.is_ok[other] and (other.number < one.number or (after and other is one))
            for other in (self._naming.get(thing, ()) if endings else ())
            if self.world.operation_of[other] in endings
        )

    def _find_state_texts(self) -> dict[tuple[str, str], dict[Any, str]]:
        """Return the texts that answers have only in one state of a thing, by its kind and the name of the member.

        An example is the state in words that customers understand.
        """
        texts: defaultdict[tuple[str, str], defaultdict[Any, set[str]]] = defaultdict(lambda: defaultdict(set))
        for one in (one for one, is_ok in self.is_ok.items() if is_ok and one.document is not None):
            told = list(leaves(one.document))
            things = [thing for _, thing in self.found(one)] + [thing for thing in [self.world.made(one)] if thing]
            for thing in {thing: None for thing in things if thing.kind in self.machines}:
                member, state = self.machines[thing.kind].member, self.snapshot(thing, one, after=True)["state"]
                if any(place[-1:] == (member,) and value == state for place, value in told):
                    for place, value in told:
                        if isinstance(value, str) and place[-1:] != (member,):
                            texts[thing.kind.name, str(place[-1])][state].add(value)
        return {
            key: {state: next(iter(own)) for state, own in by_state.items()}
            for key, by_state in texts.items()
            if len(by_state) > 2 and all(len(own) == 1 for own in by_state.values())
            if len({next(iter(own)) for own in by_state.values()}) == len(by_state)
        }

    def _find_owners(self, operation: LearnedOperation) -> Iterator[ThingLookup]:
        """Yield what the tokens in the headers of an operation belong to, unless its requests name it themselves.

        If the customer decides with the operation, also what the authorisation in the path belongs to.
        """
        own = self.lookups[operation]
        is_decision = any(one.status in REDIRECTS for one in operation.seen) or self._decides_about_other(operation)
        places = ("headers", "path", "form") if is_decision else ("headers", "form")
        own_tokens = [one for one in own if one.place[0] in places or self._is_token(one) or one.is_code]
        for lookup in [one for one in own_tokens if not one.rows]:
            tokens = {thing for one in operation.seen for other, thing in self.found(one) if other is lookup}
            if lookup.place[0] == "path":
                tokens |= {thing for kind, _ in lookup.kinds for thing in kind.things}
            owners = {(name, thing.kind) for token in tokens for name, thing in self._owners(token).items()}
            kinds: defaultdict[str, list[tuple[ThingKind, str]]] = defaultdict(list)
            for name, kind in sorted(owners, key=lambda owner: (owner[0], owner[1].name)):
                if kind not in [named for one in own for named, _ in one.kinds] and name not in [o.name for o in own]:
                    kinds[name].append((kind, kind.id))
            for name, several in kinds.items():
                yield ThingLookup(name, lookup.place, lookup.word, tuple(several), owned=lookup.name)

    def _decides_about_other(self, operation: LearnedOperation) -> bool:
        """Return whether an operation changes the state of something that no place of its requests names."""
        named = {kind for lookup in self.lookups[operation] for kind, _ in lookup.kinds}
        changed = (kind for kind, machine in self.machines.items() if self.changes_by(operation, machine))
        return any(kind not in named for kind in changed)

    def _is_token(self, lookup: ThingLookup) -> bool:
        """Return whether a member names a token, which lasts as long as the answer with it says."""
        return any(self.lifetimes[thing] for kind, _ in lookup.kinds for thing in kind.things)

    def found(self, one: SeenExchange) -> Iterator[tuple[ThingLookup, LearnedThing]]:
        """Yield the things that a request names, as they were known before it."""
        named: dict[str, LearnedThing] = {}
        for lookup, thing in self._find_named(one):
            named.setdefault(lookup.name, thing)
            yield lookup, thing
        for lookup in self.lookups[self.world.operation_of[one]]:
            token = named.get(lookup.owned)
            if token and (owner := self._owners(token).get(lookup.name)):
                yield lookup, owner

    def _find_named(self, one: SeenExchange) -> Iterator[tuple[ThingLookup, LearnedThing]]:
        for lookup in self.lookups[self.world.operation_of[one]]:
            if lookup.owned:
                continue
            text = pick(one, lookup.place, lookup.word)
            for kind, key in lookup.kinds:
                yield from ((lookup, thing) for thing, name in kind.known_by(text, one) if name == key)

    def have_lifetimes(self, kind: ThingKind) -> bool:
        """Return whether things of a kind last for different times, as the answers that make them say."""
        return len({self.lifetimes[thing] for thing in kind.things} - {None}) > 1

    def machines_of(self, lookup: ThingLookup) -> list[StateMachine]:
        return [self.machines[kind] for kind in dict(lookup.kinds) if kind in self.machines]

    def row_key(self, lookup: ThingLookup | None, one: SeenExchange) -> str:
        """Return the key of the account that a request names, or an empty text."""
        entry = self.scope(one)["let"].get(lookup.name) if lookup else None
        return str(entry[lookup.rows.key]) if entry and lookup and lookup.rows else ""

    def changes_by(self, operation: LearnedOperation, machine: StateMachine) -> list[ByRequest]:
        return [change for change in machine.by_request if self.world.operation_of[change.one] is operation]

    def scope(self, one: SeenExchange, *, after: bool = False) -> dict[str, Any]:
        """Return the roots before the request, or with the things as they are after it."""
        if (one, after) not in self._scopes:
            self._scopes[one, after] = self._scope(one, after)
        return self._scopes[one, after]

    def _scope(self, one: SeenExchange, after: bool) -> dict[str, Any]:
        lets = _Lets({plural(kind): partial(self._every, kind, one, after) for kind in self.world.kinds})
        lets["cursors"] = sorted(self.world.cursors)
        for lookup in self.lookups[self.world.operation_of[one]]:
            text = pick(one, lookup.place, lookup.word)
            lets[lookup.name] = lookup.rows.find(text or "") if lookup.rows else None
        for lookup, thing in self.found(one):
            lets[lookup.name] = self.snapshot(thing, one, after=False)
            lets[lookup.name + AFTER] = self.snapshot(thing, one, after=True)
            lets[lookup.name + USES] = self._used.get((thing, one), 0)
        if first := self._find_first(one):
            lets[AGAIN] = self.snapshot(first, one, after=False)
        if made := self.world.made(one):
            lets["new"] = self.snapshot(made, one, after=True)
        lets |= self.extra.get(one, {})
        today = one.time.date()
        return {
            "request": {
                "method": one.method,
                "path": "/" + "/".join(one.path),
                "text": "x" if one.has_json or one.is_unread else "",
            },
            "path": one.parameters,
            "query": one.query,
            "headers": one.headers,
            "body": one.body,
            "form": lambda: one.form,
            "token": lambda: None,
            "session": {"url": one.bank},
            "state": {},
            "let": lets,
            "clock": {"seconds": unix_seconds(one.time), "real": unix_seconds(one.time), "today": today.isoformat()},
            "patched": patched,
            "today": lambda days=0: (today + timedelta(days=days)).isoformat(),
        }

    def _every(self, kind: ThingKind, one: SeenExchange, after: bool) -> list[dict[str, Any]]:
        return [self.snapshot(thing, one, after=after) for thing in kind.things if thing.created.number < one.number]

    def _find_first(self, one: SeenExchange) -> LearnedThing | None:
        """Return the thing that a request with the same key has made before."""
        operation = self.world.operation_of[one]
        kind, place = self.world.made_by(operation), self.request_keys.get(operation)
        key = one.at(place) if place else None
        if not kind or not place or not key:
            return None
        if operation not in self._firsts:
            self._firsts[operation] = {str(thing.created.at(place)): thing for thing in reversed(kind.things)}
        first = self._firsts[operation].get(str(key))
        return first if first and first.created.number < one.number else None

    def snapshot(self, thing: LearnedThing, one: SeenExchange, *, after: bool) -> dict[str, Any]:
        number, created = one.number, thing.created
        keys = {name: value for name, (value, _) in thing.keys.items()}
        changes = [
            change
            for change in thing.changes
            if change.number < number or (change.number == number and (after or change.by == "time"))
        ]
        edits = {at for at in self._edits(thing) if at < number or (at == number and after)}
        requests = [change.number for change in changes if change.by == "request"]
        machine = self.machines.get(thing.kind)
        by_number = {event.number: event for event in thing.events}
        since = by_number[requests[-1]].time if requests and requests[-1] in by_number else created.time
        entered: dict[str, Any] = {}
        for event in thing.events:
            is_before = event.number < number or (after and event is one)
            if is_before and event is not created and self.is_ok[event]:
                entered |= self._find_entered(thing, event)
        first = thing.first if thing.first is not None else machine.first if machine else "there"
        state = changes[-1].state if changes else first
        orders = machine.by_payments if machine else []
        paid = {"paid": count_paid(orders[0], created.body, one.time)} if orders else {}
        return {
            "id": thing.keys[thing.kind.id][0],
            "kind": thing.kind.name,
            "number": thing.kind.number_of[thing],
            **keys,
            **paid,
            "made": unix_seconds(created.time),
            "since": unix_seconds(since),
            "lifetime": self.lifetimes[thing],
            "ended": self._is_ended(thing, one, after=after),
            "version": 1 + len({change.number for change in changes} | edits),
            "state": state,
            "sent": created.body if created.body is not None else created.form or {},
            "headers": dict(created.headers),
            "entered": entered or None,
            TICKED: self._find_ticked(thing, one, after=after),
            "told": told_charges(self.charges[thing.kind], created.document),
            "of": {
                name: (owner.created.body or {}) | {"id": owner.keys[owner.kind.id][0]}
                for name, owner in self._owners(thing).items()
            },
        }

    def _edits(self, thing: LearnedThing) -> set[int]:
        """Return the numbers of the requests that have changed members of a thing."""
        if thing not in self._edits_of:
            patches = [event for event in thing.events if event.method == "PATCH" and self.is_ok[event]]
            named = {event: [(lookup.place[0], one) for lookup, one in self._find_named(event)] for event in patches}
            self._edits_of[thing] = {event.number for event in patches if ("path", thing) in named[event]}
        return self._edits_of[thing]

    def _find_entered(self, thing: LearnedThing, one: SeenExchange) -> Mapping[str, Any]:
        """Return the form of a request about a thing, or the body of one that can change its state."""
        operation, machine = self.world.operation_of[one], self.machines.get(thing.kind)
        is_step = isinstance(one.body, dict) and machine and self.changes_by(operation, machine)
        return one.form or (one.body if is_step else {})

    def _find_ticked(self, thing: LearnedThing, one: SeenExchange, *, after: bool) -> list[str] | None:
        """Return the accounts that the customer has chosen for a thing, before or after an exchange."""
        name, ticked = self.ticked.get(thing.kind), None
        for event in thing.events if name else ():
            if (event.number < one.number or (after and event is one)) and self.is_ok[event]:
                ticked = [value for field, value in event.fields if field == name and value] or ticked
        return ticked

    def _owners(self, thing: LearnedThing) -> dict[str, LearnedThing]:
        """Return what a thing belongs to, by the name of the lookup.

        A token for another one belongs to this and to the same as this.
        """
        if thing in self._owners_of:
            return self._owners_of[thing]
        owners: dict[str, LearnedThing] = {}
        for lookup, other in self.found(thing.created):
            if lookup.place[0] == "headers":
                continue
            if other.kind is thing.kind:
                owners |= self._owners(other) | {lookup.name: other}
            elif isinstance(other.created.body or {}, dict):
                owners[lookup.name] = other
        self._owners_of[thing] = owners
        return owners

    def add_ticked(self, fields: Mapping[ThingKind, str]) -> None:
        """Add the fields of forms with the accounts that the customer chooses for things of a kind."""
        self.ticked |= fields
        self._scopes.clear()

    def add(self, one: SeenExchange, values: Mapping[str, Any]) -> None:
        """Add named values, which the operation will compute, to the roots of an exchange."""
        self.extra[one] = {**self.extra.get(one, {}), **values}
        self._scopes.pop((one, True), None)
        self._scopes.pop((one, False), None)

    def add_uses(self, used: Mapping[tuple[LearnedThing, SeenExchange], int]) -> None:
        """Add how often things had been used on the day of an exchange, before it."""
        self._used |= used
        self._scopes.clear()

    def value(self, source: str, one: SeenExchange, *, after: bool = True) -> Any:
        """Return what an expression is for an exchange; None if it cannot be computed."""
        try:
            return render(compile_text(braced(source), None), self.scope(one, after=after))
        except (ExpressionError, TypeError, ValueError, KeyError):
            return None

    def holds(self, source: str, one: SeenExchange) -> bool:
        return bool(self.value(source, one, after=False))


def plural(kind: ThingKind) -> str:
    return f"all_{kind.name}"
