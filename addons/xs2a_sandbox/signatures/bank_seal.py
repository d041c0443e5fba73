"""The bank's own seal from the test trust service. The bank signs answers and tokens with it if the dialect says so."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from xs2a_sandbox.clock import REAL
from xs2a_sandbox.documents.files import ensure_file
from xs2a_sandbox.http import Headers, Response, to_json
from xs2a_sandbox.signatures import jws
from xs2a_sandbox.signatures.rules import OF_ANSWERS, SignatureRules
from xs2a_sandbox.signatures.signing import Seal, signed_headers
from xs2a_sandbox.signatures.signing_string import SignedMessage
from xs2a_sandbox.tpp import issuing, key_files
from xs2a_sandbox.tpp.qc_statements import ROLES
from xs2a_sandbox.tpp.trust_service import FOLDER, TrustService

_FILE = "bank.pem"
_LIFE = timedelta(days=730)


class AnswerSealer:
    """Signs answers and tokens. The seal is stored in `--confdir`, and created when it is first needed."""

    def __init__(self, confdir: Path) -> None:
        self._confdir = confdir
        self._seal: Seal | None = None

    def sign(self, response: Response, rules: SignatureRules) -> Response:
        """Return the answer with the headers of its signature. Raises ConfigError."""
        now = REAL.now()
        seal = self._current(now)
        if rules.answers == "detached":
            members = {**rules.header, **({rules.issued_at: int(now.timestamp())} if rules.issued_at else {})}
            signature = jws.write_detached(seal.key, seal.certificate, members, response.body)
            return response.with_headers((jws.HEADER, signature))
        message = SignedMessage(Headers(response.headers), response.body)
        form = rules.answers or "signature"
        return response.with_headers(*signed_headers(message, seal, now, form=form, rules=OF_ANSWERS))

    def token(self, claims: Mapping[str, Any], header: Mapping[str, Any]) -> str:
        """Return the claims as a JSON Web Token with these members in its header. Raises ConfigError."""
        seal = self._current(REAL.now())
        return jws.write_compact(seal.key, seal.certificate, header, to_json(claims))

    def key_set(self) -> dict[str, Any]:
        """Return the bank's public keys as a JWK Set. Raises ConfigError."""
        return {"keys": [jws.public_jwk(self._current(REAL.now()).certificate)]}

    def _current(self, now: datetime) -> Seal:
        if self._seal is None or self._seal.certificate.not_valid_after_utc <= now:
            self._seal = bank_seal(self._confdir, now)
        return self._seal


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
