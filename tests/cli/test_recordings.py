"""`import`, `derive` and `export` on the command line."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from click.testing import CliRunner, Result

from tests.support.engine_client import an_engine
from tests.support.taping import START, again, same_body, tape, taped
from tests.support.writing import rule_of
from xs2a_sandbox.bank import loading
from xs2a_sandbox.cli import main
from xs2a_sandbox.config import Settings
from xs2a_sandbox.engine import build
from xs2a_sandbox.http import Headers
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.http.har import log
from xs2a_sandbox.recording.har_log import raw_files, read_head, read_raw
from xs2a_sandbox.redaction.marked_members import NONE

IBAN = "AT459880000010204711"
CONSENT = "9d3c41b2-5f0e-4c6a-8b1d-2e7f60a4c911"


pytestmark = pytest.mark.usefixtures("home")


@pytest.fixture
def redactor(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for redaction that renames everything to `hidden`."""

    class Redactor:
        marked = NONE

        def entry(self, entry: Exchange) -> Exchange:
            return replace(entry, target=entry.target.replace(IBAN, "hidden"), answer_body=b'"hidden"')

        def tell(self, tell: Callable[[str, str], None]) -> None:
            """It has no metadata."""

    monkeypatch.setattr("xs2a_sandbox.engine.redacting.redactor_of", lambda settings, banks: Redactor())
    monkeypatch.setattr("xs2a_sandbox.redaction.pseudonyms.fingerprint", lambda key: "1a2b3c4d")


def run(*words: str) -> Result:
    return CliRunner().invoke(main.cli, words, prog_name="xs2a-sandbox")


def done(*words: str) -> str:
    result = run(*words)
    assert result.exit_code == 0, result.output
    return result.stdout


def har(directory: Path, *entries: Exchange) -> str:
    file = directory / "trace.har"
    file.write_text(json.dumps(log(entries)))
    return str(file)


def journey() -> Sequence[Exchange]:
    """Return an app's exchanges with the bundled bank, as if it were a real one."""

    def asks(method: str, target: str, body: object = None, **headers: str) -> Exchange:
        pairs = [("X-Request-ID", str(uuid4())), ("PSU-IP-Address", "192.0.2.1"), ("Content-Type", "application/json")]
        pairs += [(name.replace("_", "-"), value) for name, value in headers.items()]
        entry = taped(target, b"", method, headers=pairs, body=body)
        (answer,) = again(bank, entry)
        return replace(entry, status=answer.status, answer_headers=Headers(answer.headers), answer_body=answer.body)

    bank = an_engine()
    rights = [{"iban": IBAN}]
    access = {"access": {"balances": rights, "transactions": rights}, "recurringIndicator": True, "frequencyPerDay": 4}
    payment = {
        "debtorAccount": {"iban": IBAN, "currency": "EUR"},
        "instructedAmount": {"amount": "12.50", "currency": "EUR"},
        "creditorAccount": {"iban": "AT379821100040023757"},
        "creditorName": "Nahversorger Talblick",
    }
    made = asks("POST", "/v1/payments/sepa-credit-transfers", payment)
    payment_path = f"/v1/payments/sepa-credit-transfers/{json.loads(made.answer_body)['paymentId']}"
    return [
        asks("POST", "/v1/consents", access | {"validUntil": "9999-12-31"}),
        asks("POST", "/v1/consents", access),
        asks("GET", f"/v1/consents/{CONSENT}/status"),
        asks("GET", "/v1/accounts", Consent_ID=CONSENT),
        asks("GET", "/v1/accounts?withBalance=true", Consent_ID=CONSENT),
        asks("GET", f"/v1/accounts/{IBAN}/transactions?bookingStatus=both&dateFrom=2026-10-01", Consent_ID=CONSENT),
        asks("GET", f"/v1/accounts/{IBAN}/transactions?bookingStatus=pending", Consent_ID=CONSENT),
        made,
        asks("GET", f"{payment_path}/status"),
        asks("DELETE", payment_path),
        asks("GET", f"{payment_path}/status"),
        asks("PATCH", "/v1/accounts"),
        asks("GET", "/v1/nowhere"),
    ]


def test_a_recorded_flow_is_replayed_without_the_bank(home: Path) -> None:
    entries = [replace(entry, target="/psd2" + entry.target, bank="https://bank.example") for entry in journey()]
    output = done("import", har(home, *entries), "--to", "tape", "--no-redact")

    assert output.startswith("13 exchanges imported into tape\n")
    assert "xs2a-sandbox serve --cassettes tape/cassettes" in output
    assert sorted(file.name for file in (home / "tape" / "cassettes").glob("*.yaml")) == [
        "_dialect.yaml", "accounts.yaml", "consents.yaml", "nowhere.yaml", "payments.yaml"
    ]  # fmt: skip
    settings = Settings(state="memory:", confdir=home, cassettes=(home / "tape" / "cassettes",))
    assert loading.check(settings, ()) == []
    for entry, answer in zip(entries, again(build.build(settings), *entries), strict=True):
        assert answer.status == entry.status
        assert same_body(entry.answer_body, answer.body)
        assert str(rule_of(answer)).startswith("recorded-")
        assert Headers(answer.headers).get("x-request-id") == entry.headers.get("x-request-id")


def test_imported_recordings_are_redacted(home: Path, redactor: None) -> None:
    done("import", har(home, taped(f"/v1/accounts/{IBAN}", {"iban": IBAN})), "--to", "tape")

    (file,) = raw_files(home / "tape")
    assert read_head(file) == {"banks": ["https://xs2a.bank.example/psd2"], "redacted": "1a2b3c4d"}
    assert [entry.target for entry in read_raw(file)] == ["/v1/accounts/hidden"]
    written = [one.read_text() for one in (home / "tape").rglob("*") if one.is_file()]
    assert len(written) == 3
    assert not any(IBAN in text for text in written)


def test_no_redact_is_noted_in_the_recording(home: Path) -> None:
    done("import", har(home, taped("/v1/accounts")), "--to", "tape", "--no-redact")
    assert read_head(raw_files(home / "tape")[0])["redacted"] is False
    assert "redacted: false" in (home / "tape" / "cassettes" / "accounts.yaml").read_text()


def test_each_file_format_is_recognised_by_its_content(home: Path) -> None:
    from mitmproxy.io import FlowWriter
    from mitmproxy.test import tflow

    with (home / "flows.dump").open("wb") as stream:
        FlowWriter(stream).add(tflow.tflow(resp=True))
    stub = {"request": {"method": "GET", "url": "/v1/stub"}, "response": {"jsonBody": {}}}
    saved = {"name": "a", "request": "https://bank.example/v1/saved", "response": [{"code": 200, "body": "{}"}]}
    (home / "stubs" / "mappings").mkdir(parents=True)
    (home / "stubs" / "mappings" / "a.json").write_text(json.dumps(stub))
    (home / "postman.json").write_text(json.dumps({"info": {}, "item": [saved]}))
    har(home, taped("/v1/har"))
    for name in ("flows.dump", "stubs", "stubs/mappings/a.json", "postman.json", "trace.har"):
        done("import", name, "--to", "tape", "--no-redact")

    assert {entry.target for file in raw_files(home / "tape") for entry in read_raw(file)} == {
        "/path", "/v1/saved", "/v1/har"
    }  # fmt: skip
    for name in ("stubs", "a"):
        assert "path: /v1/stub" in (home / "tape" / "cassettes" / f"wiremock-{name}.yaml").read_text()


def test_skipped_entries_are_listed(home: Path) -> None:
    result = run("import", har(home, taped("/v1/a", cut=True), taped("/v1/b")), "--to", "tape", "--no-redact")
    assert "left out: GET /v1/a at 2026-11-21T10:11:12+00:00: its answer was not recorded completely\n" in result.stdout
    assert "1 rule in 2 files:" in result.stdout


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("{", "is not JSON"),
        ("[]", "must be a HAR file, a mitmproxy dump, a Postman collection, a WireMock mapping, commands of curl or"),
        ('{"log": {"entries": []}}', "contains no request with a response that could be imported"),
        ('{"log": {"entries": [{}]}}', r"log.entries[0]: request.url is missing"),
        ("5:", "The file is not a mitmproxy dump"),
        ("9" * 18 + ":x", "a length of at most 12 digits. The file is not a mitmproxy dump"),
        ("9" * 40 + ":x", "a length of at most 12 digits. The file is not a mitmproxy dump"),
        ("-5:x,", "The file is not a mitmproxy dump"),
    ],
)
def test_a_file_that_cannot_be_imported_changes_nothing(content: str, complaint: str, home: Path) -> None:
    (home / "file").write_text(content)
    result = run("import", "file", "--to", "tape", "--no-redact")
    assert (result.exit_code, complaint in result.stderr) == (2, True), result.stderr
    assert not (home / "tape").exists()


def test_a_directory_that_cannot_be_written_is_reported(home: Path) -> None:
    (home / "tape").write_text("")
    result = run("import", har(home, taped("/v1/a")), "--to", "tape", "--no-redact")
    assert (result.exit_code, "the recording cannot be written" in result.stderr) == (2, True)


def test_deriving_again_keeps_edited_rules(home: Path) -> None:
    tape(home / "tape", taped("/v1/accounts", 1), taped("/v1/consents", 1))
    assert "\n2 rules in 2 files:\n  tape/cassettes/accounts.yaml\n" in done("derive", "tape")
    file = home / "tape" / "cassettes" / "accounts.yaml"
    file.write_text(file.read_text().replace("body: 1", "body: 2"))

    assert "\n1 rule in 1 file, 1 rule of yours kept:\n" in done("derive", "tape")
    assert "body: 2" in file.read_text()


@pytest.mark.slow
def test_a_dialect_is_derived_into_the_working_directory(home: Path) -> None:
    gone = {"tppMessages": [{"category": "ERROR", "code": "CONSENT_UNKNOWN", "text": "weg"}]}
    tape(
        home / "tape",
        taped("/x/v1/consents/c-1/status", gone, status=404, headers=[("X-Request-ID", str(UUID(int=1)))]),
    )
    output = done("derive", "--dialect", "mine", "tape")
    assert "1 of the recording's 1 requests get the recorded answer" in output
    assert "Use it with: xs2a-sandbox serve --dialect mine" in output
    assert (home / "cassettes" / "mine" / "dialect.yaml").read_text().startswith("# Derived from 1 exchange")
    assert not (home / "tape" / "cassettes").exists()


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--dialect", "xs2a-1.84", "tape"], "the dialect xs2a-1.84 already exists"),
        (["--dialect", "../mine", "tape"], "cannot be the name of a dialect"),
        (["--dialect", "mine", "empty"], "there is no recording in empty"),
        (["--dialect", "mine", "text"], "text is not a recording"),
        (["--dialect", "mine", "--by", "xs2a-1.84", "tape"], "use either --by or --dialect"),
        (["text"], "text is a file"),
        (["--by", "other", "tape"], "unknown dialect 'other'"),
    ],
)
def test_a_failed_derivation_changes_nothing(words: list[str], complaint: str, home: Path) -> None:
    tape(home / "tape", taped("/v1/accounts", {"accounts": []}))
    (home / "empty").mkdir()
    (home / "text").write_text("something")
    result = run("derive", *words)
    assert (result.exit_code, complaint in result.stderr) == (2, True), result.stderr
    assert not (home / "cassettes").exists()


def test_an_export_is_a_har_file(home: Path) -> None:
    tape(home / "tape", taped("/v1/a"), taped("/v1/b"))
    assert done("export", "tape", "--har", "all.har") == "2 exchanges written to all.har\n"
    assert [entry["startedDateTime"] for entry in json.loads((home / "all.har").read_text())["log"]["entries"]] == [
        START.isoformat()
    ] * 2
    assert done("import", "all.har", "--to", "copy", "--no-redact").startswith("2 exchanges")


def test_an_empty_recording_cannot_be_derived_or_exported(home: Path) -> None:
    for words in (["derive", "."], ["export", "--har", "a.har"]):
        result = run(*words)
        assert (result.exit_code, "there is no recording in" in result.stderr) == (2, True)


def test_redaction_uses_the_vocabulary_of_the_interface_and_the_configured_rules(home: Path) -> None:
    (home / "rules.yaml").write_text("redaction: 1\nkeep:\n  - {member: nickname}\n")
    (home / "xs2a-sandbox.yaml").write_text("redaction: rules.yaml\n")
    path = f"/v1/payments/instant-sepa-credit-transfers/{IBAN}"
    answer = {"nickname": "Anna", "ownerName": "Anna Huber"}
    done("import", str(har(home, taped(path, answer))), "--to", "tape")
    (file,) = raw_files(home / "tape")
    (entry,) = read_raw(file)
    assert entry.target.startswith("/v1/payments/instant-sepa-credit-transfers/")
    assert IBAN not in entry.target
    assert (b'"Anna"' in entry.answer_body, b"Huber" in entry.answer_body) == (True, False)


def test_a_password_in_a_url_is_not_imported(home: Path) -> None:
    urls = ("https://anna:geheim@other.bank.example", "https://xs2a.bank.example/psd2")
    done("import", har(home, *(taped("/v1/konten", {"n": 1}, bank=url) for url in urls)), "--to", "tape")
    (file,) = raw_files(home / "tape")
    assert "geheim" not in file.read_text()
    assert all(url.startswith("https://") for url in read_head(file)["banks"])


def test_exports_are_not_redacted_again(home: Path) -> None:
    done("import", har(home, taped(f"/v1/accounts/{IBAN}", {"iban": IBAN})), "--to", "tape")
    done("export", "tape", "--har", "all.har")
    done("import", "all.har", "--to", "again")
    (first,), (second,) = (read_raw(*raw_files(home / name)) for name in ("tape", "again"))
    assert IBAN not in first.target
    assert (second.target, second.answer_body) == (first.target, first.answer_body)
    heads = [read_head(*raw_files(home / name))["redacted"] for name in ("tape", "again")]
    assert heads[0] == heads[1]
