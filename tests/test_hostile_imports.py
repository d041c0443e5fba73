"""Files that were made to hurt whoever imports them: one error that names the file, and nothing is written."""

import base64
import gzip
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import brotli
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from mitmproxy.io import tnetstring
from mitmproxy.test import tflow

from taping import START, taped
from xs2a_sandbox import flows, har, postman, wiremock
from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.foreign import read_har, read_json

COMMAND = str(Path(sys.executable).with_name("xs2a-sandbox"))
MEMORY = 2 * 1024**3
PATIENCE = 60


def document(**members: Any) -> dict[str, Any]:
    """A HAR document with one good entry that is then changed: `response.status` is `response__status`."""
    one = har.log([taped("/v1/accounts")])
    for name, value in members.items():
        *outer, last = name.split("__")
        inner = one["log"]["entries"][0]
        for step in outer:
            inner = inner[step]
        inner[last] = value
    return one


def collection(variables: dict[str, str], raw: str = "{{base}}/v1", **request: Any) -> dict[str, Any]:
    listed = [{"key": key, "value": value} for key, value in {"base": "https://bank.example", **variables}.items()]
    asked = {"method": "GET", "url": {"raw": raw}, **request}
    return {"variable": listed, "item": [{"name": "one", "request": asked, "response": [{"code": 200, "body": "{}"}]}]}


def mapping(request: Any = None, response: Any = None) -> dict[str, Any]:
    return {"request": {"method": "GET", "url": "/a", **(request or {})}, "response": response or {"status": 200}}


def dump(**request: Any) -> bytes:
    """One flow, of whose request some is something else."""
    state: Any = tflow.tflow(resp=True).get_state()
    state["request"] |= request
    return tnetstring.dumps(state)


def replaced(where: str, value: Any) -> bytes:
    state: Any = tflow.tflow(resp=True).get_state()
    state["response"][where] = value
    return tnetstring.dumps(state)


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


def nested_flow(depth: int) -> bytes:
    value = b""
    for _ in range(depth):
        value = b"%d:%s]" % (len(value), value)
    return value


DOUBLING = {f"v{i}": f"{{{{v{i + 1}}}}}" * 100 for i in range(30)} | {"v30": "x" * 1000}

HOSTILE: dict[str, bytes | str | Any] = {
    "JSON nested 10,000 deep": nested(10_000),
    "JSON nested 300 deep": f'{{"log": {{"entries": {nested(300)}}}}}',
    "JSON nested in a folder of Postman": '{"item": [' * 500 + "]}" * 500,
    "JSON of many values": '{"log": [' + "{}," * 11_000_000 + "0]}",
    "a number of 5,000 digits": '{"log": {"entries": [1' + "0" * 5000 + "]}}",
    "an exponent of twenty digits": '{"log": {"entries": [1e99999999999999999999]}}',
    "JSON that breaks off": json.dumps(document())[:-9],
    "a HAR time that is none in UTC": document(startedDateTime="0001-01-01T00:00:00+23:59"),
    "a HAR time of 1e300": document(startedDateTime=1e300),
    "a HAR status that is a list": document(response__status=[200]),
    "a HAR status of 400 digits": document(response__status=10**400),
    "a HAR header that is a number": document(request__headers=[7]),
    "HAR content that is no base64": document(response__content={"text": "\xe4", "encoding": "base64"}),
    "Postman variables that grow": collection(DOUBLING, "{{base}}/{{v0}}"),
    "Postman variables that grow in a body": collection(DOUBLING, body={"mode": "raw", "raw": "{{v0}}"}),
    "Postman variables that grow in a header": collection(DOUBLING, header=[{"key": "A", "value": "{{v0}}"}]),
    "a Postman value of 1 MB a thousand times": collection({"v": "x" * 1_000_000}, "{{base}}/" + "{{v}}" * 1000),
    "a Postman path that grows": collection(
        {}, url={"raw": "https://a/" + "/:v" * 2000, "variable": [{"key": "v", "value": "x" * 1_000_000}]}
    ),
    "Postman variables in a circle": collection({"a": "{{b}}{{b}}", "b": "{{a}}"}, "{{base}}/{{a}}"),
    "a Postman variable of spaces": collection({}, "{{base}}/{{" + " " * 200_000 + "{{none}}"),
    "Postman fields that are a number": collection({}, body={"mode": "urlencoded", "urlencoded": 7}),
    "a WireMock path that grows": {
        "request": {
            "method": "GET",
            "urlPathTemplate": "/{a}" * 2000,
            "pathParameters": {"a": {"equalTo": "x" * 1_000_000}},
        },
        "response": {"status": 200},
    },
    "a WireMock file outside": mapping(response={"bodyFileName": "../../etc/passwd"}),
    "a WireMock file that is absolute": mapping(response={"bodyFileName": "/etc/passwd"}),
    "a WireMock file that is a pipe": mapping(response={"bodyFileName": "pipe"}),
    "a WireMock file with a NUL": mapping(response={"bodyFileName": "a\0b"}),
    "a WireMock status that is text": mapping(response={"status": "200"}),
    "WireMock's base64 that is none": mapping(response={"base64Body": "\xe4"}),
    "a flow of 10^18 bytes": b"1000000000000000000:x",
    "a flow of 10^12 - 1 bytes": b"999999999999:x",
    "a flow of negative length": b"-5:x,",
    "flows of negative length in one another": b"320:" + b"-1:" * 80 + b"]" * 80 + b"]",
    "lists of negative length in one another": b"160:" + b"-1:" * 40 + b"]" * 40 + b"]",
    "a flow nested deep": nested_flow(5000),
    "a flow of many values": b"6000000:" + b"0:~" * 2_000_000 + b"]",
    "a flow that breaks off": dump()[:-30],
    "a flow that is a number": b"1:7#",
    "a flow without a version": b"0:}",
    "a flow at 1e300": dump(timestamp_start=1e300),
    "a flow at NaN": dump(timestamp_start=float("nan")),
    "a flow at -1e300": dump(timestamp_start=-1e300),
    "a flow at a text": dump(timestamp_start="now"),
    "a flow with headers that are a number": dump(headers=7),
    "a flow with a body that is a number": dump(content=7),
    "a flow with a status that is a text": replaced("status_code", "200"),
    "a flow with a body that is a text": replaced("content", "text"),
}


def written(content: Any, folder: Path) -> Path:
    folder.joinpath("mappings").mkdir(parents=True)
    folder.joinpath("__files").mkdir()
    os.mkfifo(folder / "__files" / "pipe")
    file = folder / "mappings" / "hostile-file"
    content = content if isinstance(content, bytes | str) else json.dumps(content)
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return file


def limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def run(file: Path, to: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [COMMAND, "import", str(file), "--to", str(to)],
        cwd=to.parent,
        env={**os.environ, "XS2A_SANDBOX_CONFDIR": str(to.parent / "confdir")},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        preexec_fn=limit,
    )


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file(name: str, tmp_path: Path) -> None:
    file = written(HOSTILE[name], tmp_path / "stubs")

    ended = run(file, tmp_path / "out")

    assert ended.returncode == 2, ended.stderr[-2000:]
    errors = [line for line in ended.stderr.splitlines() if not line.startswith("left out: ")]
    assert len(errors) == 1, ended.stderr[-2000:]
    assert "hostile-file" in errors[0]
    assert len(errors[0]) < 1000
    assert "Traceback" not in ended.stderr
    assert not (tmp_path / "out").exists()


def test_bodies_as_deep_as_they_may_be_are_imported(tmp_path: Path) -> None:
    value = mapping(response={"jsonBody": json.loads(nested(240))})
    ended = run(written(value, tmp_path / "stubs"), tmp_path / "out")
    assert (ended.returncode, ended.stderr) == (0, "")


UNPACKED = 512 * 1024 * 1024
BOMBS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda plain: gzip.compress(plain, 1),
    "br": lambda plain: brotli.compress(plain, quality=1),
    "zstd": lambda plain: zstandard.compress(plain),
}


@pytest.mark.parametrize("encoding", BOMBS)
@pytest.mark.parametrize("kind", ["HAR", "dump"])
def test_a_body_that_grows_is_said_and_not_unpacked(encoding: str, kind: str, tmp_path: Path) -> None:
    packed = BOMBS[encoding](bytes(UNPACKED))
    if kind == "HAR":
        content = {"text": base64.b64encode(packed).decode(), "encoding": "base64"}
        bomb: Any = document(
            response__content=content, response__headers=[{"name": "Content-Encoding", "value": encoding}]
        )
    else:
        flow = tflow.tflow(resp=True)
        assert flow.response
        flow.response.headers["content-encoding"] = encoding
        flow.response.raw_content = packed
        bomb = tnetstring.dumps(flow.get_state())

    ended = run(written(bomb, tmp_path / "stubs"), tmp_path / "out")

    assert "Traceback" not in ended.stderr
    assert ended.returncode == 0
    assert "body of its answer" in ended.stdout


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from([10**30, "{{a}}"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


def changed(value: Any, path: list[int], other: Any) -> Any:
    """The same with something else at one place, which the numbers lead to."""
    if not path or not isinstance(value, dict | list) or not value:
        return other
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    key = keys[path[0] % len(keys)]
    inner = changed(value[key], path[1:], other)
    return {**value, key: inner} if isinstance(value, dict) else [*value[:key], inner, *value[key + 1 :]]


PLACES = st.lists(st.integers(0, 20), max_size=7)
GOOD: dict[str, Any] = {
    "HAR": document(request__postData={"params": [{"name": "a", "value": "b"}]}),
    "Postman": collection(
        {"a": "1"},
        "{{base}}/:id?a={{a}}",
        header=[{"key": "A", "value": "{{a}}"}],
        body={"mode": "urlencoded", "urlencoded": [{"key": "a", "value": "b"}]},
    ),
    "WireMock": {
        "mappings": [
            mapping({"headers": {"A": {"equalTo": "b"}}, "bodyPatterns": [{"equalToJson": {"a": 1}}]}),
            mapping(response={"status": 200, "jsonBody": {"a": 1}, "headers": {"A": ["b"]}}),
            mapping(response={"bodyFileName": "none.json"}),
        ]
    },
}


@pytest.mark.parametrize("kind", GOOD)
@settings(max_examples=300, deadline=None)
@given(places=PLACES, other=JSON)
def test_whatever_stands_anywhere_in_json(
    kind: str, places: list[int], other: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.getbasetemp() / "fuzzed"
    file.write_text(json.dumps(changed(GOOD[kind], places, other)))
    try:
        value = read_json(file)
        if kind == "HAR":
            exchanges = read_har(value, file)
        elif kind == "Postman":
            exchanges = postman.read(value, file, START) if isinstance(value, dict) else read_har(value, file)
        else:
            exchanges = wiremock.read(value, file, file.parent, START)
        for entry in exchanges.entries:
            json.dumps(har.to_har(entry), allow_nan=False)
    except UserMistake as mistake:
        if "fuzzed" not in str(mistake):
            raise


@settings(max_examples=300, deadline=None)
@given(places=PLACES, other=JSON)
def test_whatever_stands_anywhere_in_a_flow(
    places: list[int], other: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    try:
        content = tnetstring.dumps(changed(tflow.tflow(resp=True).get_state(), places, other))
    except UnicodeEncodeError:  # half a surrogate pair cannot stand in a dump
        return
    of_flows(content, tmp_path_factory.getbasetemp() / "fuzzed")


@settings(max_examples=300, deadline=None)
@given(place=st.integers(0), put=st.binary(max_size=6) | st.from_regex(rb"-?[0-9]{1,20}:", fullmatch=True))
def test_whatever_bytes_stand_in_a_dump(place: int, put: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    content = dump()
    place %= len(content)
    of_flows(content[:place] + put + content[place + len(put) :], tmp_path_factory.getbasetemp() / "fuzzed")


def of_flows(content: bytes, file: Path) -> None:
    file.write_bytes(content)
    try:
        for entry in flows.read(file).entries:
            json.dumps(har.to_har(entry), allow_nan=False)
    except UserMistake as mistake:
        if "fuzzed" not in str(mistake):
            raise
