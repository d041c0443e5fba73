"""A sandbox with sockets, for tests of apps."""

import json
import ssl
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import requests

from tests.testing.sandboxes import a_sandbox
from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.features.pytest.server_process import Process, Served

CONSENT = "9d3c41b2-5f0e-4c6a-8b1d-2e7f60a4c911"
PATH = f"/v1/consents/{CONSENT}/status"
HEADERS = {"X-Request-ID": "99391c7e-ad88-49ec-a2ad-99ddcb1f7721"}
EVERYTHING = {
    "access": {"availableAccounts": "allAccounts"},
    "recurringIndicator": True,
    "validUntil": "2039-12-31",
    "frequencyPerDay": 4,
}


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    process = Process(tmp_path_factory.mktemp("confdir"))
    process.start()
    yield process
    process.stop()


def test_every_door_uses_the_session(process: Process) -> None:
    served = Served(process, "one")
    made = httpx.post(f"{served.base_url}/v1/consents", json=EVERYTHING, headers=HEADERS, trust_env=False).json()
    path = f"/v1/consents/{made['consentId']}/status"
    served.clock.freeze("2040-01-01")
    trust = ssl.create_default_context(cafile=served.ca_file)
    with requests.Session() as session:
        session.trust_env = False
        at_base = session.get(served.base_url + path, headers=HEADERS).json()
        by_proxy = session.get(
            f"https://bank.example{path}", headers=HEADERS, proxies=served.proxies, verify=served.ca_file
        ).json()
    with httpx.Client(verify=trust, trust_env=False, headers=HEADERS) as client:
        over_tls = client.get(served.tls_url + path).json()
    with httpx.Client(verify=trust, proxy=served.proxy, headers=HEADERS) as client:
        by_other_proxy = client.get(f"https://bank.example{path}").json()
    assert at_base == by_proxy == over_tls == by_other_proxy == {"consentStatus": "expired"}


def test_sessions_are_separate(process: Process) -> None:
    Served(process, "two").clock.freeze("2040-01-01")
    served = Served(process, "three")
    assert served.clock.today.year != 2040
    assert httpx.get(served.base_url + PATH, headers=HEADERS, trust_env=False).json() == {"consentStatus": "valid"}


def test_state_and_decisions_use_the_control_interface(process: Process) -> None:
    served = Served(process, "four")
    body = {
        "access": {"balances": [{"iban": "AT459880000010204711"}, {"iban": "AT699880000020411880"}]},
        "recurringIndicator": False,
        "validUntil": served.clock.today.isoformat(),
        "frequencyPerDay": 1,
    }
    headers = {**HEADERS, "PSU-IP-Address": "192.0.2.1", "TPP-Explicit-Authorisation-Preferred": "true"}
    url = served.base_url
    id = httpx.post(f"{url}/v1/consents", json=body, headers=headers, trust_env=False).json()["consentId"]
    with pytest.raises(UserMistake, match="has no pending authorisation: start one first"):
        served.approve(id)
    started = httpx.post(f"{url}/v1/consents/{id}/authorisations", headers=headers, trust_env=False)
    assert started.status_code == 201
    assert served.approve(id) == "authorised"
    assert served.state["consents"][id]["status"] == "authorised"
    with pytest.raises(UserMistake, match="there is no"):
        served.decline("nobody")


def test_flags_are_passed_on_and_the_environment_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases" / "mine.yaml").write_text(
        "cassette: 1\nrules: [{id: mine, match: {path: /mine}, respond: {body: {a: 1}}}]"
    )
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XS2A_SANDBOX_PORT", "nonsense")
    process = Process(tmp_path / "confdir", ["--cassettes", str(tmp_path / "cases")])
    process.start()
    try:
        assert httpx.get(f"{Served(process, 'x').base_url}/mine", trust_env=False).json() == {"a": 1}
    finally:
        process.stop()
    assert not (tmp_path / "home" / ".xs2a-sandbox").exists()
    process.stop()


def test_a_failed_start_is_an_error_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(UserMistake, match=r"the sandbox did not start: .*nothing"):
        Process(tmp_path, ["--cassettes", str(tmp_path / "nothing")]).start()


def test_a_session_needs_a_name(process: Process) -> None:
    with pytest.raises(UserMistake, match="is not a valid session name"):
        Served(process, "a b")


@pytest.mark.slow
def test_an_unread_log_stops_nothing(process: Process) -> None:
    served = Served(process, "many")
    with httpx.Client(trust_env=False, headers={**HEADERS, "X-Long": "x" * 1000}) as client:
        for _ in range(400):
            answer = client.get(served.base_url + PATH)
    assert json.loads(answer.content) == {"consentStatus": "valid"}


def test_the_journal_is_limited_to_the_session(process: Process) -> None:
    one, other = Served(process, "asked"), Served(process, "unasked")
    body = {"iban": "AT459880000010204711"}
    for served, count in ((one, 2), (other, 1)):
        for _ in range(count):
            httpx.post(f"{served.base_url}/v1/consents", json=body, headers=HEADERS, trust_env=False)
    (first, second) = one.journal.assert_called("POST", "/v1/consents", body=body, headers=HEADERS, times=2)
    assert first.json == body
    assert first.number < second.number == one.journal.last.number
    with pytest.raises(AssertionError, match=r"expected once: POST /v1/payments\S*\nfound never"):
        one.journal.assert_called("POST", "/v1/payments/*", times=1)
    one.journal.clear()
    assert (len(one.journal), len(other.journal)) == (0, 1)
    one.journal.assert_not_called()


def test_the_test_data_match_those_of_a_bank_in_process(process: Process) -> None:
    served, here = Served(process, "data"), a_sandbox().testdata
    for role in ("authorised", "expired"):
        assert served.testdata.consent(role) == here.consent(role)
    assert served.testdata.payment() == here.payment()
    for name in ("accounts", "consents", "payments", "psus", "cards"):
        assert dict(getattr(served.testdata, name)) == dict(getattr(here, name))
    path = f"/v1/consents/{served.testdata.consent('unknown')}/status"
    assert httpx.get(served.base_url + path, headers=HEADERS, trust_env=False).status_code == 403
    served.state.delete("consents", CONSENT)
    assert CONSENT in Served(process, "later").testdata.consents


def test_rules_can_be_added_and_removed(process: Process) -> None:
    served, other = Served(process, "ruled"), Served(process, "unruled")
    rule = {"id": "busy", "match": {"operation": "consent-status"}, "respond": {"status": 503}}
    assert served.add_rule(rule, "match: {path: /mine}\nrespond: {status: 418}\n") == ["busy", "added-1.2"]
    assert served.add_rule({**rule, "id": "unused"}, optional=True) == ["unused"]
    assert served.unused_rules == ["busy", "added-1.2"]
    assert httpx.get(f"{served.base_url}/mine", trust_env=False).status_code == 418
    assert served.unused_rules == ["busy"]
    assert httpx.get(served.base_url + PATH, headers=HEADERS, trust_env=False).headers["x-sandbox-rule"] == "unused"
    assert httpx.get(other.base_url + PATH, headers=HEADERS, trust_env=False).status_code == 200
    assert httpx.get(f"{served.base_url}/yours", trust_env=False).status_code == 404
    assert [one.path for one in served.unmatched] == ["/yours"]
    served.clear_rules()
    assert served.unused_rules == []
    assert httpx.get(served.base_url + PATH, headers=HEADERS, trust_env=False).status_code == 200
    with pytest.raises(UserMistake, match=r"<rule 1>:2:11: error unknown-key: unknown key staus; did you mean status"):
        served.add_rule("match: {path: /mine}\nrespond: {staus: 418}\n")
