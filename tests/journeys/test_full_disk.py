"""A recording on a full disk: answered requests are recorded, and further requests are not sent to the bank."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
import requests

from tests.support.doors import START
from tests.support.far_bank import FarBank, ok
from tests.support.program import program
from tests.support.recorded_bank.process import SandboxProcess, stopping
from tests.support.small_disk import small_disk
from tests.support.turns import few
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.recording.har_log import raw_files, read_raw

REQUESTS = 60
ANSWER = ok(json.dumps({"transactions": ["x" * 100] * 200}).encode(), b"Content-Type: application/json")
"""About 20 kB."""


@dataclass
class Recorder:
    """A process in mode record, with the results of its requests."""

    sandbox: SandboxProcess
    bank: FarBank

    def get(self, number: int) -> int:
        url = f"http://127.0.0.1:{self.sandbox.direct_port}/v1/accounts/{number:04}/transactions"
        with requests.Session() as session:
            session.trust_env = False
            answer = session.get(url, timeout=START)
        if answer.status_code == 503:
            assert "Until this works, no request goes to the bank" in answer.text
        return answer.status_code


@contextmanager
def recorder(home: Path, to: Path) -> Iterator[Recorder]:
    with FarBank(ANSWER) as bank:
        flags = ("--bank", bank.url, "--to", str(to), "--state", "memory:", "--log-format", "json")
        sandbox = SandboxProcess(home, "record", *flags, confdir=home / "conf")
        with stopping(sandbox):
            yield Recorder(sandbox, bank)


def written(directory: Path) -> list[Exchange]:
    return [entry for file in raw_files(directory) for entry in read_raw(file)]


def fill(file: Path) -> None:
    """Write until the disk is full."""
    with file.open("wb", buffering=0) as opened, suppress(OSError):
        while True:
            opened.write(bytes(4096))


@pytest.mark.parametrize("at_once", few([1, 8], [8]))
def test_every_request_sent_to_the_bank_is_recorded(tmp_path: Path, at_once: int) -> None:
    with small_disk(tmp_path / "disk", 1024) as disk, recorder(tmp_path, disk / "rec") as one:
        with ThreadPoolExecutor(at_once) as clients:
            statuses = list(clients.map(one.get, range(REQUESTS)))
        assert set(statuses) == {200, 503}
        assert len(one.bank.seen) == statuses.count(200)
        assert len(written(disk / "rec")) == statuses.count(200)
        exchanges = len(one.bank.seen)
        assert one.sandbox.stop() == 0
        assert len(written(disk / "rec")) == exchanges
        assert f"recorded {exchanges} exchanges" in one.sandbox.output
        assert ": lost" not in one.sandbox.output


def test_recording_resumes_when_there_is_space_again(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 1024) as disk, recorder(tmp_path, disk / "rec") as one:
        ballast = disk / "ballast"
        assert one.get(0) == 200
        fill(ballast)
        assert one.get(1) == 200  # the reserved space was used for this one
        assert one.get(2) == 503
        ballast.unlink()
        assert one.get(3) == 200
        assert [entry.target[-17:-13] for entry in written(disk / "rec")] == ["0000", "0001", "0003"]


@pytest.mark.slow
def test_an_exchange_larger_than_the_reserved_space_waits_and_blocks_all_others(tmp_path: Path) -> None:
    large = ok(json.dumps({"x": "y" * 900_000}).encode(), b"Content-Type: application/json")
    with small_disk(tmp_path / "disk", 1024) as disk, recorder(tmp_path, disk / "rec") as one:
        ballast = disk / "ballast"
        ballast.write_bytes(bytes(400_000))
        one.bank.answers[:] = [large]
        assert one.get(0) == 200  # the bank has answered
        assert [one.get(n) for n in (1, 2)] == [503, 503]
        assert len(one.bank.seen) == 1
        one.bank.answers[:] = [ANSWER]
        assert written(disk / "rec") == []
        ballast.unlink()
        # It is recorded first, and the remaining space may be too small for another one of its size.
        assert one.get(3) in (200, 503)
        assert "0000" in written(disk / "rec")[0].target


@pytest.mark.slow
def test_losses_at_the_end_are_reported(tmp_path: Path) -> None:
    large = ok(json.dumps({"x": "y" * 900_000}).encode(), b"Content-Type: application/json")
    with small_disk(tmp_path / "disk", 512) as disk, recorder(tmp_path, disk / "rec") as one:
        one.bank.answers[:] = [large]
        assert one.get(0) == 200
        assert one.sandbox.stop() == 0
        assert "1 exchange with the bank could not be written and were lost" in one.sandbox.output


def test_a_file_that_reaches_its_size_limit_is_followed_by_another(tmp_path: Path) -> None:
    """Needs no separate disk, because the limit applies to the process."""
    lines = """
        import asyncio, resource, sys
        from pathlib import Path
        from tests.support.taping import taped
        from xs2a_sandbox.recording.har_log import Recording

        async def add():
            for number in range(40):
                async with recording.room():
                    await recording.add(taped(f"/v1/{number}", "x" * 20_000))

        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
        recording = Recording(Path(sys.argv[1]), None, {})
        asyncio.run(add())
        recording.close()
        print(recording.exchanges, recording.lost)
    """
    output, _ = program(lines, str(tmp_path)).communicate(timeout=START)
    assert output == "40 0\n"
    assert len(raw_files(tmp_path)) > 1
    assert [entry.target for entry in written(tmp_path)] == [f"/v1/{n}" for n in range(40)]
