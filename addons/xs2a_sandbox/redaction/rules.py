"""The user's redaction rules, YAML with `redaction: 1`: which values to keep, replace or drop."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from xs2a_sandbox.documents import yaml_reader
from xs2a_sandbox.documents.json_pointer import parse_pointer
from xs2a_sandbox.documents.json_schema import bundled_schema
from xs2a_sandbox.errors import Unreadable

Action = Literal["keep", "replace", "drop"]


@dataclass(frozen=True, slots=True)
class PathRule:
    """`steps` of a JSON Pointer, unescaped; `*` matches any step."""

    steps: tuple[str, ...]
    action: Action

    @property
    def exact(self) -> bool:
        """Whether the rule names the member itself."""
        return self.steps[-1] != "*"

    def fits(self, place: Sequence[str]) -> bool:
        steps = self.steps
        return len(place) == len(steps) and all(step in ("*", name) for step, name in zip(steps, place, strict=True))


@dataclass(frozen=True, slots=True)
class RedactionRules:
    """The user's actions for members, headers and parameters, by name in lower case, and for bodies by media type.

    `words` stay at every place that may have words of the bank.
    """

    members: Mapping[str, Action] = field(default_factory=dict)
    headers: Mapping[str, Action] = field(default_factory=dict)
    queries: Mapping[str, Action] = field(default_factory=dict)
    media: Mapping[str, Action] = field(default_factory=dict)
    paths: tuple[PathRule, ...] = ()
    words: frozenset[str] = frozenset()

    def path(self, place: Sequence[str]) -> PathRule | None:
        """Return the rule for this place in a body. If there are several, choose the one with the fewest `*`."""
        fitting = [rule for rule in self.paths if rule.fits(place)]
        return min(fitting, key=lambda rule: rule.steps.count("*"), default=None)

    def without(self, action: Action) -> "RedactionRules":
        """Return the rules without this action.

        Those for media types stay, because a known form contains no credentials.
        """
        members, headers, queries = (
            {name: own for name, own in actions.items() if own != action}
            for actions in (self.members, self.headers, self.queries)
        )
        paths = tuple(rule for rule in self.paths if rule.action != action)
        return RedactionRules(members, headers, queries, self.media, paths)


DEFAULT = RedactionRules()


def read(file: Path) -> RedactionRules:
    """Read rules. Raises Unreadable with every problem of the file."""
    rules = yaml_reader.read(file)
    empty = [key for key in get_args(Action) if isinstance(rules.value, Mapping) and rules.value.get(key, ()) is None]
    if empty:
        text = "has no rules: remove the # before those that you choose, or remove this key"
        raise Unreadable([rules.problem((key,), "wrong-type", f"{key} {text}") for key in empty])
    if problems := yaml_reader.complaints(rules, bundled_schema("redaction")):
        raise Unreadable(problems)
    actions: dict[str, dict[str, Action]] = {kind: {} for kind in ("member", "header", "query", "media", "path")}
    words = frozenset(word for entry in rules.value.get("keep", ()) for word in entry.get("words", ()))
    for action in get_args(Action):
        for number, entry in enumerate(rules.value.get(action, ())):
            if "words" in entry:
                continue
            kind = next(key for key in entry if key != "why")
            name = entry[kind] if kind == "path" else entry[kind].lower()
            if actions[kind].setdefault(name, action) != action:
                text = f"{kind} {entry[kind]} is also listed under {actions[kind][name]}; remove one of the two"
                problems.append(rules.problem((action, number, kind), "wrong-value", text))
    if problems:
        raise Unreadable(problems)
    paths = tuple(PathRule(parse_pointer(pointer), action) for pointer, action in actions["path"].items())
    return RedactionRules(actions["member"], actions["header"], actions["query"], actions["media"], paths, words)
