"""Rules that would make the sandbox agree with the bank, as cassettes to be read and taken over."""

import base64
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, unquote

from xs2a_sandbox.compare.difference import compared
from xs2a_sandbox.compare.reports.report import ComparedExchange, Report, printable
from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.http import body, to_json
from xs2a_sandbox.http.har import Entry

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_RESERVED = frozenset({"null", "true", "false"})
_MAX_DEPTH = 60
_MOST_SAID = 20
_LONGEST = 80
"""Differences, and characters of a value, in a comment."""
_CONSENT = "Consent-ID"


@dataclass(frozen=True, slots=True)
class _Asked:
    """What of a request a rule can ask for. None: each side has its own value there."""

    method: str
    path: str
    query: Mapping[str, str | None]
    consent: str | None
    has_consent: bool


def write(report: Report, directory: Path) -> list[Path]:
    """A file for each operation that differs. Raises ConfigError when the directory cannot be written."""
    files = []
    for operation in report.operations:
        differing = [e for e in report.exchanges if e.operation == operation and e.findings and e.bank and e.sandbox]
        if not differing:
            continue
        file = directory / f"patched-{re.sub('[^a-z0-9]+', '-', operation.lower()).strip('-')}.yaml"
        try:
            directory.mkdir(parents=True, exist_ok=True)
            file.write_text(cassette(operation, differing, report.bank), encoding="utf-8")
        except OSError as error:
            raise ConfigError(f"cannot write {file}: {error.strerror or error}") from None
        files.append(file)
    return files


def cassette(operation: str, exchanges: Sequence[ComparedExchange], bank: str) -> str:
    groups: dict[tuple[str, str], dict[str, list[ComparedExchange]]] = {}
    asked = {id(exchange): _asked(exchange) for exchange in exchanges}
    for exchange in exchanges:
        key = asked[id(exchange)]
        group = groups.setdefault((key.method, key.path), {})
        group.setdefault(repr(key), []).append(exchange)
    name = re.sub("[^a-z0-9]+", "-", operation.lower()).strip("-")
    lines = ["cassette: 1", f"title: {_scalar(f'{operation}, as {bank} answers')}", "rules:"]
    number = 0
    for group in groups.values():
        siblings = [asked[id(same[0])] for same in group.values()]
        for same in group.values():
            number += 1
            for exchange in same:
                lines += [f"  # {_comment(text)}" for text in _differences(exchange)]
            rule: dict[str, Any] = {
                "id": f"patched-{name}-{number}",
                "match": _match(asked[id(same[0])], siblings),
                "require": "none",
            }
            answers = [_answer(exchange.bank) for exchange in same if exchange.bank]
            rule |= {"respond": answers[0]} if len(answers) == 1 else {"sequence": answers}
            lines += [f"  {'- ' if first else '  '}{line}" for first, line in _first(_block(rule))]
    return "\n".join(lines) + "\n"


def _asked(exchange: ComparedExchange) -> _Asked:
    """Where the two sides were asked differently, they call something differently."""
    bank, sandbox = exchange.bank, exchange.sandbox
    if bank is None or sandbox is None:
        raise ValueError("an exchange without answers has no rule")
    mine, theirs = _path(bank.target), _path(sandbox.target)
    if len(mine) != len(theirs):
        mine = theirs
    segments = [
        quote(unquote(one), safe="") if one == other else f"{{id{position}}}"
        for position, (one, other) in enumerate(zip(mine, theirs, strict=True))
    ]
    ours, others = _query(bank.target), _query(sandbox.target)
    query = {name: value if ours.get(name) == value else None for name, value in others.items()}
    own, other_own = bank.headers.get(_CONSENT), sandbox.headers.get(_CONSENT)
    return _Asked(
        sandbox.method, "/" + "/".join(segments), query, other_own if own == other_own else None, other_own is not None
    )


def _path(target: str) -> list[str]:
    path = target.partition("?")[0]
    start = path.find("/v1/")
    return path[max(start, 0) :].strip("/").split("/") if path.strip("/") else []


def _query(target: str) -> dict[str, str]:
    return dict(reversed(parse_qsl(target.partition("?")[2], keep_blank_values=True)))


def _match(asked: _Asked, siblings: Sequence[_Asked]) -> dict[str, Any]:
    """Also says what is not there and is with its siblings, so that one request fits one rule."""
    match: dict[str, Any] = {"method": asked.method, "path": asked.path}
    names = sorted({name for one in siblings for name in one.query})
    told_apart = [name for name in names if all(one.query.get(name, "") is not None for one in siblings)]
    query = {name: asked.query.get(name, {"absent": True}) for name in told_apart}
    if query:
        match["query"] = query
    consents = [one for one in siblings if one.has_consent]
    if consents and all(one.consent is not None for one in consents):
        match["headers"] = {_CONSENT: asked.consent if asked.has_consent else {"absent": True}}
    return match


def _answer(entry: Entry) -> dict[str, Any]:
    kept = compared(entry.answer_headers.pairs).values()
    headers = {written: entry.answer_headers.get(written) for written, _ in kept}
    answer: dict[str, Any] = {"status": entry.status}
    if headers:
        answer["headers"] = headers
    answer["raw"] = True
    read = body.read(entry.answer_body)
    if read.kind == "nothing" or entry.status in (204, 304):
        return answer
    if read.kind == "json" and _is_exact(read.value):
        return answer | {"body": read.value}
    try:
        text = entry.answer_body.decode()
    except UnicodeDecodeError:
        return answer | {"base64": base64.b64encode(entry.answer_body).decode()}
    return answer | {"text": text}


def _is_exact(value: Any, depth: int = 0) -> bool:
    """Whether the loader of cassettes takes it as it is."""
    if depth > _MAX_DEPTH:
        return False
    if isinstance(value, dict):
        return all(_is_exact(name) and _is_exact(below, depth + 1) for name, below in value.items())
    if isinstance(value, list):
        return all(_is_exact(below, depth + 1) for below in value)
    if isinstance(value, str):
        return not any("\ud800" <= character <= "\udfff" for character in value)
    return value is None or isinstance(value, bool) or len(str(value)) < 300


def _differences(exchange: ComparedExchange) -> Iterator[str]:
    yield exchange.request
    for finding in exchange.findings[:_MOST_SAID]:
        where = finding.where or "the body"
        bank, sandbox = (text[:_LONGEST] for text in (finding.bank, finding.sandbox))
        yield f"{finding.severity} {finding.kind} at {where}: bank {bank}, sandbox {sandbox}"
    if (more := len(exchange.findings) - _MOST_SAID) > 0:
        yield f"and {more} more"


def _comment(text: str) -> str:
    return printable(text).replace("\n", " ")


# YAML as the loader of cassettes reads it: JSON's scalars, blocks for the rest.


def _block(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, below in value.items():
            key = name if _WORD.fullmatch(name) and name not in _RESERVED else _scalar(name)
            yield from _entry(f"{key}:", below)
    else:
        for below in value:
            lines = list(_block(below)) if isinstance(below, dict | list) and below else [_scalar(below)]
            yield f"- {lines[0]}"
            yield from (f"  {line}" for line in lines[1:])


def _entry(head: str, value: Any) -> Iterator[str]:
    if isinstance(value, dict | list) and value:
        yield head
        yield from (f"  {line}" for line in _block(value))
    else:
        yield f"{head} {_scalar(value)}"


def _scalar(value: Any) -> str:
    if not isinstance(value, str):
        return to_json(value).decode()
    return "".join(
        character if character.isprintable() else _escape(character)
        for character in json.dumps(value, ensure_ascii=False)
    )


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _first(lines: Iterator[str]) -> Iterator[tuple[bool, str]]:
    for position, line in enumerate(lines):
        yield position == 0, line
