"""Files made to harm whoever imports them: one error that names the file, and nothing is written."""

import base64
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from mitmproxy.io import tnetstring
from mitmproxy.test import tflow

from tests.attack.imports import HOSTILE, collection, document, dump, mapping, nested, refused, run, written
from tests.support.taping import START
from tests.support.turns import few
from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.cassette import reader
from xs2a_sandbox.documents import Schemas, yaml_reader
from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.features.importing import mitmproxy, postman, wiremock
from xs2a_sandbox.http import har
from xs2a_sandbox.recording.har import read_har, read_json


@pytest.mark.parametrize(
    "name",
    few(HOSTILE, [*HOSTILE][::9]),
)
def test_a_hostile_file_is_refused(name: str, tmp_path: Path) -> None:
    assert not list(refused(name, tmp_path))


def test_bodies_of_the_maximum_depth_are_imported(tmp_path: Path) -> None:
    value = mapping(response={"jsonBody": json.loads(nested(240))})
    ended = run(written(value, tmp_path / "stubs"), tmp_path / "out")
    assert (ended.returncode, ended.stderr) == (0, "")


UNPACKED = 512 * 1024 * 1024
BOMBS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda plain: gzip.compress(plain, 1),
    "br": lambda plain: brotli.compress(plain, quality=1),
    "zstd": lambda plain: zstandard.compress(plain),
}


@pytest.mark.by_turns("kind", "encoding")
@pytest.mark.parametrize("encoding", BOMBS)
@pytest.mark.parametrize("kind", ["HAR", "dump"])
def test_a_decompression_bomb_is_reported_and_not_unpacked(encoding: str, kind: str, tmp_path: Path) -> None:
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
    """Return the value with something else at one place. The numbers select the place."""
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
@given(places=PLACES, other=JSON)
def test_any_value_at_any_place_in_json_is_handled(
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
            imported = wiremock.rules(wiremock.read(value, file, (file.parent,)), None, START)
            target = wiremock.write(imported, file, Path(mkdtemp()), START, redacted=False)
            reader.parse(yaml_reader.read(target), Schemas([bundled("schemas")]), problems := [])
            assert not problems
            return
        for entry in exchanges.entries:
            json.dumps(har.to_har(entry), allow_nan=False)
    except UserMistake as mistake:
        if "fuzzed" not in str(mistake):
            raise


@given(places=PLACES, other=JSON)
def test_any_value_at_any_place_in_a_flow_is_handled(
    places: list[int], other: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    try:
        content = tnetstring.dumps(changed(tflow.tflow(resp=True).get_state(), places, other))
    except UnicodeEncodeError:  # a dump cannot contain half a surrogate pair
        return
    of_flows(content, tmp_path_factory.getbasetemp() / "fuzzed")


@given(place=st.integers(0), put=st.binary(max_size=6) | st.from_regex(rb"-?[0-9]{1,20}:", fullmatch=True))
def test_any_bytes_at_any_place_in_a_dump_are_handled(
    place: int, put: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    content = dump()
    place %= len(content)
    of_flows(content[:place] + put + content[place + len(put) :], tmp_path_factory.getbasetemp() / "fuzzed")


def of_flows(content: bytes, file: Path) -> None:
    file.write_bytes(content)
    try:
        for entry in mitmproxy.read(file).entries:
            json.dumps(har.to_har(entry), allow_nan=False)
    except UserMistake as mistake:
        if "fuzzed" not in str(mistake):
            raise
