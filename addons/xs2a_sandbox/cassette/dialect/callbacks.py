"""The section `callbacks`: the requests that the bank sends to an app when a resource gets another state."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from xs2a_sandbox.cassette.answers import ResponseTemplate, compile_answer
from xs2a_sandbox.cassette.dialect.sections import Sections
from xs2a_sandbox.cassette.evaluation.expressions import Render, Scope, compile_condition, compile_text, compile_value
from xs2a_sandbox.cassette.model import Pointer
from xs2a_sandbox.config.readers import parse_duration
from xs2a_sandbox.errors import ExpressionError, Problem

SECTION = "callbacks"
ROOTS = frozenset({"document", "id", "before", "resource", "state", "session", "clock"})
"""The roots of a callback's expressions."""
RECEIVER = "receiver"
"""The root for the document of the collection in `each`."""
_ADDRESSES = frozenset({"document", "resource", RECEIVER})
"""The roots with documents, in which an address can be stored."""
_MEMBER = re.compile(r"""\{\{\s*(\w+)(?:\.\w+|\[(?:'[^']+'|"[^"]+")\])+\s*\}\}""")
_NEEDED = ("on", "to", "request")


@dataclass(frozen=True, slots=True)
class Retry:
    """Waits in seconds: `first` before the second try, then `factor` times as long each time, at most `longest`.

    `tries` includes the first one.
    """

    first: float = 10.0
    factor: float = 2.0
    longest: float = 3600.0
    tries: int = 8


@dataclass(frozen=True, slots=True)
class Callback:
    """A callback for each new state of a document in one of the collections `on`.

    With `each` there is one for every document of that collection. `to` reads the address from a stored document.
    `let` are values for `request`, which renders headers and body, and for `receipt`, an id under which the session
    remembers that the app has accepted the callback. It accepts with one of the statuses `accepted`, or with any 2xx.
    """

    id: str
    on: frozenset[str]
    to: Render
    method: str
    request: ResponseTemplate
    when: Callable[[Scope], bool] | None = None
    each: str | None = None
    accepted: tuple[int, ...] = ()
    retry: Retry = Retry()
    let: tuple[tuple[str, Any], ...] = ()
    receipt: Render | str | None = None


def roots_of(spec: Mapping[str, Any]) -> frozenset[str]:
    """Return the roots that exist in the callback's request."""
    return ROOTS | ({RECEIVER} if spec.get("each") else set()) | ({"let"} if spec.get("let") else set())


def read(sections: Sections, problems: list[Problem]) -> tuple[Callback, ...]:
    """Compile the callbacks of all layers. Problems are added to `problems`."""
    compiled = (_Reader(sections, id, spec, problems).callback() for id, spec in sections.get(SECTION).items())
    return tuple(filter(None, compiled))


class _Reader:
    """Compiles one callback and collects problems."""

    def __init__(self, sections: Sections, id: str, spec: Mapping[str, Any], problems: list[Problem]) -> None:
        self._sections, self._id, self._spec, self._problems = sections, id, spec, problems
        self._roots = roots_of(spec)

    def callback(self) -> Callback | None:
        if missing := [key for key in _NEEDED if key not in self._spec]:
            self._note((), f"the callback has no {' and no '.join(missing)}")
            return None
        spec, request, on = self._spec, self._spec["request"], self._spec["on"]
        to = self._address(spec["to"])
        retry = self._retry(spec.get("retry", {}))
        template = compile_answer(
            {key: value for key, value in request.items() if key != "method"},
            self._roots,
            _read_nothing,
            lambda below, text: self._note(("request", *below), text),
        )
        when = self._try(("when",), lambda: compile_condition(spec["when"], self._roots)) if "when" in spec else None
        if to is None or retry is None:
            return None
        return Callback(
            self._id,
            frozenset([on] if isinstance(on, str) else on),
            to,
            request.get("method", "POST"),
            template,
            when,
            spec.get("each"),
            tuple(spec.get("accepted", ())),
            retry,
            tuple((name, self._compile(value, ("let", name))) for name, value in spec.get("let", {}).items()),
            self._compile(spec.get("receipt"), ("receipt",)),
        )

    def _compile(self, value: Any, at: Pointer) -> Any:
        return compile_value(value, self._roots, lambda below, text: self._note((*at, *below), text))

    def _address(self, text: str) -> Render | None:
        """Compile the address, which must be a member of a stored document and nothing else."""
        found = _MEMBER.fullmatch(text)
        if found is None or found[1] not in _ADDRESSES & self._roots:
            names = ", ".join(sorted(_ADDRESSES & self._roots))
            wrong = (
                f"{text!r} is not one member of a stored document ({names}), such as {{{{ document.notify }}}}: "
                "callbacks go only to addresses that an app has registered"
            )
            self._note(("to",), wrong)
            return None
        return cast(Render, self._try(("to",), lambda: compile_text(text, self._roots)))

    def _retry(self, spec: Mapping[str, Any]) -> Retry | None:
        usual = Retry()
        durations = {"first": usual.first, "longest": usual.longest}
        for name in durations.keys() & spec.keys():
            span = self._try(("retry", name), lambda name=name: parse_duration(spec[name]))  # type: ignore[misc]
            if span is None:
                return None
            durations[name] = span.total_seconds()
            if durations[name] <= 0:
                self._note(("retry", name), "a wait must be longer than nothing")
                return None
        factor = float(spec.get("factor", usual.factor))
        return Retry(durations["first"], factor, durations["longest"], spec.get("tries", usual.tries))

    def _try[T](self, below: Pointer, make: Callable[[], T]) -> T | None:
        try:
            return make()
        except (ExpressionError, ValueError) as error:
            self._note(below, str(error))
            return None

    def _note(self, below: Pointer, text: str) -> None:
        self._problems.append(self._sections.problem((SECTION, self._id, *below), "callback", text, key=not below))


def _read_nothing(name: str) -> bytes:
    raise FileNotFoundError(2, "a callback cannot send a file", name)
