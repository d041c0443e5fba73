from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

from tests.compare.reports.test_report import comparison
from xs2a_sandbox.compare.reports.report import report
from xs2a_sandbox.features.compare.reports import files
from xs2a_sandbox.http import Response


def junit(*pairs: Any) -> ElementTree.Element:
    return ElementTree.fromstring(files.as_junit(report(comparison(*pairs), "bank", None), "medium"))


def test_junit_has_a_case_for_each_difference() -> None:
    (suite, skipped) = junit(
        ({"a": 1}, {"a": 2}), ({}, {}), (Response(200), Response(200, (("X-Low", "1"),))), ({"a": 3}, {"a": 4})
    )
    assert suite.attrib == {"name": "(none)", "failures": "1", "errors": "0", "skipped": "0", "tests": "3"}
    assert [[child.tag for child in case] for case in suite] == [[], ["failure"], ["system-out"]]
    assert suite[1][0].get("message") == "in 2 of 4 exchanges"
    assert skipped.get("skipped") == "1"


def test_names_are_the_same_in_every_run() -> None:
    def names(*pairs: Any) -> set[str | None]:
        return {case.get("name") for suite in junit(*pairs) for case in suite if suite.get("name") != "skipped"}

    one = names(({"l": [1]}, {"l": [2]}), ({}, {}))
    assert one == names(({}, {}), ({"l": [7, 8]}, {"l": [9, 9]}), ({}, {}))
    assert one == {"can be compared", "medium value at /l/*"}


def test_exchanges_that_cannot_be_compared_are_an_error_of_their_operation() -> None:
    made = report(comparison(({}, {})), "bank", None)
    trouble = replace(made.exchanges[0], verdict="not comparable", trouble="its Content-Encoding cannot be undone")
    root = ElementTree.fromstring(files.as_junit(replace(made, exchanges=(*made.exchanges, trouble)), "medium"))
    (error,) = root.iter("error")
    assert error.get("message") == "1 of 2 exchanges could not be compared"
    assert "its Content-Encoding cannot be undone" in (error.text or "")
