"""The bank's seal: made once, kept for its owner alone, and made anew when it has ended."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.http import Headers, Response
from xs2a_sandbox.signatures import verification
from xs2a_sandbox.signatures.bank_seal import AnswerSealer, bank_seal
from xs2a_sandbox.signatures.rules import OF_ANSWERS, Form
from xs2a_sandbox.signatures.signing_string import SignedMessage
from xs2a_sandbox.tpp import certificate
from xs2a_sandbox.tpp.trust_service import TrustService


def now() -> datetime:
    return datetime.now(UTC)


@pytest.fixture
def confdir(tmp_path: Path) -> Path:
    (tmp_path / "conf").mkdir(mode=0o700)
    return tmp_path / "conf"


def test_it_is_made_once_and_for_its_owner_alone(confdir: Path) -> None:
    made = bank_seal(confdir, now())
    assert bank_seal(confdir, now()).certificate == made.certificate
    (file,) = confdir.rglob("bank.pem")
    assert file.stat().st_mode & 0o777 == 0o600


def test_the_test_trust_service_has_issued_it(confdir: Path) -> None:
    seal = bank_seal(confdir, now())
    own = certificate.read(seal.certificate.public_bytes(Encoding.DER))
    assert (own.kind, own.organisation_identifier) == ("QSEAL", "PSDAT-FMA-000000")
    assert own.is_signed_by(TrustService(confdir).ca(now()).certificate)


def test_one_that_has_ended_is_made_anew(confdir: Path) -> None:
    old = bank_seal(confdir, now() - timedelta(days=731))
    new = bank_seal(confdir, now())
    assert old.certificate.not_valid_after_utc < now() < new.certificate.not_valid_after_utc


def test_a_file_that_is_no_seal_is_named(confdir: Path) -> None:
    bank_seal(confdir, now())
    (file,) = confdir.rglob("bank.pem")
    file.write_text("nothing")
    with pytest.raises(UserMistake, match=r"bank\.pem"):
        bank_seal(confdir, now())


@pytest.mark.parametrize("form", ["signature", "jws"])
def test_what_it_signs_is_right_until_it_is_changed(confdir: Path, form: Form) -> None:
    signed = AnswerSealer(confdir).sign(Response(200, (("X-Request-ID", "1"),), b"{}"), form)
    message = SignedMessage(Headers(signed.headers), signed.body)
    assert verification.is_signed(message)
    assert verification.mistake(message, OF_ANSWERS, [now()]) is None
    changed = SignedMessage(Headers(signed.headers), b"[]")
    assert verification.mistake(changed, OF_ANSWERS, [now()])
