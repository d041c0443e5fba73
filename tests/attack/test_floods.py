"""HTTP/2 clients that flood are disconnected before they cost much. Ordinary clients never are."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import h2.errors
import httpx
import pytest

from tests.attack.floods import CALM, FLOODS, WAYS, Attacker, Health, attack, memory
from tests.support.doors import DEADLINE, trusting
from tests.support.serving import Serving, served

pytestmark = pytest.mark.slow

ENDED = [name for name in FLOODS if name not in ("rapid-reset", "many-fields", "huge-frame")]
PATIENCE = 300.0
"""Seconds for a program that sends 10,000 requests, on a machine that is busy with other tests."""


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with served(tmp_path_factory.mktemp("floods") / "serve") as serving:
        attack(serving, "settings", *WAYS)  # load mitmproxy first
        yield serving


@pytest.mark.parametrize("flood", ENDED)
def test_a_flood_ends_with_a_goaway(serving: Serving, flood: str) -> None:
    ends_with_a_goaway(serving, flood)


def ends_with_a_goaway(serving: Serving, flood: str) -> None:
    with Health(serving) as health:
        attackers = attack(serving, flood, *WAYS)
    assert [one.ends for one in attackers] == [[CALM]] * len(WAYS)
    assert all(one.was_closed for one in attackers)
    assert health.answers > 10


def test_expensive_requests_do_not_block_others(serving: Serving) -> None:
    with Health(serving) as health:
        attack(serving, "many-fields", *WAYS)
    assert health.answers > 10


def test_memory_is_released_after_a_flood(serving: Serving) -> None:
    ends_with_a_goaway(serving, "rapid-reset")
    before = memory(serving)
    for _ in range(3):
        attack(serving, "rapid-reset", *WAYS)
    assert memory(serving) < 1.2 * before


def test_a_sandbox_under_attack_stops_at_once(tmp_path: Path) -> None:
    with served(tmp_path / "serve") as serving:
        attack(serving, "settings", "tls")
        attackers = [Attacker(serving, way, "rapid-reset") for way in WAYS]
        threads = [one.start() for one in attackers]
        while not any(one.ends for one in attackers) and any(thread.is_alive() for thread in threads):
            threads[0].join(0.01)
        began = monotonic()
        assert serving.stop() == 0
        assert monotonic() - began < DEADLINE
        for thread in threads:
            thread.join()


def test_a_frame_with_an_excessive_length_is_rejected_at_once(serving: Serving) -> None:
    (attacker,) = attack(serving, "huge-frame", "tls")
    assert attacker.ends == [h2.errors.ErrorCodes.FRAME_SIZE_ERROR]


def test_the_log_has_one_line_for_each_flood(tmp_path: Path) -> None:
    with served(tmp_path / "serve") as serving:
        attack(serving, "pings", *WAYS)
        said = serving.warnings
    assert said.count("over HTTP/2: its connection is closed") == len(said.splitlines()) == len(WAYS)


def test_a_body_in_many_small_pieces_is_accepted(serving: Serving) -> None:
    with httpx.Client(verify=trusting(serving.ca_file, "h2"), http2=True, trust_env=False, timeout=PATIENCE) as client:
        for _ in range(2):
            answer = client.post(f"{serving.tls}/v1/consents", content=(b"[1,2,3,4]," for _ in range(4000)))
            assert answer.http_version == "HTTP/2"
            assert answer.status_code == 400


ASKED = 10_000

GOOD = {
    "h2load": ("h2load", "-n", f"{ASKED}", "-c", "1", "-m", "100"),
    # Windows of 1 KiB, and larger answers.
    "h2load with small windows": ("h2load", "-n", "500", "-c", "1", "-m", "50", "-w", "10", "-W", "10"),
    "h2load with bodies": ("h2load", "-n", "2000", "-c", "2", "-m", "100", "-d", sys.executable + ".body"),
    "nghttp with padding": ("nghttp", "-b", "100", "-m", "200"),
    "curl": ("curl", "--http2", "--parallel", "--insecure", "--silent"),
}


@pytest.mark.parametrize("name", GOOD)
def test_an_ordinary_client_is_served(serving: Serving, name: str, tmp_path: Path) -> None:
    program, *flags = GOOD[name]
    if not shutil.which(program):
        pytest.skip(f"there is no {program}: `make clients` installs it from Debian")
    (tmp_path / "body").write_bytes(b"a" * 3000)
    flags = [str(tmp_path / "body") if flag.endswith(".body") else flag for flag in flags]
    url = f"{serving.tls}/v1/accounts"
    urls = [f"{url}?{number}" for number in range(200)] if program == "curl" else [url]
    warned = serving.warnings
    done = subprocess.run([program, *flags, *urls], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    if program == "h2load":
        asked = flags[flags.index("-n") + 1]
        assert f"{asked} done" in done.stdout
        assert " 0 errored, 0 timeout" in done.stdout
    assert serving.warnings == warned
