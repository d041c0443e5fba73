"""A report for programs; the shape is documented in docs/compare.md."""

import json
from typing import Any

from xs2a_sandbox.report import Exchange, Finding, Report, Tally


def write(report: Report) -> str:
    rules = {"unused": report.unused, "lapsed": report.lapsed}
    value = {
        "bank": report.bank,
        "redacted": report.redacted,
        "summary": {**_tally(report.tally), "skipped": len(report.skipped)},
        "operations": [{"operation": name, **_tally(tally)} for name, tally in report.operations.items()],
        "exchanges": [_exchange(exchange) for exchange in report.exchanges],
        "skipped": list(report.skipped),
        "ignoreRules": {name: [{"place": place, "why": why} for place, why in found] for name, found in rules.items()},
    }
    return json.dumps(value, indent=2) + "\n"


def _tally(tally: Tally) -> dict[str, int]:
    return {
        "exchanges": tally.exchanges,
        "differing": tally.differing,
        **{str(severity): count for severity, count in tally.severities.items()},
        "masked": tally.masked,
        "troubles": tally.troubles,
    }


def _exchange(exchange: Exchange) -> dict[str, Any]:
    return {
        "number": exchange.number,
        "title": exchange.title,
        "operation": exchange.operation,
        "request": exchange.request,
        "bankStatus": exchange.bank.status if exchange.bank else None,
        "sandboxStatus": exchange.sandbox.status if exchange.sandbox else None,
        "differences": [_finding(finding) for finding in exchange.findings],
        "masked": [_finding(finding) for finding in exchange.masked],
        "trouble": exchange.trouble,
        "remark": exchange.remark,
    }


def _finding(finding: Finding) -> dict[str, str]:
    said = {
        "kind": finding.kind,
        "severity": finding.severity,
        "place": finding.where,
        "bank": finding.bank,
        "sandbox": finding.sandbox,
        "by": finding.by,
        "drift": finding.drift,
        "why": finding.why,
    }
    return {name: value for name, value in said.items() if value is not None}
