"""Reads what an app shows to its user: lines of a file, and of the output of the command."""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from xs2a_sandbox.documents.schema_errors import did_you_mean

_LARGEST = 200_000
"""How many bytes of a file are read, from its end."""


class ShownKind(NamedTuple):
    """What a text of this kind tells the user, and a pattern for it in plain English."""

    says: str
    pattern: str


KINDS: Mapping[str, ShownKind] = {
    "paid": ShownKind(
        "the payment is made",
        r"\bpaid\b|\bpayment\b.*\b(made|sent|accepted|executed|completed?|succe\w+)\b",
    ),
    "rejected": ShownKind(
        "the payment is not made", r"\bpayment\b.*\b(fail\w*|reject\w*|refus\w*|not (made|sent|accepted|executed))\b"
    ),
    "unknown": ShownKind(
        "it is not known whether the payment is made",
        r"\b(not|n't) (yet )?(know\w*|sure|confirmed)\b|\bunknown\b|\bmay have (been )?\w+\b",
    ),
    "authorise": ShownKind(
        "the user must authorise the access again",
        r"\b(connect|authori[sz]e|consent|log ?in|sign in)\b.*\bagain\b|\bre-?connect\b"
        r"|\b(consent|access) (has )?(expired|ended)\b",
    ),
    "declined": ShownKind(
        "the user has declined", r"\b(you|customer|user) (have |has )?(declined|cancell?ed|aborted|refused)\b"
    ),
    "later": ShownKind("the user can try again later", r"\btry (it )?again\b|\bagain later\b|\btoo many requests\b"),
    "bank": ShownKind(
        "the bank has trouble",
        r"\bmaintenance\b|\bbank (is |has )?((currently |temporarily )?(down|unavailable)|trouble|problems?)\b",
    ),
    "error": ShownKind("an error has occurred", r"\b(technical|internal|unexpected) (error|problem)\b|\bwent wrong\b"),
    "password": ShownKind("the password is wrong", r"\b(wrong|invalid|incorrect) (password|pin|credentials)\b"),
    "updated": ShownKind("the accounts are up to date", r"\bup to date\b|\bsynced\b|\bupdated\b"),
}
_NEGATED = re.compile(r"\b(not|no|never|cannot|unless|if|whether|will|to be)\b|n't\b", re.IGNORECASE)
_SUCCESSES = frozenset({"paid", "updated"})

type Declared = Sequence[tuple[str, re.Pattern[str]]]
"""The kinds of the app's own texts, with a pattern for each."""


@dataclass(frozen=True, slots=True)
class ShownText:
    text: str
    kinds: frozenset[str]


@dataclass(frozen=True, slots=True)
class Shown:
    """The texts of a run whose kind the app declares, or that it shows in the file, and the lines of the output."""

    texts: tuple[ShownText, ...] = ()
    output: tuple[str, ...] = ()


def read_shown(file: Path, output: Path, declared: Declared) -> Shown:
    """Read the lines of the file with what the app shows, if there is one, and of the output of the command.

    The output also has lines that the user does not see, so only declared kinds count there.
    """
    lines = _lines(output)
    texts = [_shown(line, declared) for line in _lines(file)]
    texts += [ShownText(line, kinds) for line in lines if (kinds := _declared_kinds(line, declared))]
    return Shown(tuple(texts), lines)


def parse_declared(text: str) -> tuple[str, re.Pattern[str]]:
    """Parse `KIND=PATTERN`. Raises ValueError."""
    kind, equals, pattern = text.partition("=")
    if not equals or not pattern:
        raise ValueError("write it as KIND=PATTERN, such as later='try again later'")
    if kind not in KINDS:
        raise ValueError(describe_unknown(kind))
    try:
        return kind, re.compile(pattern, re.IGNORECASE)
    except re.error as error:
        raise ValueError(f"the pattern of {kind} is not a regular expression: {error}") from None


def describe_unknown(kind: str) -> str:
    near = did_you_mean(kind, KINDS) or "."
    return f"unknown kind {kind!r}{near} Use one of {', '.join(KINDS)}"


def plain_kinds(text: str) -> frozenset[str]:
    """Return the kinds of a text in plain English."""
    found = {kind for kind, (_, pattern) in KINDS.items() if re.search(pattern, text, re.IGNORECASE)}
    return frozenset(found - _SUCCESSES if _NEGATED.search(text) else found)


def _shown(line: str, declared: Declared) -> ShownText:
    """Parse a line: a text, or `{"kind": …, "text": …}`."""
    with suppress(ValueError):
        if isinstance(value := json.loads(line), dict):
            text = str(value.get("text", line))
            return ShownText(text, frozenset({str(value["kind"])}) if "kind" in value else _kinds(text, declared))
    return ShownText(line, _kinds(line, declared))


def _kinds(text: str, declared: Declared) -> frozenset[str]:
    return _declared_kinds(text, declared) or plain_kinds(text)


def _declared_kinds(text: str, declared: Declared) -> frozenset[str]:
    return frozenset(kind for kind, pattern in declared if pattern.search(text))


def _lines(file: Path) -> tuple[str, ...]:
    if not file.is_file():
        return ()
    with file.open("rb") as content:
        content.seek(max(0, file.stat().st_size - _LARGEST))
        text = content.read().decode(errors="replace")
    return tuple(line.strip() for line in text.splitlines() if line.strip())
