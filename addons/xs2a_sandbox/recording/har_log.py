"""Exchanges with a bank on disk: `raw/<UTC>.har.jsonl`, a header line followed by one HAR entry per line."""

import asyncio
import errno
import json
import logging
import os
import re
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from datetime import UTC
from pathlib import Path
from typing import Any

from xs2a_sandbox.clock import Clock
from xs2a_sandbox.documents import own_file
from xs2a_sandbox.documents.files import replace_file, sync_data
from xs2a_sandbox.errors import ConfigError, RecordingFailed
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.http.har import from_har, log, to_har
from xs2a_sandbox.http.media_type import media_type
from xs2a_sandbox.recording.reserve import DiskReservation
from xs2a_sandbox.redaction.body import notes

RAW = "raw"
_SHARE = 128 * 1024
"""The least number of bytes reserved for an exchange."""
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_NAME = re.compile(r"(\d{8}T\d{6}Z)(?:-(\d+))?\.har\.jsonl")

_log = logging.getLogger("xs2a_sandbox")


class Recording:
    """Records exchanges, one per line. The line is on disk when `add` returns.

    `exchanges` is their number; `file` is None before the first one.

    `redact` redacts an exchange for writing. `head` applies to all of them: `banks`, their URLs, and `redacted`, the
    fingerprint of the key for pseudonyms, or False. Only the owner can read the files.

    Disk space is reserved before the bank is asked. If a line still cannot be written, it waits in memory, and no other
    exchange gets space before it is written; `lost` counts those that never were.

    `redactions` counts the values that were replaced or removed, or is None if the real traffic is written; `noted`
    counts the bodies that were replaced by a note, by kind and reason.
    """

    def __init__(self, directory: Path, redact: Callable[[Exchange], Exchange] | None, head: Mapping[str, Any]) -> None:
        self.directory = directory
        self.exchanges = 0
        self.lost = 0
        self.noted: Counter[str] = Counter()
        self.redactions = None if redact is None else 0
        self._redact = redact
        self._head = head
        self.file: Path | None = None
        self._descriptor = -1
        self._start = self._end = 0
        self._reserve: DiskReservation | None = None
        self._promised = 0
        self._largest = 0
        self._waiting: deque[bytes] = deque()
        # A single thread, so that lines are written completely and in order, even if the client has not waited.
        self._writer = ThreadPoolExecutor(1, "recording")

    @property
    def waiting(self) -> int:
        """The number of exchanges that are not written yet."""
        return len(self._waiting)

    def check(self) -> None:
        """Check, before anything goes to a bank, that it could be recorded. Raises RecordingFailed."""
        self._writer.submit(self._make_room, _SHARE).result()

    @asynccontextmanager
    async def room(self, size: int = 0) -> AsyncIterator[None]:
        """Reserve disk space for an exchange in progress with `size` known bytes. Raises RecordingFailed."""
        share = max(_SHARE, self._largest) + 2 * size
        self._promised += share
        try:
            if self._waiting or self._reserve is None or self._reserve.size < self._promised:
                await asyncio.get_running_loop().run_in_executor(self._writer, self._make_room, self._promised)
            yield
        finally:
            self._promised -= share

    async def add(self, entry: Exchange) -> None:
        """Record an exchange, and return when it is on disk. Raises RecordingFailed."""
        written = asyncio.get_running_loop().run_in_executor(self._writer, self._add, entry)
        # The bank has answered, so the exchange is recorded even if nobody waits for it any more.
        await asyncio.shield(written)

    def close(self) -> None:
        """Write waiting exchanges and close. A file without exchanges is deleted."""
        self._writer.shutdown()
        with suppress(OSError):
            self._write_waiting()
        self.lost += len(self._waiting)
        self._waiting.clear()
        self._close_file()
        if self._reserve:
            self._reserve.close()
            self._reserve = None
        if self.file and not self.exchanges:
            self.file.unlink(missing_ok=True)

    def _make_room(self, size: int) -> None:
        try:
            if self.file is None:
                self._open()
            self._write_waiting()
            if self._reserve is None:
                self._reserve = DiskReservation(self.directory / RAW)
            self._reserve.grow(size)
        except OSError as error:
            raise self._fail(error) from None

    def _add(self, entry: Exchange) -> None:
        try:
            written = self._redact(entry) if self._redact else entry
            line = _line(to_har(written))
            if self.redactions is not None:
                self.redactions += written.redactions
        except Exception:
            self.lost += 1
            raise
        if written is not entry:
            self._count_notes(written)
        self._largest = max(self._largest, len(line))
        self._waiting.append(line)
        try:
            if self.file is None:
                self._open()
            self._write_waiting()
        except OSError as error:
            raise self._fail(error) from None

    def _count_notes(self, entry: Exchange) -> None:
        for headers, body in ((entry.headers, entry.body), (entry.answer_headers, entry.answer_body)):
            self.noted.update(f"{n.kind}: {n.reason}" for n in notes(body, media_type(headers.get("content-type"))))

    def _write_waiting(self) -> None:
        while self._waiting:
            self._write(self._waiting[0])
            self._waiting.popleft()
            self.exchanges += 1

    def _write(self, line: bytes) -> None:
        """Write a line. Uses the reserved space if needed, and starts another file if this one may not grow."""
        while True:
            try:
                return self._append(line)
            except OSError as error:
                if error.errno in _NO_ROOM and self._reserve and self._reserve.size:
                    self._reserve.give(len(line))
                elif error.errno == errno.EFBIG and self._end > self._start:
                    os.ftruncate(self._descriptor, self._end)
                    self._close_file()
                    self._open()
                else:
                    raise

    def _open(self) -> None:
        raw = self.directory / RAW
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        raw.mkdir(mode=0o700, exist_ok=True)
        stamp = Clock().now().astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
        number = 1
        while self._descriptor < 0:
            file = raw / (f"{stamp}-{number}.har.jsonl" if number > 1 else f"{stamp}.har.jsonl")
            try:
                self._descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            except FileExistsError:
                number += 1
        opening = log(comment="one entry a line follows")["log"]
        del opening["entries"]
        self._end = 0
        try:
            self._append(_line({"log": opening | {f"_{name}": value for name, value in self._head.items()}}))
            _sync_directory(raw)
        except OSError:
            self._close_file()
            file.unlink(missing_ok=True)
            raise
        self.file, self._start = file, self._end

    def _close_file(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _append(self, line: bytes) -> None:
        # The remains of an earlier attempt are not part of any line.
        os.ftruncate(self._descriptor, self._end)
        os.lseek(self._descriptor, self._end, os.SEEK_SET)
        rest = memoryview(line)
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]
        sync_data(self._descriptor)
        self._end += len(line)

    def _fail(self, error: OSError) -> RecordingFailed:
        where = self.file or self.directory
        reason = error.strerror or str(error)
        return RecordingFailed(
            f"the recording cannot be written to {where}: {reason}. Until this works, no request goes to the "
            "bank: free disk space, make the folder writable, or choose another one"
        )


def raw_files(directory: Path) -> list[Path]:
    """Return the files of the recording, oldest first."""
    try:
        files = list((directory / RAW).iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise ConfigError(f"{directory / RAW} cannot be read: {error.strerror}") from None
    numbered = [(match[1], int(match[2] or 1), file) for file in files if (match := _NAME.fullmatch(file.name))]
    return [file for _, _, file in sorted(numbered)]


def read_head(file: Path) -> dict[str, Any]:
    """Return the header of the recording: `banks` and `redacted`. Raises ConfigError."""
    with _open_file(file) as lines:
        head = _parse(next(iter(lines), b""))
    content = head.get("log") if isinstance(head, dict) else None
    if not isinstance(content, dict):
        return {}
    return {name.removeprefix("_"): value for name, value in content.items() if name.startswith("_")}


def read_raw(file: Path) -> list[Exchange]:
    """Return the exchanges in the order written. An incomplete line after a crash is skipped with a warning.

    Raises ConfigError if the file cannot be read, or if a line is not an entry.
    """
    entries = []
    with _open_file(file) as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            value = _parse(line)
            if value is None:
                _log.warning("%s:%d: this line is incomplete, so it is skipped", file, number)
            elif not (isinstance(value, dict) and "log" in value):
                try:
                    entries.append(from_har(value))
                except ValueError as error:
                    raise ConfigError(
                        f"{file}:{number}: this line is not a valid entry of a recording: {error}"
                    ) from None
    return entries


def export(directory: Path, file: Path) -> int:
    """Write the whole recording as one HAR document, ordered by time. Returns the number of exchanges.

    Raises ConfigError.

    If everything is redacted with the same key, the document contains its fingerprint, like the recording.
    """
    files = raw_files(directory)
    if not files:
        raise ConfigError(f"there is no recording in {directory}: choose a folder that contains {RAW}/*.har.jsonl")
    entries = sorted((entry for raw in files for entry in read_raw(raw)), key=lambda entry: entry.time)
    document = log(entries)
    keys = {str(read_head(raw).get("redacted") or "") for raw in files}
    if len(keys) == 1 and (key := keys.pop()):
        document["log"]["_redacted"] = key
    replace_file(file, json.dumps(document, indent=1).encode())
    return len(entries)


def is_raw(file: Path) -> bool:
    """Return whether the file begins like a recording, with JSON on one line. Raises ConfigError."""
    with _open_file(file) as lines:
        return isinstance(_parse(next(iter(lines), b"")), dict)


def _open_file(file: Path) -> Any:
    try:
        return own_file.open_file(file, folder=file.parent)
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}") from None


def _parse(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _line(value: Any) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False).encode() + b"\n"
    except UnicodeEncodeError:
        # Lone surrogates can only be written as escapes.
        return json.dumps(value).encode() + b"\n"


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
