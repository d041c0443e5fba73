"""A test trust service: its own CA, a register of providers, and a list of revoked certificates.

Everything is in files of a folder in `--confdir`, which `serve` reads: `ca.pem` with the key, `register.json`, and
`revoked.pem`, a revocation list as trust services publish it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from xs2a_sandbox.documents.files import ensure_file, ensure_folder, read_file, replace_file
from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.tpp.certificate import TppCertificate
from xs2a_sandbox.tpp.issuing import Issued, issue_ca
from xs2a_sandbox.tpp.key_files import pem

FOLDER = "tpp"
_CA, _REGISTER, _REVOKED = "ca.pem", "register.json", "revoked.pem"
_A_WEEK = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider in the register of the competent authority."""

    name: str
    is_blocked: bool = False


@dataclass(frozen=True, slots=True)
class Trust:
    """The data by which a bank judges certificates: trusted authorities, revocations, and providers.

    `revoked` are serial numbers with the name of their issuer.
    """

    authorities: tuple[x509.Certificate, ...] = ()
    revoked: frozenset[tuple[str, int]] = frozenset()
    providers: Mapping[str, Provider] = field(default_factory=dict)


class TrustService:
    """Issues, revokes and blocks. The CA is created when it is first needed; nothing else reads its key."""

    def __init__(self, confdir: Path) -> None:
        self.folder = confdir / FOLDER

    def ca(self, now: datetime) -> Issued:
        """Return the CA with its key, and create it if there is none. Raises ConfigError."""
        try:
            for folder in (self.folder.parent, self.folder):
                ensure_folder(folder)
        except OSError as error:
            raise ConfigError(f"cannot store the test trust service in {self.folder}: {error.strerror}") from None
        file = self.folder / _CA
        text = ensure_file(file, "key of the test trust service", lambda: _as_pem(issue_ca(now)), _is_key)
        try:
            certificate = x509.load_pem_x509_certificate(text.encode())
            key = serialization.load_pem_private_key(text.encode(), password=None)
        except ValueError:
            key = None
        if not isinstance(key, rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey):
            raise ConfigError(
                f"{file} is not a CA with its key. Remove it: a new one is created with the next certificate"
            )
        return Issued(certificate, key)

    def register(self, identifier: str, provider: Provider) -> None:
        """Add a provider to the register, or change it. Raises ConfigError."""
        providers = {**self._providers(), identifier: provider}
        entries = {
            id: {"name": provider.name, "blocked": provider.is_blocked} for id, provider in sorted(providers.items())
        }
        replace_file(self.folder / _REGISTER, (json.dumps(entries, ensure_ascii=False, indent=2) + "\n").encode())

    def provider(self, identifier: str) -> Provider | None:
        """Return the provider in the register. Raises ConfigError."""
        return self._providers().get(identifier)

    def revoke(self, certificate: TppCertificate, now: datetime) -> None:
        """Add the certificate to the revocation list. Raises ConfigError."""
        ca = self.ca(now)
        if not certificate.is_signed_by(ca.certificate):
            raise ConfigError(
                f"the certificate was issued by a different {certificate.issuer}; only that CA can revoke it"
            )
        builder = x509.CertificateRevocationListBuilder(ca.certificate.subject, now, now + _A_WEEK)
        entry = x509.RevokedCertificateBuilder(certificate.parsed.serial_number, now).build()
        for revocation in [*self._revoke(), entry]:
            builder = builder.add_revoked_certificate(revocation)
        made = builder.sign(ca.key, hashes.SHA256())
        replace_file(self.folder / _REVOKED, made.public_bytes(serialization.Encoding.PEM))

    def trust(self) -> Trust:
        """Return the authorities, providers and revocations in the current files. Raises ConfigError."""
        return _trust(self, tuple(_version(self.folder / name) for name in (_CA, _REGISTER, _REVOKED)))

    def read_trust(self) -> Trust:
        """Read all files. Raises ConfigError."""
        text = read_file(self.folder / _CA, "key of the test trust service", _is_key)
        if text is None:
            return Trust()
        try:
            certificate = x509.load_pem_x509_certificate(text.encode())
        except ValueError:
            raise ConfigError(f"{self.folder / _CA} is not a CA. Remove it: a new one is created") from None
        issuer = certificate.subject.rfc4514_string()
        revoked = frozenset((issuer, revocation.serial_number) for revocation in self._revoke())
        return Trust((certificate,), revoked, self._providers())

    def __hash__(self) -> int:
        return hash(self.folder)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TrustService) and other.folder == self.folder

    def _providers(self) -> dict[str, Provider]:
        file = self.folder / _REGISTER
        try:
            entries = json.loads(file.read_bytes())
            return {id: Provider(str(entry["name"]), entry["blocked"] is True) for id, entry in entries.items()}
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise ConfigError(f"the register {file} cannot be read: {error.strerror}") from None
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ConfigError(f"{file} is not a register of providers. Remove it: a new one is created") from None

    def _revoke(self) -> Sequence[x509.RevokedCertificate]:
        file = self.folder / _REVOKED
        try:
            return list(x509.load_pem_x509_crl(file.read_bytes()))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise ConfigError(f"the list {file} cannot be read: {error.strerror}") from None
        except ValueError:
            raise ConfigError(
                f"{file} is not a list of revoked certificates. Remove it: a new one is created"
            ) from None


@lru_cache(16)
def _trust(service: TrustService, versions: tuple[tuple[int, int], ...]) -> Trust:
    return service.read_trust()


def _version(file: Path) -> tuple[int, int]:
    try:
        status = file.stat()
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_ino


def _as_pem(issued: Issued) -> str:
    return pem(issued).decode()


def _is_key(text: str) -> bool:
    return "PRIVATE KEY-----" in text
