"""Acknowledged writes survive `kill -9`. XS2A_TEST_KILLS sets the number of attempts."""

import http.client
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.contract import bodies

KILLS = int(os.environ.get("XS2A_TEST_KILLS", "10"))
CLIENTS = 3
PATIENCE = 30.0

GONE = "gone"
"""The value for a deleted consent."""


class Ledger:
    """The acknowledged writes, as the states that each resource may have: two while a request is running."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.allowed: dict[str, set[str]] = {}
        self.first = threading.Event()

    def say(self, path: str, *states: str) -> None:
        with self._lock:
            self.allowed[path] = set(states)
        self.first.set()


class Connection:
    def __init__(self, url: str) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=PATIENCE)

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        headers = {"X-Request-ID": str(uuid.uuid4()), "PSU-IP-Address": "192.0.2.7"}
        content = None if body is None else json.dumps(body)
        self._connection.request(method, path, content, headers)
        response = self._connection.getresponse()
        received = response.read()
        return response.status, json.loads(received) if received else None


@contextmanager
def sandbox(state: Path, confdir: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Yield a process and its base URL. It is killed at the end if it is still running."""
    command = [sys.executable, "-m", "xs2a_sandbox", "serve", "--port", "0", "--proxy-port", "0", "--tls-port", "off"]
    command += ["--state", f"sqlite:{state}", "--confdir", str(confdir), "--log-format", "json"]
    with (confdir / "errors.txt").open("a") as errors:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=confdir, start_new_session=True
        )
    assert process.stdout
    line = process.stdout.readline()
    reader = threading.Thread(target=process.stdout.read)  # a full pipe would block the process
    reader.start()
    try:
        assert line, (confdir / "errors.txt").read_text()
        yield process, json.loads(line)["direct"]
    finally:
        process.kill()
        process.wait(PATIENCE)
        reader.join(PATIENCE)
        process.stdout.close()


def work(url: str, ledger: Ledger, chance: random.Random) -> None:
    """Create, cancel and delete until the sandbox is gone."""
    connection = Connection(url)
    with suppress(OSError, http.client.HTTPException):
        while True:
            status, created = connection.ask("POST", "/v1/consents", bodies.consent())
            assert status == 200
            consent = f"/v1/consents/{created['consentId']}"
            ledger.say(consent, "valid")
            status, created = connection.ask("POST", f"/v1/{bodies.SEPA}", bodies.payment(bodies.SEPA))
            assert status == 200
            payment = created["_Left"]["self"]["href"]
            ledger.say(payment, "RCVD")
            if chance.random() < 0.5:
                ledger.say(payment, "RCVD", "CANC")
                assert connection.ask("DELETE", payment)[0] == 204
                ledger.say(payment, "CANC")
            if chance.random() < 0.3:
                ledger.say(consent, "valid", GONE)
                assert connection.ask("DELETE", consent)[0] == 204
                ledger.say(consent, GONE)


def load_and_kill(process: subprocess.Popen[str], url: str, ledger: Ledger, chance: random.Random) -> None:
    failures: list[BaseException] = []

    def client(seed: int) -> None:
        try:
            work(url, ledger, random.Random(seed))
        except BaseException as failure:
            failures.append(failure)

    clients = [threading.Thread(target=client, args=(chance.randrange(10**9),)) for _ in range(CLIENTS)]
    for one in clients:
        one.start()
    assert ledger.first.wait(PATIENCE)
    with suppress(subprocess.TimeoutExpired):
        process.wait(chance.uniform(0.0, 0.3))
    assert process.poll() is None, "the sandbox stopped by itself"
    process.send_signal(signal.SIGKILL)
    for one in clients:
        one.join(PATIENCE)
        assert not one.is_alive()
    if failures:
        raise failures[0]


def seen(connection: Connection, path: str) -> str:
    status, answer = connection.ask("GET", f"{path}/status")
    if status == 403:
        return GONE
    assert status == 200, (path, status)
    return next(iter(answer[name] for name in ("consentStatus", "transactionStatus") if name in answer))


@pytest.mark.slow
def test_no_acknowledged_write_is_lost(tmp_path: Path) -> None:
    state = tmp_path / "state.db"
    chance = random.Random()
    ledger = Ledger()
    written = 0
    for _ in range(KILLS):
        with sandbox(state, tmp_path) as (process, url):
            connection = Connection(url)
            found = {path: seen(connection, path) for path in ledger.allowed}
            lost = {path: now for path, now in found.items() if now not in ledger.allowed[path]}
            assert not lost
            written += len(found)
            ledger = Ledger()
            load_and_kill(process, url, ledger, chance)

    connection = sqlite3.connect(state)
    assert connection.execute("pragma integrity_check").fetchall() == [("ok",)]
    (kept,) = connection.execute(
        "select count(*) from documents where collection in ('consents', 'payments')"
    ).fetchone()
    connection.close()
    assert written
    assert kept >= written
