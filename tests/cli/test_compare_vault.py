"""Redacted recordings are sent to a real bank with values from the vault, or not at all.

The bank counts connections.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.support.far_bank import FarBank, ok
from tests.support.taping import redacted_tape, taped
from xs2a_sandbox.cli.main import cli
from xs2a_sandbox.http import har
from xs2a_sandbox.redaction import vault

IBAN = "AT459880000010204711"
PASSPHRASE = "XS2A_SANDBOX_VAULT_KEY"
JSON = ("Content-Type", "application/json")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(PASSPHRASE, raising=False)
    monkeypatch.setattr(vault, "_COST", 2)


@pytest.fixture
def bank() -> Iterator[FarBank]:
    with FarBank(ok(b"{}")) as far:
        yield far


def recorded(bank: FarBank, *, target: str = f"/v1/accounts/{IBAN}", confdir: str = "conf") -> None:
    """Create a recording in ./tape, with a vault in ./`confdir`."""
    headers = [("PSU-ID", "anna4711"), ("Authorization", "Bearer 2fa81bc0")]
    write = taped(
        "/v1/consents", {"consentId": "K-4711-08"}, "POST", headers=[JSON], body={"access": {}}, bank=bank.url
    )
    secret = taped("/v1/x", {}, headers=[JSON], body={"psuData": {"password": "alpenrose7"}}, bank=bank.url)
    after = taped("/v1/consents/K-4711-08", {}, bank=bank.url)
    redacted_tape(Path(confdir), taped(target, {}, headers=headers, bank=bank.url), write, secret, after)
    Path(confdir, "tape").rename("tape")


def compare(bank: FarBank, *arguments: str, confdir: str = "conf") -> Result:
    words = ["compare", "tape", "--bank", bank.url, "--noise-reads", "off", "--confdir", confdir, *arguments]
    return CliRunner().invoke(cli, words, prog_name="xs2a-sandbox")


def test_real_values_are_sent_and_no_report_contains_them(bank: FarBank, tmp_path: Path) -> None:
    recorded(bank)
    done = compare(bank, "--report", "report.json", "--report", "report.html", "--patch", "patch")
    (asked,) = [one for one in bank.seen if one.startswith(b"GET /v1/accounts")]
    assert asked.startswith(f"GET /v1/accounts/{IBAN} ".encode())
    assert bank.seen[0].lower().count(b"psu-id: anna4711") == 1
    assert b"2fa81bc0" not in b"".join(bank.seen)
    output = done.output + "".join(
        file.read_text() for file in tmp_path.rglob("*") if file.suffix in (".json", ".html")
    )
    output += "".join(file.read_text() for file in tmp_path.rglob("patch/**/*.yaml"))
    assert not {word for word in (IBAN, "anna4711", "2fa81bc0", "alpenrose7") if word in output}


def test_writes_are_not_sent_and_are_counted(bank: FarBank) -> None:
    recorded(bank)
    done = compare(bank)
    assert [line.split()[0] for line in bank.seen] == [b"GET"]
    assert "1 skipped" in done.stdout
    assert "left out: 1 request that contained a secret" in done.stderr
    assert "left out: 1 request about resources that a write creates" in done.stderr


def test_with_allow_writes_only_requests_that_need_a_secret_are_skipped(bank: FarBank) -> None:
    recorded(bank)
    done = compare(bank, "--allow-writes")
    assert [b" ".join(one.split()[:2]) for one in bank.seen] == [
        f"GET /v1/accounts/{IBAN}".encode(), b"POST /v1/consents", b"GET /v1/consents/K-4711-08",
    ]  # fmt: skip
    assert "left out: 1 request that contained a secret" in done.stderr


def test_credentials_come_from_the_command_line(bank: FarBank) -> None:
    recorded(bank)
    done = compare(bank, "--header", "authorization: Bearer of-today", "--header", "PSU-ID: lukas1880")
    assert bank.seen[0].lower().count(b"authorization: bearer of-today") == 1
    assert bank.seen[0].lower().count(b"psu-id: lukas1880") == 1
    assert b"anna4711" not in bank.seen[0]
    assert "of-today" not in done.output


@pytest.mark.parametrize("field", ["no colon of-today", "of today: x", ": of-today", "a: of\ntoday"])
def test_an_invalid_header_field_is_refused_and_not_printed(bank: FarBank, field: str) -> None:
    recorded(bank)
    done = compare(bank, "--header", field)
    assert (done.exit_code, bank.connections) == (2, 0)
    assert "this is not a header; write it as 'Name: value'" in done.output
    assert "of-today" not in done.output


def refused(bank: FarBank, says: str, *arguments: str, confdir: str = "conf") -> None:
    done = compare(bank, *arguments, "--allow-writes", confdir=confdir)
    assert (done.exit_code, bank.connections) == (2, 0)
    assert says in done.output


def test_without_a_vault_nothing_is_sent(bank: FarBank) -> None:
    recorded(bank)
    refused(bank, "its real values are not in a vault", confdir="elsewhere")
    done = compare(bank, confdir="elsewhere")
    assert "nothing was sent" in done.output
    assert "--vault FILE" in done.output
    assert "--offline" in done.output
    assert not Path("elsewhere").exists()


def test_with_the_vault_of_another_machine_nothing_is_sent(bank: FarBank) -> None:
    recorded(bank)
    redacted_tape(Path("other"), taped("/v1/x"))
    refused(bank, "does not open with", "--vault", "conf/vault", confdir="other")


def test_with_a_vault_for_another_recording_nothing_is_sent(bank: FarBank) -> None:
    recorded(bank)
    redacted_tape(Path("other"), taped("/v1/x"), key=b"o" * 32)
    refused(bank, "does not have its real values: nothing was sent", confdir="other")


def test_with_a_damaged_vault_nothing_is_sent(bank: FarBank) -> None:
    recorded(bank)
    content = Path("conf/vault").read_text()
    Path("conf/vault").write_text(content[:-40] + "AAAA" + content[-36:])
    refused(bank, "is damaged")


def test_without_the_key_of_the_vault_nothing_is_sent(bank: FarBank) -> None:
    recorded(bank)
    Path("conf/vault.key").unlink()
    refused(bank, "the key of conf/vault is missing".replace("conf", str(Path("conf").resolve())))


def test_an_exported_vault_works_on_another_machine(bank: FarBank, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded(bank)
    monkeypatch.setenv(PASSPHRASE, "korrekt pferd")
    export = CliRunner().invoke(cli, ["vault", "export", "v", "--confdir", "conf"], prog_name="xs2a-sandbox")
    assert export.exit_code == 0, export.output
    assert export.output == "the vault with 4 requests was written to v\n"
    compare(bank, "--vault", "v", confdir="elsewhere")
    assert bank.seen[0].startswith(f"GET /v1/accounts/{IBAN} ".encode())
    monkeypatch.setenv(PASSPHRASE, "falsch")
    connections = bank.connections
    done = compare(bank, "--vault", "v", confdir="elsewhere")
    assert (done.exit_code, bank.connections) == (2, connections)
    assert "does not open with the passphrase" in done.output
    assert "korrekt" not in done.output


def test_an_unredacted_recording_needs_no_vault(bank: FarBank) -> None:
    Path("plain.har").write_text(json.dumps(har.log([taped("/v1/y", {}, bank=bank.url)])))
    words = ["compare", "plain.har", "--bank", bank.url, "--noise-reads", "off", "--confdir", "elsewhere"]
    CliRunner().invoke(cli, words, prog_name="xs2a-sandbox")
    assert [one.split()[1] for one in bank.seen] == [b"/v1/y"]


def test_a_note_names_another_bank_that_gets_real_values(bank: FarBank) -> None:
    recorded(bank)
    assert "real values are sent" not in compare(bank).stderr
    with FarBank(ok(b"{}")) as other:
        output = compare(other).stderr
    assert f"note: the recording is of {bank.url}, and its real values are sent to {other.url}" in output


def test_an_unchanged_bank_has_no_differences_whatever_was_redacted(tmp_path: Path) -> None:
    """This includes headers, a link with the app's address, and members that are in no schema."""
    link = "https://bank.example/sca?to=https%3A%2F%2Fwaltraud-shop.example%2Fback&user=waltraud"
    content = {"accounts": [{"iban": IBAN, "extra": 1, "_links": {"scaRedirect": {"href": link}}}]}
    fields = [JSON, ("X-Customer", "Waltraud Königsbauer"), ("Link", "<https://waltraud-shop.example/x>; rel=next")]
    headers = [f"{name}: {value}".encode("latin-1") for name, value in fields]
    with FarBank(ok(json.dumps(content).encode(), *headers)) as far:
        asked = [("X-Request-ID", "99391c7e-ad88-49ec-a2ad-99ddcb1f7721")]
        exchange = taped("/v1/accounts", content, headers=asked, answer_headers=fields, bank=far.url)
        redacted_tape(Path("conf"), exchange)
        Path("conf", "tape").rename("tape")
        for more in ([], ["--no-redact"]):
            done = compare(far, "--against", "recording", *more)
            assert done.exit_code == 0, done.output
            assert "1 same, 0 differ" in " ".join(done.output.split())
