from datetime import UTC, datetime
from pathlib import Path

import pytest
from mitmproxy import http
from mitmproxy.io import FlowWriter
from mitmproxy.test import tflow, tutils

from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.features.importing.mitmproxy import read


def dump(file: Path, *flows: object) -> Path:
    with file.open("wb") as stream:
        writer = FlowWriter(stream)
        for flow in flows:
            writer.add(flow)  # type: ignore[arg-type]
    return file


def exchange(**parts: object) -> http.HTTPFlow:
    request = tutils.treq(
        method=b"POST",
        scheme=b"https",
        host="bank.example",
        port=443,
        path=b"/psd2/v1/a?b=c",
        headers=http.Headers([(b"A", b"1"), (b"A", b"\xe4")]),
        content=b"asked",
        timestamp_start=1000.0,
    )
    answer = tutils.tresp(status_code=201, headers=http.Headers([(b"B", b"2")]), timestamp_end=1000.5)
    answer.content = b"said"
    answer.headers["content-encoding"] = "gzip"
    answer.content = b"said"
    return tflow.tflow(req=request, resp=answer, **parts)


def test_a_flow_becomes_an_exchange(tmp_path: Path) -> None:
    (entry,) = read(dump(tmp_path / "flows", exchange())).entries

    assert (entry.bank, entry.method, entry.target) == ("https://bank.example", "POST", "/psd2/v1/a?b=c")
    assert [pair for pair in entry.headers if pair[0] == "A"] == [("A", "1"), ("A", "ä")]
    assert (entry.body, entry.status, entry.answer_headers.get("b")) == (b"asked", 201, "2")
    assert entry.answer_body == b"said"  # without its Content-Encoding
    assert (entry.time, entry.milliseconds) == (datetime.fromtimestamp(1000, UTC), 500.0)


def test_flows_without_an_exchange_are_left_out(tmp_path: Path) -> None:
    connect = exchange()
    connect.request.method = "CONNECT"
    icon = exchange()
    icon.request.method, icon.request.path = "GET", "/favicon.ico"
    exchanges = read(dump(tmp_path / "flows", tflow.tflow(err=True), tflow.ttcpflow(), connect, icon, exchange()))

    assert len(exchanges.entries) == 1
    assert exchanges.left_out == (
        "flow 1: it has no response",
        "flow 2: its type is tcp, not HTTP",
        "flow 3: it only opened a connection",
        "flow 4: only browsers request /favicon.ico",
    )


def nested(depth: int) -> bytes:
    content = b"0:]"
    for _ in range(depth):
        content = b"%d:%b]" % (len(content), content)
    return content


@pytest.mark.parametrize(
    "content",
    [b"12:no flow,", b"x", b"5:1:1;,", b"1000000000000:x,", b"999999999999999999:x,", b"0:}", b"0:]", nested(3000)],
    ids=lambda content: repr(content[:20]),
)
def test_a_file_that_is_not_a_dump_is_an_error(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "flows"
    file.write_bytes(content)
    with pytest.raises(ConfigError, match=r"flows: after 0 flows: .* The file is not a mitmproxy dump"):
        read(file)


@pytest.mark.parametrize("time", [1e300, -1e300, float("inf"), float("nan")])
def test_an_invalid_time_has_its_place(time: float, tmp_path: Path) -> None:
    flow = exchange()
    flow.request.timestamp_start = time
    with pytest.raises(ConfigError, match=r"flows: after 0 flows: "):
        read(dump(tmp_path / "flows", flow))


def test_an_incomplete_dump_is_an_error_with_its_place(tmp_path: Path) -> None:
    file = dump(tmp_path / "flows", exchange(), exchange())
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(ConfigError, match=r"after 1 flows: .*or is incomplete"):
        read(file)


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read"):
        read(tmp_path / "nowhere")
