"""Quirks as an app sees them, reading and paying over HTTP: one `serve` with a bank for each quirk."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import requests

from tests.contract import facts
from tests.support.serving import Serving, served
from xs2a_sandbox.bundled import quirks
from xs2a_sandbox.config import settings as config
from xs2a_sandbox.engine.build import build
from xs2a_sandbox.errors import ConfigError, Unreadable

CONSENT, IBAN = next((id, consent["accounts"][0]) for id, consent in facts.consents("authorised"))
TWO = ["AT459880000010204711", "AT449880000010204729"]


def banks() -> list[dict[str, Any]]:
    """Return a bank for each quirk that has a test in this module."""
    tested = [name for name in quirks() if f"test_{name.replace('-', '_')}" in globals()]
    return [{"url": f"https://{name}.example", "hosts": [f"{name}.example"], "quirk": [name]} for name in tested]


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with served(tmp_path_factory.mktemp("quirks"), settings={"banks": banks()}) as serving:
        yield serving


@dataclass
class App:
    """Sends requests to the bank with one quirk, or with none, in a separate session."""

    url: str
    host: str
    session: str

    def ask(self, method: str, path: str, **more: Any) -> requests.Response:
        headers = {
            "Host": self.host,
            "X-Sandbox-Session": self.session,
            "X-Request-ID": str(uuid4()),
            "PSU-IP-Address": "192.0.2.1",
            **more.pop("headers", {}),
        }
        return requests.request(
            method, self.url + path, headers={k: v for k, v in headers.items() if v}, timeout=20, **more
        )

    def entries(self, status: str = "booked", **query: str) -> Any:
        answer = self.read(f"/v1/accounts/{IBAN}/transactions", bookingStatus=status, **query)
        assert answer.status_code == 200, answer.text
        return answer.json()["transactions"][status]

    def read(self, path: str, consent: str = CONSENT, **query: str) -> requests.Response:
        return self.ask("GET", path, params=query, headers={"Consent-ID": consent})

    def consent(self, *ibans: str, until: str = "9999-12-31") -> str:
        """Return the id of a new consent for the accounts, which the customer has approved."""
        access = {"balances": [{"iban": iban} for iban in ibans]}
        body = {"access": access, "recurringIndicator": True, "validUntil": until, "frequencyPerDay": 4}
        made = self.ask("POST", "/v1/consents", json=body)
        assert made.status_code in (200, 201), made.text
        link = made.json()["_links"].get("scaRedirect")
        if link:
            path = link["href"].partition("/sca/")[2]
            prefix = f"/s/{self.session}/sca/"
            assert requests.get(f"{self.url}{prefix}{path}&decide=approve", timeout=20).status_code == 200
        return str(made.json()["consentId"])


@pytest.fixture
def app(serving: Serving, request: pytest.FixtureRequest) -> App:
    """Return an app of the bank whose quirk is named by the test."""
    name = request.node.originalname.removeprefix("test_").replace("_", "-")
    assert name in quirks()
    return App(serving.direct, f"{name}.example", uuid4().hex)


@pytest.fixture
def usual(serving: Serving) -> App:
    return App(serving.direct, "usual.example", uuid4().hex)


def test_pending_ids_change(app: App, usual: App) -> None:
    there = [entry["transactionId"] for entry in usual.entries("pending")]
    assert there
    assert [entry["transactionId"] for entry in app.entries("pending")] == [f"PDNG-{id}" for id in there]
    assert app.entries() == usual.entries()


@pytest.mark.parametrize("status", ["pending", "both"])
def test_pending_refused(app: App, status: str) -> None:
    answer = app.read(f"/v1/accounts/{IBAN}/transactions", bookingStatus=status)
    assert answer.status_code == 400
    assert answer.json()["tppMessages"][0]["code"] == "FORMAT_ERROR"
    assert app.entries()


def test_holds_as_booked(app: App, usual: App) -> None:
    holds = [entry["transactionId"] for entry in usual.entries("pending")]
    booked = [entry["transactionId"] for entry in usual.entries()]
    assert [entry["transactionId"] for entry in app.entries()] == [*holds, *booked]
    assert app.entries("pending") == []


@pytest.mark.parametrize("status", ["booked", "pending"])
def test_ids_null(app: App, usual: App, status: str) -> None:
    entries = app.entries(status)
    assert {(entry.get("transactionId"), entry.get("entryReference")) for entry in entries} == {(None, None)}
    assert len(app.entries(status)) == len(usual.entries(status))


@pytest.mark.parametrize("status", ["booked", "pending"])
def test_ids_zero(app: App, usual: App, status: str) -> None:
    assert {(entry["transactionId"], entry["entryReference"]) for entry in app.entries(status)} == {("0", "0")}
    assert len(app.entries(status)) == len(usual.entries(status))


@pytest.mark.parametrize("status", ["booked", "pending"])
def test_dates_null(app: App, status: str) -> None:
    assert {(entry["bookingDate"], entry["valueDate"]) for entry in app.entries(status)} == {(None, None)}


def test_history_90_days(app: App, usual: App) -> None:
    refused = app.read(f"/v1/accounts/{IBAN}/transactions", bookingStatus="booked", dateFrom="2020-01-01")
    assert refused.status_code == 400
    assert refused.json()["tppMessages"][0]["code"] == "PERIOD_INVALID"
    recent = max(entry["bookingDate"] for entry in usual.entries())
    assert app.entries(dateFrom=recent) == usual.entries(dateFrom=recent)
    assert app.entries() == usual.entries()


def test_valid_until_shortened(app: App, usual: App) -> None:
    asked = app.read(f"/v1/consents/{app.consent(*TWO)}").json()
    assert facts.today(29) <= asked["validUntil"] <= facts.today(30)
    assert usual.read(f"/v1/consents/{usual.consent(*TWO)}").json()["validUntil"] == "9999-12-31"


def test_valid_until_shortened_keeps_an_earlier_end(serving: Serving) -> None:
    app = App(serving.direct, "valid-until-shortened.example", uuid4().hex)
    soon = facts.today(2)
    assert app.read(f"/v1/consents/{app.consent(*TWO, until=soon)}").json()["validUntil"] == soon


def test_closed_account_fails_list(app: App, usual: App) -> None:
    assert app.read("/v1/accounts").status_code == 200
    several = app.consent(*TWO)
    refused = app.read("/v1/accounts", several)
    assert refused.status_code == 404
    assert refused.json()["tppMessages"][0]["code"] == "RESOURCE_UNKNOWN"
    assert app.read(f"/v1/accounts/{TWO[0]}/balances", several).status_code == 200
    assert usual.read("/v1/accounts", usual.consent(*TWO)).status_code == 200


def test_three_decimals(app: App, usual: App) -> None:
    for status in ("booked", "pending"):
        amounts = [entry["transactionAmount"]["amount"] for entry in usual.entries(status)]
        assert [entry["transactionAmount"]["amount"] for entry in app.entries(status)] == [f"{a}0" for a in amounts]
        assert all(re.fullmatch(r"-?\d+\.\d{2}", amount) for amount in amounts)


def test_no_retry_after(app: App, usual: App) -> None:
    alone = {"Consent-ID": CONSENT, "PSU-IP-Address": None}
    path = f"/v1/accounts/{IBAN}/balances"
    answers = [app.ask("GET", path, headers=alone) for _ in range(5)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 200, 429]
    assert answers[-1].json()["tppMessages"][0]["code"] == "ACCESS_EXCEEDED"
    assert "Retry-After" not in answers[-1].headers
    assert app.read(path).status_code == 200
    assert [usual.ask("GET", path, headers=alone).status_code for _ in range(5)] == [200] * 5


PAYMENT = {
    "debtorAccount": {"iban": IBAN},
    "instructedAmount": {"amount": "1.00", "currency": "EUR"},
    "creditorAccount": {"iban": "AT049880000030577001"},
    "creditorName": "Zuzana",
}
PAYMENTS = "/v1/payments/sepa-credit-transfers"


def start_authorisation(app: App, **headers: str) -> tuple[str, requests.Response]:
    """Return the path of a payment's new authorisation, and the answer that created it."""
    made = app.ask("POST", PAYMENTS, json=PAYMENT, headers={"TPP-Explicit-Authorisation-Preferred": "true"})
    path = f"{PAYMENTS}/{made.json()['paymentId']}/authorisations"
    answer = app.ask("POST", path, headers={"PSU-ID": "anna", **headers}, json={})
    assert answer.status_code in (200, 201), answer.text
    return f"{path}/{answer.json()['authorisationId']}", answer


@pytest.mark.parametrize("preferred", ["true", "false"])
def test_decoupled_only(app: App, usual: App, preferred: str) -> None:
    wish = {"TPP-Redirect-Preferred": preferred}
    assert start_authorisation(usual, **wish)[1].headers["ASPSP-SCA-Approach"] == (
        "REDIRECT" if preferred == "true" else "EMBEDDED"
    )
    path, answer = start_authorisation(app, **wish)
    assert answer.headers["ASPSP-SCA-Approach"] == "DECOUPLED"
    refused = app.ask("PUT", path, json={"psuData": {"password": "geheim"}})
    assert refused.status_code == 400


def test_wrong_tan_final(app: App, usual: App) -> None:
    for one, status in ((usual, "psuIdentified"), (app, "failed")):
        path, _ = start_authorisation(one, **{"TPP-Redirect-Preferred": "false"})
        wrong = one.ask("PUT", path, json={"psuData": {"password": "wrong"}})
        assert wrong.status_code == 401
        assert one.ask("GET", path).json()["scaStatus"] == status


def test_payees_not_possible(app: App, usual: App) -> None:
    body = {
        "debtorAccount": {"iban": IBAN},
        "creditorAccount": {"iban": "AT359850700040087109"},
        "creditorName": "Buchhandlung Eselsohr",
        "instructedAmount": {"currency": "EUR", "amount": "1.00"},
    }
    messages = []
    for one in (usual, app):
        sent = {"json": body, "headers": {"TPP-Redirect-Preferred": "false"}}
        messages.append(one.ask("POST", "/v1/payments/sepa-credit-transfers", **sent).json()["psuMessage"])
    assert messages == [None, "The name of the payee could not be checked."]


def test_several_quirks_can_be_combined(tmp_path: Path) -> None:
    with served(tmp_path, "--quirk", "ids-zero", "--quirk", "three-decimals") as serving:
        assert "quirks    ids-zero, three-decimals\n" in serving.output
        (entry, *_) = App(serving.direct, "bank.example", uuid4().hex).entries()
        assert entry["transactionId"] == "0"
        assert re.fullmatch(r"-?\d+\.\d{2}0", entry["transactionAmount"]["amount"])
        answer = requests.get(
            f"{serving.direct}/_sandbox/status", headers={"Authorization": f"Bearer {serving.token}"}, timeout=20
        )
        (bank,) = answer.json()["banks"]
        assert (bank["dialect"], bank["quirks"]) == ("xs2a-1.84", ["ids-zero", "three-decimals"])


def test_an_unknown_quirk_is_an_error_that_lists_the_existing_ones(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        config.load({"quirk": ("zzz",)}, {}, tmp_path)
    text = str(raised.value)
    assert text.startswith('--quirk: must be names of quirks, not "zzz"; the values are balances-expected-only, ')


def test_own_quirks_come_from_the_folder_and_replace_bundled_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "cassettes" / "quirks"
    folder.mkdir(parents=True)
    rule = "rules: [{id: mine, match: {operation: account-list}, amend: {status: 418}}]\n"
    for name in ("mine", "ids-zero"):
        (folder / f"{name}.yaml").write_text(f"cassette: 1\nquirk: true\n{rule}")
    settings = config.load({}, {"XS2A_SANDBOX_QUIRK": "mine,ids-zero"}, tmp_path)
    assert [file.parent for file in settings.quirk] == [folder, folder]


@pytest.mark.parametrize(
    ("text", "line", "part"),
    [
        ("rules: [{id: a, match: {operation: acount-list}, amend: {status: 418}}]", 3, "did you mean 'account-list'"),
        ("changes: {options: {accounts.lsit: {frequency: true}}}", 3, "did you mean accounts.list"),
        ("changes: {options: {accounts.list: {frequncy: true}}}", 3, "frequncy"),
        ("changes: {options: {accounts.list: {frequency: often}}}", 3, "true or false"),
        (
            "changes: {errors: {format-error: {status: 422}}}",
            3,
            "a layer without extends can change only options and the `with` of operations",
        ),
        ("title: nothing", 2, "this quirk has no effect"),
    ],
)
def test_a_mistake_in_a_quirk_has_its_position(
    text: str, line: int, part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "cassettes" / "quirks"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text(f"cassette: 1\nquirk: true\n{text}\n")
    with pytest.raises(Unreadable) as raised:
        build(config.load({"quirk": ("mine",), "state": "memory:"}, {}, tmp_path))
    (problem,) = raised.value.problems
    assert (problem.file, problem.line) == (folder / "mine.yaml", line)
    assert part in problem.text


def test_rules_for_missing_operations_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("bank", "quirks"):
        (tmp_path / "cassettes" / name).mkdir(parents=True)
    (tmp_path / "cassettes" / "bank" / "dialect.yaml").write_text("cassette: 1\nextends: xs2a-1.84\n")
    rules = "".join(
        f"  - {{id: {id}, match: {{does: {deed}}}, amend: {{status: 418}}}}\n"
        for id, deed in (("mandates", "create mandate"), ("accounts", "list account"))
    )
    (tmp_path / "cassettes" / "quirks" / "mine.yaml").write_text(f"cassette: 1\nquirk: true\nrules:\n{rules}")
    engine = build(config.load({"quirk": ("mine",), "dialect": "bank", "state": "memory:"}, {}, tmp_path))
    made = {(rule.id, rule.operation) for rule in engine.interface.rules}
    assert made >= {("accounts", "account-list"), ("accounts", "card-account-list")}
    assert "mandates" not in {id for id, _ in made}


# -- the same with the dialect published by the Berlin Group

OSKARS = "7b1f0a52-6c3d-4e8f-9a10-2d4c6e8f0b01"
TRANSACTIONS = "/v1/accounts/3d9a81b3-a47d-4130-8765-a9c0ff861b02/transactions"
SINCE = {"dateFrom": "2020-01-01"}


@pytest.fixture(scope="module")
def berlin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    folder = tmp_path_factory.mktemp("berlin")
    with served(folder, "--dialect", "berlin-group-1.3", settings={"banks": banks()}) as serving:
        yield serving


def at(serving: Serving, name: str) -> App:
    return App(serving.direct, f"{name}.example", uuid4().hex)


def transactions(app: App, status: str = "booked") -> Any:
    answer = app.read(TRANSACTIONS, OSKARS, bookingStatus=status, **SINCE)
    assert answer.status_code == 200, answer.text
    return answer.json()["transactions"].get(status, [])


@pytest.mark.parametrize(
    ("name", "status", "member", "value"),
    [
        ("pending-ids-change", "pending", "transactionId", "PDNG-O-P01"),
        ("ids-null", "booked", "transactionId", None),
        ("ids-null", "booked", "entryReference", None),
        ("ids-zero", "booked", "transactionId", "0"),
        ("ids-zero", "pending", "entryReference", "0"),
        ("dates-null", "booked", "bookingDate", None),
        ("holds-as-booked", "booked", "transactionId", "O-P01"),
    ],
)
def test_berlin_group_entries(berlin: Serving, name: str, status: str, member: str, value: Any) -> None:
    usual = transactions(at(berlin, "usual"), status)[0]
    assert usual.get(member, "") != value
    entry = transactions(at(berlin, name), status)[0]
    assert entry.get(member) == value


def test_berlin_group_payees(berlin: Serving) -> None:
    body = {"partyAccount": {"iban": "DE47999888770000200002"}, "party": {"name": "Oskar Petersen"}}
    names = ("usual", "payees-not-possible")
    answers = [at(berlin, name).ask("POST", "/v1/payee-verifications", json=body).json() for name in names]
    assert answers == [{"partyNameMatch": "MTCH"}, {"partyNameMatch": "NOAP"}]


def test_berlin_group_amounts(berlin: Serving) -> None:
    amount = transactions(at(berlin, "usual"))[0]["transactionAmount"]["amount"]
    assert transactions(at(berlin, "three-decimals"))[0]["transactionAmount"]["amount"] == f"{amount}0"


@pytest.mark.parametrize(
    ("name", "status", "code"),
    [("pending-refused", "both", "FORMAT_ERROR"), ("history-90-days", "booked", "PERIOD_INVALID")],
)
def test_berlin_group_refusals(berlin: Serving, name: str, status: str, code: str) -> None:
    refused = at(berlin, name).read(TRANSACTIONS, OSKARS, bookingStatus=status, **SINCE)
    assert (refused.status_code, refused.json()["tppMessages"][0]["code"]) == (400, code)
    assert at(berlin, "usual").read(TRANSACTIONS, OSKARS, bookingStatus=status, **SINCE).status_code == 200


def test_berlin_group_limits(berlin: Serving) -> None:
    app = at(berlin, "no-retry-after")
    alone = {"Consent-ID": OSKARS, "PSU-IP-Address": None}
    answers = [app.ask("GET", "/v1/accounts", headers=alone) for _ in range(5)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 200, 429]
    assert "Retry-After" not in answers[-1].headers


def of_petra(app: App, **headers: str) -> tuple[str, requests.Response]:
    """Return the id of a new consent for all of Petra's accounts, and the answer."""
    body = {"access": {"allPsd2": "allAccounts"}, "recurringIndicator": True, "validUntil": "9999-12-31"}
    body |= {"frequencyPerDay": 4, "combinedServiceIndicator": False}
    answer = app.ask("POST", "/v1/consents", json=body, headers={"PSU-ID": "petra", **headers})
    assert answer.status_code == 201, answer.text
    return answer.json()["consentId"], answer


def test_berlin_group_consents(berlin: Serving) -> None:
    app = at(berlin, "valid-until-shortened")
    until = app.read(f"/v1/consents/{of_petra(app)[0]}").json()["validUntil"]
    assert facts.today(29) <= until <= facts.today(30)


@pytest.mark.parametrize("preferred", ["true", "false"])
def test_berlin_group_approaches(berlin: Serving, preferred: str) -> None:
    wish = {"TPP-Redirect-Preferred": preferred}
    assert of_petra(at(berlin, "decoupled-only"), **wish)[1].headers["ASPSP-SCA-Approach"] == "DECOUPLED"
    assert of_petra(at(berlin, "usual"), **wish)[1].headers["ASPSP-SCA-Approach"] != "DECOUPLED"


@pytest.mark.parametrize(("name", "status"), [("wrong-tan-final", "failed"), ("usual", "psuIdentified")])
def test_berlin_group_attempts(berlin: Serving, name: str, status: str) -> None:
    app = at(berlin, name)
    _, answer = of_petra(app, **{"TPP-Redirect-Preferred": "false"})
    path = answer.json()["_links"]["scaStatus"]["href"]
    wrong = app.ask("PUT", path, json={"psuData": {"password": "wrong"}}, headers={"PSU-ID": "petra"})
    assert wrong.status_code == 401, wrong.text
    assert app.ask("GET", path).json()["scaStatus"] == status
