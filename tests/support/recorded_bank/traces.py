"""Search for a secret in written files in any form: escaped, encoded, compressed, with spaces, in other case."""

import base64
import binascii
import gzip
import html
import json
import re
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import unquote_plus

import yaml

from tests.support.recorded_bank.planted import Secret

_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{12,}={0,2}")
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})|\\x([0-9a-fA-F]{2})|\\([\"/\\])")
_SEPARATORS = re.compile(r"[\s\-./()\\]+")
_DEEPEST = 5
_BINARY = (".db", ".db-wal", ".db-shm")


class Haystack:
    """All texts that can be extracted from files. `name` describes the files."""

    def __init__(self, name: str, contents: Iterable[bytes]) -> None:
        self.name = name
        texts = set().union(*(_texts(content, 0) for content in contents))
        self.plain = "\n".join(texts)
        self._plain = self.plain.casefold()
        self._compact = _SEPARATORS.sub("", self._plain)

    def holds(self, secret: Secret) -> bool:
        if secret.kind == "otp":
            return bool(re.search(rf"(?<!\d){secret.value}(?!\d)", self._plain))
        if secret.kind == "name":
            # The surname alone also identifies the person.
            return any(self._has(part) for part in (secret.value, secret.value.split()[-1]))
        return self._has(secret.value)

    def _has(self, value: str) -> bool:
        return _SEPARATORS.sub("", value.casefold()) in self._compact


def files_below(directory: Path) -> list[Path]:
    return sorted(file for file in directory.rglob("*") if file.is_file())


def below(name: str, directory: Path) -> Haystack:
    """Yield the contents and the names of files."""
    files = files_below(directory)
    names = "\n".join(str(file.relative_to(directory)) for file in files).encode()
    return Haystack(name, [names, *(part for file in files for part in _read(file))])


def _read(file: Path) -> Iterator[bytes]:
    content = file.read_bytes()
    yield content
    # Parse it like programs do, because long strings are folded in YAML.
    if file.suffix == ".yaml":
        yield "\n".join(_strings(yaml.load(content, yaml.CSafeLoader))).encode(errors="replace")
    elif file.suffix in (".har", ".json", ".jsonl"):
        for line in content.splitlines() if file.suffix == ".jsonl" else [content]:
            yield "\n".join(_strings(json.loads(line))).encode(errors="replace")


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield str(name)
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)
    else:
        yield str(value)


def _texts(content: bytes, depth: int) -> set[str]:
    if depth > _DEEPEST:
        return set()
    texts: set[str] = set()
    for decoded in {content.decode(errors="replace"), content.decode("latin-1")}:
        texts |= {decoded, html.unescape(decoded), unquote_plus(decoded), html.unescape(unquote_plus(decoded))}
        text = decoded
        for _ in range(3):
            text = _ESCAPE.sub(_unescaped, text)
            texts.add(text)
        for run in set(_BASE64.findall(text)):
            if (inner := _unpacked(run)) is not None:
                texts |= _texts(inner, depth + 1)
    for window in (31, 15):
        try:
            texts |= _texts(zlib.decompress(content, window), depth + 1)
        except zlib.error:
            continue
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        texts.add(content.decode("utf-16", errors="replace"))
    return texts


def _unescaped(texts: re.Match[str]) -> str:
    code = texts[1] or texts[2]
    return chr(int(code, 16)) if code else texts[3]


def _unpacked(run: str) -> bytes | None:
    """Return None if it is not base64, or cannot contain any text."""
    text = run.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        inner = base64.b64decode(text + "=" * (-len(text) % 4))
    except binascii.Error:
        return None
    try:
        inner.decode()
    except UnicodeDecodeError:
        return inner if inner[:2] in (b"\x1f\x8b", b"\x78\x9c", b"\xff\xfe") or _mostly_text(inner) else None
    return inner


def _mostly_text(content: bytes) -> bool:
    return sum(32 <= byte < 127 for byte in content) > 0.8 * len(content)


def packed(text: str) -> list[bytes]:
    """The encodings that a haystack must recognise."""
    raw = text.encode()
    return [
        raw,
        json.dumps(text).encode(),
        base64.b64encode(b"x" + raw),
        base64.b64encode(base64.urlsafe_b64encode(b"xy " + raw)),
        base64.b64encode(gzip.compress(raw)),
        "".join(f"%{byte:02X}" for byte in raw).encode(),
        text.encode("ascii", "xmlcharrefreplace"),
        base64.b64encode(text.encode("utf-16")),
        " ".join(text).encode(),
        text.upper().encode(),
    ]
