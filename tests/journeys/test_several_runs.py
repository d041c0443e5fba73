"""A bank is recorded several times: the runs add up, and only different answers change the cassettes."""

import re
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path
from uuid import uuid4

import pytest
import requests

from tests.support.far_bank import FarBank, ok
from tests.support.recorded_bank.process import SandboxProcess, stopping

pytestmark = pytest.mark.slow

A, B = (f"{digit * 8}-1111-4111-8111-111111111111" for digit in "12")
REQUEST_ID = "99391c7e-ad88-49ec-a2ad-99ddcb1f7721"


@pytest.fixture
def bank() -> Iterator[FarBank]:
    """Yield a bank that knows every consent id, and never repeats a time or a request number."""
    with FarBank() as bank:

        def answer(connection: socket.socket) -> None:
            id = bank.seen[-1].split(b" ", 2)[1].rpartition(b"/")[2]
            volatile = b"Date: %d" % bank.connections, b"X-Request-ID: %s" % str(uuid4()).encode()
            connection.sendall(ok(b'{"consentId": "%s"}' % id, b"Content-Type: application/json", *volatile))

        bank.answers = [answer]
        yield bank


def get(sandbox: SandboxProcess, *targets: str) -> list[requests.Response]:
    base = f"http://127.0.0.1:{sandbox.direct_port}"
    with requests.Session() as session:
        session.trust_env = False
        return [session.get(base + target, headers={"X-Request-ID": REQUEST_ID}, timeout=30) for target in targets]


def record(home: Path, bank: FarBank, targets: Sequence[str], *flags: str, to: str = "rec") -> str:
    """Record one run and return its output."""
    sandbox = SandboxProcess(home, "record", "--bank", bank.url, "--to", to, *flags, confdir=home / "conf")
    with stopping(sandbox):
        assert {answer.status_code for answer in get(sandbox, *targets)} == {200}
        assert sandbox.stop() == 0, sandbox.output
    return sandbox.output


def test_a_second_run_keeps_the_results_of_the_first(bank: FarBank, tmp_path: Path) -> None:
    targets = [f"/v1/consents/{id}" for id in (A, B)]
    for target in targets:
        assert "replaced" not in record(tmp_path, bank, [target], "--no-redact")
    connections = bank.connections
    sandbox = SandboxProcess(tmp_path / "replay", "serve", "--cassettes", "../rec/cassettes", confdir=tmp_path / "conf")
    with stopping(sandbox):
        answers = get(sandbox, *targets)
    assert [(answer.status_code, answer.json()) for answer in answers] == [
        (200, {"consentId": A}),
        (200, {"consentId": B}),
    ]
    assert bank.connections == connections


def cassettes(recording: Path) -> dict[str, str]:
    return {file.name: file.read_text() for file in (recording / "cassettes").iterdir()}


@pytest.mark.parametrize(
    "flags",
    [pytest.param((), id="redacted"), pytest.param(("--no-redact",), id="not redacted", marks=pytest.mark.slow)],
)
def test_recording_the_same_journey_again_changes_no_line(
    bank: FarBank, tmp_path: Path, flags: tuple[str, ...]
) -> None:
    """In the same directory or in a new one; on another day only the line with the day changes."""
    day = "2026-11-21"
    journey = [f"/v1/consents/{A}", "/v1/consents", f"/v1/accounts/DE/transactions?dateFrom={day}&bookingStatus=booked"]
    record(tmp_path, bank, journey, *flags)
    first = cassettes(tmp_path / "rec")
    assert first.keys() == {"consents.yaml", "accounts.yaml", "_dialect.yaml"}
    assert "replaced" not in record(tmp_path, bank, journey[::-1], *flags)
    record(tmp_path, bank, journey, *flags, to="fresh")

    def without_day(texts: dict[str, str]) -> dict[str, str]:
        # The test may run at midnight.
        return {name: re.sub('at: "[0-9-]+"', "at: DAY", text) for name, text in texts.items()}

    assert without_day(cassettes(tmp_path / "rec")) == without_day(first)
    assert without_day(cassettes(tmp_path / "fresh")) == without_day(first)
