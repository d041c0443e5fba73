"""Reloads cassettes, test data and settings that are changed while the sandbox is running."""

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
from xs2a_sandbox.engine import build
from xs2a_sandbox.engine.engine import Engine
from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.journal.serving_log import Level, Say
from xs2a_sandbox.wording import say_count

log = logging.getLogger("xs2a_sandbox")

LIVE = frozenset({"base_path", "cassettes", "dialect", "hosts", "like", "quirk", "shift_dates", "testdata"})
"""Settings that take effect while the sandbox is running. The others take effect at the next start."""

_PAUSE = 0.25
"""Seconds between two checks of all files. File events are not used, because mounted volumes do not report them."""

_SHARE = 10
"""A pause lasts at least this many times as long as the check before it, however many files there are."""

_SETTLING = 0.05
"""Seconds to wait so that a file is saved completely."""


class Others(Protocol):
    """All processes that serve from the same files, including this one."""

    async def have_seen_a_change(self, seconds: float) -> bool:
        """Wait at most that long until another process sees that files have changed. Return whether one has."""
        ...

    async def agree(self, mistake: str | None) -> tuple[str | None, bool]:
        """Return the mistake that any process has found, and whether this process has to report it."""
        ...


Signature = frozenset[tuple[str, int, int, int]]


class Reload:
    """Keeps an engine up to date with its files. If they have mistakes, it keeps the last valid state.

    `load` reads the settings again. `say` is called with the result of each change in words. With `others` all
    processes switch to the new files at the same time, or none does.
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
        """Check the files until cancelled."""
        while True:
            pause = await self._look()
            if self._others is None:
                await asyncio.sleep(pause)
            elif await self._others.have_seen_a_change(pause):
                await self._read()

    async def _look(self) -> float:
        """Read everything again if any file has changed. Returns the seconds until the next check."""
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
            # Watch new files even if they are not used, because one of them contains the mistake.
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
            say(f"{mistake}\nthe files that were loaded before stay in use; fix this and save", level="error")
        else:
            self._settings = settings
            self._engine.use(banks=banks, testdata=testdata, files=FilesStatus(Clock().now()))
            if display := self._engine.parts.display:
                from xs2a_sandbox.engine import redacting  # imported for the first change, as in `build`

                redacting.show(display, settings, banks, testdata)
            say(f"loaded again: {say_count(len(banks.default.interface.rules), 'rule')}")

    def _apply_live(self, settings: Settings, notes: list[str]) -> Settings:
        """Return the running settings with the new values that can take effect. The others are added to `notes`."""
        names = [field.name for field in fields(Settings)]
        changed = [name for name in names if getattr(settings, name) != getattr(self._settings, name)]
        late = [name for name in changed if name not in LIVE]
        if late and late != self._late:
            notes.append(f"{FILE}: {', '.join(late)} will take effect at the next restart")
        self._late = late
        return replace(self._settings, **{name: getattr(settings, name) for name in LIVE})

    def _places(self) -> list[Path]:
        with suppress(UserMistake):  # a folder that does not exist for a moment
            extended = {folder for bank in self._engine.banks.all for folder in bank.interface.foundation}
            self._last_places = [*loading.places(self._tried), *extended]
        return self._last_places

    def _signature(self) -> Signature:
        signature = set()
        for place in self._places():
            inside = (os.path.join(folder, name) for folder, _, names in os.walk(place) for name in names)
            for file in [str(place)] if place.is_file() else inside:
                with suppress(OSError):  # saved by renaming, so it does not exist for a moment
                    status = os.stat(file)
                    if S_ISREG(status.st_mode):
                        signature.add((file, status.st_mtime_ns, status.st_size, status.st_ino))
        return frozenset(signature)


def _stay_silent(text: str, level: Level = "info") -> None:
    """Do nothing, because another process says this."""


def _but(name: str, signature: Signature, other: Signature) -> Signature:
    """Return `signature`, but with the entry of `other` for the file of this name, which has been read already."""
    own = str(Path.cwd() / name)
    return frozenset({*(file for file in signature if file[0] != own), *(file for file in other if file[0] == own)})
