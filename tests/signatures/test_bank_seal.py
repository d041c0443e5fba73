"""The bank's seal: created once, readable only by its owner, and replaced when it has expired."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.http import Headers, Response
from xs2a_sandbox.signatures import verification
from xs2a_sandbox.signatures.bank_seal import AnswerSealer, bank_seal
from xs2a_sandbox.signatures.rules import OF_ANSWERS, Form, SignatureRules
from xs2a_sandbox.signatures.signing_string import SignedMessage
from xs2a_sandbox.tpp import certificate
from xs2a_sandbox.tpp.trust_service import TrustService


def now() -> datetime:
    return datetime.now(UTC)


@pytest.fixture
def confdir(tmp_path: Path) -> Path:
    (tmp_path / "conf").mkdir(mode=0o700)
    return tmp_path / "conf"


def test_the_seal_is_created_once_and_readable_only_by_its_owner(confdir: Path) -> None:
    made = bank_seal(confdir, now())
    assert bank_seal(confdir, now()).certificate == made.certificate
    (file,) = confdir.rglob("bank.pem")
    assert file.stat().st_mode & 0o777 == 0o600


def test_the_seal_is_issued_by_the_test_trust_service(confdir: Path) -> None:
    seal = bank_seal(confdir, now())
    own = certificate.read(seal.certificate.public_bytes(Encoding.DER))
    assert (own.kind, own.organisation_identifier) == ("QSEAL", "PSDAT-FMA-000000")
    assert own.is_signed_by(TrustService(confdir).ca(now()).certificate)


def test_an_expired_seal_is_replaced(confdir: Path) -> None:
    old = bank_seal(confdir, now() - timedelta(days=731))
    new = bank_seal(confdir, now())
    assert old.certificate.not_valid_after_utc < now() < new.certificate.not_valid_after_utc


def test_an_error_names_a_file_that_is_not_a_seal(confdir: Path) -> None:
    bank_seal(confdir, now())
    (file,) = confdir.rglob("bank.pem")
    file.write_text("nothing")
    with pytest.raises(UserMistake, match=r"bank\.pem"):
        bank_seal(confdir, now())


@pytest.mark.parametrize("form", ["signature", "jws"])
def test_a_signed_answer_is_right_until_it_is_changed(confdir: Path, form: Form) -> None:
    signed = AnswerSealer(confdir).sign(Response(200, (("X-Request-ID", "1"),), b"{}"), SignatureRules(answers=form))
    message = SignedMessage(Headers(signed.headers), signed.body)
    assert verification.is_signed(message)
    assert verification.mistake(message, OF_ANSWERS, [now()]) is None
    changed = SignedMessage(Headers(signed.headers), b"[]")
    assert verification.mistake(changed, OF_ANSWERS, [now()])
