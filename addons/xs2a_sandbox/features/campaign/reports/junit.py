"""The results for CI."""

from pathlib import Path
from xml.etree import ElementTree

from xs2a_sandbox.features.campaign.campaign import Results
from xs2a_sandbox.features.campaign.finding_file import replay
from xs2a_sandbox.features.campaign.reports.table import exits, rows, summary
from xs2a_sandbox.journal.log_line import printable


def as_junit(results: Results, findings: Path) -> str:
    """A suite for each point, and a test case for each fault: their names are the same in every campaign."""
    root = ElementTree.Element("testsuites", name="xs2a-sandbox campaign")
    for row in rows(results.results):
        suite = ElementTree.SubElement(root, "testsuite", name=row.point, tests=str(len(row.results)))
        suite.set("failures", str(row.with_findings))
        for result in row.results:
            name, seconds = f"{result.fault.name}, {result.fault.phase}", f"{result.seconds:.3f}"
            case = ElementTree.SubElement(suite, "testcase", classname=row.point, name=name, time=seconds)
            for finding in result.findings[:1]:
                text = "\n".join(printable(f"{each.oracle}: {each.text}") for each in result.findings)
                failure = ElementTree.SubElement(case, "failure", message=printable(finding.text), type=finding.oracle)
                failure.text = text
            again = [f"play it again: {printable(replay(result, results, findings))}"] if result.findings else []
            ElementTree.SubElement(case, "system-out").text = "\n".join([exits(result), *again])
    about = ElementTree.SubElement(root, "testsuite", name="campaign", tests="1")
    case = ElementTree.SubElement(about, "testcase", classname="campaign", name="has let something go wrong")
    ElementTree.SubElement(case, "system-out").text = "\n".join([summary(results), *results.warnings])
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, "unicode") + "\n"
