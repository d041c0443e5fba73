"""The vault: an encrypted, append-only file on this machine with the values that recordings have replaced.

Each line is a separate record, so that several recordings can write at once, and a killed one damages nothing.
"""

import base64
import fcntl
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from xs2a_sandbox.config.kinds import VAULT_PASSPHRASE
from xs2a_sandbox.documents.files import ensure_file, read_file, replace_file, sync_data
from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.http import Headers
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.redaction.pseudonyms import fingerprint

FILE = "vault"
KEY_FILE = "vault.key"

_VERSION = 1
_WHAT = "vault"
_KEY = re.compile(r"[A-Za-z0-9_-]{43}=")
_CHECK = b"xs2a-sandbox vault"
_SALT = 16
_COST, _BLOCK = 2**16, 8
"""The cost of scrypt: 64 MiB and some tenths of a second for each passphrase."""
_CHUNK = 64 * 1024


@dataclass(frozen=True, slots=True)
class RealRequest:
    """A request as it was sent to the bank, without credentials. `is_whole` is False if these are missing, so that it
    cannot be sent again.
    """

    target: str
    headers: Headers
    body: bytes
    is_whole: bool


@dataclass(frozen=True, slots=True)
class OpenVault:
    """The content of a vault: the keys of pseudonyms by fingerprint; the real requests by `digest` of the recorded
    ones; and the values by pseudonym, by the fingerprint of the key.
    """

    file: Path
    keys: Mapping[str, bytes] = field(default_factory=dict)
    requests: Mapping[str, RealRequest] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


class Vault:
    """A vault that can be written, from `open_for_writing`. Several threads and processes may use it."""

    def __init__(self, file: Path, cipher: Fernet) -> None:
        self._file = file
        self._cipher = cipher

    def add_key(self, key: bytes) -> None:
        """Add a key of pseudonyms. Raises OSError."""
        self._append({"key": key.hex()})

    def add(self, key: str, recorded: str, real: RealRequest, values: Mapping[str, str]) -> None:
        """Add a request and replaced values by their pseudonyms. They are on disk when this returns.

        `key` is the fingerprint of the key for pseudonyms, `recorded` the `digest` of the recorded request.

        Raises:
            OSError: the vault cannot be written.
        """
        self._append(_record(key, recorded, real, values))

    def _append(self, record: Mapping[str, Any]) -> None:
        line = _line(self._cipher, record)
        descriptor = os.open(self._file, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            _cut_unfinished(descriptor)
            rest = memoryview(line)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
            sync_data(descriptor)
        finally:
            os.close(descriptor)


def digest(exchange: Exchange) -> str:
    """Return the name of a recorded request in a vault."""
    headers = sorted((name.lower(), value) for name, value in exchange.headers)
    text = json.dumps([exchange.method, exchange.target, headers]).encode()
    return sha256(b"%d %s%s" % (len(text), text, exchange.body)).hexdigest()


def open_for_writing(confdir: Path) -> Vault:
    """Open the vault in `confdir`, or create it. A new vault uses the passphrase in the environment, if there is one.

    Raises:
        ConfigError: the vault cannot be created or opened.
    """
    file = confdir / FILE
    passphrase = passphrase_of_environment()
    text = ensure_file(file, _WHAT, lambda: _new_head(confdir, passphrase)[0], _is_head)
    head = _head(text.partition("\n")[0], file)
    if passphrase and head["key"] == "file":
        raise ConfigError(
            f"{file} is encrypted with the key next to it, not with the passphrase in {VAULT_PASSPHRASE}. To "
            f"encrypt it with the passphrase: run xs2a-sandbox vault export NEW, move NEW to {file}, and remove "
            f"{confdir / KEY_FILE}; or unset {VAULT_PASSPHRASE}"
        )
    return Vault(file, _cipher(head, file, confdir))


def read(file: Path, confdir: Path) -> OpenVault:
    """Read a vault. A key on this machine is in `confdir`. An incomplete last line after a crash is ignored.

    Raises:
        ConfigError: the vault cannot be read or opened, or one of its lines is damaged.
    """
    try:
        lines = file.read_bytes().split(b"\n")[:-1]
    except OSError as error:
        raise ConfigError(f"the vault {file} cannot be read: {error.strerror}") from None
    if not lines:
        raise ConfigError(f"{file} is not a vault: it is empty, or its first line is incomplete")
    cipher = _cipher(_head(lines[0].decode(errors="replace"), file), file, confdir)
    keys: dict[str, bytes] = {}
    requests: dict[str, RealRequest] = {}
    values: dict[str, dict[str, str]] = {}
    for number, line in enumerate(lines[1:], 2):
        try:
            record = json.loads(cipher.decrypt(line))
            if "key" in record:
                key = bytes.fromhex(record["key"])
                keys[fingerprint(key)] = key
                continue
            if "request" in record:
                requests[record["request"]] = _real_request(record)
            if record["values"]:
                values.setdefault(record["of"], {}).update(record["values"])
        except (InvalidToken, ValueError, KeyError, TypeError):
            raise ConfigError(
                f"{file}:{number}: this line of the vault is damaged, so the values of the pseudonyms are "
                "not reliable. "
                "Restore a copy of the file, or remove it and record again"
            ) from None
    return OpenVault(file, keys, requests, values)


def export(vault: OpenVault, file: Path, passphrase: str) -> None:
    """Write everything to a vault for another machine, under a passphrase. Raises ConfigError."""
    text, cipher = _new_head(None, passphrase)
    records: list[Mapping[str, Any]] = [{"key": key.hex()} for key in vault.keys.values()]
    records += [{"of": key, "values": values} for key, values in vault.values.items()]
    records += [_record("", recorded, real, {}) for recorded, real in vault.requests.items()]
    replace_file(file, b"".join([text.encode() + b"\n", *(_line(cipher, record) for record in records)]))


def _record(key: str, recorded: str, real: RealRequest, values: Mapping[str, str]) -> dict[str, Any]:
    return {
        "of": key,
        "request": recorded,
        "target": real.target,
        "headers": real.headers.pairs,
        "body": base64.b64encode(real.body).decode(),
        "whole": real.is_whole,
        "values": values,
    }


def _real_request(record: Mapping[str, Any]) -> RealRequest:
    headers = Headers((str(name), str(value)) for name, value in record["headers"])
    return RealRequest(str(record["target"]), headers, base64.b64decode(record["body"]), bool(record["whole"]))


def _line(cipher: Fernet, record: Mapping[str, Any]) -> bytes:
    return cipher.encrypt(json.dumps(record).encode()) + b"\n"


def _cut_unfinished(descriptor: int) -> None:
    """Cut off an incomplete line after a crash, because the next line would be appended to it."""
    size = end = os.fstat(descriptor).st_size
    while end:
        start = max(0, end - _CHUNK)
        newline = os.pread(descriptor, end - start, start).rfind(b"\n")
        if newline >= 0:
            end = start + newline + 1
            break
        end = start
    if end != size:
        os.ftruncate(descriptor, end)


def passphrase_of_environment() -> str | None:
    return os.environ.get(VAULT_PASSPHRASE) or None


def _new_head(confdir: Path | None, passphrase: str | None) -> tuple[str, Fernet]:
    """Return the first line of a new vault, and its cipher."""
    head: dict[str, Any] = {"vault": _VERSION, "key": "passphrase" if passphrase else "file"}
    if passphrase:
        salt = os.urandom(_SALT)
        cipher = _derive(passphrase, salt)
        head["salt"] = salt.hex()
    elif confdir:
        key = ensure_file(
            confdir / KEY_FILE, "key of the vault", lambda: Fernet.generate_key().decode(), _KEY.fullmatch
        )
        cipher = _of_key(key, confdir / KEY_FILE)
    else:
        raise ConfigError(f"a vault for another machine needs a passphrase: set {VAULT_PASSPHRASE}")
    return json.dumps(head | {"check": cipher.encrypt(_CHECK).decode()}), cipher


def _is_head(text: str) -> bool:
    return text.startswith('{"vault":')


def _head(line: str, file: Path) -> dict[str, Any]:
    try:
        head = json.loads(line)
    except ValueError:
        head = None
    if not isinstance(head, dict) or "vault" not in head:
        raise ConfigError(f"{file} is not a vault: its first line is not a vault header")
    if head["vault"] != _VERSION:
        text = f"{file} is a vault of version {head['vault']!r}, but this xs2a-sandbox reads only version {_VERSION}"
        raise ConfigError(f"{text}: use the version of xs2a-sandbox that wrote it")
    return head


def _cipher(head: Mapping[str, Any], file: Path, confdir: Path) -> Fernet:
    """Return the cipher. Raises ConfigError if the key is missing or wrong."""
    if head.get("key") == "passphrase":
        passphrase = passphrase_of_environment()
        if passphrase is None:
            raise ConfigError(f"{file} opens with a passphrase: set {VAULT_PASSPHRASE}")
        why = (
            f"{file} does not open with the passphrase in {VAULT_PASSPHRASE}: set the passphrase with which it was "
            "written. If that is correct, the file is damaged: restore a copy"
        )
        try:
            cipher = _derive(passphrase, bytes.fromhex(head["salt"]))
        except (KeyError, TypeError, ValueError):
            raise ConfigError(why) from None
    else:
        key_file = confdir / KEY_FILE
        key = read_file(key_file, "key of the vault", _KEY.fullmatch)
        if key is None:
            raise ConfigError(
                f"the key of {file} is missing: there is no {key_file}. Restore it, or set --confdir to the folder "
                "that contains it. If the vault is from another machine, make a copy there with "
                "xs2a-sandbox vault export FILE"
            )
        cipher = _of_key(key, key_file)
        why = (
            f"{file} does not open with {key_file}: it is another machine's, or damaged. To use it here, make a "
            "copy there with xs2a-sandbox vault export FILE"
        )
    try:
        if cipher.decrypt(str(head.get("check")).encode()) == _CHECK:
            return cipher
    except InvalidToken:
        pass
    raise ConfigError(why)


def _of_key(key: str, file: Path) -> Fernet:
    if not _KEY.fullmatch(key):
        raise ConfigError(f"{file} contains no key of a vault; restore the key of this vault")
    return Fernet(key.encode())


def _derive(passphrase: str, salt: bytes) -> Fernet:
    key = Scrypt(salt=salt, length=32, n=_COST, r=_BLOCK, p=1).derive(passphrase.encode())
    return Fernet(base64.urlsafe_b64encode(key))
