"""Cassettes, test data and settings that are edited while the sandbox runs."""

import asyncio
import logging
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields, replace
from pathlib import Path
from stat import S_ISREG
from time import monotonic
from typing import Protocol

from xs2a_sandbox.bank import loading
from xs2a_sandbox.clock import Clock
from xs2a_sandbox.config import Settings
from xs2a_sandbox.config.settings import FILE
from xs2a_sandbox.control.pages import FilesStatus
from xs2a_sandbox.engine import build, redacting
from xs2a_sandbox.engine.engine import Engine
from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.journal.serving_log import Level, Say
from xs2a_sandbox.wording import say_count

log = logging.getLogger("xs2a_sandbox")

LIVE = frozenset({"base_path", "cassettes", "dialect", "hosts", "quirk", "shift_dates", "testdata"})
"""Settings that take effect while the sandbox runs; the others wait for the next start."""

_PAUSE = 0.25
"""Seconds between two looks at every file. Nobody has to report a change, as mounted volumes don't."""

_SHARE = 10
"""Pauses are at least that many times as long as the look before, however many files there are."""

_SETTLING = 0.05
"""Seconds in which whoever saves has written all of it."""


class Others(Protocol):
    """All processes that serve from the same files, this one included."""

    async def have_seen_a_change(self, seconds: float) -> bool:
        """Waits that long at most until another one sees that files have changed."""
        ...

    async def agree(self, mistake: str | None) -> tuple[str | None, bool]:
        """The mistake that any of them has found, and whether it is this one's to say so."""
        ...


Signature = frozenset[tuple[str, int, int, int]]


class Reload:
    """Keeps an engine at what the files say, and at the last good state of them while they have mistakes.

    `load` reads the settings anew; `say` is told, in words, what has become of each change. With `others` of the same
    files all take what they have read at the same time, or none.
    """

    def __init__(
        self,
        engine: Engine,
        settings: Settings,
        load: Callable[[], Settings],
        say: Say,
        others: Others | None = None,
    ) -> None:
        self._engine = engine
        self._settings = self._tried = settings
        self._load = load
        self._say = say
        self._others = others
        self._late: list[str] = []
        self._last_places: list[Path] = []
        self._seen = self._signature()

    async def watch(self) -> None:
        """Looks at the files until it is cancelled."""
        while True:
            pause = await self._look()
            if self._others is None:
                await asyncio.sleep(pause)
            elif await self._others.have_seen_a_change(pause):
                await self._read()

    async def _look(self) -> float:
        """Reads everything again if any file has changed. Returns the seconds until the next look."""
        begin = monotonic()
        changed = await asyncio.to_thread(self._signature) != self._seen
        pause = max(_PAUSE, _SHARE * (monotonic() - begin))
        if changed:
            await asyncio.sleep(_SETTLING)
            await self._read()
        return pause

    async def _read(self) -> None:
        self._seen = signature = await asyncio.to_thread(self._signature)
        notes: list[str] = []
        mistake: str | None = None
        try:
            # Where the mistake is has to be watched, even if nothing of it is used.
            settings = self._tried = self._apply_live(self._load(), notes)
            self._seen = _but(FILE, await asyncio.to_thread(self._signature), signature)
            banks, testdata = await asyncio.to_thread(build.read_all, settings)
        except UserMistake as error:
            mistake = str(error)
        except Exception:
            log.exception("the changed files could not be read")
            mistake = "the changed files could not be read"
        speaks = True
        if self._others:
            mistake, speaks = await self._others.agree(mistake)
        say = self._say if speaks else _stay_silent
        for note in notes:
            say(note)
        if mistake is not None:
            self._engine.use(files=replace(self._engine.parts.files, problems=tuple(mistake.splitlines())))
            say(f"{mistake}\nkept what was loaded before; fix this and save", level="error")
        else:
            self._settings = settings
            self._engine.use(banks=banks, testdata=testdata, files=FilesStatus(Clock().now()))
            if display := self._engine.parts.display:
                redacting.show(display, settings, banks, testdata)
            say(f"loaded again: {say_count(len(banks.default.interface.rules), 'rule')}")

    def _apply_live(self, settings: Settings, notes: list[str]) -> Settings:
        """The running settings with what of the new ones can take effect; `notes` are told what cannot."""
        names = [field.name for field in fields(Settings)]
        changed = [name for name in names if getattr(settings, name) != getattr(self._settings, name)]
        late = [name for name in changed if name not in LIVE]
        if late and late != self._late:
            notes.append(f"{FILE}: {', '.join(late)} will take effect at the next start")
        self._late = late
        return replace(self._settings, **{name: getattr(settings, name) for name in LIVE})

    def _places(self) -> list[Path]:
        with suppress(UserMistake):  # a folder that is gone for a moment
            extended = {folder for bank in self._engine.banks.all for folder in bank.interface.foundation}
            self._last_places = [*loading.places(self._tried), *extended]
        return self._last_places

    def _signature(self) -> Signature:
        signature = set()
        for place in self._places():
            inside = (os.path.join(folder, name) for folder, _, names in os.walk(place) for name in names)
            for file in [str(place)] if place.is_file() else inside:
                with suppress(OSError):  # saved by rename, and gone for a moment
                    status = os.stat(file)
                    if S_ISREG(status.st_mode):
                        signature.add((file, status.st_mtime_ns, status.st_size, status.st_ino))
        return frozenset(signature)


def _stay_silent(text: str, level: Level = "info") -> None:
    """Leaves it to another process to say this."""


def _but(name: str, signature: Signature, other: Signature) -> Signature:
    """`signature`, and of the file that is called so what the other one says: it is read already."""
    own = str(Path.cwd() / name)
    return frozenset({*(file for file in signature if file[0] != own), *(file for file in other if file[0] == own)})
