"""Finds out how a bank computes its answers: an expression for each value, which gives what was recorded every time."""

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from xs2a_sandbox.features.derive.expression_text import braced, expression, literal
from xs2a_sandbox.features.derive.unknown.lists.histories import find_history
from xs2a_sandbox.features.derive.unknown.lists.repeated_rows import find_repeated_rows, is_same
from xs2a_sandbox.features.derive.unknown.recorded.forms import date_form, is_amount
from xs2a_sandbox.features.derive.unknown.recorded.places import leaves, value_at
from xs2a_sandbox.features.derive.unknown.recorded.seen import SeenExchange
from xs2a_sandbox.features.derive.unknown.recorded.totals import (
    Summand,
    find_by_word,
    find_places,
    find_total,
    read_numbers,
    write_summand,
)
from xs2a_sandbox.features.derive.unknown.scopes import AFTER, ExchangeScopes
from xs2a_sandbox.features.derive.unknown.things.things import LearnedThing, ThingKind
from xs2a_sandbox.features.derive.unknown.written.new_ids import new_value
from xs2a_sandbox.features.derive.unknown.written.sources import (
    find_inherited,
    find_sources,
    find_times,
    is_equal,
    is_telling,
)
from xs2a_sandbox.redaction.values import DROPPED

MISSING = object()
_LEAST = 3
_ERROR_CODE = re.compile(r"[A-Za-z]{1,8}[-_.]?\d{1,5}")
_OF_SOME_PAGES = [
    f"{{{{ let.{name} }}}}" for name in ("previous_cursor", "next_cursor", "next_link", "next_page", "previous_link")
]
"""What the first or the last page lacks."""
_WRAPPED = re.compile(r"\{\{ \{'\w+': (let\.\w+)\} if \1 is not none else none \}\}")
"""An object with one member, if the page has it."""


class Templates:
    """Templates of one operation's answers. `named` are further values by expression, such as those of a list.

    `members` are expressions by the name of the only member that may have their value.
    """

    def __init__(
        self,
        scopes: ExchangeScopes,
        ones: Sequence[SeenExchange],
        named: Sequence[str] = (),
        members: Mapping[str, Sequence[str]] = MappingProxyType({}),
    ) -> None:
        self._scopes = scopes
        self._ones = ones
        self._named = named
        self._members = members
        self._documents: Sequence[Any] = ()
        self._inherited = list(dict.fromkeys(source for one in ones for source in find_inherited(scopes, one)))
        self._sources = self._known(ones[0]) if ones else []
        self._copied = scopes.world.copied[scopes.world.operation_of[ones[0]]] if ones else frozenset()

    def _known(self, one: SeenExchange) -> list[tuple[str, Any]]:
        inherited = [(source, self._scopes.value(source, one)) for source in self._inherited]
        return [*inherited, *find_sources(self._scopes, one)]

    def make(self, values: Sequence[Any], place: tuple[Any, ...] = ()) -> Any:
        """Return the template for the values that the answers have at a place. MISSING is for answers without it."""
        self._documents = self._documents if place else values
        there = [value for value in values if value is not MISSING]
        if len(there) == len(values) and (source := self._find(values, place)):
            return braced(source)
        if all(isinstance(value, Mapping) for value in there) and there:
            return self._make_object(values, place)
        is_list = len(there) == len(values) and all(isinstance(value, list) for value in there) and there
        if is_list and (source := find_repeated_rows(self._scopes, self._ones, values)):
            return self._repeat_rows(source, values)
        if is_list and (history := find_history(self._scopes, self._ones, values)):
            return history.write(values[0][0])
        if all(isinstance(value, list) for value in there) and len({len(value) for value in there}) == 1:
            rows = [value if value is not MISSING else [MISSING] * len(there[0]) for value in values]
            return [self.make([row[at] for row in rows], (*place, at)) for at in range(len(there[0]))]
        if all(isinstance(value, list) for value in there):
            return max(there, key=lambda value: (there.count(value), len(value)))
        return self._make_scalar(values, there, place)

    def _make_object(self, values: Sequence[Any], place: tuple[Any, ...]) -> Any:
        has_null = any(inner is None for value in values if value is not MISSING for inner in value.values())
        # A null in the second part of `merge` would remove the member.
        if (sent := self._repeated(values)) and not place and not has_null:
            names = {name for one in self._ones for name in self._scopes.value(sent, one)}
            rest = [{name: inner for name, inner in value.items() if name not in names} for value in values]
            return {"merge": [braced(sent), self._make_members(rest, place)]}
        return self._make_members(values, place)

    def _repeat_rows(self, source: str, values: Sequence[Any]) -> dict[str, Any]:
        """Return the template for a list that repeats one of the request. Other members follow the thing's state."""
        state = f"{source.partition('.sent')[0]}.state"
        told = [
            (sent, row, str(self._scopes.value(state, one)), at)
            for one, rows in zip(self._ones, values, strict=True)
            for at, (sent, row) in enumerate(zip(self._scopes.value(source, one), rows, strict=True))
        ]
        give: dict[str, Any] = {}
        for name in dict.fromkeys(name for _, row, _, _ in told for name in row):
            having = [(sent.get(name), row[name], word, at) for sent, row, word, at in told if name in row]
            # Pseudonyms of an amount differ if it is written in another way.
            is_hidden = self._scopes.is_redacted and all(_are_alike(sent, value) for sent, value, _, _ in having)
            if is_hidden or all(is_same(sent, value) for sent, value, _, _ in having):
                is_optional = len(having) < len(told)
                give[f"{name}?" if is_optional else name] = braced(expression("entry", (name,)))
            elif len(having) == len(told):
                give[name] = _write_by_state(state, [(value, word, at) for _, value, word, at in having])
        return {"each": braced(source), "give": give}

    def _repeated(self, values: Sequence[Any]) -> str | None:
        """Return the request that made the thing, if the answer repeats all its members."""
        for source, _ in self._sources:
            if not source.endswith(".state"):
                continue
            sent = source.removesuffix(".state") + ".sent"
            bodies = [self._scopes.value(sent, one) for one in self._ones]
            if all(isinstance(body, Mapping) and len(body) > 1 for body in bodies) and all(
                isinstance(value, Mapping)
                and all(name in value and is_equal(value[name], inner) for name, inner in body.items())
                for body, value in zip(bodies, values, strict=True)
            ):
                return sent
        return None

    def _make_members(self, values: Sequence[Any], place: tuple[Any, ...]) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for name in dict.fromkeys(name for value in values if value is not MISSING for name in value):
            inner = [value.get(name, MISSING) if value is not MISSING else MISSING for value in values]
            is_partial = any(one is MISSING and outer is not MISSING for one, outer in zip(inner, values, strict=True))
            if not is_partial:
                value = _wrap(self._with_day(self.make(inner, (*place, name)), (*place, name)))
                is_of_some = value in _OF_SOME_PAGES or _WRAPPED.fullmatch(str(value))
                is_optional = self._is_optional(value) or (is_of_some and None not in inner)
                made[f"{name}?" if is_optional else name] = value
            elif source := self._find(inner, (*place, name)) or self._find_wrapped(inner, (*place, name)):
                made[f"{name}?"] = braced(source)
            elif sum(one is MISSING for one in inner) * 2 < len(inner):
                made[name] = self.make([one for one in inner if one is not MISSING][:1] * len(inner), (*place, name))
        return made | self._unsent(made)

    def _unsent(self, made: Mapping[str, Any]) -> dict[str, Any]:
        """Return the members that other answers repeat, and that no request for the things in these answers had."""
        things = {found[0] for value in made.values() if (found := self._find_repeated(value))}
        if len(things) != 1:
            return {}
        (thing,) = things
        sent = f"let.{thing}.sent"
        had = {name for one in self._ones for name in self._scopes.value(sent, one) or ()}
        shown = {name.removesuffix("?") for name in made}
        return {
            f"{name}?": braced(expression(sent, (name,)))
            for kind in self._kinds_of(thing)
            for name, others in self._scopes.repeated_members.get(kind, {}).items()
            if name not in shown | had and any(group <= shown for group in others)
        }

    def _kinds_of(self, name: str) -> list[ThingKind]:
        """Return the kinds of the thing that a template names."""
        operation = self._scopes.world.operation_of[self._ones[0]]
        lookups = [one for one in self._scopes.lookups[operation] if f"{one.name}{AFTER}" == name]
        return [kind for one in lookups for kind, _ in one.kinds]

    def _find_wrapped(self, values: Sequence[Any], place: tuple[Any, ...]) -> str | None:
        """Return the expression for an object with one member, such as a link, that only some answers have."""
        there = [value for value in values if value is not MISSING]
        names = {name for value in there if isinstance(value, Mapping) for name in value}
        if len(names) != 1 or not all(isinstance(value, Mapping) and value for value in there):
            return None
        (name,) = names
        inner = self._find([value if value is MISSING else value[name] for value in values], (*place, name))
        return f"{{{literal(name)}: {inner}}} if {inner} is not none else none" if inner else None

    def _is_optional(self, value: Any) -> bool:
        """Return whether a template repeats a member that the request of another thing of this kind did not have."""
        repeated = self._find_repeated(value)
        return bool(repeated and repeated[1])

    def _find_repeated(self, value: Any) -> tuple[str, list[LearnedThing]] | None:
        """Return the name of the thing whose request a template repeats, and the things whose requests lack this."""
        found = re.fullmatch(r"\{\{ let\.(\w+)\.sent((?:\.\w+)+) \}\}", value) if isinstance(value, str) else None
        if found is None:
            return None
        steps = found[2][1:].split(".")
        things = [
            thing
            for kind in self._kinds_of(found[1])
            for thing in kind.things
            if isinstance(thing.created.body, Mapping)
        ]
        return found[1], [thing for thing in things if value_at(thing.created.body, steps) is None]

    def _with_day(self, value: Any, place: tuple[Any, ...]) -> Any:
        """Return a template that repeats a day, with the day of the request for things that were made without one."""
        name, lacking = self._find_repeated(value) or ("", [])
        told = [(thing, value_at(one.document, place)) for thing in lacking for one in thing.events]
        shown = [(thing, day, form) for thing, day in told if (form := date_form(day))]
        if not shown or any(form.day(day) != thing.created.time.date() for thing, day, form in shown):
            return value
        source = value.removeprefix("{{ ").removesuffix(" }}")
        return braced(f"{source} or ({shown[0][2].write(f'let.{name}.made')})")

    def _make_scalar(self, values: Sequence[Any], there: Sequence[Any], place: tuple[Any, ...]) -> Any:
        is_same = all(is_equal(value, there[0]) for value in there)
        if not is_same and len(there) == len(values) and (source := self._compute(values, place)):
            return braced(source)
        if isinstance(there[0], str) and (text := self._compose(values)):
            return text
        if by_state := self._find_state_text(values, place):
            return by_state
        # A value that two answers have in common is not a new id.
        if is_same and (len(values) > 1 or not (isinstance(there[0], str) and self._is_random(there[0]))):
            return there[0]
        if by_state := self._by_state(values) or self._by_flag(values):
            return by_state
        if any(isinstance(value, str) and value in self._scopes.row_texts for value in there):
            # It names an account.
            return there[-1]
        if len(there) == len(values) and (by_member := self._by_member(values)):
            return by_member
        if not is_same and all(map(date_form, there)):
            source = self._earliest(there, place) if len(there) == len(values) else None
            return braced(source) if source else there[-1]
        if (
            isinstance(there[0], str)
            and not is_same
            and all(isinstance(v, str) and " " not in v and v for v in there)
            and any(map(self._scopes.world.ids.has, there))
            and "/" not in there[0]
            and not all(map(is_amount, there))
        ):
            return new_value(there)
        if isinstance(there[0], str) and self._is_random(there[0]):
            return new_value(there)
        if isinstance(there[0], str) and "<form" in there[0] and len(there) > 1:
            # Pages for several customers are not written in the same way. The first one is an example.
            start = values.index(there[0])
            return Templates(self._scopes, self._ones[start : start + 1]).make(there[:1], place)
        return there[-1]

    def _compute(self, values: Sequence[Any], place: tuple[Any, ...]) -> str | None:
        """Return the expression for a total of other numbers in the answer, or for what a word of a request decides."""
        if isinstance(values[0], Mapping | list):
            return None
        if decided := find_by_word(values, self._find_words()):
            return decided
        if not read_numbers(values) or place[:1] == ("headers",) or not self._scopes.is_ok.get(self._ones[0], False):
            return None
        summands = list[Summand]()
        for other, numbers in find_places(self._documents):
            if other != place and (summand := write_summand(numbers, self._find(numbers, other))):
                summands.append(summand)
        return find_total(values, summands)

    def _find_words(self) -> dict[str, list[Any]]:
        """Return what requests for the things have at each place, by its expression."""
        sent = [source for source, _ in self._sources if source.startswith("body.") or ".sent." in source]
        return {source: [self._scopes.value(source, one) for one in self._ones] for source in sent}

    def _by_member(self, values: Sequence[Any]) -> str | None:
        """Return what depends on an optional member of the request, such as a day: `dated` or `instant`."""
        states = (source for source, _ in self._sources if source.endswith(".state"))
        for root in ("body", *(f"{source.removesuffix('.state')}.sent" for source in states)):
            bodies = [dict(leaves(self._scopes.value(root, one))) for one in self._ones]
            for place in dict.fromkeys(place for body in bodies for place in body if place):
                groups = [[at for at, body in enumerate(bodies) if (place in body) is has] for has in (True, False)]
                sources = [self._find_common([values[at] for at in own], own) for own in groups if own]
                if len(sources) == 2 and all(sources) and not any(isinstance(step, int) for step in place):
                    return braced(f"{sources[0]} if {expression(root, place)} is not none else {sources[1]}")
        return None

    def _find_common(self, values: Sequence[Any], at: Sequence[int]) -> str | None:
        """Return the expression for a value that the exchanges at these positions have in common."""
        if source := Templates(self._scopes, [self._ones[one] for one in at])._find(values, ()):
            return source
        return literal(values[0]) if all(is_equal(value, values[0]) for value in values) else None

    def _earliest(self, values: Sequence[Any], place: tuple[Any, ...]) -> str | None:
        """Return the expression for a day that the app asks for, but not later than a number of days allows."""
        form = date_form(values[0])
        for source in self._echoes(place) if form else ():
            found = [self._scopes.value(source, one) for one in self._ones]
            if form is None or any(date_form(one) != form for one in found):
                continue
            cut = [at for at, (one, value) in enumerate(zip(found, values, strict=True)) if one != value]
            names = [name for name, _ in self._sources]
            for limit in find_times(self._scopes, self._ones[cut[0]], values[cut[0]], names) if cut else ():
                made = f"{source} if {form.read(source)} <= {form.read(f'({limit})')} else {limit}"
                if self._gives(made, values):
                    return made
        return None

    def _is_random(self, text: str) -> bool:
        if _ERROR_CODE.fullmatch(text) and not self._scopes.is_ok.get(self._ones[0], False):
            return False
        looks_like_id = (
            len(text) >= 8
            and not is_amount(text)
            and self._scopes.world.ids.has(text)
            and text not in self._scopes.row_texts
        )
        return looks_like_id and re.fullmatch(r"[A-Za-z0-9_.-]+", text) is not None and not date_form(text)

    def _find(self, values: Sequence[Any], place: tuple[Any, ...]) -> str | None:
        first = values[0]
        own = self._members.get(str(place[-1]), ()) if place else ()
        # The last page can have null in place of a link to the next one. No balance is null.
        named = self._named if any(values) else [one for one in self._named if braced(one) in _OF_SOME_PAGES]
        for source in (*own, *named, *self._echoes(place)):
            if self._gives(source, values):
                return source
        if not all(value is MISSING or is_telling(value) for value in values) and all(
            is_equal(value, first) for value in values
        ):
            return None
        known = [value for value in values if value is not MISSING]
        if not known:
            return None
        start = values.index(known[0])
        sources = self._sources if start == 0 else self._known(self._ones[start])
        for source, value in sources:
            if is_equal(value, known[0]) and self._gives(source, values):
                return source
        for source in find_times(self._scopes, self._ones[start], known[0], [source for source, _ in sources]):
            if self._gives(source, values):
                return source
        return None

    def _echoes(self, place: tuple[Any, ...]) -> Iterator[str]:
        """Yield what the answer repeats if it has a member or header of the same name as the request."""
        name = place[-1] if place else None
        if place[:1] == ("headers",):
            yield expression("headers", (str(name),))
        elif isinstance(name, str):
            yield from self._sent_as(name)

    def _sent_as(self, name: str) -> Iterator[str]:
        """Yield the members of requests with a name."""
        for source, _ in self._sources:
            root, _, rest = source.partition(".")
            is_sent = root in ("body", "query") or (root == "let" and ".sent." in rest)
            if is_sent and source.endswith((f".{name}", f"[{literal(name)}]")):
                yield source

    def _gives(self, source: str, values: Sequence[Any]) -> bool:
        for one, value in zip(self._ones, values, strict=True):
            found = self._scopes.value(source, one)
            if found is not None if value is MISSING else not is_equal(found, value):
                return False
        return True

    def _compose(self, values: Sequence[Any]) -> str | None:
        """Return a text with expressions for the parts that are known from elsewhere."""
        start = next(at for at, value in enumerate(values) if value is not MISSING)
        text = values[start]
        if any(not isinstance(value, str) for value in values if value is not MISSING) or any(
            v is MISSING for v in values
        ):
            return None
        version = re.fullmatch(r"(\W*v?|\W+[A-Za-z])(\d+)(\W*)", text)
        if version and (version[0] != version[2] or not all(value == text for value in values)):
            for source, _ in self._sources:
                # A text that is only an expression would become a number.
                written = source if version[0] != version[2] else f"{source} ~ ''"
                made = f"{version[1]}{{{{ {written} }}}}{version[3]}"
                if source.endswith(".version") and self._writes(made, values):
                    return made
        made = text
        holes: list[str] = []
        for name in self._copied:
            for source in self._sent_as(name):
                value = re.escape(_plain(self._scopes.value(source, self._ones[start])))
                made, count = re.subn(rf"(?<=[?&]{re.escape(name)}=){value}(?=&|$)", f"\x00{len(holes)}\x00", made)
                holes += [source] * count
        pieces: list[tuple[str, str]] = []
        seen: set[str] = set()
        for source, value in self._known(self._ones[start]):
            part = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
            if (
                len(part) >= _LEAST
                and part in made
                and part not in seen
                and part != DROPPED
                and re.search(_part(part), made)
            ):
                seen.add(part)
                pieces.append((part, source))
        pieces.sort(key=lambda piece: -len(piece[0]))
        for part, source in pieces:
            mark = f"\x00{len(holes)}\x00"
            if part in made:
                # The name of a parameter is not a value.
                made = re.sub(rf"{_part(part)}(?!(?<=[?&]{re.escape(part)})=)", mark, made)
                holes.append(source)
        for number, source in enumerate(holes):
            made = made.replace(f"\x00{number}\x00", braced(source))
        # A link that the app has sent may have a query of its own.
        link = re.sub(r"^\{\{ ((?:(?!\}\}).)*) \}\}[?&](?=\w+=)", r"{{ \1 }}{{ '&' if '?' in \1 else '?' }}", made)
        if written := next((one for one in (link, made) if one != text and self._writes(one, values)), ""):
            return written
        return self._with_new_ids(made, values)

    def _with_new_ids(self, made: str, values: Sequence[str]) -> str | None:
        """Return a link with new ids in place of recorded ones, or None if there are none."""
        if "/" not in made:
            return None
        # The host of a link is not an id.
        pieces = re.split(r"(https?://[^/]+|\{\{ .*? \}\}|[\w.-]+)", made)
        ids = [at for at, piece in enumerate(pieces) if not piece.startswith("{{") and self._is_random(piece)]
        found: list[re.Match[str]] = []
        for one, value in zip(self._ones, values, strict=True):
            filled = [re.escape(self._fill(piece, one)) for piece in pieces]
            form = "".join(r"([\w.-]+)" if at in ids else piece for at, piece in enumerate(filled))
            if not (match := re.fullmatch(form, value)):
                return None
            found.append(match)
        for number, at in enumerate(ids, 1):
            texts = [match[number] for match in found]
            if len(texts) == 1 or len(set(texts)) > 1:
                pieces[at] = new_value(texts)
        return "".join(pieces) if ids else None

    def _writes(self, made: str, values: Sequence[Any]) -> bool:
        return all(self._fill(made, one) == value for one, value in zip(self._ones, values, strict=True))

    def _fill(self, text: str, one: SeenExchange) -> str:
        return re.sub(r"\{\{ (.*?) \}\}", lambda found: _plain(self._scopes.value(found[1], one)), text)

    def _find_state_text(self, values: Sequence[Any], place: tuple[Any, ...]) -> str | None:
        """Return the text for the state of a thing, if it has another one in each state."""
        for source, _ in self._sources if place else ():
            if not source.endswith(".state"):
                continue
            kind = self._scopes.value(f"{source.removesuffix('.state')}.kind", self._ones[0])
            texts = self._scopes.state_texts.get((kind, str(place[-1])), {})
            states = [self._scopes.value(source, one) for one in self._ones]
            if texts and all(texts.get(state) == value for state, value in zip(states, values, strict=True)):
                return braced(f"{literal(texts)}[{source}] or {literal(values[-1])}")
        return None

    def _by_state(self, values: Sequence[Any]) -> Any:
        for source, _ in self._sources:
            if not source.endswith(".state"):
                continue
            table: dict[Any, Any] = {}
            for one, value in zip(self._ones, values, strict=True):
                state = self._scopes.value(source, one)
                if (
                    value is MISSING
                    or not isinstance(state, str | int)
                    or not is_equal(table.setdefault(state, value), value)
                ):
                    break
            else:
                if all(isinstance(value, bool) for value in table.values()):
                    return braced(f"{source} in {literal([state for state, value in table.items() if value])}")
                if len(table) > 1 and all(isinstance(v, str) and re.fullmatch("[A-Za-z_-]+", v) for v in values):
                    # The state of something else, such as a challenge.
                    return braced(f"({literal(table)}[{source}] or {source})")
        return None

    def _by_flag(self, values: Sequence[Any]) -> str | None:
        """Return one of two words, by a named value that is true or false."""
        for source in self._named:
            flags = [self._scopes.value(source, one) for one in self._ones]
            if not all(isinstance(flag, bool) for flag in flags) or len(set(flags)) < 2:
                continue
            yes, no = (values[flags.index(flag)] for flag in (True, False))
            if all(is_equal(value, yes if flag else no) for flag, value in zip(flags, values, strict=True)):
                return braced(f"{literal(yes)} if {source} else {literal(no)}")
        return None


def _are_alike(one: Any, other: Any) -> bool:
    return isinstance(one, Mapping) and dict(leaves(one)).keys() == dict(leaves(other)).keys()


def _write_by_state(state: str, told: Sequence[tuple[Any, str, int]]) -> Any:
    """Return the template for a member of the entries of a thing, by its state and by the number of the entry."""
    for start in (0, 1):
        if all(value == at + start for value, _, at in told):
            return braced(f"index + {start}")
    if all(value == told[0][0] for value, _, _ in told) or not all(isinstance(value, str) for value, _, _ in told):
        return told[0][0]
    by_state: dict[str, dict[int, Any]] = {}
    for value, word, at in sorted(told, key=lambda one: one[2]):
        by_state.setdefault(word, {})[at] = value
    words = {word: list(values.values()) for word, values in by_state.items()}
    if all(len(set(map(str, values))) == 1 for values in words.values()):
        return braced(f"{literal({word: values[0] for word, values in words.items()})}[{state}] or {state}")
    known = f"({literal(words)}[{state}] or [{state}])"
    return braced(f"{known}[index] or ({known} | last)")


def _wrap(value: Any) -> Any:
    """Return an expression for an object whose only member is a link that some pages lack: they lack the object."""
    if isinstance(value, Mapping) and len(value) == 1:
        ((name, inner),) = value.items()
        source = inner.removeprefix("{{ ").removesuffix(" }}") if inner in _OF_SOME_PAGES else ""
        if name.endswith("?") and source.endswith("_link"):
            return braced(f"{{{literal(name[:-1])}: {source}}} if {source} is not none else none")
    return value


def _plain(value: Any) -> str:
    return "" if value is None else str(value)


def _part(text: str) -> str:
    """Return the pattern for a text that is no part of a longer word."""
    return rf"(?<![A-Za-z0-9]){re.escape(text)}(?![A-Za-z0-9])"
