"""Coverage of rules and operations."""

from tests.support.engine_client import Client, an_engine, cassette
from xs2a_sandbox.features.authoring.coverage import CoverageTally, as_json, measure
from xs2a_sandbox.journal.log_line import LogEntry

CASES = """\
rules:
  - {id: closed, match: {operation: account-list}, require: none, respond: {status: 503, text: closed}}
  - {id: own, match: {path: /own/path}, respond: {text: own}}
"""


def exchange(rule: str | None = None, error: str | None = None) -> LogEntry:
    return LogEntry("default", "GET", "/x", 200, 1.0, "rule", rule, error=error)


def test_rules_and_operations_that_answered_are_exercised(tmp_path):
    bank, tally = an_engine(layers=cassette(tmp_path, CASES)), CoverageTally()
    bank.use(on_exchange=tally.add)
    client = Client(bank)

    client.get("/v1/accounts")
    client.get("/v1/consents/0cae8c3e-1111-4222-8333-444455556666/status")
    client.post("/v1/consents", json={})

    coverage = measure(bank.interface, tally)
    exercised = {kind: {part.id for part in parts if part.exercised} for kind, parts in coverage.items()}
    assert exercised == {
        "operations": {"account-list", "consent-status"},
        "rules": {"closed"},
        "errors": {"consent-unknown", "format-error"},
    }


def test_each_part_has_a_description_and_a_place(tmp_path):
    bank = an_engine(layers=cassette(tmp_path, CASES)).interface
    coverage = as_json(measure(bank, CoverageTally({"closed"}, {"busy"})))

    own = {"id": "own", "about": "/own/path", "place": f"{tmp_path / 'case.yaml'}:5"}
    assert own in coverage["rules"]["never"]
    assert coverage["rules"]["exercised"] == 1
    assert coverage["operations"]["total"] == len(bank.operations)
    delete = next(one for one in coverage["operations"]["never"] if one["id"] == "delete-consent")
    assert delete["about"] == "DELETE /v1/consents/{consentId}"
    assert {"404 RESOURCE_UNKNOWN"} <= {one["about"] for one in coverage["errors"]["never"]}
    assert "busy" not in {one["id"] for one in coverage["errors"]["never"]}
