"""`serve --workers 2` with real processes, real sockets and `kill -9`."""

import os
import random
import signal
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.doors import DEADLINE, START, trusting, wait_until
from tests.support.recorded_bank.process import stopping
from tests.support.serving import Serving, served

KNOWN = "9d3c41b2-5f0e-4c6a-8b1d-2e7f60a4c911"
HEADERS = {"X-Request-ID": "99391c7e-ad88-49ec-a2ad-99ddcb1f7721"}
RULE = "cassette: 1\nrules:\n  - {{id: greeting, match: {{path: /greeting}}, respond: {{text: {word}}}}}\n"


def workers(serving: Serving) -> list[int]:
    return [int(pid) for pid in Path(f"/proc/{serving.pid}/task/{serving.pid}/children").read_text().split()]


def state_of(directory: Path) -> tuple[str, ...]:
    return ("--workers", "2", "--state", f"sqlite:{directory / 'state.db'}")


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    directory = tmp_path_factory.mktemp("workers")
    (directory / "mine").mkdir()
    (directory / "mine" / "greeting.yaml").write_text(RULE.format(word="one"))
    with served(directory, *state_of(directory), "--cassettes", "mine") as serving:
        yield serving


def client(serving: Serving, **options: Any) -> httpx.Client:
    return httpx.Client(base_url=serving.direct, trust_env=False, timeout=DEADLINE, **options)


def control(serving: Serving, method: str, path: str, **options: Any) -> Any:
    """Send a request on a new connection, so that either worker can answer."""
    headers = {"Authorization": f"Bearer {serving.token}"}
    with client(serving, headers=headers) as http:
        answer = http.request(method, f"/_sandbox/{path}", **options)
    assert answer.status_code < 300, answer.text
    return answer.json() if answer.content else None


def ask(serving: Serving) -> str:
    with client(serving) as http:
        return http.get("/greeting").text


def numbers(serving: Serving) -> list[int]:
    return [one["number"] for one in control(serving, "GET", "journal", params={"limit": "200"})["exchanges"]]


def test_a_fault_for_all_sessions_affects_cached_answers_in_every_process(sandbox: Serving) -> None:
    def statuses(session: str, count: int) -> list[int]:
        found = []
        for _ in range(count):
            with client(sandbox, headers={**HEADERS, "X-Sandbox-Session": session}) as http:
                found.append(http.get(f"/v1/consents/{KNOWN}/status").status_code)
        return found

    assert statuses("ci", 8) == [200] * 8
    fault = {"operation": "consent-status", "status": 503, "next": 6, "sessions": "all"}
    control(sandbox, "POST", "faults", json=fault)
    assert statuses("ci", 8) == [503] * 6 + [200] * 2
    assert statuses("later", 4) == [503] * 4
    assert control(sandbox, "DELETE", "faults", params={"sessions": "all"}) == {"deleted": 1}
    assert statuses("later", 4) == [200] * 4


def test_all_processes_serve_all_doors(sandbox: Serving) -> None:
    status = f"/v1/consents/{KNOWN}/status"
    for _ in range(2):
        with client(sandbox) as http:
            assert http.get(status, headers=HEADERS).status_code == 200
        trust = trusting(sandbox.ca_file)
        with httpx.Client(trust_env=False, verify=trust, timeout=DEADLINE, proxy=sandbox.proxy) as http:
            assert http.get(f"http://bank.example{status}", headers=HEADERS).status_code == 200
            assert http.get(f"https://bank.example{status}", headers=HEADERS).status_code == 200
        with httpx.Client(trust_env=False, verify=trust, timeout=DEADLINE, base_url=sandbox.tls) as http:
            assert http.get(status, headers=HEADERS).status_code == 200

    assert len(workers(sandbox)) == 2


@pytest.mark.parametrize("kept", [True, False], ids=["kept alive", "one each"])
def test_connections_are_spread_evenly_and_the_journal_is_shared(sandbox: Serving, kept: bool) -> None:
    control(sandbox, "DELETE", "journal")
    clients = [client(sandbox) for _ in range(10)]
    for _ in range(4):
        for http in clients:
            http.get("/greeting", headers={} if kept else {"Connection": "close"})
    for http in clients:
        http.close()

    seen = [numbers(sandbox) for _ in range(4)]

    assert seen[0] == seen[1] == seen[2] == seen[3] == sorted(seen[0])
    # The remainder shows which worker has answered.
    shares = Counter(number % 2 for number in seen[0])
    assert shares.total() == 40
    assert 16 <= shares[0] <= 24
    assert control(sandbox, "GET", f"journal/{seen[0][0]}")["target"] == "/greeting"
    wait_until(lambda: sum(" /greeting " in line for line in sandbox.out) >= 40)


def test_an_emptied_journal_is_empty_everywhere(sandbox: Serving) -> None:
    for _ in range(4):
        ask(sandbox)

    assert control(sandbox, "DELETE", "journal")["deleted"] >= 4
    assert [numbers(sandbox) for _ in range(4)] == [[], [], [], []]


def test_all_processes_see_the_same_state(sandbox: Serving) -> None:
    for number in range(4):
        control(sandbox, "PUT", f"state/notes/{number}", json={"number": number})
        assert [control(sandbox, "GET", f"state/notes/{number}") for _ in range(2)] == [{"number": number}] * 2


def test_all_load_a_changed_file_at_the_same_time_and_none_a_broken_one(sandbox: Serving) -> None:
    file = Path(sandbox.confdir).parent / "mine" / "greeting.yaml"
    assert ask(sandbox) == "one"
    replace_file(file, RULE.format(word="two"))
    wait_until(lambda: "loaded again" in sandbox.warnings)
    # The worker that logs it may be slightly ahead of the other.
    wait_until(lambda: [ask(sandbox) for _ in range(4)] == ["two"] * 4)
    assert sandbox.warnings.count("loaded again") == 1

    replace_file(file, "cassette: 1\nrules: nonsense\n")
    wait_until(lambda: "the files that were loaded before stay in use" in sandbox.warnings)
    assert [ask(sandbox) for _ in range(4)] == ["two"] * 4
    assert sandbox.warnings.count("the files that were loaded before stay in use") == 1
    assert all(control(sandbox, "GET", "status")["problems"] for _ in range(4))

    replace_file(file, RULE.format(word="three"))
    wait_until(lambda: sandbox.warnings.count("loaded again") == 2)
    assert [ask(sandbox) for _ in range(4)] == ["three"] * 4
    assert not any(control(sandbox, "GET", "status")["problems"] for _ in range(4))


def replace_file(file: Path, text: str) -> None:
    beside = file.with_suffix(".new")
    beside.write_text(text)
    os.replace(beside, file)


def test_a_killed_worker_is_replaced_and_its_writes_are_kept(sandbox: Serving) -> None:
    for number in range(6):
        control(sandbox, "PUT", f"state/killed/{number}", json={"number": number})
    before = workers(sandbox)
    os.kill(before[0], signal.SIGKILL)
    wait_until(lambda: f"(process {before[0]}) was ended by SIGKILL: a new worker replaces it" in sandbox.warnings)
    wait_until(lambda: len(workers(sandbox)) == 2 and before[0] not in workers(sandbox), START)

    assert [control(sandbox, "GET", f"state/killed/{number}") for number in range(6)] == [
        {"number": number} for number in range(6)
    ]
    wait_until(lambda: _answers_from_both(sandbox), START)


def _answers_from_both(sandbox: Serving) -> bool:
    control(sandbox, "DELETE", "journal")
    for _ in range(4):
        ask(sandbox)
    return len({number % 2 for number in numbers(sandbox)}) == 2


def test_sigterm_lets_all_workers_finish(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    slow = "cassette: 1\nrules:\n  - {id: slow, match: {path: /slow}, respond: {text: done, delay: 1s}}\n"
    (tmp_path / "mine" / "slow.yaml").write_text(slow)
    answers: list[str] = []
    with served(tmp_path, *state_of(tmp_path), "--cassettes", "mine", "--coverage") as serving:
        pids = workers(serving)

        def asks() -> None:
            with client(serving) as http:
                answers.append(http.get("/slow").text)

        threads = [threading.Thread(target=asks) for _ in range(4)]
        for thread in threads:
            thread.start()
        wait_until(lambda: established(serving) >= 4)
        os.kill(serving.pid, signal.SIGTERM)
        for thread in threads:
            thread.join(START)
        assert serving.stop() == 0

    assert answers == ["done"] * 4
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
    # Answers of any worker count.
    assert serving.warnings.count("operations: 0 of") == 1
    assert "slow.yaml" not in serving.warnings
    assert "was ended by" not in serving.warnings


def established(serving: Serving) -> int:
    """Return the connections whose requests the workers have read."""
    port = int(serving.direct.rpartition(":")[2])
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(one[1].endswith(f":{port:04X}") and one[3] == "01" and one[4].endswith(":00000000") for one in lines)


def test_workers_end_without_their_supervisor(tmp_path: Path) -> None:
    with served(tmp_path, *state_of(tmp_path)) as serving:
        pids = workers(serving)
        os.kill(serving.pid, signal.SIGKILL)
        wait_until(lambda: not any(_runs(pid) for pid in pids), START)


def _runs(pid: int) -> bool:
    with suppress(FileNotFoundError):
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    return False


def test_a_mistake_at_the_start_is_reported_once(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "wrong.yaml").write_text("cassette: 1\nrules: nonsense\n")

    serving = Serving(tmp_path, *state_of(tmp_path), "--cassettes", "mine")
    with stopping(serving):
        wait_until(lambda: serving._process.poll() is not None, START)

    assert serving.stop() == 2
    assert serving.output.count("wrong.yaml") == 1
    assert "Traceback" not in serving.output


def test_a_busy_port_is_reported_once(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
        serving = Serving(tmp_path, *state_of(tmp_path), "--port", str(port))
        with stopping(serving):
            wait_until(lambda: serving._process.poll() is not None, START)

    assert serving.stop() == 2
    assert serving.output.count(f"port {port} on 127.0.0.1 is in use by another process") == 1


@pytest.mark.slow
def test_no_acknowledged_write_is_lost_while_workers_are_killed(tmp_path: Path) -> None:
    acknowledged: list[str] = []
    ends = threading.Event()

    def writes(serving: Serving, name: str) -> None:
        number = 0
        while not ends.is_set():
            number += 1
            with suppress(httpx.TransportError), client(serving) as http:
                http.headers["Authorization"] = f"Bearer {serving.token}"
                while not ends.is_set():
                    if http.put(f"/_sandbox/state/kills/{name}-{number}", json={"n": number}).status_code == 201:
                        acknowledged.append(f"{name}-{number}")
                    number += 1

    with served(tmp_path, *state_of(tmp_path)) as serving:
        threads = [threading.Thread(target=writes, args=(serving, name)) for name in "abcd"]
        for thread in threads:
            thread.start()
        for _ in range(8):
            count = len(acknowledged)
            wait_until(lambda count=count: len(acknowledged) > count + 50, START)  # type: ignore[misc]
            wait_until(lambda: len(workers(serving)) == 2, START)
            killed = random.choice(workers(serving))
            os.kill(killed, signal.SIGKILL)
            wait_until(lambda killed=killed: killed not in workers(serving), START)  # type: ignore[misc]
        ends.set()
        for thread in threads:
            thread.join(START)
        kept = control(serving, "GET", "state/kills")

    assert len(acknowledged) > 400
    assert not set(acknowledged) - kept.keys()
