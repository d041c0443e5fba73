import json
import socket
import ssl
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support.doors import wait_until
from tests.support.far_bank import Authority

BENCH = Path(__file__).resolve().parents[2] / "bench"


@pytest.mark.slow
def test_every_figure_is_measured(tmp_path: Path) -> None:
    out = tmp_path / "results.md"
    done = subprocess.run(
        [sys.executable, BENCH / "run.py", "--quick", "--out", out], capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stderr
    table = [line for line in out.read_text().splitlines() if line.startswith("| ")]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table[2:]]
    assert rows
    for what, figure, *_, budget, verdict in rows:
        assert float(figure.split()[0].removesuffix("/s").replace(",", "")) > 0
        assert what in done.stdout
        assert verdict in ("met", "MISSED") if budget else not verdict
    assert "<script" not in out.with_name("growth.svg").read_text(), "the plot contains a script"


@pytest.mark.slow
def test_the_sandbox_is_measured_in_the_same_way_as_its_peers() -> None:
    done = subprocess.run(
        [sys.executable, BENCH / "run_peers.py", "--quick", "--only", "xs2a-sandbox"],
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    rates = next(line for line in done.stdout.splitlines() if line.startswith("| xs2a-sandbox | "))
    figures = [float(cell.strip(" ~≥").replace(",", "")) for cell in rates.split("|")[2:-1]]
    assert len(figures) == 10
    assert min(figures) > 0


@pytest.mark.parametrize("door", ["direct", "proxy"])
def test_calls_of_a_request_at_a_door_are_counted(door: str) -> None:
    done = subprocess.run(
        [sys.executable, BENCH / "calls.py", "consent status", "--door", door, "--repeated"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "HttpConnection.data_received" in done.stdout
    assert "ResponseCache.find" in done.stdout


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(BENCH)


@pytest.fixture
def answered() -> Iterator[tuple[int, list[bytes]]]:
    """Yield the port of a server that accepts one connection, and the list of the requests it gets."""
    requests: list[bytes] = []

    def serve() -> None:
        connection, _ = server.accept()
        with connection:
            while request := connection.recv(1000):
                requests.append(request)
                if request.startswith(b"DELETE"):
                    connection.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
                    continue
                body = b'{"paymentId": "p-%d"}' % len(requests)
                connection.sendall(b"HTTP/1.1 201 Created\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1], requests
        thread.join(10)


def generated(**load: object) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, BENCH / "load.py", json.dumps({"connections": 1, **load})],
        input="\n\n",
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    outcome: dict[str, float] = json.loads(done.stdout.splitlines()[1])
    return outcome


def test_load_reads_the_resources_that_it_created(answered: tuple[int, list[bytes]]) -> None:
    port, requests = answered
    load = {"request": "POST /p HTTP/1.1\r\n\r\n", "then": ["GET /p/{payment} HTTP/1.1\r\n\r\n"]}
    outcome = generated(port=port, requests=2, ids={"payment": '"paymentId": "([^"]+)"'}, **load)
    assert outcome["answers"] == 4
    assert [request.split()[:2] for request in requests] == [
        [b"POST", b"/p"],
        [b"GET", b"/p/p-1"],
        [b"POST", b"/p"],
        [b"GET", b"/p/p-3"],
    ]


def test_load_uses_new_ids_for_each_request_and_each_flow(answered: tuple[int, list[bytes]]) -> None:
    port, requests = answered
    request = "POST /p HTTP/1.1\r\nX-Request-ID: {request}\r\nX-Sandbox-Session: {journey}\r\n\r\n"
    outcome = generated(port=port, requests=3, request=request, then=[request.replace("POST", "DELETE")])
    assert outcome["answers"] == 6
    ids = [[line.split(b": ")[1] for line in one.split(b"\r\n")[1:3]] for one in requests]
    assert len({id for id, _ in ids}) == 6
    assert all(uuid.UUID(id.decode()) for id, _ in ids)
    journeys = [journey for _, journey in ids]
    assert journeys[::2] == journeys[1::2]
    assert len(set(journeys)) == 3


def test_load_sends_requests_on_time_even_if_earlier_ones_are_unanswered() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer_once() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                while connection.recv(1000):
                    pass

        thread = threading.Thread(target=answer_once)
        thread.start()
        port = server.getsockname()[1]
        outcome = generated(port=port, request="GET / HTTP/1.1\r\n\r\n", seconds=1.0, rate=200.0)
        thread.join(10)
    # One request was answered at once; the others waited until the end, and their times show it.
    assert outcome["answers"] > 100
    assert outcome["p50"] > 200


def test_load_completes_all_handshakes_before_the_measurement(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    context = authority.server("localhost")
    greeted: list[ssl.SSLSocket] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def greet() -> None:
            for _ in range(20):
                connection, _ = server.accept()
                greeted.append(context.wrap_socket(connection, server_side=True))

        threading.Thread(target=greet, daemon=True).start()
        load = {"port": server.getsockname()[1], "request": "", "connections": 20, "ca_file": str(authority.file)}
        with subprocess.Popen(
            [sys.executable, BENCH / "load.py", json.dumps(load)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as process:
            assert process.stdout
            assert process.stdout.readline() == b"connected\n"
            wait_until(lambda: len(greeted) == 20)
            process.kill()


@pytest.mark.parametrize("answer", [b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n", b""])
def test_load_counts_only_the_expected_answers(answer: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        load = {"port": server.getsockname()[1], "request": "GET / HTTP/1.1\r\n\r\n", "requests": 1, "connections": 1}
        with subprocess.Popen(
            [sys.executable, BENCH / "load.py", json.dumps(load)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            connection, _ = server.accept()
            connection.settimeout(10)
            assert process.stdin
            process.stdin.write("\n")
            process.stdin.flush()
            with connection:
                assert connection.recv(1000).startswith(b"GET /")
                connection.sendall(answer)
            output, why = process.communicate(timeout=30)
    assert process.returncode
    assert output == "connected\n"
    assert "ConnectionError" in why


@pytest.mark.usefixtures("bench")
def test_the_docs_contain_the_latest_measurements() -> None:
    from peers_page import rates_table

    history = BENCH / "peers.jsonl"
    text = (BENCH.parent / "docs/how-fast.md").read_text()
    if not history.exists():
        assert "`make bench-peers` writes the table here." in text
        return
    last = json.loads(history.read_text().splitlines()[-1])["figures"]
    figures = {name: {load: SimpleNamespace(**one) for load, one in own.items()} for name, own in last.items()}
    assert "\n".join(rates_table(figures)) in text
