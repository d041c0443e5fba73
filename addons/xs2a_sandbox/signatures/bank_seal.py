"""The bank's own seal from the test trust service, with which it signs answers if the dialect says so."""

from datetime import datetime, timedelta
from pathlib import Path

from xs2a_sandbox.clock import REAL
from xs2a_sandbox.documents.files import ensure_file
from xs2a_sandbox.http import Headers, Response
from xs2a_sandbox.signatures.rules import OF_ANSWERS, Form
from xs2a_sandbox.signatures.signing import Seal, signed_headers
from xs2a_sandbox.signatures.signing_string import SignedMessage
from xs2a_sandbox.tpp import issuing, key_files
from xs2a_sandbox.tpp.qc_statements import ROLES
from xs2a_sandbox.tpp.trust_service import FOLDER, TrustService

_FILE = "bank.pem"
_LIFE = timedelta(days=730)


class AnswerSealer:
    """Signs answers. The seal is stored in `--confdir`, and created for the first signed answer."""

    def __init__(self, confdir: Path) -> None:
        self._confdir = confdir
        self._seal: Seal | None = None

    def sign(self, response: Response, form: Form) -> Response:
        """Return the answer with the headers of its signature. Raises ConfigError."""
        now = REAL.now()
        if self._seal is None or self._seal.certificate.not_valid_after_utc <= now:
            self._seal = bank_seal(self._confdir, now)
        message = SignedMessage(Headers(response.headers), response.body)
        return response.with_headers(*signed_headers(message, self._seal, now, form=form, rules=OF_ANSWERS))


def bank_seal(confdir: Path, now: datetime) -> Seal:
    """Return the stored seal, or a new one if there is none or it has expired. Raises ConfigError."""
    file = confdir / FOLDER / _FILE
    seal = _read_or_issue(file, confdir, now)
    if seal.certificate.not_valid_after_utc <= now:
        file.unlink(missing_ok=True)
        seal = _read_or_issue(file, confdir, now)
    return seal


def _read_or_issue(file: Path, confdir: Path, now: datetime) -> Seal:
    ensure_file(file, "seal of the bank", lambda: _issue(confdir, now), lambda text: "PRIVATE KEY-----" in text)
    return Seal.read(file)


def _issue(confdir: Path, now: datetime) -> str:
    particulars = issuing.Particulars(
        name="XS2A Sandbox Bank",
        organisation_identifier="PSDAT-FMA-000000",
        roles=(ROLES["ASPSP"],),
        authority="AT-FMA",
        authority_name="Financial Market Authority",
        country="AT",
        kind="QSEAL",
        not_before=now - timedelta(days=1),
        not_after=now + _LIFE,
    )
    key, ca = issuing.new_key(), TrustService(confdir).ca(now)
    return key_files.pem(issuing.Issued(issuing.issue(particulars, key, ca), key)).decode()
