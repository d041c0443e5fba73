"""Keeps the values of the package's YAML files in the user's cache folder, because parsing them slows down each start.

The name of an entry is the hash of the text and of the parser's own code, so a changed file or another version finds
nothing, and each entry starts with the hash of the rest, so a damaged one is ignored. An entry is data that cannot run
code. Files of the user are not kept: their data may be of real people, who expect no copies.
"""

import os
from contextlib import suppress
from decimal import Decimal
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, NamedTuple

import msgspec

from xs2a_sandbox.bundled import bundled

_PARSER = Path(__file__).with_name("yaml_loader.py")
_DECIMAL = 1
"""The extension type of decimals, which MessagePack does not have."""


_noted: dict[bytes, Any] = {}
"""Values by text."""


class CachedValue(NamedTuple):
    value: Any


def is_bundled(file: Path) -> bool:
    return file.is_relative_to(bundled("cassettes"))


def find(content: bytes) -> CachedValue | None:
    """Return the value of the text, or None if it is not kept."""
    try:
        entry = _place(content).read_bytes()
        if sha256(entry[32:]).digest() != entry[:32]:
            return None
        return CachedValue(_decoder.decode(entry[32:]))
    except (OSError, RuntimeError, ValueError, msgspec.MsgspecError):
        return None


def note(content: bytes, value: Any) -> None:
    """Note a value that was not kept yet. Only `serve` keeps it: tests in other processes leave no files."""
    _noted[content] = value


def keep() -> None:
    """Keep the noted values, if there is a folder to write to."""
    while _noted:
        _write(*_noted.popitem())


def _write(content: bytes, value: Any) -> None:
    """Write an entry. Another process never sees half of it."""
    # RuntimeError means no home, and the last two mean values that MessagePack does not have.
    with suppress(OSError, RuntimeError, ValueError, OverflowError):
        packed = msgspec.msgpack.encode(_packable(value))
        place = _place(content)
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=place.parent, delete=False) as made:
            made.write(sha256(packed).digest() + packed)
        os.replace(made.name, place)


def _place(content: bytes) -> Path:
    caches = os.environ.get("XDG_CACHE_HOME")
    folder = Path(caches) if caches and os.path.isabs(caches) else Path.home() / ".cache"
    return folder / "xs2a-sandbox" / sha256(_parser_code() + content).hexdigest()


@cache
def _parser_code() -> bytes:
    return sha256(_PARSER.read_bytes()).digest()


def _packable(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _packable(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_packable(inner) for inner in value]
    return msgspec.msgpack.Ext(_DECIMAL, str(value).encode()) if isinstance(value, Decimal) else value


def _unpack(kind: int, data: memoryview) -> Any:
    return Decimal(str(data, "ascii"))


_decoder = msgspec.msgpack.Decoder(ext_hook=_unpack)
