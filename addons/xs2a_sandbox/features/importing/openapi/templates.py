"""Turns a body into a template: members with a meaning become expressions, and other members stay if they must."""

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from xs2a_sandbox.features.derive.expression_text import expression, literal
from xs2a_sandbox.features.importing.openapi.roles import Steps, at, has_time, is_day

Allows = Callable[[Any], bool]
_BRACES = "{{ '{{' }}"
"""The text `{{` in a template."""


@dataclass(slots=True)
class BodyTemplate:
    """A body and the expressions that replace its values. `allows` says whether its schema allows a body.

    `said` are the expressions by place, without braces. `listed` are lists by place, each with the expression for its
    things and the name of the shape for one of them.
    """

    body: Any
    allows: Allows
    said: dict[Steps, str] = field(default_factory=dict)
    listed: dict[Steps, tuple[str, str]] = field(default_factory=dict)

    def say(self, steps: Steps, source: str) -> None:
        self.said.setdefault(steps, source)

    def say_day(self, steps: Steps, source: str) -> None:
        """Use the expression for a day at this place. If the body has a time there, the day becomes its midnight."""
        self.say(steps, f"{source} ~ 'T00:00:00Z' if {source}" if has_time(at(self.body, steps)) else source)

    def say_number(self, steps: Steps, source: str) -> None:
        """Use the expression for an amount at this place, as text or as a number like in the body."""
        self.say(steps, source if isinstance(at(self.body, steps), str) else f"{source} | decimal")

    def echo(self, request: "BodyTemplate", root: str, *, is_sent: bool) -> None:
        """Use the values that the request has at the same places, if the schema allows them there.

        Without `is_sent` there may be no request, because the thing is in the test data.
        """
        for steps in _find_echoes(self, self.body, request.body, ()):
            source, static = expression(root, steps), at(self.body, steps)
            is_sure = self.is_optional(steps) or (is_sent and not request.is_optional(steps))
            self.say(steps, source if is_sure else f"{source} or {literal(static)}")

    def is_optional(self, steps: Steps) -> bool:
        if not steps or not isinstance(steps[-1], str):
            return False
        holder = at(self.body, steps[:-1])
        kept = dict(holder)
        try:
            del holder[steps[-1]]
            return self.allows(self.body)
        finally:
            holder.clear()
            holder.update(kept)

    def write(self) -> Any:
        """Return the body of the answer. The first entries of lists are written as shapes: see `write_shape`."""
        self._prune(self.body, ())
        return self._write(self.body, ())

    def write_shape(self, steps: Steps) -> Any:
        return self._write(at(self.body, steps)[0], (*steps, 0))

    def _prune(self, value: Any, steps: Steps) -> None:
        """Remove members without an expression, or set them to null. They stay if the schema allows neither."""
        kept = {*self.said, *self.listed}
        if isinstance(value, dict):
            for name in list(value):
                below = (*steps, name)
                if below in self.said:
                    continue
                if any(place[: len(below)] == below for place in kept):
                    self._prune(value[name], below)
                elif self.is_optional(below):
                    del value[name]
                else:
                    self._empty(value, name)
        elif isinstance(value, list) and value:
            del value[1:]
            self._prune(value[0], (*steps, 0))

    def _empty(self, holder: dict[str, Any], name: str) -> None:
        """Set a member to null, if the schema allows it."""
        static = holder[name]
        holder[name] = None
        if not self.allows(self.body):
            holder[name] = static

    def _write(self, value: Any, steps: Steps) -> Any:
        if steps in self.said:
            return f"{{{{ {self.said[steps]} }}}}"
        if steps in self.listed:
            source, shape = self.listed[steps]
            return {"each": f"{{{{ {source} }}}}", "shape": shape}
        if isinstance(value, Mapping):
            return {
                self._name(name, (*steps, name)): self._write(inner, (*steps, name)) for name, inner in value.items()
            }
        if isinstance(value, list):
            return [self._write(inner, (*steps, number)) for number, inner in enumerate(value)]
        return without_expressions(value)

    def _name(self, name: str, steps: Steps) -> str:
        """Return the name of a member, with a question mark if it is left out where it has no value."""
        return f"{name}?" if steps in self.said and self.is_optional(steps) else name


def _find_echoes(template: BodyTemplate, answer: Any, request: Any, steps: Steps) -> Iterator[Steps]:
    if not (isinstance(answer, dict) and isinstance(request, dict)):
        return
    for name, inner in answer.items():
        below = (*steps, name)
        if name not in request or type(inner) is not type(request[name]):
            continue
        taken = any(place[: len(below)] == below for place in template.said)
        if not taken and _fits(template, below, request[name]):
            yield below
        else:
            yield from _find_echoes(template, inner, request[name], below)


def _fits(template: BodyTemplate, steps: Steps, value: Any) -> bool:
    changed = deepcopy(template.body)
    at(changed, steps[:-1])[steps[-1]] = value
    return template.allows(changed)


def without_expressions(value: Any) -> Any:
    """Return a value of the document, in which no text is an expression."""
    if isinstance(value, Mapping):
        return {name: without_expressions(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [without_expressions(inner) for inner in value]
    return value.replace("{{", _BRACES) if isinstance(value, str) else value


def moment(value: Any) -> str:
    """Return the expression for the present, as a time or as a day like the value."""
    return "now()" if is_day(value) and has_time(value) else "today()"
