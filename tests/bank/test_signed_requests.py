"""Signatures: when they are required, and warnings."""

from pathlib import Path

import pytest

from tests.support.engine_client import Client, an_engine
from tests.support.seals import seal, sealed
from xs2a_sandbox.config import RealBank
from xs2a_sandbox.config.checks import Profile

PATH = "/v1/consents/9d3c41b2-5f0e-4c6a-8b1d-2e7f60a4c911/status"
ID = {"X-Request-ID": "99391c7e-ad88-49ec-a2ad-99ddcb1f7721"}
DEMANDED = "cassette: 1\ntitle: x\nsignatures: {demanded: true, signed: [x-request-id]}\n"


def client(folder: Path | None, *checks: str, profile: Profile = "documented") -> Client:
    """Return a client of a bank with these checks. `folder` contains cassettes above its dialect."""
    return Client(an_engine(layers=[[folder]] if folder else None, real=RealBank(checks=checks, profile=profile)))


@pytest.fixture
def demanding(tmp_path: Path) -> Path:
    (tmp_path / "demanding").mkdir()
    (tmp_path / "demanding" / "signatures.yaml").write_text(DEMANDED)
    return tmp_path / "demanding"


def test_the_check_or_a_rule_of_a_strict_bank_requires_a_signature(demanding: Path) -> None:
    banks = {
        "named": client(None, "signature"),
        "strict": client(None, profile="strict"),
        "demanded": client(demanding, profile="strict"),
    }
    assert {name: bank.get(PATH, headers=ID).error["code"] for name, bank in banks.items()} == {
        "named": "SIGNATURE_MISSING",
        "strict": "TOKEN_UNKNOWN",
        "demanded": "SIGNATURE_MISSING",
    }
    assert client(demanding).get(PATH, headers=ID).status == 200, "the profile documented requires none"


def test_a_dialect_defines_the_signed_headers(demanding: Path) -> None:
    refused = client(demanding, "signature").get(PATH, headers=sealed(ID, names=("x-request-id",), method="GET"))
    assert "not trusted" in refused.error["text"], "everything else is correct"


def test_a_wrong_signature_with_checks_in_mode_warn() -> None:
    headers = {**sealed(ID, by=seal()), "Digest": "SHA-256=AAAA"}
    answer = client(None, "warn").get(PATH, headers=headers)
    assert answer.status == 200
    assert answer.headers["x-sandbox-strict"].startswith("401 CERTIFICATE_INVALID: ")
