import json

from tests.compare.reports.test_report import comparison
from xs2a_sandbox.compare.masking import IgnoreRule
from xs2a_sandbox.compare.reports.report import report
from xs2a_sandbox.features.compare.reports import files


def test_the_json_report_has_the_documented_format() -> None:
    rules = [IgnoreRule("known", path=("b",))]
    value = json.loads(
        files.as_json(report(comparison(({"a": 1, "b": 1}, {"a": 2, "b": 2}), rules=rules), "bank", None))
    )
    assert value["summary"] == {
        "verdicts": {"same": 0, "differs": 1, "refused": 0, "not answered": 0, "not comparable": 0},
        "high": 0, "medium": 1, "low": 0, "masked": 1, "skipped": 1,
    }  # fmt: skip
    assert value["against"] == "sandbox"
    assert value["question"].startswith("is the sandbox wrong?")
    (exchange,) = value["exchanges"]
    assert exchange["differences"] == [
        {
            "kind": "value",
            "consequence": "other-value",
            "severity": "medium",
            "place": "/a",
            "bank": "1",
            "sandbox": "2",
        }
    ]
    assert exchange["verdict"] == "differs"
    assert exchange["masked"][0]["why"] == "known"
    assert (exchange["bankStatus"], exchange["sandboxStatus"], exchange["request"]) == (200, 200, "GET /v1/things")
    assert value["skipped"] == ["a write"]
