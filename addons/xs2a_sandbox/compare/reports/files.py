"""A report as a file, in the form that its name asks for."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from xs2a_sandbox.compare.difference import Severity, is_at_least
from xs2a_sandbox.compare.reports.report import ComparedExchange, Finding, Report, Tally
from xs2a_sandbox.errors import ConfigError


def write(file: Path, made: Report, fail_on: Severity | None) -> None:
    """`fail_on` is for JUnit. Raises ConfigError for a file that cannot be written."""
    if file.suffix == ".json":
        text = as_json(made)
    elif file.suffix == ".xml":
        text = as_junit(made, fail_on)
    else:
        from xs2a_sandbox.compare.reports import html

        text = html.write(made)
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"cannot write {file}: {error.strerror or error}") from None


def as_json(report: Report) -> str:
    rules = {"unused": report.unused, "lapsed": report.lapsed}
    value = {
        "bank": report.bank,
        "redacted": report.redacted,
        "summary": {**_tally(report.tally), "skipped": len(report.skipped)},
        "operations": [{"operation": name, **_tally(tally)} for name, tally in report.operations.items()],
        "exchanges": [_exchange(exchange) for exchange in report.exchanges],
        "skipped": list(report.skipped),
        "ignoreRules": {name: [{"place": place, "why": why} for place, why in ones] for name, ones in rules.items()},
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


def _exchange(exchange: ComparedExchange) -> dict[str, Any]:
    return {
        **{name: getattr(exchange, name) for name in ("number", "title", "operation", "request")},
        "bankStatus": exchange.bank.status if exchange.bank else None,
        "sandboxStatus": exchange.sandbox.status if exchange.sandbox else None,
        "differences": [_finding(finding) for finding in exchange.findings],
        "masked": [_finding(finding) for finding in exchange.masked],
        "trouble": exchange.trouble,
        "remark": exchange.remark,
    }


def _finding(finding: Finding) -> dict[str, str]:
    members = {"kind": finding.kind, "severity": finding.severity, "place": finding.where}
    members |= {name: getattr(finding, name) for name in ("bank", "sandbox", "by", "drift", "why")}
    return {name: value for name, value in members.items() if value is not None}


def as_junit(report: Report, fail_on: Severity | None) -> str:
    root = ElementTree.Element("testsuites", name="xs2a-sandbox compare")
    for operation in report.operations:
        suite = ElementTree.SubElement(root, "testsuite", name=operation)
        for exchange in report.exchanges:
            if exchange.operation == operation:
                _case(suite, exchange, fail_on)
        _count(suite)
    if report.skipped:
        suite = ElementTree.SubElement(root, "testsuite", name="skipped")
        for title in report.skipped:
            case = ElementTree.SubElement(suite, "testcase", classname="skipped", name=title)
            ElementTree.SubElement(case, "skipped", message="it writes, and --allow-writes was not given")
        _count(suite)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, "unicode") + "\n"


def _case(suite: ElementTree.Element, exchange: ComparedExchange, fail_on: Severity | None) -> None:
    seconds = (exchange.bank.milliseconds if exchange.bank else 0.0) / 1000
    name = f"{exchange.number}. {exchange.request}"
    case = ElementTree.SubElement(suite, "testcase", classname=exchange.operation, name=name, time=f"{seconds:.3f}")
    if exchange.trouble:
        ElementTree.SubElement(case, "error", message=exchange.trouble)
        return
    failing = [f for f in exchange.findings if fail_on and is_at_least(f.severity, fail_on)]
    if failing:
        message = f"{len(failing)} differences, {exchange.worst} at worst"
        ElementTree.SubElement(case, "failure", message=message, type=failing[0].kind).text = _lines(failing)
    passing = [f for f in exchange.findings if f not in failing]
    if passing:
        ElementTree.SubElement(case, "system-out").text = _lines(passing)


def _lines(findings: list[Finding]) -> str:
    return "\n".join(
        f"{f.severity} {f.kind} at {f.where or 'the body'}: bank {f.bank}, sandbox {f.sandbox}"
        + (f"; {f.drift}" if f.drift else "")
        for f in findings
    )


def _count(suite: ElementTree.Element) -> None:
    for attribute, element in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(attribute, str(len(suite.findall(f"testcase/{element}"))))
    suite.set("tests", str(len(suite.findall("testcase"))))
