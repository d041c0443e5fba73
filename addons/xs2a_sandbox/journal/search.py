"""The search language of the journal: `status:4xx method:post !path:/v1/consents/* "a phrase"`."""

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from operator import eq, ge, gt, le, lt
from typing import Any

from xs2a_sandbox.documents.schema_errors import closest, did_you_mean
from xs2a_sandbox.journal.journal import KeptExchange, path_fits, path_of
from xs2a_sandbox.journal.outcome import DIFFERS

type Test = Callable[[KeptExchange], bool]

NOT = "!"
"""Before a term: only exchanges that it does not match."""
_COMPARISONS = {">=": ge, "<=": le, ">": gt, "<": lt}
_MISWRITTEN = re.compile(r"(!?)(\w+)(:|=|(?=[<>]))(.+)")
"""A sign, a key, the characters between key and value, and a value."""
_FAULT_IDS = ("fault-", "X-Sandbox-Prefer")


@dataclass(frozen=True, slots=True)
class Term:
    """One word of a search. `key` is empty for text that may be anywhere in an exchange."""

    key: str
    value: str
    is_negated: bool
    fits: Test

    def __str__(self) -> str:
        text = f"{self.key}:{self.value}" if self.key else self.value
        return (NOT if self.is_negated else "") + (shlex.quote(text) if " " in text else text)


def parse(text: str) -> tuple[Term, ...]:
    """Read a search. Quotes keep a phrase together. Raise ValueError for an unknown key or value."""
    try:
        words = shlex.split(text, posix=False)
    except ValueError:
        raise ValueError(f"missing closing quote in {text!r}") from None
    terms = (_parse_term(word) for word in words)
    # Text is looked for last: it takes the longest.
    return tuple(sorted(terms, key=lambda term: not term.key))


def correct(text: str) -> str | None:
    """Return the search that was probably meant, such as `status:4xx` for `staus=4x`; None if there is none."""
    try:
        words = shlex.split(text, posix=False)
        corrected = [_correct_word(word) for word in words]
        parse(" ".join(corrected))
    except ValueError:
        return None
    return " ".join(corrected) if corrected != words else None


def _correct_word(word: str) -> str:
    found = _MISWRITTEN.fullmatch(word)
    if not found:
        return word
    sign, key, between, value = found.groups()
    # Text such as a=b is a search of its own, unless it begins with a key.
    known = key.lower() if key.lower() in KEYS else closest(key.lower(), KEYS) if between == ":" else None
    if known is None:
        return word
    if known == "is" and value.lower() not in STATES:
        value = closest(value.lower(), STATES) or value
    if known == "status" and re.fullmatch(r"[1-5][xX*]+", value):
        value = f"{value[0]}xx"
    return f"{sign}{known}:{value}"


def fits(terms: Sequence[Term], kept: KeptExchange) -> bool:
    return all(term.fits(kept) is not term.is_negated for term in terms)


def count_values(exchanges: Iterable[KeptExchange]) -> dict[str, dict[str, int]]:
    """Count the values that distinguish exchanges, by key of the search, the most frequent first."""
    # Many exchanges have the same values, so look at each combination only once.
    kinds: dict[Any, list[KeptExchange]] = {}
    for kept in exchanges:
        one = kept.exchange
        kind = (
            one.status,
            kept.method,
            one.session,
            one.operation,
            one.fault,
            one.rule,
            one.source,
            one.amended,
            kept.verdict,
        )
        kinds.setdefault((kind, not one.warnings), []).append(kept)
    counters: dict[str, Counter[str]] = {key: Counter() for key in ("status", "method", "op", "session", "is")}
    for kept, count in ((alike[0], len(alike)) for alike in kinds.values()):
        one = kept.exchange
        counters["status"][f"{one.status // 100}xx"] += count
        counters["method"][kept.method] += count
        counters["session"][one.session] += count
        if one.operation:
            counters["op"][one.operation] += count
        for name, test in STATES.items():
            if test(kept):
                counters["is"][name] += count
    return {key: dict(counter.most_common()) for key, counter in counters.items()}


def _parse_term(word: str) -> Term:
    is_negated = word.startswith(NOT) and len(word) > 1
    word = word[1:] if is_negated else word
    if word[:1] in "\"'" and word[-1:] == word[:1] and len(word) > 1:
        return Term("", word[1:-1], is_negated, _holding(word[1:-1]))
    key, colon, value = word.partition(":")
    if not colon:
        return Term("", word, is_negated, _holding(word))
    value = value.strip("\"'")
    make = KEYS.get(key.lower())
    if make is None:
        known = did_you_mean(key, KEYS) or f"; there are {', '.join(KEYS)}."
        raise ValueError(f"unknown key {key!r} in {word!r}{known} Put text with a colon in quotes")
    if not value:
        raise ValueError(f"{key}: needs a value, such as {key}:{EXAMPLES[key.lower()]}")
    return Term(key.lower(), value, is_negated, make(value))


def _holding(text: str) -> Test:
    text = text.lower()
    content = text.encode()

    def test(kept: KeptExchange) -> bool:
        exchange = kept.exchange
        texts = (kept.target, exchange.rule or "", exchange.reason or "", kept.headers, kept.answer_headers)
        return (
            any(text in str(one).lower() for one in texts)
            or content in kept.body.lower()
            or content in kept.answer_body.lower()
        )

    return test


def _status(value: str) -> Test:
    if len(value) == 3 and value[0] in "12345" and value[1:].lower() == "xx":
        return lambda kept: kept.exchange.status // 100 == int(value[0])
    takes = "a status, a class or a comparison, such as status:404, status:4xx or status:>=500"
    return _number("status", value, takes, lambda kept: kept.exchange.status)


def _number(key: str, value: str, takes: str, of: Callable[[KeptExchange], float]) -> Test:
    sign = next((sign for sign in _COMPARISONS if value.startswith(sign)), "")
    number = value.removeprefix(sign)
    if not (number.isascii() and number.isdigit() and len(number) < 20):
        raise ValueError(f"{key}: takes {takes}, not {value!r}")
    compare = _COMPARISONS.get(sign, eq)
    return lambda kept: compare(of(kept), int(number))


def _like(of: Callable[[KeptExchange], str | None]) -> Callable[[str], Test]:
    """Return the factory of tests on a name. Case does not matter, and `*` matches any text."""

    def make(value: str) -> Test:
        pattern = value.lower()
        return lambda kept: (name := of(kept)) is not None and fnmatchcase(name.lower(), pattern)

    return make


def _path(value: str) -> Test:
    return lambda kept: path_fits(path_of(kept.target, kept.exchange.session), value)


def _rule(value: str) -> Test:
    pattern = value.lower()
    return lambda kept: any(
        fnmatchcase(name.lower(), pattern) for name in (kept.exchange.rule, *kept.exchange.amended) if name
    )


def _is(value: str) -> Test:
    test = STATES.get(value.lower())
    if test is None:
        raise ValueError(f"is: takes one of {', '.join(STATES)}, not {value!r}")
    return test


STATES: Mapping[str, Test] = {
    "error": lambda kept: kept.exchange.status >= 400,
    "faulted": lambda kept: (
        kept.exchange.fault is not None
        or any(str(name).startswith(_FAULT_IDS) for name in (kept.exchange.rule, *kept.exchange.amended))
    ),
    "amended": lambda kept: any(not str(name).startswith(_FAULT_IDS) for name in kept.exchange.amended),
    "different": lambda kept: kept.verdict == DIFFERS,
    "warned": lambda kept: bool(kept.exchange.warnings),
    "unmatched": lambda kept: kept.exchange.status == 404 and kept.exchange.source == "sandbox",
}
"""The values of `is:`, with their tests."""
KEYS: Mapping[str, Callable[[str], Test]] = {
    "status": _status,
    "method": _like(lambda kept: kept.method),
    "path": _path,
    "op": _like(lambda kept: kept.exchange.operation),
    "rule": _rule,
    "source": _like(lambda kept: kept.exchange.source),
    "session": _like(lambda kept: kept.exchange.session),
    "fault": _like(lambda kept: kept.exchange.fault),
    "ms": lambda value: _number(
        "ms", value, "milliseconds or a comparison, such as ms:20 or ms:>500", lambda kept: kept.exchange.milliseconds
    ),
    "number": lambda value: _number(
        "number", value, "the number of an exchange or a comparison, such as number:>=120", lambda kept: kept.number
    ),
    "is": _is,
}
"""The factories for the test of a term, by its key."""
EXAMPLES = {
    "status": "4xx",
    "method": "post",
    "path": "/v1/accounts*",
    "op": "initiate-payment",
    "rule": "tax-office",
    "source": "handler",
    "session": "ci-42",
    "fault": "reset",
    "ms": ">500",
    "number": ">=120",
    "is": "error",
}
"""A value for each key."""
