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

ROWS = {
    "proxy door": 2,
    "proxy door, CPU": 2,
    "proxy door with the log on": 1,
    "proxy door with the log on, CPU": 1,
    "proxy door, CONNECT and TLS": 1,
    "proxy door, CONNECT and TLS, CPU": 1,
    "TLS door": 1,
    "TLS door, CPU": 1,
    "direct door": 1,
    "direct door, CPU": 1,
    **{
        f"{door}, requests that arrive at random: {what}": 1
        for door in ("direct door", "proxy door", "proxy door, CONNECT and TLS")
        for what in ("the knee", "p99 at 80% of the knee")
    },
    "direct door, 2 connections open": 1,
    "direct door, 10 connections open": 1,
    **{
        f"{way}, two workers{what}": 1
        for way in ("direct door", "proxy door", "direct door, payment initiation")
        for what in (" on SQLite: requests for CPU", ": share of the busier one")
    },
    **{
        f"engine, {state} {request}": 1
        for state in ("memory:", "sqlite:")
        for request in ("consent status", "20 transactions", "payment initiation")
    },
    **{
        f"{what}, {count} rules": 1
        for what in ("matching alone", "matching and the rest of the answer")
        for count in ("20", "200", "2,000")
    },
    "comparing 10 recorded exchanges, the sandbox's answers included": 1,
    "a page of ten transactions of 20": 1,
    "a page of ten transactions of 30": 1,
    **{f"a payment initiation, {count} {what} kept": 1 for what in ("payments", "sessions") for count in (1, 20)},
    "memory of a payment that is kept": 1,
    "memory of a session, beside its payment": 1,
    "start-up, median of 1": 1,
    "memory after the first answer": 1,
    "memory with mitmproxy": 1,
    "memory after 64 requests": 1,
}
PROMISED = {
    "proxy door": "≥ 1.00",
    **{f"{door} door, two workers on SQLite: requests for CPU": "≥ 0.90" for door in ("direct", "proxy")},
    **{
        f"{way}, two workers: share of the busier one": "≤ 1.00"
        for way in ("direct door", "proxy door", "direct door, payment initiation")
    },
    "direct door, requests that arrive at random: p99 at 80% of the knee": "≤ 1.00",
    "proxy door, requests that arrive at random: p99 at 80% of the knee": "≤ 1.00",
    "proxy door, CONNECT and TLS, requests that arrive at random: p99 at 80% of the knee": "≤ 1.00",
    "a page of ten transactions of 30": "≤ 1.10",
    "a payment initiation, 20 payments kept": "≤ 1.10",
    "a payment initiation, 20 sessions kept": "≤ 1.10",
    "memory of a payment that is kept": "≤ 1.00",
    "memory of a session, beside its payment": "≤ 1.00",
    "memory after the first answer": "≤ 1.00",
    "memory with mitmproxy": "≤ 1.00",
    "engine, memory: consent status": "≤ 1.00",
    "engine, memory: 20 transactions": "≤ 1.00",
    "engine, memory: payment initiation": "≤ 1.00",
    "matching alone, 2,000 rules": "≤ 1.05",
    "matching and the rest of the answer, 2,000 rules": "≤ 1.05",
    "comparing 10 recorded exchanges, the sandbox's answers included": "≤ 10.00",
    "start-up, median of 1": "≤ 1.00",
    "memory after 64 requests": "≤ 1.05",
}
LINES = (
    "connections open, consent status",
    "payments kept, an initiation",
    "rules, matching alone",
    "rules, matching and the rest of the answer",
    "sessions kept, an initiation",
    "transactions in an account, one page",
)


@pytest.mark.slow
def test_every_figure_is_measured(tmp_path: Path) -> None:
    out = tmp_path / "results.md"
    done = subprocess.run(
        [sys.executable, BENCH / "run.py", "--quick", "--out", out], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    text = out.read_text()
    table = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("| ")]
    rows = table[2:]
    found: dict[str, int] = {}
    for what, figure, *_ in rows:
        found[what] = found.get(what, 0) + 1
        assert float(figure.split()[0].removesuffix("/s").replace(",", "")) > 0
        assert what in done.stdout
    assert found == ROWS
    assert {what: budget for what, _, _, _, budget, _ in rows if budget} == PROMISED
    assert {verdict for *_, budget, verdict in rows if budget} <= {"met", "MISSED"}
    assert "`json.loads`" in text
    assert f"Python {sys.version.split()[0]}" in text
    drawing = out.with_name("growth.svg").read_text()
    assert drawing.count('class="series ') >= len(LINES)
    assert [line for line in LINES if line not in drawing] == []
    assert "<script" not in drawing, "nothing is fetched by who looks at it"


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


@pytest.mark.parametrize(
    ("ratio", "least", "greatest", "met"),
    [
        (0.8, 0.8, None, True),
        (0.79, 0.8, None, False),
        (1.1, None, 1.1, True),
        (1.11, None, 1.1, False),
        (0.1, None, None, None),
        (None, None, None, None),
    ],
)
@pytest.mark.usefixtures("bench")
def test_a_promise_is_met_or_missed(
    ratio: float | None, least: float | None, greatest: float | None, met: bool | None
) -> None:
    from table import Row

    assert Row("it", "1 s", "2 s", ratio, least, greatest).met is met


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


@pytest.mark.usefixtures("bench")
def test_the_table_of_the_docs_is_written_anew() -> None:
    from peers_page import BEGIN, END, rates_table, with_table

    figure = SimpleNamespace(rate=12345.6, generator=0.5, server=0.99, others=0.0)
    figures = {"xs2a-sandbox": {"W1": figure}, "mockttp": {"W1": figure}}
    text = with_table(f"before\n{BEGIN}\nold\n{END}\nafter\n", figures)
    assert (text.startswith(f"before\n{BEGIN}\n"), text.endswith(f"{END}\nafter\n")) == (True, True)
    assert "old" not in text
    assert "\n".join(rates_table(figures)) in text
    assert "| xs2a-sandbox | 12,346 |" in text
