"""Write recordings of a bank's exchanges, derive rules, and replay them."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from tests.support.doors import limits
from tests.support.writing import BANK, SCHEMAS
from tests.support.writing import write as write_files
from xs2a_sandbox.bank import Bank, Banks, TestData
from xs2a_sandbox.bank.handlers.table import HANDLERS
from xs2a_sandbox.cassette.dialect import layers as interface
from xs2a_sandbox.engine import Engine, Parts
from xs2a_sandbox.features.derive.derive import Derived, derive
from xs2a_sandbox.http import Headers, Request, Response
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.http.har import to_har
from xs2a_sandbox.recording.har_log import Recording
from xs2a_sandbox.recording.tape import Tape, read_tape
from xs2a_sandbox.redaction import vault
from xs2a_sandbox.redaction.pseudonyms import fingerprint
from xs2a_sandbox.redaction.real_values import VaultWriter
from xs2a_sandbox.redaction.redactor import Redactor
from xs2a_sandbox.redaction.rules import DEFAULT
from xs2a_sandbox.state import MemoryStore

URL = "https://xs2a.bank.example/psd2"
START = datetime(2026, 11, 21, 10, 11, 12, tzinfo=UTC)


def taped(
    target: str,
    answer: Any = None,
    method: str = "GET",
    *,
    status: int = 200,
    headers: Sequence[tuple[str, str]] = (),
    body: Any = None,
    answer_headers: Sequence[tuple[str, str]] = (("Content-Type", "application/json"),),
    at: int = 0,
    bank: str = URL,
    cut: bool = False,
) -> Exchange:
    """Return an exchange. Bodies that are not bytes become JSON; `at` is in seconds."""
    return Exchange(
        time=START + timedelta(seconds=at),
        milliseconds=12.5,
        bank=bank,
        method=method,
        target=target,
        headers=Headers(headers),
        body=_bytes(body),
        status=status,
        answer_headers=Headers(answer_headers),
        answer_body=_bytes(answer),
        cut=cut,
    )


def tape(directory: Path, *entries: Exchange, name: str = "20261121T101112Z", redacted: Any = "1a2b3c4d") -> Path:
    """Write exchanges like a recording does."""
    raw = directory / "raw"
    raw.mkdir(parents=True, exist_ok=True)
    head = {"log": {"version": "1.2", "_bank": URL, "_redacted": redacted}}
    file = raw / f"{name}.har.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in [head, *map(to_har, entries)]))
    return file


def redacted_tape(directory: Path, *entries: Exchange, key: bytes = b"k" * 32) -> Tape:
    """Write a redacted recording of these exchanges to `directory`/tape, with the vault in `directory`."""
    redact = VaultWriter(Redactor(key), DEFAULT, vault.open_for_writing(directory), key).entry
    recording = Recording(directory / "tape", redact, {"redacted": fingerprint(key)})

    async def write() -> None:
        for entry in entries:
            await recording.add(entry)

    asyncio.run(write())
    recording.close()
    return read_tape(directory / "tape")


def bank_of_things(directory: Path) -> interface.Interface:
    write_files(directory / "bank", {"bank.yaml": BANK})
    return interface.read([[directory / "bank"]], SCHEMAS, HANDLERS)


def derived(directory: Path, *entries: Exchange, name: str = "20261121T101112Z") -> Derived:
    if entries:
        tape(directory / "tape", *entries, name=name)
    return derive(directory / "tape", bank_of_things(directory))


def rules(directory: Path) -> dict[str, Mapping[str, Any]]:
    """Return the derived rules by id, as the cassettes contain them."""
    from xs2a_sandbox.documents import yaml_reader

    files = sorted((directory / "tape" / "cassettes").glob("*.yaml"))
    return {rule["id"]: rule for file in files for rule in yaml_reader.read(file).value.get("rules", ())}


def replay(directory: Path) -> Engine:
    layers = [[directory / "bank"], [directory / "tape" / "cassettes"]]
    bank = Bank(interface.read(layers, SCHEMAS, HANDLERS), SCHEMAS)
    return Engine(Parts(Banks(bank), MemoryStore(), TestData({}, ()), limits=limits()))


def again(bank: Engine, *entries: Exchange) -> list[Response]:
    async def ask() -> list[Response]:
        return [await bank.answer(Request(e.method, e.target, e.headers, e.body)) for e in entries]

    return asyncio.run(ask())


def same_body(recorded: bytes, replayed: bytes) -> bool:
    """Return whether bodies are equal: as JSON if it is unambiguous, otherwise byte for byte."""
    if recorded == replayed:
        return True
    try:
        return bool(json.loads(recorded, parse_float=Decimal) == json.loads(replayed, parse_float=Decimal))
    except (ValueError, RecursionError):
        return False


def _bytes(body: Any) -> bytes:
    if body is None:
        return b""
    return body if isinstance(body, bytes) else json.dumps(body).encode()
