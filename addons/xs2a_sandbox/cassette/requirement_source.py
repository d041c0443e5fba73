"""Compiles the requirements of an operation to one Python function, which only decides whether all of them are met.

If it says no, `requirements.check` decides again and reports the mistake. So the function may say no where it would
take more code to be sure: if a header or query parameter is repeated, the body is encoded, or the bank would warn.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from xs2a_sandbox.cassette.matchers import Constraint
from xs2a_sandbox.documents import Schemas
from xs2a_sandbox.documents.formats import FORMATS
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.http.media_type import is_json_field

if TYPE_CHECKING:
    from xs2a_sandbox.cassette.call import Call
    from xs2a_sandbox.cassette.model import Requirement

type IsMet = Callable[["Call", Schemas], bool]


def compile_requirement(requirement: "Requirement") -> IsMet:
    source = RequirementSource(requirement)
    exec(compile(source.text, "<requirement>", "exec"), source.values)
    is_met: IsMet = source.values["is_met"]
    return is_met


class RequirementSource:
    """The source of the function, and the values in it by name."""

    def __init__(self, requirement: "Requirement") -> None:
        self.values: dict[str, Any] = {"BankError": BankError, "is_json_field": is_json_field}
        self._lines: list[str] = []
        self._reads_headers = False
        for step in requirement.steps:
            self._add_step(step)
        lines = [*(_HEADERS if self._reads_headers else ()), *self._lines, "return True"]
        body = [_INDENT + line for line in ("try:", *map(_indent, lines), "except BankError:", _indent("return False"))]
        self.text = "\n".join(["def is_met(call, schemas):", *body])

    def _add_step(self, step: "Requirement") -> None:
        if step.that:
            # As a literal, the text of the condition cannot end the comment.
            condition = f"{self._bind('condition', step.that)}(call.scope())"
            self._add(f"if not {condition}: return False  # {step.that_text!a}")
        for constraint in step.constraints:
            if constraint.place.part != "body":
                self._add_constraint(constraint)
        of_body = [constraint for constraint in step.constraints if constraint.place.part == "body"]
        if not of_body and step.schema is None and not step.media:
            return
        if step.media:
            # Such bodies take milliseconds to parse anyway.
            self._add("return False")
            return
        first = len(self._lines)
        self._reads_headers = True
        self._add("if 'content-encoding' in headers or not is_json_field(headers.get('content-type')): return False")
        self._add("body = call.body")
        for constraint in of_body:
            self._add_constraint(constraint)
        if step.schema is not None:
            self._add(f"schema = schemas[{_write_name(step.schema)}]")
            self._add("if not schema.accepts(body) or schema.unlisted(body): return False")
        if step.optional:
            self._lines[first:] = ["if call.request.body.strip():", *map(_indent, self._lines[first:])]

    def _add_constraint(self, constraint: Constraint) -> None:
        place = constraint.place
        if place.part == "headers" and place.name != "content-type":
            self._add_header(place.name, constraint)
            return
        self._add(f"values = call.values({self._bind('place', place)})  # {str(place)!a}")
        self._add(f"if len(values) > 1 or not {self._bind('fits', constraint.fits)}(values): return False")

    def _add_header(self, name: str, constraint: Constraint) -> None:
        self._reads_headers = True
        match constraint.spec:
            case {"exists": True, **others} if not others:
                self._add(f"if {name!r} not in headers: return False")
                return
            case {"any": [{"absent": True, **none}, Mapping() as inner], **others} if not none and not others:
                test, is_optional = self._write_test(inner), True
            case spec:
                test, is_optional = self._write_test(spec), False
        self._add(f"value = headers.get({name!r})")
        if test:
            self._add(f"if value is {'not None and' if is_optional else 'None or'} not {test}: return False")
        else:
            fits = self._bind("fits", constraint.fits)
            self._add(f"if not {fits}(() if value is None else (value,)): return False")

    def _write_test(self, spec: Mapping[str, Any]) -> str | None:
        """Return Python for a matcher on the text `value`, or None if it has no translation."""
        match spec:
            case {"format": str(name), **others} if not others:
                return f"{self._bind(f'is_{name.replace("-", "_")}', FORMATS[name])}(value)"
            case {"in": [*choices], **others} if not others and all(isinstance(choice, str) for choice in choices):
                return f"(value in {tuple(choices)!r})"
        return None

    def _add(self, line: str) -> None:
        self._lines.append(line)

    def _bind(self, word: str, value: Any) -> str:
        """Return a name for the value: the same one for the same value."""
        known = next((name for name, bound in self.values.items() if bound is value), None)
        if known is None:
            known = f"{word}_{len(self.values)}" if word in self.values or not word.startswith("is_") else word
            self.values[known] = value
        return known


_INDENT = "    "
_HEADERS = (
    "headers = call.headers",
    "if len(headers) != len(call.request.headers.pairs): return False",
)


def _indent(line: str) -> str:
    return _INDENT + line


def _write_name(name: str) -> str:
    """Return Python for the name of a schema, with its path parameters filled in."""
    parts = name.replace("}", "{").split("{")
    texts = [repr(part) if number % 2 == 0 else f"call.path[{part!r}]" for number, part in enumerate(parts)]
    return " + ".join(text for text in texts if text != "''")
