"""Turns recorded answers of an operation into a template: ids, echoes and states as expressions, the rest literally."""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from xs2a_sandbox.cassette.evaluation.expressions import is_plain, is_shaped
from xs2a_sandbox.cassette.things import Things
from xs2a_sandbox.documents.yaml_writer import write_exactly

_DELIMITERS = re.compile(r"([/?&=#:;,\s\"'()<>]+)")
_PURE = re.compile(r"\{\{ (result(?:\.\w+)+|wire\('\w+', result(?:\.\w+)+\)) \}\}")
_LINK = re.compile(r"\{\{ (\{'(\w+)': [^{}]*(?:\{[^{}]*\}[^{}]*)*) \}\}")
_CONDITIONAL = re.compile(
    r"\{\{ .+ if ((?:'[\w-]+' in )?result\.[\w.]+(?: [=!]= '\w+')?(?: and [^{}]+)?) \}\}", re.DOTALL
)
_ADDRESS = re.compile(r"https?://|/\w")
_PIECES = re.compile(r"(\{\{.*?\}\})")
_SHORTEST = 6
"""The minimum length of a string that is not a word by coincidence."""


@dataclass(frozen=True, slots=True)
class Sample:
    """An answer and its known values: `ids` are expressions by text, `echoes` are expressions by place and value.

    `state` is the reported state in the documented dialect's word; `origin` is the beginning of links to the bank.
    """

    place: str
    value: Any
    ids: Mapping[str, str]
    echoes: Mapping[tuple[str, str], str]
    state: str | None = None
    origin: str = ""


@dataclass(frozen=True, slots=True)
class Usual:
    """The documented dialect's own template, and the members of the handler's result if that is shown as a whole.

    `words` are the bank's words for documented states; `things` are those of the documented dialect.
    """

    body: Any
    members: Mapping[str, str]
    words: Mapping[str, str] = field(default_factory=dict)
    things: Things = field(default_factory=Things)

    def find(self, name: str) -> Any:
        """Return the documented template of a member with this name at any place, or None if there is none."""
        if name in self.members:
            return f"{{{{ {self.members[name]} }}}}"
        return next(_find_called(self.body, name), None)

    def result(self, name: str) -> str | None:
        """Return the member of the handler's result that is shown under this name."""
        match = _PURE.fullmatch(text) if isinstance(text := self.find(name), str) else None
        return match[1] if match else None

    def condition(self, name: str) -> str | None:
        """Return the condition under which the documented dialect shows this member.

        None if it does not depend on the handler's result.
        """
        match = _CONDITIONAL.fullmatch(text) if isinstance(text := self.find(name), str) else None
        return match[1] if match else None

    def steps(self) -> dict[str, str]:
        """Return the documented links to next steps, which are only shown if the steps are possible."""
        return {name: text for _, holder in self.holders for name, text in holder.items() if _leads_on(text)}

    @property
    def holders(self) -> list[tuple[str, Mapping[str, Any]]]:
        """The members that contain links to next steps or to pages, with their documented content."""
        return list(_find_holders(self.body, self.things.pages))

    @property
    def state(self) -> str | None:
        """The expression for the state in the answer."""
        return next((one for name in sorted(self.things.states) if (one := self.result(name))), None)

    def state_word(self, name: str) -> str | None:
        """Return the state in the bank's words."""
        if (own := self.result(name)) is None:
            return None
        if not self.words:
            return f"{{{{ {own} }}}}"
        return f"{{{{ {_expression(dict(sorted(self.words.items())))}[{own}] or {own} }}}}"


_STEP = re.compile(r"'([\w-]+)' in result\.next")


def find_step(text: Any) -> str | None:
    """Return the step of a documented link, if it is only shown when the step is possible."""
    found = _STEP.search(str(text))
    return found[1] if found else None


def _leads_on(text: Any) -> bool:
    return isinstance(text, str) and find_step(text) is not None


def _find_holders(template: Any, pages: Collection[str], name: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    if isinstance(template, Mapping):
        if name and any(_leads_on(text) or key in pages for key, text in template.items()):
            yield name, template
        for key, value in template.items():
            yield from _find_holders(value, pages, key.removesuffix("?"))


def _find_called(template: Any, name: str) -> Iterator[Any]:
    if isinstance(template, Mapping):
        for key, value in template.items():
            if key.removesuffix("?") == name:
                yield value
            else:
                yield from _find_called(value, name)


class Template:
    """The template of these samples. `unknown` lists places that could not be learned."""

    def __init__(self, samples: Sequence[Sample], usual: Usual) -> None:
        self.unknown: list[str] = []
        self._usual = usual
        self._holders = frozenset(name for name, _ in usual.holders)
        self._shows_nulls = any("null" in json.dumps(sample.value, default=str) for sample in samples)
        self.value = self._any([(sample, sample.value) for sample in samples], "", "")

    def _any(self, values: Sequence[tuple[Sample, Any]], name: str, place: str) -> Any:
        kinds = {type(value) for _, value in values}
        if name in self._usual.things.pages and (page := self._page(name, values[0][1])) is not None:
            return page
        if name not in self._holders and not all(_is_link(value) for _, value in values):
            if name in self._usual.things.states and kinds <= {str} and (state := self._usual.state_word(name)):
                return state
            if isinstance(shaped := self._usual.find(name), dict) and is_shaped(shaped):
                return shaped
            if (own := self._usual.result(name)) and not self._is_id(values) and not _is_echo(values, place):
                return f"{{{{ {own} }}}}"
        if (condition := self._usual.condition(name)) and name not in self._usual.things.pages:
            there = [(sample, value) for sample, value in values if value is not None]
            if not there:
                return self._usual.find(name)
            return f"{{{{ {_expression(self._plainly(there, name, place))} if {condition} }}}}"
        return self._plainly(values, name, place)

    def _plainly(self, values: Sequence[tuple[Sample, Any]], name: str, place: str) -> Any:
        kinds = {type(value) for _, value in values}
        if kinds == {dict}:
            return self._object(values, place)
        if kinds == {list}:
            return self._list(values, name, place)
        return self._leaf(values, name, place)

    def _object(self, values: Sequence[tuple[Sample, Any]], place: str) -> Any:
        template: dict[str, Any] = {}
        seen = {name for _, value in values for name in value}
        for name in dict.fromkeys(name for _, value in values for name in value):
            there = [(sample, value[name]) for sample, value in values if name in value]
            learned = self._any(there, name, f"{place}/{name}")
            lacking = [sample for sample, value in values if name not in value]
            if lacking:
                learned = self._sometimes(learned, [sample for sample, _ in there], lacking, f"{place}/{name}")
                template[f"{name}?"] = learned
            elif self._may_be_null(name, learned):
                template[f"{name}?"] = learned
            else:
                template[name] = learned
        if place.rpartition("/")[2] in self._holders:
            others = seen | self._usual.things.pages
            template |= {f"{name}?": text for name, text in self._usual.steps().items() if name not in others}
        return template

    def _may_be_null(self, name: str, learned: Any) -> bool:
        if not isinstance(learned, str):
            return False
        if _CONDITIONAL.fullmatch(learned):
            return not self._shows_nulls or name in self._usual.steps()
        return (
            not self._shows_nulls
            and name not in self._usual.things.states | self._usual.things.answered
            and _PURE.fullmatch(learned) is not None
        )

    def _sometimes(self, learned: Any, there: Sequence[Sample], lacking: Sequence[Sample], place: str) -> Any:
        """Return a member that only some answers have, with a condition on the state if that explains it."""
        if isinstance(learned, str) and (_PURE.fullmatch(learned) or _CONDITIONAL.fullmatch(learned)):
            return learned
        state, states = self._usual.state, {sample.state for sample in there}
        if state and None not in states and not states & {sample.state for sample in lacking}:
            return f"{{{{ {_expression(learned)} if {state} in {_expression(sorted(map(str, states)))} }}}}"
        often = f"in {len(there)} of {len(there) + len(lacking)} answers, for unknown reasons"
        self.unknown.append(f"{place} is {often} ({lacking[0].place} lacks it)")
        return learned if len(there) >= len(lacking) else None

    def _list(self, values: Sequence[tuple[Sample, Any]], name: str, place: str) -> Any:
        lengths = {len(value) for _, value in values}
        if len(lengths) == 1:
            return [
                self._any([(sample, value[n]) for sample, value in values], "", f"{place}/{n}")
                for n in range(lengths.pop())
            ]
        self.unknown.append(
            f"{place} has lists of different lengths; the dialect uses the list from {values[0][0].place}"
        )
        return self._any(values[:1], name, place)

    def _leaf(self, values: Sequence[tuple[Sample, Any]], name: str, place: str) -> Any:
        written = [_write(sample, value, place) for sample, value in values]
        if len({write_exactly(text) for text in written}) == 1:
            return written[0]
        state = self._usual.state
        by_state: dict[str | None, dict[str, Any]] = {}
        for (sample, _), leaf in zip(values, written, strict=True):
            by_state.setdefault(sample.state, {})[write_exactly(leaf)] = leaf
        if state and None not in by_state and all(len(ones) == 1 for ones in by_state.values()):
            words = {str(key): next(iter(ones.values())) for key, ones in sorted(by_state.items(), key=str)}
            return f"{{{{ {_expression(words)}[{state}] }}}}"
        (often, _), *_ = Counter(map(write_exactly, written)).most_common(1)
        first = next(n for n, text in enumerate(written) if write_exactly(text) == often)
        self.unknown.append(
            f"{place} differs from answer to answer; the dialect uses the value from {values[first][0].place}"
        )
        return written[first]

    def _page(self, name: str, value: Any) -> Any:
        """Return the sandbox's own page for the customer, in the form of the bank's link."""
        page = self._usual.find(name)
        if isinstance(value, str) and isinstance(page, Mapping) and len(page) == 1:
            return next(iter(page.values()))
        if isinstance(value, str) and isinstance(page, str) and (within := _LINK.fullmatch(page)):
            return f"{{{{ ({within[1]}).{within[2]} }}}}"
        return page

    def _is_id(self, values: Sequence[tuple[Sample, Any]]) -> bool:
        return all(isinstance(value, str) and value in sample.ids for sample, value in values)


def last_members(place: str) -> str:
    """Return the last two members of a place, which an echo has in common with its source."""
    return "/".join(place.split("/")[-2:])


def _is_echo(values: Sequence[tuple[Sample, Any]], place: str) -> bool:
    """Return whether all values were in the request at such a place.

    A documented member of this name may mean something else.
    """
    return all((last_members(place), write_exactly(value)) in sample.echoes for sample, value in values)


def learn_text(text: str, sample: Sample) -> str:
    """Return the text with expressions for known values."""
    return str(_write(sample, text, ""))


def _is_link(value: Any) -> bool:
    """Return whether it is an address, or an object of addresses whose names say where they lead."""
    if isinstance(value, dict):
        return bool(value) and all(map(_is_link, value.values()))
    return isinstance(value, str) and _ADDRESS.match(value) is not None


def _write(sample: Sample, value: Any, place: str) -> Any:
    if isinstance(value, dict | list):
        return value if is_plain(value) else f"{{{{ {_expression(value)} }}}}"
    if (echo := sample.echoes.get((last_members(place), write_exactly(value)))) is not None:
        return f"{{{{ {echo} }}}}"
    if not isinstance(value, str):
        return value
    if value in sample.ids:
        return f"{{{{ {sample.ids[value]} }}}}"
    if len(value) >= _SHORTEST and (echo := sample.echoes.get(("", write_exactly(value)))) is not None:
        return f"{{{{ {echo} }}}}"
    start = sample.origin if sample.origin and value.startswith(f"{sample.origin}/") else ""
    pieces = _DELIMITERS.split(value.removeprefix(start))
    return ("{{ session.url }}" if start else "") + "".join(_piece(piece, sample.ids, "/" in value) for piece in pieces)


def _piece(piece: str, ids: Mapping[str, str], is_link: bool) -> str:
    if piece in ids and (is_link or len(piece) >= _SHORTEST):
        return f"{{{{ {ids[piece]} }}}}"
    return piece.replace("{{", "{{ '{{' }}")


def _expression(template: Any) -> str:
    """Return the template as a part of an expression."""
    if isinstance(template, Mapping):
        return "{" + ", ".join(f"{_quote(name)}: {_expression(member)}" for name, member in template.items()) + "}"
    if isinstance(template, list):
        return "[" + ", ".join(map(_expression, template)) + "]"
    if isinstance(template, str):
        pieces = [piece for piece in _PIECES.split(template) if piece]
        inner = [f"({piece[2:-2].strip()})" if piece.startswith("{{") else _quote(piece) for piece in pieces]
        return " ~ ".join(inner) or "''"
    return (
        {None: "none", True: "true", False: "false"}[template]
        if template is None or isinstance(template, bool)
        else str(template)
    )


def _quote(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"
