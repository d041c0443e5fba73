"""Writes a report in the format of the file's ending."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from xs2a_sandbox.compare.behaviour import BehaviourComparison, BehaviourDifference, Chain
from xs2a_sandbox.compare.comparison import COMPARED
from xs2a_sandbox.compare.difference import Severity, is_at_least
from xs2a_sandbox.compare.reports.report import ComparedExchange, DifferenceGroup, Finding, Report, Tally, refusal
from xs2a_sandbox.compare.states import Move
from xs2a_sandbox.documents.report_files import CaseResult, write_report
from xs2a_sandbox.documents.report_files import as_junit as junit


def write(file: Path, made: Report, fail_on: Severity | None) -> None:
    """Write a report. `fail_on` is for JUnit. Raises ConfigError if the file cannot be written."""
    write_report(file, {end: partial(writer, made, fail_on) for end, writer in WRITERS.items()})


def as_html(report: Report) -> str:
    # Imported only when needed, because its library is slow to import.
    from xs2a_sandbox.features.compare.reports import html

    return html.write(report)


def as_json(report: Report) -> str:
    rules = {"unused": report.unused, "lapsed": report.lapsed}
    value = {
        "bank": report.bank,
        "redacted": report.redacted,
        "question": str(report.question),
        "against": report.question.against,
        "summary": {**_tally(report.tally), "skipped": len(report.skipped)},
        "operations": [{"operation": name, **_tally(tally)} for name, tally in report.operations.items()],
        "differences": [_group(group) for group in report.groups],
        "exchanges": [_exchange(exchange) for exchange in report.exchanges],
        "skipped": list(report.skipped),
        "behaviour": _behaviour(report.behaviour) if report.behaviour else None,
        "ignoreRules": {name: [{"place": place, "why": why} for place, why in ones] for name, ones in rules.items()},
    }
    return json.dumps(value, indent=2) + "\n"


def _tally(tally: Tally) -> dict[str, Any]:
    return {
        "verdicts": dict(tally.verdicts),
        **{str(severity): count for severity, count in tally.severities.items()},
        "masked": tally.masked,
    }


def _group(group: DifferenceGroup) -> dict[str, Any]:
    names = ("operation", "kind", "severity", "place", "exchanges", "of", "times", "request")
    return {name: getattr(group, name) for name in names} | {"first": _finding(group.first)}


def _exchange(exchange: ComparedExchange) -> dict[str, Any]:
    return {
        **{name: getattr(exchange, name) for name in ("number", "title", "operation", "request", "verdict")},
        "bankStatus": exchange.bank.status if exchange.bank else None,
        "sandboxStatus": exchange.sandbox.status if exchange.sandbox else None,
        "differences": [_finding(finding) for finding in exchange.findings],
        "masked": [_finding(finding) for finding in exchange.masked],
        "trouble": exchange.trouble,
        "remark": exchange.remark,
        "moved": _move(exchange.moved) if exchange.moved else None,
    }


def _behaviour(behaviour: BehaviourComparison) -> dict[str, Any]:
    names = ("kind", "severity", "thing", "place", "then", "now")
    return {
        "then": behaviour.then,
        "now": behaviour.now,
        "differences": [{name: getattr(difference, name) for name in names} for difference in behaviour.differences],
        "alone": list(behaviour.alone),
        "chains": {
            side: [_chain(chain) for chain in chains]
            for side, chains in (("then", behaviour.chains_then), ("now", behaviour.chains_now))
        },
    }


def _chain(chain: Chain) -> dict[str, Any]:
    stays = [
        {
            "state": stay.state,
            "seconds": stay.seconds,
            "answers": {operation: sorted(statuses) for operation, statuses in stay.answers.items()},
        }
        for stay in chain.stays
    ]
    return {"thing": chain.thing, "times": chain.times, "states": stays}


def _move(move: Move) -> dict[str, Any]:
    return {"thing": move.thing, "from": move.before, "to": move.to, "done": move.done}


def _finding(finding: Finding) -> dict[str, str]:
    members = {
        "kind": finding.kind,
        "consequence": finding.consequence,
        "severity": finding.severity,
        "place": finding.where,
    }
    members |= {name: getattr(finding, name) for name in ("bank", "sandbox", "manner", "by", "drift", "why")}
    return {name: value for name, value in members.items() if value is not None}


def as_junit(report: Report, fail_on: Severity | None) -> str:
    """Return a test case for each operation and for each of its differences, with the same names in every run."""
    suites: dict[str, list[CaseResult]] = {}
    for operation in report.operations:
        groups = [group for group in report.groups if group.operation == operation]
        suites[operation] = [_report_operation(report, operation), *(_case(group, fail_on) for group in groups)]
    if report.behaviour:
        different = [_report_difference(difference, fail_on) for difference in report.behaviour.differences]
        suites["behaviour"] = [CaseResult("behaviour", "can be compared"), *different]
    if report.skipped:
        message = "it writes, and --allow-writes was not given"
        suites["skipped"] = [CaseResult("skipped", title, "skipped", message) for title in report.skipped]
    return junit("xs2a-sandbox compare", suites)


def _report_operation(report: Report, operation: str) -> CaseResult:
    """Return the test case that says whether the operation could be compared."""
    exchanges = [exchange for exchange in report.exchanges if exchange.operation == operation]
    seconds = sum(exchange.bank.milliseconds for exchange in exchanges if exchange.bank) / 1000
    troubles = [
        f"{exchange.request}: {exchange.trouble or refusal(exchange)}"
        for exchange in exchanges
        if exchange.verdict not in COMPARED
    ]
    case = CaseResult(operation, "can be compared", seconds=seconds)
    message = f"{len(troubles)} of {len(exchanges)} exchanges could not be compared"
    return replace(case, outcome="error", message=message, text="\n".join(troubles)) if troubles else case


def _case(group: DifferenceGroup, fail_on: Severity | None) -> CaseResult:
    case = CaseResult(group.operation, f"{group.severity} {group.kind} at {group.place or 'the body'}")
    first = group.first
    text = f"first in {group.request}\nbank {first.bank}\nsandbox {first.sandbox}"
    text += f"\nagainst the schema: {first.drift}" if first.drift else ""
    if fail_on and is_at_least(group.severity, fail_on):
        return replace(case, outcome="failure", message=group.extent, kind=group.kind, text=text)
    return replace(case, output=f"{group.extent}\n{text}")


def _report_difference(difference: BehaviourDifference, fail_on: Severity | None) -> CaseResult:
    case = CaseResult(difference.thing, f"{difference.severity} {difference.kind}: {difference.place}")
    text = f"then {difference.then}\nnow {difference.now}"
    if fail_on and is_at_least(difference.severity, fail_on):
        return replace(case, outcome="failure", message=difference.place, kind=difference.kind, text=text)
    return replace(case, output=text)


WRITERS: Mapping[str, Callable[[Report, Severity | None], str]] = {
    ".json": lambda report, _: as_json(report),
    ".xml": as_junit,
    ".html": lambda report, _: as_html(report),
}
"""The functions by file ending. The setting `report` accepts these (`config/readers.py`)."""
