"""The sandbox's own pages, which are not part of the bank's interface."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xs2a_sandbox.bank import Banks
from xs2a_sandbox.clock import Clock
from xs2a_sandbox.errors import RecordingFailed, StoreUnavailable
from xs2a_sandbox.http import Request, Response
from xs2a_sandbox.http.messages import json_answer
from xs2a_sandbox.http.own_path import ROOT
from xs2a_sandbox.http.target import cut_target
from xs2a_sandbox.state import RemoteStore, Store
from xs2a_sandbox.state.attempts import check

if TYPE_CHECKING:
    from xs2a_sandbox.compare.reports.live import LiveReport
    from xs2a_sandbox.recording.har_log import Recording

DOCS = "docs"
KEYS = "jwks.json"


class Pages:
    """`ca_file` is offered for download if it exists, `bank_keys` are the public keys with which the bank signs.

    The sandbox is not ready while `store` or the active `recording` cannot be written.
    """

    def __init__(
        self,
        ca_file: Path,
        store: Store | RemoteStore,
        recording: "Recording | None" = None,
        bank_keys: Callable[[], dict[str, Any]] | None = None,
    ) -> None:
        self._ca_file = ca_file
        self._store = store
        self._recording = recording
        self._bank_keys = bank_keys

    def has(self, request: Request, segments: Sequence[str]) -> bool:
        """Return whether there is such a page at this door: /_sandbox/ is never reachable through a proxy."""
        if len(segments) < 2 or segments[0] != ROOT or request.method not in ("GET", "HEAD"):
            return False
        if request.door not in ("direct", "process"):
            return False
        if segments[1] == DOCS:
            return True
        match tuple(segments[1:]):
            case ("health",) | ("ready",):
                return True
            case ("ca.pem",):
                return self._ca_file.is_file()
            case (name,):
                return name == KEYS and self._bank_keys is not None
        return False

    async def answer(self, request: Request, segments: Sequence[str]) -> Response:
        match segments[1]:
            case "health":
                return json_answer({"status": "up"})
            case "ready":
                return await self._check_ready()
            case "jwks.json" if self._bank_keys:
                # Issuing the bank's certificate takes some time.
                return json_answer(await asyncio.to_thread(self._bank_keys))
            case "docs":
                # Rendering Markdown is slow; other requests must not wait for it.
                return await asyncio.to_thread(_documentation, request, segments[2:])
        disposition = ("Content-Disposition", 'attachment; filename="xs2a-sandbox-ca.pem"')
        headers = (("Content-Type", "application/x-pem-file"), disposition)
        return Response(headers=headers, body=self._ca_file.read_bytes())

    async def _check_ready(self) -> Response:
        try:
            await check(self._store)
            if self._recording:
                self._recording.check()
        except (StoreUnavailable, RecordingFailed) as error:
            what = "state" if isinstance(error, StoreUnavailable) else "recording"
            return json_answer({"status": "not ready", "error": f"{what}-unusable", "message": str(error)}, 503)
        return json_answer({"status": "ready"})


def _documentation(request: Request, path: Sequence[str]) -> Response:
    from xs2a_sandbox.documentation import respond

    before, _ = cut_target(request.target, len(path) + 2)
    return respond(f"{before}/{ROOT}/{DOCS}", path)


@dataclass(frozen=True, slots=True)
class FilesStatus:
    """The time when the current files were read, and the mistakes found in them since, as lines."""

    loaded: datetime
    problems: tuple[str, ...] = ()


def status(
    files: FilesStatus, banks: Banks, recording: "Recording | None", report: "LiveReport | None", clock: Clock
) -> dict[str, Any]:
    return {
        "loaded": files.loaded.isoformat(timespec="milliseconds"),
        "problems": list(files.problems),
        "frozen_at": clock.frozen.isoformat() if clock.frozen else None,
        "banks": [
            {"url": b.real.url, "hosts": list(b.real.host_names), "mode": b.real.mode}
            | {"dialect": b.interface.dialect, "quirks": list(b.interface.quirks)}
            | {"operations": len(b.interface.operations), "rules": len(b.interface.rules)}
            for b in banks.all
        ],
        "recording": None if recording is None else {"exchanges": recording.exchanges, "waiting": recording.waiting},
        "comparison": None
        if report is None
        else {"exchanges": report.counts()["comparisons"], "differences": list(report.differences())},
    }
