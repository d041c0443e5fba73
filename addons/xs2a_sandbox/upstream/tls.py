"""TLS to a bank by its configuration: trusted CAs and client certificates. Verification cannot be switched off.

Only the settings count, not the environment, which often belongs to the app.
"""

import os
import ssl
from collections.abc import MutableMapping
from functools import cache
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory

import certifi

from xs2a_sandbox.config import RealBank
from xs2a_sandbox.errors import ConfigError

FOR_OTHERS = ("SSL_CERT_FILE", "SSL_CERT_DIR", "SSLKEYLOGFILE", "MITMPROXY_SSLKEYLOGFILE")
"""Variables that libraries read on their own: further CAs to trust, and where to write the keys of connections."""

_VERSIONS = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}


def context(bank: RealBank) -> ssl.SSLContext:
    """Return a context, the same for all banks with the same settings.

    Raises ConfigError with the name of an unusable file.
    """
    names = ("ca", "client_cert", "client_key", "client_key_password", "tls_minimum", "tls_strict")
    return _context(RealBank(**{name: getattr(bank, name) for name in names}))


@cache
def _context(bank: RealBank) -> ssl.SSLContext:
    # Python's default context would write the keys of its connections to SSLKEYLOGFILE.
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if bank.ca is not None:
        made.load_verify_locations(_check_loadable(bank.ca, "ca"))
    else:
        made.load_verify_locations(*_find_usual())
    made.minimum_version = _VERSIONS[bank.tls_minimum]
    # Defaults since Python 3.13, set so that all Python versions judge a bank in the same way.
    made.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN | ssl.VERIFY_X509_STRICT
    if not bank.tls_strict:
        made.verify_flags &= ~ssl.VERIFY_X509_STRICT
    made.set_alpn_protocols(["http/1.1"])
    if bank.client_cert is not None:
        _show(made, bank, bank.client_cert)
    return made


def leave_out(environ: MutableMapping[str, str]) -> None:
    """Remove these variables from a process, before the libraries that read them are imported."""
    for name in FOR_OTHERS:
        environ.pop(name, None)


def _find_usual() -> tuple[Path | None, Path | None]:
    """Return file and folder of the system's CAs as compiled into OpenSSL, otherwise those of certifi."""
    built = ssl.get_default_verify_paths()
    file, folder = Path(built.openssl_cafile), Path(built.openssl_capath)
    is_there, has_some = file.is_file(), folder.is_dir() and any(os.scandir(folder))
    if not (is_there or has_some):
        return Path(certifi.where()), None
    return file if is_there else None, folder if has_some else None


def _check_loadable(file: Path, setting: str) -> Path:
    """Check that the file contains a certificate, and return it. Raises ConfigError."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(file)
    except ssl.SSLError:
        raise ConfigError(f"{file} contains no certificate in PEM format. Set `{setting}` to another file") from None
    except OSError as error:
        raise _unreadable(file, setting, error) from None
    return file


def _show(made: ssl.SSLContext, bank: RealBank, certificate: Path) -> None:
    key = bank.client_key or certificate
    needs_password = False

    def password() -> str:
        # Without this OpenSSL prompts at the terminal and waits.
        nonlocal needs_password
        needs_password = True
        return bank.client_key_password or ""

    if bank.client_key is None and not _is_pem(certificate):
        _show_pkcs12(made, certificate, bank.client_key_password)
        return
    _check_loadable(certificate, "client_cert")
    try:
        key.read_bytes()
        made.load_cert_chain(certificate, key, password)
    except ssl.SSLError as error:
        if needs_password and bank.client_key_password is None:
            text = f"the key in {key} is encrypted. Set `client_key_password` to its password"
        elif needs_password:
            text = f"the key in {key} cannot be decrypted with this `client_key_password`"
        elif error.reason == "KEY_VALUES_MISMATCH":
            text = (
                f"the key in {key} does not belong to the certificate {certificate}. Set `client_key` to the key "
                "of the certificate"
            )
        else:
            text = f"{key} contains no private key in PEM format. Set `client_key` to another file"
        raise ConfigError(text) from None
    except OSError as error:
        raise _unreadable(key, "client_key", error) from None


def _is_pem(file: Path) -> bool:
    try:
        return b"-----BEGIN" in file.read_bytes()
    except OSError as error:
        raise _unreadable(file, "client_cert", error) from None


def _show_pkcs12(made: ssl.SSLContext, archive: Path, password: str | None) -> None:
    # Imported only for such a file, because the import is slow.
    from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat, pkcs12

    try:
        loaded = pkcs12.load_pkcs12(archive.read_bytes(), password.encode() if password else None)
    except ValueError:
        with_it = "with this `client_key_password`" if password else "without a password; set `client_key_password`"
        text = f"{archive} contains no certificate in PEM, and cannot be opened as PKCS#12 {with_it}"
        raise ConfigError(text) from None
    if loaded.cert is None or loaded.key is None:
        text = f"{archive} must contain a certificate and its private key. Set `client_cert` to another file"
        raise ConfigError(text)
    # OpenSSL's contexts only read files: the key is written with a random password, and only for this moment.
    once = token_hex(32)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "client.pem"
        chain = [loaded.cert, *loaded.additional_certs]
        pem = b"".join(certificate.certificate.public_bytes(Encoding.PEM) for certificate in chain)
        key = loaded.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(once.encode()))
        file.write_bytes(pem + key)
        made.load_cert_chain(file, password=once)


def _unreadable(file: Path, setting: str, error: OSError) -> ConfigError:
    return ConfigError(f"{file} cannot be read: {error.strerror}. Set `{setting}` to another file")
