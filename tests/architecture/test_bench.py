import subprocess
import sys
from pathlib import Path

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
    "start-up, median of 1": 1,
    "memory after 64 requests": 1,
}
PROMISED = {
    "proxy door": "≥ 0.80",
    "engine, memory: consent status": "≤ 1.00",
    "engine, memory: 20 transactions": "≤ 1.00",
    "engine, memory: payment initiation": "≤ 1.00",
    "matching alone, 2,000 rules": "≤ 1.10",
    "matching and the rest of the answer, 2,000 rules": "≤ 1.10",
    "comparing 10 recorded exchanges, the sandbox's answers included": "≤ 10.00",
    "start-up, median of 1": "≤ 1.00",
    "memory after 64 requests": "≤ 1.05",
}


@pytest.mark.slow
def test_every_figure_is_measured(tmp_path: Path) -> None:
    out = tmp_path / "results.md"
    done = subprocess.run(
        [sys.executable, BENCH / "run.py", "--quick", "--out", out], capture_output=True, text=True, timeout=120
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


@pytest.mark.parametrize("answer", [b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n", b""])
def test_load_counts_nothing_but_the_expected_answers(answer: bytes) -> None:
    import json
    import socket

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
            told, why = process.communicate(timeout=30)
    assert process.returncode
    assert told == "connected\n"
    assert "ConnectionError" in why
