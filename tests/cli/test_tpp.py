"""Test certificates from the command line."""

import json
import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from xs2a_sandbox.cli.main import cli
from xs2a_sandbox.features.certificates.mistakes import MISTAKES
from xs2a_sandbox.tpp import certificate
from xs2a_sandbox.tpp.certificate import TppCertificate
from xs2a_sandbox.tpp.trust_service import TrustService

KEY = ("--key", "ec")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def tpp(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["tpp", *arguments, "--confdir", "conf"], prog_name="xs2a-sandbox")


def read(file: str) -> TppCertificate:
    (der,) = certificate.from_pem(Path(file).read_bytes())
    return certificate.read(der)


def test_new_certificates_are_written_and_usage_is_printed() -> None:
    done = tpp("new", "--name", "My TPP", "--roles", "AISP,pisp", "--id", "PSDDE-BAFIN-4711", *KEY)
    qwac, qseal = read("my-tpp/qwac.pem"), read("my-tpp/qseal.pem")

    assert done.exit_code == 0, done.output
    assert (qwac.kind, qwac.roles, qwac.organisation_identifier) == ("QWAC", ("AISP", "PISP"), "PSDDE-BAFIN-4711")
    assert (qseal.kind, qseal.name, qseal.authority, qseal.country) == ("QSEAL", "My TPP", "DE-BAFIN", "DE")
    assert qwac.not_before <= datetime.now(UTC) < qwac.not_after
    lines = done.output.splitlines()
    assert len([line for line in lines if line.startswith("curl ") and "--cert my-tpp/qwac.pem" in line]) == 2
    assert "PRIVATE KEY" not in done.output
    assert all(file.stat().st_mode & 0o077 == 0 for file in Path().rglob("*") if file.is_file())


def test_the_same_tpp_gets_a_second_pair_in_another_folder() -> None:
    first = tpp("new", "--name", "My TPP", *KEY)
    again = tpp("new", "--name", "My TPP", *KEY)
    second = tpp("new", "--name", "My TPP", *KEY, "--to", "next", "--from", "2027-01-01", "--days", "47")

    assert (first.exit_code, second.exit_code) == (0, 0)
    assert again.exit_code == 2
    assert "already exists" in again.output
    old, new = read("my-tpp/qwac.pem"), read("next/qwac.pem")
    assert (old.organisation_identifier, old.issuer) == (new.organisation_identifier, new.issuer)
    assert new.not_before.astimezone(UTC) == datetime(2026, 12, 31, 23, tzinfo=UTC)
    assert new.not_after - new.not_before == timedelta(days=47)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--roles", "AISP,CEO"], "'CEO' is not a role; the roles are AISP, PISP, PIISP"),
        (["--id", "AT-123"], "it must look like PSDAT-FMA-123456"),
        (["--name", "x" * 65], "1 to 64 printable characters"),
        (["--name", "a\nb"], "1 to 64 printable characters"),
        (["--domain", "tpp example"], "is not a host name"),
        (["--password", ""], "1 to 200 characters"),
        (["--from", "tomorrow"], "does not match the format"),
        (["--days", "0"], "not in the range"),
    ],
)
def test_mistakes_are_reported(arguments: list[str], text: str) -> None:
    done = tpp("new", "--name", "My TPP", *arguments)

    assert done.exit_code == 2
    assert text in done.output
    assert not Path("my-tpp").exists()


def test_flags_create_defective_certificates() -> None:
    made = {name: tpp("new", "--name", "My TPP", *KEY, f"--{name}", "--to", name) for name in ("expired", "no-psd2")}

    assert {done.exit_code for done in made.values()} == {0}
    assert read("expired/qwac.pem").not_after < datetime.now(UTC)
    assert (read("no-psd2/qwac.pem").roles, read("no-psd2/qseal.pem").kind) == ((), "QSEAL")


def test_a_revoked_or_blocked_certificate_is_refused_immediately() -> None:
    tpp("new", "--name", "My TPP", *KEY, "--id", "PSDAT-FMA-1")
    tpp("new", "--name", "My TPP", *KEY, "--id", "PSDAT-FMA-2", "--revoked", "--to", "other")
    revoked, blocked = tpp("revoke", "my-tpp/qwac.pem"), tpp("block", "PSDAT-FMA-1")
    trust = TrustService(Path("conf")).trust()

    assert (revoked.exit_code, blocked.exit_code) == (0, 0)
    files = ("my-tpp/qwac.pem", "other/qwac.pem", "other/qseal.pem")
    assert {serial for _, serial in trust.revoked} == {int(read(file).serial, 16) for file in files}
    assert trust.providers["PSDAT-FMA-1"].is_blocked
    assert tpp("block", "PSDAT-FMA-1", "--undo").output == "My TPP is no longer blocked\n"
    assert not TrustService(Path("conf")).trust().providers["PSDAT-FMA-1"].is_blocked


def test_unknown_certificates_cannot_be_revoked_or_blocked() -> None:
    Path("nothing.pem").write_text("nothing")
    unknown, nothing = tpp("block", "PSDAT-FMA-1"), tpp("revoke", "nothing.pem")

    assert (unknown.exit_code, nothing.exit_code) == (2, 2)
    assert "no certificate was issued for PSDAT-FMA-1" in unknown.output
    assert "contains no readable certificate" in nothing.output


def test_the_zoo_contains_a_certificate_for_each_error_code() -> None:
    done = tpp("zoo", "zoo")

    assert done.exit_code == 0, done.output
    listed = {line.split()[1]: line.split()[0] for line in done.output.splitlines()}
    assert listed == {name: mistake.error.upper().replace("-", "_") for name, mistake in MISTAKES.items()}
    as_json = json.loads(tpp("zoo", "zoo", "--json").stdout)
    assert {one["name"]: one["code"] for one in as_json} == listed
    assert {file.stem for file in Path("zoo").glob("*.header")} == set(MISTAKES)
    assert {file.stem for file in Path("zoo").glob("*.pem")} == {m.name for m in MISTAKES.values() if m.has_key}


def test_every_kind_is_in_the_documentation() -> None:
    page = (Path(__file__).parents[2] / "docs" / "certificates.md").read_text()

    for mistake in MISTAKES.values():
        flag = f"`--{mistake.name}`" if mistake.has_key else f"`{mistake.name}`, in the zoo only"
        assert f"| {flag} | {mistake.doc} |" in page


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("keytool") is None, reason="there is no Java")
def test_keytool_converts_a_certificate_to_jks_with_the_printed_command() -> None:
    done = tpp("new", "--name", "My TPP", *KEY)
    line = next(line for line in done.output.splitlines() if line.startswith("keytool "))
    subprocess.run(line, shell=True, check=True, capture_output=True, timeout=120)
    listed = subprocess.run(
        ["keytool", "-list", "-keystore", "my-tpp/qwac.jks", "-storepass", "changeit"],
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert "qwac" in listed.stdout
    assert "PrivateKeyEntry" in listed.stdout
