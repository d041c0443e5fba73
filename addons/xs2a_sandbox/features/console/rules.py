"""Lists rules and operations in the order in which they are tried, and shows which one answers a request."""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xs2a_sandbox.bank import Bank, added_rules
from xs2a_sandbox.cassette import Interface, Operation, Rule
from xs2a_sandbox.errors import Refused, body_invalid
from xs2a_sandbox.explain.candidates import place_of
from xs2a_sandbox.features.console.visit import ConsoleVisit, wrong_field
from xs2a_sandbox.http import Response
from xs2a_sandbox.state.attempts import run_prepared

_FIELDS = ("method", "url", "headers", "body")
_ALL = 100_000
"""More exchanges than any journal keeps."""
_LATELY = 8
"""The number of rules in the list of those that answered last."""


@dataclass(frozen=True, slots=True)
class Answers:
    """The exchanges of the journal that a rule or operation answered, and the last of them."""

    rule: str
    count: int
    last: Mapping[str, Any]


async def rules(visit: ConsoleVisit) -> Response:
    default = {"method": "GET", "headers": f"X-Request-ID: {uuid.uuid4()}"}
    sent = {name: {**default, **visit.query, **visit.form}.get(name, "").strip() for name in _FIELDS}
    why, problem = None, ""
    if sent["url"]:
        try:
            why = await visit.ask("POST", "explain", _describe(sent))
        except Refused as refused:
            problem = str(refused)
    added = tuple(map(added_rules.addition, (await visit.ask("GET", "rules"))["added"]))

    async def with_added() -> list[Bank]:
        return [added_rules.bank_with(bank, added) for bank in visit.sandbox.banks.all]

    listed = await visit.ask("GET", f"journal?limit={_ALL}")
    answers = _answers(listed["exchanges"])
    searched = visit.query.get("filter", "").strip()
    return visit.page(
        "rules.html",
        "Rules",
        400 if problem else 200,
        problem=problem,
        wrong=wrong_field(problem, _FIELDS, sent),
        problems=(await visit.ask("GET", "status"))["problems"],
        banks=[
            {
                "name": bank.real.url or bank.interface.dialect,
                "groups": list(_groups(bank.interface, answers, searched)),
            }
            for bank in await run_prepared(with_added)
        ],
        sent=sent,
        is_headers_default=sent["headers"] == default["headers"],
        why=why,
        winner=_winner(why) if why else "",
        asked=listed["found"],
        searched=searched,
        lately=list(reversed(answers.values()))[:_LATELY],
    )


def _describe(sent: Mapping[str, str]) -> dict[str, Any]:
    """Return the request that the form describes. Raises Refused."""
    described: dict[str, Any] = {"method": sent["method"].upper() or "GET", "url": sent["url"], "headers": {}}
    for line in filter(None, map(str.strip, sent["headers"].splitlines())):
        name, colon, value = line.partition(":")
        if not colon:
            raise body_invalid(f"headers must be lines such as Accept: text/html, not {line[:80]}")
        described["headers"].setdefault(name.strip(), []).append(value.strip())
    if sent["body"]:
        described["body"] = sent["body"]
    return described


def _winner(why: Mapping[str, Any]) -> str:
    by = why["by"] or {}
    return str(by.get("rule") or by.get("operation") or "")


def _answers(exchanges: Sequence[Mapping[str, Any]]) -> dict[str, Answers]:
    """Return the answers of each rule and operation, ordered by their last answer."""
    answers: dict[str, Answers] = {}
    for exchange in exchanges:
        if rule := exchange["rule"]:
            before = answers.pop(rule, None)
            answers[rule] = Answers(rule, 1 + (before.count if before else 0), exchange)
    return answers


def _groups(
    interface: Interface, answers: Mapping[str, Answers], searched: str
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield the user's rules, which are tried first, and those of the dialect, each with a title."""
    entries: list[Rule | Operation] = [*interface.rules, *interface.operations.values()]
    shown = [one for one in (_entry(entry, interface, answers) for entry in entries) if _fits(one, searched)]
    yield "Your rules and quirks", [one for one in shown if one["layer"] > 0]
    yield "The dialect", [one for one in shown if one["layer"] <= 0]


def _fits(entry: Mapping[str, Any], searched: str) -> bool:
    """Return whether the text is in the id, operation, address, text or file of a rule, ignoring case."""
    return any(searched.casefold() in str(entry[name]).casefold() for name in ("id", "of", "doc", "place"))


def _entry(entry: Rule | Operation, interface: Interface, answers: Mapping[str, Answers]) -> dict[str, Any]:
    if isinstance(entry, Operation):
        of = f"{entry.method} {entry.pattern.text}"
    else:
        of = entry.operation or f"{' '.join(sorted(entry.methods))} {entry.pattern.text if entry.pattern else ''}"
    written = entry.origin.written
    return {
        "id": entry.id,
        "of": of,
        "doc": written.get("doc", "") if isinstance(written, dict) else "",
        "place": place_of(entry),
        "layer": interface.layers.get(entry.id, 0),
        "answers": answers.get(entry.id),
    }
