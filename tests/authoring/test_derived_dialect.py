"""A dialect derived from a recording answers the recorded requests, and others, with new ids and amounts."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

import pytest
from click.testing import CliRunner

from tests.authoring import differing_bank
from tests.authoring.differing_bank import CREDITOR, IBAN, App, states
from tests.support.taping import redacted_tape, tape, taped
from tests.support.writing import SCHEMAS
from xs2a_sandbox.bank.handlers.table import NAMED
from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.cassette.dialect import layers
from xs2a_sandbox.cli.main import cli
from xs2a_sandbox.documents import yaml_reader
from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.features.derive import derived_dialect as derived_dialects
from xs2a_sandbox.features.derive.derived_dialect import DerivedDialect, check_name, derive_dialect
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.recording.tape import read_tape


@cache
def recorded() -> tuple[Exchange, ...]:
    """Return the exchanges of an app with the differing bank."""
    with TemporaryDirectory() as directory:
        app = App(differing_bank.engine(differing_bank.write(Path(directory))))
    app.reads_accounts()
    app.pays()
    app.errs()
    return tuple(app.entries)


def learn(directory: Path, entries: Sequence[Exchange]) -> DerivedDialect:
    tape(directory / "tape", *entries, redacted=False)
    return derive_dialect("mine", read_tape(directory / "tape"), SCHEMAS)


@cache
def learned() -> DerivedDialect:
    """Return the dialect that is derived from the recording of the differing bank."""
    with TemporaryDirectory() as directory:
        return learn(Path(directory), recorded())


@pytest.fixture
def app(tmp_path: Path) -> App:
    """Return an app at a sandbox that uses the derived dialect."""
    folder = derived_dialects.write(learned(), tmp_path / "cassettes")
    return App(differing_bank.engine(folder))


def test_all_recorded_requests_get_the_same_answers(tmp_path: Path) -> None:
    made = learned()
    assert (made.alike, len(made.rehearsed), made.unknown) == (len(recorded()), len(recorded()), ())


def test_a_second_flow_has_the_same_states(app: App, tmp_path: Path) -> None:
    bank = App(differing_bank.engine(differing_bank.write(tmp_path / "second")))
    for one in (bank, app):
        one.reads_accounts(until="2027-03-31")
        one.pays("1999.95")
        one.pays("0.07", "sepa-credit-transfers")
        one.errs()
    assert states(app.entries) == states(bank.entries)
    assert [entry.status for entry in app.entries] == [entry.status for entry in bank.entries]


def test_ids_are_new_and_amounts_come_from_the_request(app: App) -> None:
    first, second = app.pays("1.11"), app.pays("2.22")
    assert first != second
    assert not {first, second} & {str(json.loads(e.answer_body or b"{}").get("paymentId")) for e in recorded()}
    own = f"/v1/payments/giro-transfers/{second}"
    assert app.ask("GET", own)["instructedAmount"] == {"currency": "EUR", "amount": "2.22"}
    assert app.ask("GET", own)["purpose"] == "GDDS"


def test_an_unrecorded_outcome_is_answered_from_state(app: App) -> None:
    wish = {"access": {"balances": [{"iban": IBAN}]}, "recurringIndicator": False, "validUntil": "2027-05-05"}
    id = app.ask("POST", "/v1/consents", {**wish, "frequencyPerDay": 1}, PSU_ID="petra")["consentId"]
    app.decide("consent", id, "rejected")
    assert app.ask("GET", f"/v1/consents/{id}/status")["consentStatus"] == "rejected"
    refused = app.ask("GET", "/v1/accounts", Consent_ID=id)
    assert (app.entries[-1].status, refused["code"], refused["type"]) == (
        401,
        "CONSENT_INVALID",
        "urn:differing:CONSENT_INVALID",
    )
    payment = {
        "debtorAccount": {"iban": IBAN},
        "creditorAccount": {"iban": CREDITOR},
        "creditorName": "Kiosk",
        "instructedAmount": {"currency": "EUR", "amount": "999999.00"},
    }
    id = app.ask("POST", "/v1/payments/giro-transfers", payment, PSU_ID="petra")["paymentId"]
    assert app.ask("GET", f"/v1/payments/giro-transfers/{id}/status") == {"transactionStatus": "RJCT"}


def test_errors_have_the_wording_of_the_bank(app: App) -> None:
    id = str(uuid4())
    assert app.ask("GET", f"/v1/consents/{id}/status")["title"] == f"Der Consent {id} ist unbekannt"
    assert app.entries[-1].status == 403
    app.ask("GET", "/v1/accounts", Consent_ID=id)
    assert app.entries[-1].status == 400


def test_a_custom_endpoint_of_the_bank_answers_as_recorded(app: App) -> None:
    assert app.ask("GET", "/v1/branches") == {"branches": [{"city": "Bonn"}, {"city": "Ulm"}]}


def test_every_operation_documents_its_source(tmp_path: Path) -> None:
    folder = derived_dialects.write(learned(), tmp_path / "cassettes")
    interface = layers.read([[folder]], SCHEMAS, NAMED)
    docs = {operation.id: operation.origin.written["doc"] for operation in interface.operations.values()}
    assert docs["create-consent"].startswith("Recorded 2026-11-02, 1 exchange; derived from these.")
    assert docs["confirm-funds"].startswith("Not recorded, so as in xs2a-1.84.")
    assert all(doc.startswith(("Recorded 2026-11-02, ", "Not recorded, so as in ")) for doc in docs.values())


def test_deviations_name_their_exchanges(tmp_path: Path) -> None:
    text = learned().files["dialect.yaml"]
    assert "# POST /v1/consents: 20261121T101112Z.har.jsonl, exchange 1\n    create-consent:\n" in text
    assert "    # 20261121T101112Z.har.jsonl, exchange 21\n    payment-unknown: {status: 403" in text


def test_a_recording_of_the_documented_dialect_changes_nothing(tmp_path: Path) -> None:
    app = App(differing_bank.engine(bundled("cassettes") / "xs2a-1.84"))
    app.ask("GET", "/v1/accounts", Consent_ID="9d3c41b2-5f0e-4c6a-8b1d-2e7f60a4c911")
    app.ask("GET", "/v1/consents/9d3c41b2-5f0e-4c6a-8b1d-2e7f60a4c911/status")
    made = learn(tmp_path, app.entries)
    changes = yaml_reader.parse(made.files["dialect.yaml"], Path("x")).value["changes"]
    assert made.base == "xs2a-1.84"
    assert {key for change in changes["operations"].values() for key in change} == {"doc"}


@pytest.mark.slow
@pytest.mark.parametrize("redacted", [False, True])
def test_a_derived_dialect_replays_embedded_sca_of_berlin_group_1_3(redacted: bool, tmp_path: Path) -> None:
    """The recording contains no balances, although test data needs them."""
    app = App(differing_bank.engine(bundled("cassettes") / "berlin-group-1.3"))
    oskar = {"PSU_ID": "oskar", "TPP_Redirect_Preferred": "false"}
    access = {"access": {"allPsd2": "allAccounts"}, "combinedServiceIndicator": False}
    rest = {"recurringIndicator": True, "validUntil": "2027-01-31", "frequencyPerDay": 4}
    made = app.ask("POST", "/v1/consents", access | rest, **oskar)
    path, update = f"/v1/consents/{made['consentId']}", made["_links"]["updatePsuAuthentication"]["href"]
    app.ask("PUT", update, {"psuData": {"password": "ostwind"}}, **oskar)
    app.ask("PUT", update, {"scaAuthenticationData": "222222"}, **oskar)
    app.ask("GET", f"{path}/status")
    app.ask("GET", "/v1/accounts", Consent_ID=made["consentId"])
    app.ask("DELETE", path)
    app.ask("GET", f"{path}/status")

    if redacted:
        learned = derive_dialect("mine", redacted_tape(tmp_path, *app.entries), SCHEMAS)
    else:
        learned = learn(tmp_path, app.entries)

    assert (learned.base, learned.alike, learned.unknown) == ("berlin-group-1.3", len(app.entries), ())


# Bad input


def test_a_recording_without_exchanges_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"the recording .* is empty"):
        learn(tmp_path, [])


def test_a_recording_without_whole_answers_is_rejected(tmp_path: Path) -> None:
    """A browser can export a HAR without content."""
    with pytest.raises(ConfigError, match=r"no answer in it has its whole body. .* export the HAR with its content"):
        learn(tmp_path, [replace(taped("/weather/today", {"sun": True}), cut=True)])


def test_a_recording_of_an_unknown_interface_becomes_a_dialect_of_its_own(tmp_path: Path) -> None:
    derived = learn(tmp_path, [taped("/weather/today", {"sun": True})])
    (operation,) = yaml_reader.parse(derived.files["dialect.yaml"], Path("dialect.yaml")).value["operations"]
    assert (derived.base, operation["method"], operation["path"]) == ("", "GET", "/weather/today")


def test_recordings_add_up_and_a_contradiction_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    closed = taped("/weather/limits", {"text": "closed"}, status=403, at=99)
    tape(tmp_path / "two", closed, taped("/weather/rain", {"rain": 1}, at=100), redacted=False)
    tape(
        tmp_path / "one", taped("/weather/today", {"sun": True}), taped("/weather/limits", {"most": 5}), redacted=False
    )
    done = CliRunner().invoke(cli, ["derive", "--dialect", "mine", "two", "one"])
    assert done.exit_code == 0, done.output
    places = r"with 403 in two/\S+, exchange 1, and with 200 in one/\S+, exchange 2; nothing in the requests"
    assert re.search(f"contradiction: GET /weather/limits is answered {places}", done.output)
    text = Path("cassettes/mine/dialect.yaml").read_text(encoding="utf-8")
    operations = yaml_reader.parse(text, Path("dialect.yaml")).value["operations"]
    assert [one["path"] for one in operations] == ["/weather/today", "/weather/limits", "/weather/rain"]
    assert re.search(r"^# Exchanges 1 to 2: one/.*\n# Exchanges 3 to 4: two/", text, re.M)


def test_rules_need_one_recording(tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["derive", str(tmp_path), str(tmp_path)])
    assert done.exit_code == 2
    assert "rules need one recording" in done.output


def test_words_of_the_bank_never_become_expressions(tmp_path: Path) -> None:
    words = {"id": "{{ 7*7 }}", "text": "a {{ b", "{{name}}": "{{ state }}"}
    derived = learn(tmp_path, [taped(f"/weather/{number}", words | {"number": number}) for number in range(4)])
    assert (derived.alike, [json.loads(one.answer.answer_body) for one in derived.rehearsed]) == (
        4,
        [words | {"number": number} for number in range(4)],
    )


def test_a_recording_of_two_banks_is_rejected(tmp_path: Path) -> None:
    banks = ("https://one.example", "https://two.example")
    with pytest.raises(ConfigError, match=r"several banks \(https://one\.example, https://two\.example\)"):
        learn(tmp_path, [taped("/v1/accounts", {"accounts": []}, bank=url) for url in banks])


@pytest.mark.parametrize("name", ["", "Mine", "a/b", "..", "cases", "scenarios", "a b", ".hidden"])
def test_a_name_that_is_not_a_folder_name_is_rejected(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be the name of a dialect"):
        check_name(name, [tmp_path])


def test_an_existing_dialect_is_not_overwritten(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"the dialect xs2a-1\.84 already exists.*choose another name, or so"):
        check_name("xs2a-1.84", [tmp_path, bundled("cassettes")], ", or so")


def test_a_folder_is_written_completely_or_not_at_all(tmp_path: Path) -> None:
    made = learned()
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot write"):
        derived_dialects.write(made, tmp_path / "file" / "cassettes")
    place = tmp_path / "cassettes" / "mine"
    place.mkdir(parents=True)
    (place / "mine.yaml").write_text("cassette: 1\n")
    with pytest.raises(ConfigError, match="cannot write"):
        derived_dialects.write(made, tmp_path / "cassettes")
    assert [file.name for file in (tmp_path / "cassettes").rglob("*")] == ["mine", "mine.yaml"]


# Habits of other banks


def consent_of(access: dict[str, object], **more: object) -> dict[str, object]:
    return {"access": access, "recurringIndicator": True, "validUntil": "2027-01-31", "frequencyPerDay": 4, **more}


HEADERS = [("X-Request-ID", str(uuid4())), ("PSU-IP-Address", "192.0.2.7"), ("Content-Type", "application/json")]
MADE = {"consentId": "5f0c3b6e-0000-4000-8000-000000000001", "consentStatus": "received"}
OF_IT = f"/v1/consents/{MADE['consentId']}"


def made_by(wish: object) -> Exchange:
    return taped("/v1/consents", MADE, "POST", status=201, headers=HEADERS, body=wish)


@pytest.mark.slow
def test_effects_answer_requests_that_only_the_bank_accepts(tmp_path: Path) -> None:
    status = taped(f"{OF_IT}/status", {"consentStatus": "received"}, headers=HEADERS)
    made = learn(tmp_path, [made_by(consent_of({"wholeBank": "yes"})), status])
    assert (made.alike, len(made.unknown)) == (2, 1)
    assert "so effects answer instead" in made.unknown[0]
    app = App(differing_bank.engine(derived_dialects.write(made, tmp_path / "cassettes")))
    id = app.ask("POST", "/v1/consents", consent_of({"wholeBank": "yes"}))["consentId"]
    assert id != MADE["consentId"]
    app.decide("consent", id, "valid")
    assert app.ask("GET", f"/v1/consents/{id}/status") == {"consentStatus": "valid"}


@pytest.mark.slow
def test_consents_created_by_effects_cover_the_accounts_named_by_iban(tmp_path: Path) -> None:
    account = {"resourceId": "r0", "iban": IBAN, "currency": "EUR", "product": "Konto", "name": "Konto"}
    listing = [*HEADERS, ("Consent-ID", MADE["consentId"])]
    # The handler rejects a date in the past.
    wish = consent_of({"accounts": [{"iban": IBAN}]}) | {"validUntil": "2020-01-01"}
    made = learn(tmp_path, [made_by(wish), taped("/v1/accounts", {"accounts": [account]}, headers=listing)])
    assert "so effects answer instead" in made.unknown[0]
    app = App(differing_bank.engine(derived_dialects.write(made, tmp_path / "cassettes")))
    id = app.ask("POST", "/v1/consents", wish)["consentId"]
    app.decide("consent", id, "valid")
    # The list was recorded and is replayed; the handler answers this request.
    held = app.ask("GET", "/v1/accounts/r0/balances", Consent_ID=id)
    assert held["account"] == {"iban": IBAN, "currency": "EUR"}


@pytest.mark.slow
def test_an_account_with_an_impossible_iban_is_not_in_the_test_data(tmp_path: Path) -> None:
    account = {"iban": "DE00123456780000000001", "currency": "EUR"}
    listing = taped("/v1/accounts", {"accounts": [account]}, headers=[*HEADERS, ("Consent-ID", MADE["consentId"])])
    made = learn(tmp_path, [made_by(consent_of({"wholeBank": "yes"})), listing])
    assert f"accounts {account['iban']} of the recording cannot be expressed in test data" in made.unknown
    app = App(differing_bank.engine(derived_dialects.write(made, tmp_path / "cassettes")))
    id = app.ask("POST", "/v1/consents", consent_of({"wholeBank": "yes"}))["consentId"]
    app.decide("consent", id, "valid")
    assert app.ask("GET", "/v1/accounts", Consent_ID=id) == {"accounts": [account]}


def test_ids_created_by_effects_have_the_format_of_the_bank(tmp_path: Path) -> None:
    answers = [{"consentId": f"KONS-{number}", "consentStatus": "received"} for number in ("100200", "734518")]
    entries = [
        taped("/v1/consents", answer, "POST", status=201, headers=HEADERS, body=consent_of({"wholeBank": "yes"}))
        for answer in answers
    ]
    app = App(differing_bank.engine(derived_dialects.write(learn(tmp_path, entries), tmp_path / "cassettes")))
    ids = [str(app.ask("POST", "/v1/consents", consent_of({"wholeBank": "yes"}))["consentId"]) for _ in range(2)]
    assert all(re.fullmatch("KONS-[0-9]{6}", id) for id in ids)
    assert len({*ids, "KONS-100200", "KONS-734518"}) == 4


@pytest.mark.slow
@pytest.mark.parametrize("keeps", [True, False])
def test_a_deleted_consent_has_the_state_that_the_bank_reported(keeps: bool, tmp_path: Path) -> None:
    wish = consent_of({"allPsd2": "allAccounts"}, combinedServiceIndicator=False)
    gone = {"tppMessages": [{"category": "ERROR", "code": "CONSENT_UNKNOWN", "text": "unknown"}]}
    after = {"consentStatus": "terminatedByTpp"} if keeps else gone
    deleted = taped(OF_IT, None, "DELETE", status=204, headers=HEADERS)
    last = taped(f"{OF_IT}/status", after, status=200 if keeps else 403, headers=HEADERS)
    made = learn(tmp_path, [made_by(wish), deleted, last])
    assert made.alike == 3, made.unknown


@pytest.mark.slow
def test_links_to_the_bank_point_to_the_sandbox(tmp_path: Path) -> None:
    answer = {**MADE, "_links": {"scaOAuth": {"href": "https://xs2a.bank.example/oauth/links"}}}
    wish = consent_of({"allPsd2": "allAccounts"}, combinedServiceIndicator=False)
    entry = taped("/v1/consents", answer, "POST", status=201, headers=HEADERS, body=wish)
    made = learn(tmp_path, [entry])
    assert made.alike == 1, made.unknown
    assert "https://xs2a.bank.example/oauth" not in made.files["dialect.yaml"]


@pytest.mark.slow
def test_outcomes_are_derived_from_a_redacted_recording_too(tmp_path: Path) -> None:
    redacted = redacted_tape(tmp_path, *recorded())
    made = derive_dialect("mine", redacted, SCHEMAS)
    assert (made.alike, made.unknown) == (len(recorded()), ())
    assert all(text not in text_of for text_of in made.files.values() for text in (IBAN, "start12", "Petra"))


def test_the_derived_dialect_passes_lint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    derived_dialects.write(learned(), tmp_path / "cassettes")
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli, ["lint"], env={"XS2A_SANDBOX_DIALECT": "mine"})
    assert (result.exit_code, "no problems" in result.output) == (0, True), result.output


def test_a_second_recording_checks_the_dialect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    derived_dialects.write(learned(), tmp_path / "cassettes")
    bank = App(differing_bank.engine(differing_bank.write(tmp_path / "second")))
    bank.reads_accounts(until="2027-03-31")
    bank.pays("1999.95")
    tape(tmp_path / "right", *bank.entries, redacted=False)
    right = CliRunner().invoke(cli, ["derive", "--dialect", "mine", "--check", "right"])
    number = len(bank.entries)
    assert right.output == f"{number} of {number} requests get the recorded answer from the dialect mine\n"
    assert right.exit_code == 0
    other = replace(bank.entries[-1], status=418)
    tape(tmp_path / "wrong", *bank.entries[:-1], other, redacted=False)
    wrong = CliRunner().invoke(cli, ["derive", "--dialect", "mine", "--check", "wrong"])
    path = other.target.partition("?")[0]
    assert f", exchange {number}: {other.method} {path}\n  {bank.entries[-1].status} instead of 418\n" in wrong.output
    assert wrong.output.endswith(f"{number - 1} of {number} requests get the recorded answer from the dialect mine\n")
    assert wrong.exit_code == 1
    assert [path.name for path in Path("cassettes").iterdir()] == ["mine"]


@pytest.mark.parametrize("flags", [["--check"], ["--check", "--dialect", "mine", "--by", "xs2a-1.84"]])
def test_a_check_needs_the_dialect_alone(flags: list[str], tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["derive", str(tmp_path), *flags])
    assert done.exit_code == 2
    assert "--check needs --dialect NAME" in done.output


@pytest.mark.slow
@pytest.mark.parametrize("body", [b"", b"<Document/>"])
def test_an_inexpressible_answer_is_reported_and_the_rest_is_learned(body: bytes, tmp_path: Path) -> None:
    entries = [
        replace(entry, answer_body=body) if re.fullmatch(r".*/payments/[^/]+/[^/]+", entry.target) else entry
        for entry in recorded()
        if entry.method == "GET" or entry.status < 300
    ]
    derived = learn(tmp_path, entries)
    assert any("payment-record: the answer 200 has no body, so the result of" in line for line in derived.unknown)
    assert derived.alike > len(entries) / 2


@pytest.mark.slow
def test_no_errors_are_learned_if_the_draft_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise KeyError("scaStatus")

    entries = recorded()
    monkeypatch.setattr("xs2a_sandbox.bank.bank.Bank.answer", fail)
    derived = learn(tmp_path, entries)
    changes = yaml_reader.parse(derived.files["dialect.yaml"], Path("dialect.yaml")).value.get("changes", {})
    assert "internal" not in changes.get("errors", {})
    assert "Traceback" not in caplog.text
    assert any("instead of" in line for line in derived.unknown)
