"""A sandbox with sockets in a separate process, for apps under test that are separate processes."""

import json
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from xs2a_sandbox.bank import TestData
from xs2a_sandbox.config import Settings
from xs2a_sandbox.config.kinds import PREFIX
from xs2a_sandbox.control.client import Client
from xs2a_sandbox.control.journal import read
from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.features.pytest.bank_data import BankData
from xs2a_sandbox.features.pytest.calls import Calls, is_unmatched
from xs2a_sandbox.features.pytest.controls import Controls, refuse_to_begin
from xs2a_sandbox.journal.journal import COUNT, Journaled
from xs2a_sandbox.state.session import is_session_name

_SECONDS = 20.0


class Process:
    """A process of `serve` with free ports and state in memory, from `start` to `stop`."""

    def __init__(self, confdir: Path, flags: Sequence[str] = ()) -> None:
        self.confdir = confdir
        self._flags = flags

    def start(self) -> None:
        """Start the process. Raises UserMistake with the output of `serve` if it cannot start."""
        free = ["--proxy-port", "0", "--port", "0", "--tls-port", "0"]
        kept = ["--mode", "simulate", "--state", "memory:", "--confdir", str(self.confdir), "--log-format", "json"]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "xs2a_sandbox", "serve", *free, *kept, *self._flags],
            env={name: value for name, value in os.environ.items() if not name.startswith(PREFIX)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        if self._process.stdout is None or self._process.stderr is None:
            raise UserMistake("the sandbox was started without pipes")
        line = self._process.stdout.readline()
        if not line:
            _, why = self._process.communicate(timeout=_SECONDS)
            raise UserMistake(f"the sandbox did not start: {why.strip()}")
        addresses = json.loads(line)
        self.direct, self.tls, self.proxy = (str(addresses[door]) for door in ("direct", "tls", "proxy"))
        self.ca_file = Path(addresses["ca_file"])
        # The pipes must not fill up.
        self._readers = [
            threading.Thread(target=deque, args=(pipe, 0), daemon=True)
            for pipe in (self._process.stdout, self._process.stderr)
        ]
        for reader in self._readers:
            reader.start()

    def client(self, session: str) -> Client:
        """Return a client for one session."""
        where = urlsplit(self.direct)
        settings = Settings(host=where.hostname or "", port=where.port or 0, confdir=self.confdir, state="memory:")
        return Client.of(settings, session)

    @cached_property
    def testdata(self) -> BankData:
        """The test data, as in a session without changes."""
        client = self.client(f"testdata-{uuid4().hex}")
        collections = {name: client.collection(name) for name in client.collections()}
        return BankData(TestData(collections, (str(uuid4()),)), date.fromisoformat(client.clock()["today"]))

    def stop(self) -> None:
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        for reader in self._readers:
            reader.join()


class SessionJournal:
    """The requests of one session of a running sandbox, as they were sent."""

    def __init__(self, client: Client, session: str) -> None:
        self._client = client
        self._session = session

    def entries(self) -> list[Journaled]:
        listed = self._client.journal(plain=True, session=self._session, limit=COUNT)["exchanges"]
        return [read(self._client.exchange(exchange["number"], plain=True)) for exchange in listed]

    def clear(self) -> None:
        self._client.clear_journal()

    def __len__(self) -> int:
        return self._client.journal(session=self._session, limit=1)["found"]


class Served(Controls):
    """A session of a sandbox with sockets. Clients have to trust the CA in `ca_file` for `proxies` and `tls_url`."""

    def __init__(self, process: Process, session: str) -> None:
        if not is_session_name(session):
            raise UserMistake(f"{session!r} is not a valid session name: use 1 to 64 characters from A-Z a-z 0-9 . _ -")
        client = self._client = process.client(session)
        self._optional: set[str] = set()
        super().__init__(client.ask, refuse_to_begin)
        self.journal = Calls(SessionJournal(client, session))
        self.process = process
        self.session = session

    @property
    def testdata(self) -> BankData:
        return self.process.testdata

    def add_rule(self, *rules: Mapping[str, Any] | str, optional: bool = False) -> list[str]:
        """Add rules in the form of cassettes, as mappings or YAML text, above all others, and return their ids.

        They are expected to be hit, unless they are `optional`.

        Raises:
            UserMistake: with every mistake and its line; no rule is added then.
        """
        ids = list(self._client.add_rules(*rules)["hits"])
        self._optional.update(ids if optional else ())
        return ids

    def clear_rules(self) -> None:
        """Remove all added rules."""
        self._client.clear_rules()

    @property
    def unused_rules(self) -> list[str]:
        """The ids of added rules that have not been hit, without optional ones."""
        added = self._client.rules()["added"]
        hits = [pair for addition in added for pair in addition["hits"].items() if pair[0] not in self._optional]
        hit = {id for id, count in hits if count}
        return [id for id in dict.fromkeys(id for id, _ in hits) if id not in hit]

    @property
    def unmatched(self) -> list[Journaled]:
        """The requests in the journal that no rule and no operation matched, oldest first."""
        return list(filter(is_unmatched, self.journal.calls))

    @property
    def base_url(self) -> str:
        """The base URL, with plain HTTP."""
        return f"{self.process.direct}/s/{self.session}"

    @property
    def tls_url(self) -> str:
        return f"{self.process.tls}/s/{self.session}"

    @property
    def proxy(self) -> str:
        """The proxy with the session as its user."""
        return self.process.proxy.replace("://", f"://{self.session}:x@", 1)

    @property
    def proxies(self) -> dict[str, str]:
        """The proxies in the form of requests."""
        return {"http": self.proxy, "https": self.proxy}

    @property
    def ca_file(self) -> str:
        return str(self.process.ca_file)
