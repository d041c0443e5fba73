"""A recording never answers in the form of another bank: the dialect answers only for a bank that uses it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.engine_client import Client
from tests.support.taping import tape, taped
from tests.support.writing import write
from xs2a_sandbox.bank import loading
from xs2a_sandbox.config import Settings
from xs2a_sandbox.engine import build
from xs2a_sandbox.features.derive.derive import derive, report_lines
from xs2a_sandbox.http import Headers, Request
from xs2a_sandbox.http.exchange import Exchange

REQUEST_ID = {"X-Request-ID": "99391c7e-ad88-49ec-a2ad-99ddcb1f7721"}
STATUS = "/v1/consents/9d3c41b2-5f0e-4c6a-8b1d-2e7f60a4c911/status"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def settings(home: Path, **values: Any) -> Settings:
    return Settings(state="memory:", confdir=home / "conf", **values)


def derived(home: Path, *entries: Exchange, name: str = "20261121T101112Z") -> Mapping[str, Any]:
    """Derive rules and return the stored judgement about the dialect."""
    tape(home / "tape", *entries, redacted=False, name=name)
    derive(home / "tape", *loading.interface_and_schemas(settings(home)))
    judgement: Mapping[str, Any] = yaml.safe_load((home / "tape/cassettes/_dialect.yaml").read_text())["dialect"]
    return judgement


def replayed(home: Path, **values: Any) -> Client:
    return Client(build.build(settings(home, cassettes=(home / "tape/cassettes", *values.pop("more", ())), **values)))


def spoken() -> Exchange:
    return taped(STATUS, {"consentStatus": "valid"})


def of_another_tongue() -> Exchange:
    return taped("/v1/accounts", {"konten": []})


def test_the_dialect_answers_for_a_bank_that_uses_it(home: Path) -> None:
    judgement = derived(home, spoken(), taped("/oauth2/token", {"whatever": 1}, "POST"))
    client = replayed(home)

    assert judgement["name"] == "xs2a-1.84"
    assert client.get("/v1/accounts").status == 400
    assert (
        client.get("/v1/consents/nobody/status", headers=REQUEST_ID).json()["tppMessages"][0]["code"]
        == "CONSENT_UNKNOWN"
    )


def test_errors_are_checked_with_the_schema_of_the_dialect(home: Path) -> None:
    message = {"category": "ERROR", "code": "CONSENT_UNKNOWN", "text": "unknown"}
    tape(home / "tape", spoken(), taped(STATUS, {"tppMessages": [message]}, status=403), redacted=False)
    interface, schemas = loading.interface_and_schemas(settings(home, dialect="berlin-group-1.3"))
    lines = list(report_lines(derive(home / "tape", interface, schemas), home / "tape"))
    judgement = yaml.safe_load((home / "tape/cassettes/_dialect.yaml").read_text())["dialect"]
    assert judgement["name"] == "berlin-group-1.3"
    assert lines[-1].endswith("tape/cassettes --dialect berlin-group-1.3")


@pytest.mark.parametrize(
    ("entries", "because"),
    [
        ([of_another_tongue()], "GET /v1/accounts was answered with 200, in which /accounts is required"),
        ([spoken(), of_another_tongue()], "GET /v1/accounts was answered with 200"),
        ([spoken(), taped(STATUS, {"error": "no"}, status=401)], "was answered with 401, in which /tppMessages"),
        ([taped("/v1/accounts", b"{nothing")], "the body is not JSON"),
        ([taped("/nowhere", {"a": 1})], "the recording has no JSON answer to an operation of xs2a-1.84"),
    ],
)  # fmt: skip
def test_the_dialect_does_not_answer_for_another_bank(home: Path, entries: list[Exchange], because: str) -> None:
    judgement = derived(home, *entries)
    answer = replayed(home).get("/v1/card-accounts/1/balances", headers=REQUEST_ID)

    assert judgement["name"] == "none"
    assert because in judgement["because"]
    assert (answer.status, answer.source) == (404, "sandbox")
    assert "GET /v1/card-accounts/1/balances was not recorded" in answer.json()["tppMessages"][0]["text"]


def test_the_nearest_recorded_rules_are_named(home: Path) -> None:
    derived(home, of_another_tongue())
    answer = replayed(home).get("/v1/acounts", headers=REQUEST_ID).json()["sandbox"]

    assert (
        answer["message"]
        == "this was not recorded, and the bank does not use the dialect xs2a-1.84; the nearest matches follow"
    )
    assert all(one["rule"].startswith("recorded-") for one in answer["nearest"])
    assert len(answer["nearest"]) == 1


def test_another_method_or_product_is_not_answered_by_the_dialect_either(home: Path) -> None:
    derived(home, of_another_tongue())
    client = replayed(home)

    for method, path in (("DELETE", "/v1/accounts"), ("GET", "/v1/payments/pigeon-post/1")):
        assert "was not recorded" in client.request(method, path, headers=REQUEST_ID).json()["tppMessages"][0]["text"]


def test_an_edited_judgement_is_kept_when_rules_are_derived_again(home: Path) -> None:
    derived(home, of_another_tongue())
    file = home / "tape/cassettes/_dialect.yaml"
    file.write_text(file.read_text().replace("name: none", "name: xs2a-1.84"))
    again = derived(home, of_another_tongue(), name="20261122T101112Z")

    assert again["name"] == "xs2a-1.84"
    assert replayed(home).get("/v1/card-accounts/1/balances", headers=REQUEST_ID).status == 400
    file.unlink()
    assert derived(home, of_another_tongue(), name="20261123T101112Z")["name"] == "none"


def test_the_judgement_is_renewed_if_more_is_recorded(home: Path) -> None:
    assert derived(home, taped("/nowhere", {"a": 1}))["name"] == "none"
    assert derived(home, spoken(), name="20261122T101112Z")["name"] == "xs2a-1.84"
    before = (home / "tape/cassettes/_dialect.yaml").read_bytes()
    derived(home, spoken(), name="20261123T101112Z")
    assert (home / "tape/cassettes/_dialect.yaml").read_bytes() == before


def test_derive_reports_how_unrecorded_requests_are_answered(home: Path) -> None:
    tape(home / "tape", of_another_tongue(), redacted=False)
    lines = list(report_lines(derive(home / "tape", *loading.interface_and_schemas(settings(home))), home / "tape"))

    assert any(
        line.startswith("Requests that were not recorded are answered with 404: GET /v1/accounts was") for line in lines
    )


def test_own_rules_still_answer(home: Path) -> None:
    derived(home, of_another_tongue())
    own = {"cassette": 1, "rules": [{"id": "own", "match": {"path": "/v1/card-accounts"}, "respond": {"status": 418}}]}
    named = {"id": "named", "match": {"operation": "consent-status"}, "respond": {"status": 419}}
    write(home / "own", {"own.yaml": {**own, "rules": [*own["rules"], named]}})
    client = replayed(home, more=(home / "own",))

    assert client.get("/v1/card-accounts").status == 418
    assert client.get(STATUS, headers=REQUEST_ID).status == 419


def test_one_of_two_recordings_can_disable_the_dialect(home: Path) -> None:
    derived(home, spoken())
    tape(home / "other/tape", taped("/oauth2/token", {"a": 1}, "POST"), redacted=False)
    derive(home / "other/tape", *loading.interface_and_schemas(settings(home)))
    both = replayed(home, more=(home / "other/tape/cassettes",))
    assert both.get("/v1/accounts", headers=REQUEST_ID).status == 404
    (home / "other/tape/cassettes/_dialect.yaml").unlink()
    both = replayed(home, more=(home / "other/tape/cassettes",))
    assert both.get("/v1/accounts", headers=REQUEST_ID).status == 400


def test_mode_spy_sends_unrecorded_requests_to_the_bank(home: Path) -> None:
    derived(home, of_another_tongue())
    engine = build.build(settings(home, cassettes=(home / "tape/cassettes",), mode="spy", bank="http://127.0.0.1:9"))
    explanation = engine.explain(Request("GET", STATUS, Headers(REQUEST_ID.items())))

    assert "the bank http://127.0.0.1:9 is asked" in explanation.message
