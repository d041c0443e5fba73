import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"


@pytest.mark.slow
def test_every_figure_is_measured(tmp_path: Path) -> None:
    out = tmp_path / "results.md"
    done = subprocess.run(
        [sys.executable, BENCH / "run.py", "--quick", "--out", out], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    table = [line for line in out.read_text().splitlines() if line.startswith("| ")]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table[2:]]
    assert rows
    for what, figure, *_, budget, verdict in rows:
        assert float(figure.split()[0].removesuffix("/s").replace(",", "")) > 0
        assert what in done.stdout
        assert verdict in ("met", "MISSED") if budget else not verdict
    assert "<script" not in out.with_name("growth.svg").read_text(), "nothing is fetched by who looks at it"


@pytest.mark.slow
def test_the_sandbox_is_measured_as_its_peers_are() -> None:
    done = subprocess.run(
        [sys.executable, BENCH / "run_peers.py", "--quick", "--only", "xs2a-sandbox"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    rates = next(line for line in done.stdout.splitlines() if line.startswith("| xs2a-sandbox | "))
    figures = [float(cell.strip(" ~≥").replace(",", "")) for cell in rates.split("|")[2:-1]]
    assert len(figures) == 9
    assert min(figures) > 0


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(BENCH)


@pytest.fixture
def answered() -> Iterator[tuple[int, list[bytes]]]:
    """The port of a server that takes one connection, and what it is asked."""
    requests: list[bytes] = []

    def serve() -> None:
        connection, _ = server.accept()
        with connection:
            while request := connection.recv(1000):
                requests.append(request)
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


def test_load_reads_what_it_has_created(answered: tuple[int, list[bytes]]) -> None:
    port, requests = answered
    load = {"request": "POST /p HTTP/1.1\r\n\r\n", "then": "GET /p/{id} HTTP/1.1\r\n\r\n"}
    outcome = generated(port=port, requests=2, id_pattern='"paymentId": "([^"]+)"', **load)
    assert outcome["answers"] == 4
    assert [request.split()[:2] for request in requests] == [
        [b"POST", b"/p"],
        [b"GET", b"/p/p-1"],
        [b"POST", b"/p"],
        [b"GET", b"/p/p-3"],
    ]


def test_load_arrives_whatever_becomes_of_what_arrived_before() -> None:
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
    # One was answered at once; the others wait until the end, and their times say so.
    assert outcome["answers"] > 100
    assert outcome["p50"] > 200


@pytest.mark.parametrize("answer", [b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n", b""])
def test_load_counts_nothing_but_the_expected_answers(answer: bytes) -> None:
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
def test_the_docs_say_what_was_measured_last() -> None:
    from peers_page import rates_table

    history = BENCH / "peers.jsonl"
    text = (BENCH.parent / "docs/how-fast.md").read_text()
    if not history.exists():
        assert "`make bench-peers` writes the table here." in text
        return
    last = json.loads(history.read_text().splitlines()[-1])["figures"]
    figures = {name: {load: SimpleNamespace(**one) for load, one in own.items()} for name, own in last.items()}
    assert "\n".join(rates_table(figures)) in text
