"""What a running sandbox says of itself: what it has read, what is wrong with that, and which banks it stands for."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from xs2a_sandbox.banks import Banks
from xs2a_sandbox.clock import Clock
from xs2a_sandbox.recording import Recording


@dataclass(frozen=True, slots=True)
class Files:
    """When what is used was read, and what has been wrong with the files since, in lines."""

    loaded: datetime
    problems: tuple[str, ...] = ()


def status(files: Files, banks: Banks, recording: Recording | None, clock: Clock) -> dict[str, Any]:
    return {
        "loaded": files.loaded.isoformat(timespec="milliseconds"),
        "problems": list(files.problems),
        "frozen_at": clock.frozen.isoformat() if clock.frozen else None,
        "banks": [
            {"url": b.real.url, "hosts": list(b.real.hosts), "mode": b.real.mode}
            | {"operations": len(b.interface.operations), "rules": len(b.interface.rules)}
            for b in banks.all
        ],
        "recording": None if recording is None else {"exchanges": recording.exchanges, "waiting": recording.waiting},
    }
