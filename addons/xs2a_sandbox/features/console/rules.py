"""The rules and operations in the order in which they are tried, and which of them answers a request."""

from collections import Counter
from collections.abc import Iterator, Mapping
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


async def rules(visit: ConsoleVisit) -> Response:
    sent = {name: (visit.form.get(name) or visit.query.get(name, "")).strip() for name in _FIELDS}
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
    hits = Counter(entry["rule"] for entry in listed["exchanges"])
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
                "entries": [_entry(entry, bank.interface, hits) for entry in _entries(bank.interface)],
            }
            for bank in await run_prepared(with_added)
        ],
        sent={**sent, "method": sent["method"] or "GET"},
        why=why,
        winner=_winner(why) if why else "",
        asked=listed["found"],
    )


def _describe(sent: Mapping[str, str]) -> dict[str, Any]:
    """The request that the form describes. Raises Refused."""
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


def _entries(interface: Interface) -> Iterator[Rule | Operation]:
    yield from interface.rules
    yield from interface.operations.values()


def _entry(entry: Rule | Operation, interface: Interface, hits: Mapping[str | None, int]) -> dict[str, Any]:
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
        "hits": hits.get(entry.id, 0),
    }
