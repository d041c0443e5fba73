"""A bank is recorded again and again: what its runs have brought adds up, and only what it says differently changes."""

import socket
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import requests

from tests.support.far_bank import FarBank, ok
from tests.support.recorded_bank.process import SandboxProcess, stopping

A, B = (f"{digit * 8}-1111-4111-8111-111111111111" for digit in "12")
REQUEST_ID = "99391c7e-ad88-49ec-a2ad-99ddcb1f7721"


@pytest.fixture
def bank() -> Iterator[FarBank]:
    """It knows consents, of whatever id."""
    with FarBank() as bank:

        def answer(connection: socket.socket) -> None:
            id = bank.seen[-1].split(b" ", 2)[1].rpartition(b"/")[2]
            connection.sendall(ok(b'{"consentId": "%s"}' % id, b"Content-Type: application/json"))

        bank.answers = [answer]
        yield bank


def get(sandbox: SandboxProcess, *targets: str) -> list[requests.Response]:
    base = f"http://127.0.0.1:{sandbox.direct_port}"
    with requests.Session() as session:
        session.trust_env = False
        return [session.get(base + target, headers={"X-Request-ID": REQUEST_ID}, timeout=30) for target in targets]


def record(home: Path, bank: FarBank, targets: Sequence[str], *flags: str) -> str:
    """One run; what it said."""
    sandbox = SandboxProcess(home, "record", "--bank", bank.url, "--to", "rec", *flags, confdir=home / "conf")
    with stopping(sandbox):
        assert {answer.status_code for answer in get(sandbox, *targets)} == {200}
        assert sandbox.stop() == 0, sandbox.said
    return sandbox.said


def test_a_second_run_keeps_what_the_first_has_recorded(bank: FarBank, tmp_path: Path) -> None:
    targets = [f"/v1/consents/{id}" for id in (A, B)]
    for target in targets:
        assert "replaced" not in record(tmp_path, bank, [target], "--no-redact")
    asked = bank.connections
    sandbox = SandboxProcess(tmp_path / "replay", "serve", "--cassettes", "../rec/cassettes", confdir=tmp_path / "conf")
    with stopping(sandbox):
        answers = get(sandbox, *targets)
    assert [(answer.status_code, answer.json()) for answer in answers] == [
        (200, {"consentId": A}),
        (200, {"consentId": B}),
    ]
    assert bank.connections == asked
