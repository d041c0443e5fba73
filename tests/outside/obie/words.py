"""Resolving `$name` and `$fn:function(layout)`."""

import re
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

_NAME = re.compile(r"\$([\w-]+)")
_FUNCTION = re.compile(r"\$fn:(\w+)\((.*)\)")
_LAYOUT = re.compile(r"2006|01|02|15|04|05|\.9+|Z07:00|-07:00")


class Unknown(Exception):
    pass


class Words:
    """The context, which grows while scripts are run."""

    def __init__(self, known: Mapping[str, str]) -> None:
        self.known = {name: called(text) for name, text in known.items()}

    def of(self, parameters: Mapping[str, str]) -> "ScriptWords":
        """Return the words of a script. Its parameters stay in the context, unless they need an unknown name."""
        words = ScriptWords({name: called(text) for name, text in parameters.items()}, dict(self.known))
        for name, text in words.own.items():
            try:
                self.known[name] = words.resolved(text, name)
            except Unknown:
                continue
        return words


class ScriptWords:
    def __init__(self, own: Mapping[str, str], context: Mapping[str, str]) -> None:
        self.own, self.context = own, context

    def resolved(self, text: str, *within: str) -> str:
        """Return the text with everything resolved. `within` are the parameters being resolved. Raises Unknown."""

        def word(match: re.Match[str]) -> str:
            name = match[1]
            if name in self.own and name not in within:
                return self.resolved(self.own[name], *within, name)
            if name in self.context:
                return self.resolved(self.context[name], *within)
            raise Unknown(f"nothing is known of ${name}")

        return _NAME.sub(word, text)


def called(text: str) -> str:
    """Return the text, or the result of the function that it calls."""
    match = _FUNCTION.fullmatch(text)
    if not match:
        return text
    function, layout = match.groups()
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    if function == "instructionIdentificationID":
        return uuid.uuid4().hex
    if function == "nextDayDateTime":
        return formatted(tomorrow, layout)
    if function == "nextDayDate":
        return formatted(tomorrow.replace(hour=0, minute=0, second=0, microsecond=0), layout)
    raise Unknown(f"there is no function {function}")


def formatted(moment: datetime, layout: str) -> str:
    """Format a moment in UTC with a layout of Go, in which nines are digits without trailing zeros."""

    def part(match: re.Match[str]) -> str:
        token = match[0]
        if token.startswith("."):
            return f".{moment:%f}"[: len(token)].rstrip("0").rstrip(".")
        return {"Z07:00": "Z", "-07:00": "+00:00"}.get(token) or moment.strftime(_DIRECTIVES[token])

    return _LAYOUT.sub(part, layout)


_DIRECTIVES = {"2006": "%Y", "01": "%m", "02": "%d", "15": "%H", "04": "%M", "05": "%S"}
