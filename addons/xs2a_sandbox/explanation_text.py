"""An explanation as people read it: plain text, 80 columns wide."""

from collections.abc import Iterator, Mapping
from textwrap import wrap
from typing import Any

_WIDTH = 80
_MARKS = (("fitted", "fits"), ("missed", "not"), ("lacks", "also"), ("lost", "but"))


def text(explanation: Mapping[str, Any]) -> str:
    """Of the JSON form, as a sandbox answers with it."""
    return "\n".join(_lines(explanation)) + "\n"


def _lines(explanation: Mapping[str, Any]) -> Iterator[str]:
    request, answer, by = explanation["request"], explanation["answer"], explanation["by"]
    yield from _wrapped(f"{request['method']} {request['path']} in the session {request['session']}")
    yield from _wrapped(f"  {explanation['message']}")
    if answer:
        error = f" {answer['error']}: {answer['text']}" if answer["error"] else ""
        yield from _wrapped(f"  the answer is {answer['status']}{error}", "    ")
    if by:
        yield ""
        yield from _candidate(by, "")
    if explanation["hints"]:
        yield ""
        for hint in explanation["hints"]:
            yield from _wrapped(f"Hint: {hint['text']}", "      ")
    if explanation["nearest"]:
        yield ""
        yield "Others, the nearest first:" if by else "Nearest:"
        for number, candidate in enumerate(explanation["nearest"], 1):
            yield ""
            yield from _candidate(candidate, f"{number}. ")
    if suggestion := explanation["suggestion"]:
        yield ""
        yield f"This would answer it, in {suggestion['file']}:"
        yield ""
        yield from suggestion["yaml"].splitlines()


def _candidate(candidate: Mapping[str, Any], number: str) -> Iterator[str]:
    kind = "rule" if "rule" in candidate else "operation"
    far = f", distance {candidate['distance']}" if candidate["distance"] else ""
    indent = " " * len(number)
    yield from _wrapped(f"{number}{kind} {candidate[kind]}: {candidate['method']} {candidate['path']}{far}", indent)
    yield f"{indent}{candidate['place']}"
    for member, mark in _MARKS:
        said = candidate[member] or ()
        for one in [said] if isinstance(said, str) else said:
            words = one if isinstance(one, str) else one["text"]
            yield from _wrapped(f"{indent}  {mark:<5} {words}", f"{indent}        ")


def _wrapped(line: str, indent: str = "  ") -> list[str]:
    # Blanks at the beginning are the line's own indentation.
    lead = line[: len(line) - len(line.lstrip())]
    plain = "".join(character if character.isprintable() else "�" for character in line.lstrip())
    return wrap(plain, _WIDTH, initial_indent=lead, subsequent_indent=indent, break_on_hyphens=False) or [lead]
