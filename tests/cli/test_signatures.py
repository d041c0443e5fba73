"""`sign` prints headers that the sandbox accepts and `explain` reads."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from cryptography.hazmat.primitives.serialization import Encoding

from tests.support.certificates import issued
from xs2a_sandbox.cli.main import cli
from xs2a_sandbox.tpp import key_files
from xs2a_sandbox.tpp.trust_service import TrustService

URL = "http://127.0.0.1:8081/v1/consents/9d3c41b2-5f0e-4c6a-8b1d-2e7f60a4c911/status"


@pytest.fixture
def seal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XS2A_SANDBOX_CONFDIR", str(tmp_path / "conf"))
    monkeypatch.setenv("XS2A_SANDBOX_CHECKS", "signature")
    ca = TrustService(tmp_path / "conf").ca(datetime.now(UTC))
    return key_files.write(tmp_path, "qseal", issued("QSEAL", by=ca), [ca.certificate], "-")[0]


def run(*arguments: object, stdin: str = "") -> Result:
    return CliRunner().invoke(cli, [str(one) for one in arguments], input=stdin)


@pytest.mark.parametrize("form", ["signature", "jws"])
def test_explain_accepts_the_output_of_sign(seal: Path, form: str) -> None:
    headers = run("sign", "GET", URL, "--with", seal, "--form", form, "-H", "X-Extra: 1").output
    assert "X-Extra: 1\n" in headers
    explained = json.loads(run("explain", "GET", URL, "--offline", "--json", "-H", "@-", stdin=headers).output)
    assert (explained["answer"]["status"], explained["signature"]) == (200, None)


def test_explain_shows_both_signing_strings(seal: Path) -> None:
    names = ("--sign", "x-request-id", "--sign", "digest")
    headers = run("sign", "GET", URL, "--with", seal, *names).output.replace(
        '"x-request-id digest"', '"digest x-request-id"'
    )
    text = run("explain", "GET", URL, "--offline", "-H", "@-", stdin=headers).output
    assert "401 signature-invalid" in text
    shown = text.partition("  the signing string:")[2]
    lines = [line.strip().split(":")[0] for line in shown.splitlines() if line.strip().startswith("'")]
    assert lines == ["'digest", "'x-request-id", "'x-request-id", "'digest"]


def test_explain_shows_the_warnings_of_mode_warn(seal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XS2A_SANDBOX_CHECKS", "warn")
    id = "X-Request-ID: 99391c7e-ad88-49ec-a2ad-99ddcb1f7721"
    text = run("explain", "GET", URL, "--offline", "-H", id).output
    assert "the profile strict would refuse this: 401 TOKEN_UNKNOWN" in text
    assert "the answer is 200" in text


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--with", "no-such.pem"), "No such file"),
        (("--with", "ca.pem"), "contains no readable private key"),
        (("--with", "qseal.p12"), "contains no certificate in PEM format"),
        (("--with", "qseal.pem", "--sign", "psu-id"), "the request has no header 'psu-id'"),
        (("--with", "qseal.pem", "-H", "nothing"), "is not a header; write it as 'Name: value'"),
        (("--with", "qseal.pem", "-d", "@no-such.json"), "No such file"),
    ],
)
def test_requests_that_cannot_be_signed(seal: Path, arguments: tuple[str, ...], text: str) -> None:
    ca = TrustService(seal.parent / "conf").ca(datetime.now(UTC)).certificate
    (seal.parent / "ca.pem").write_bytes(ca.public_bytes(Encoding.PEM))
    done = run("sign", "POST", URL, *arguments)
    assert (done.exit_code, text in done.output) == (2, True), done.output
