import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.taping import START
from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.recording.importers.har import Foreign
from xs2a_sandbox.recording.importers.wiremock import read, read_directory

FILE = Path("stubs.json")


def mapping(request: Any = None, response: Any = None, **parts: Any) -> dict[str, Any]:
    asked = {"method": "GET", "urlPath": "/v1/a", **(request or {})}
    return {"name": "one", "request": asked, "response": {"status": 200, **(response or {})}, **parts}


def one(request: Any = None, response: Any = None, files: Path = Path("nowhere")) -> Exchange:
    (entry,) = read(mapping(request, response), FILE, files, START).entries
    return entry


def of(**parts: Any) -> Foreign:
    return read({"mappings": [mapping(**parts)]}, FILE, Path("nowhere"), START)


def test_a_mapping_is_an_exchange() -> None:
    entry = one(
        {
            "method": "POST",
            "queryParameters": {"a": {"equalTo": "b c"}, "z": {"absent": True}},
            "headers": {"Consent-ID": {"equalTo": "7"}},
            "bodyPatterns": [{"equalToJson": '{"x": 1}'}],
        },
        {"status": 201, "headers": {"Location": "/x", "Link": ["1", "2"]}, "body": "ä", "fixedDelayMilliseconds": 5},
    )
    assert (entry.bank, entry.method, entry.target, entry.body) == (
        "https://bank.invalid",
        "POST",
        "/v1/a?a=b+c",
        b'{"x": 1}',
    )
    assert entry.headers.pairs == (("Consent-ID", "7"), ("Content-Type", "application/json"))
    assert (entry.status, entry.answer_body) == (201, "ä".encode())
    assert entry.answer_headers.pairs == (("Location", "/x"), ("Link", "1"), ("Link", "2"))


@pytest.mark.parametrize(
    ("request_", "target"),
    [
        ({"urlPath": "/v1/a"}, "/v1/a"),
        ({"url": "/v1/a?b=c", "queryParameters": {"d": {"equalTo": "e"}}}, "/v1/a?b=c&d=e"),
        ({"urlPathTemplate": "/v1/{id}/b", "pathParameters": {"id": {"equalTo": "x/y"}}}, "/v1/x%2Fy/b"),
    ],
)
def test_paths_are_named_in_three_ways(request_: Any, target: str) -> None:
    stub = {"request": {"method": "GET", **request_}, "response": {}}
    assert read(stub, FILE, FILE, START).entries[0].target == target


def test_bodies_come_in_four_ways(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"a": 1}')
    assert one(None, {"base64Body": "/w=="}).answer_body == b"\xff"
    for response in ({"jsonBody": {"a": 1}}, {"bodyFileName": "a.json"}):
        entry = one(None, response, tmp_path)
        assert json.loads(entry.answer_body) == {"a": 1}
        assert entry.answer_headers.get("content-type") == "application/json"


def test_a_folder_is_all_its_mappings(tmp_path: Path) -> None:
    for folder in ("mappings/deep", "__files"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "__files" / "a.json").write_text("[1.10]")
    (tmp_path / "mappings" / "a.json").write_text(json.dumps(mapping(response={"bodyFileName": "a.json"})))
    (tmp_path / "mappings" / "deep" / "b.json").write_text(json.dumps({"mappings": [mapping()]}))
    found = read_directory(tmp_path, START)

    assert [entry.answer_body for entry in found.entries] == [b"[1.10]", b""]
    assert [entry.time for entry in found.entries] == sorted({entry.time for entry in found.entries})
    assert len(read_directory(tmp_path / "mappings", START).entries) == 2


def test_numbers_keep_their_digits(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"request": {"method": "GET", "url": "/a"}, "response": {"jsonBody": 1.10}}')
    assert read_directory(tmp_path, START).entries[0].answer_body == b"1.10"


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"requiredScenarioState": "Started"}, "it depends on the state of a scenario"),
        ({"request": {"urlPattern": "/v1/.*"}}, "its request is matched by urlPattern"),
        ({"request": {"basicAuthCredentials": {}}}, "its request is matched by basicAuthCredentials"),
        ({"request": {"method": "ANY"}}, "it answers any method"),
        ({"request": {"headers": {"A": {"matches": ".*"}}}}, "its header A is not matched by equalTo"),
        ({"request": {"queryParameters": {"A": {"contains": "x"}}}}, "its query parameter A is not matched by equalTo"),
        ({"request": {"bodyPatterns": [{"matchesJsonPath": "$.a"}]}}, "its body is not matched by one equalToJson"),
        (
            {"request": {"bodyPatterns": [{"equalToJson": "${json-unit.any-string}"}]}},
            "its body is matched by placeholders",
        ),
        ({"response": {"transformers": ["response-template"]}}, "its response has transformers"),
        ({"response": {"fault": "EMPTY_RESPONSE"}}, "its response has fault"),
        ({"response": {"proxyBaseUrl": "http://a"}}, "its response has proxyBaseUrl"),
    ],
)
def test_what_one_exchange_cannot_say_is_left_out(parts: Any, reason: str) -> None:
    assert of(**parts) == Foreign((), (f"one: {reason}",))


def test_a_path_that_can_be_anything_is_left_out() -> None:
    stub = {"request": {"method": "GET", "urlPathTemplate": "/v1/{id}"}, "response": {}}
    assert read(stub, FILE, FILE, START).left_out == ("stubs.json, mapping 1: its path parameter id can be anything",)


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ([], "mappings is no list"),
        ({"mappings": {}}, "mappings is no list"),
        ({"mappings": [{}]}, r"mappings\[0\]: request is missing"),
        ({"mappings": [{"request": {}}]}, r"mappings\[0\]: response is missing"),
        (mapping({"url": "/x"}), "one: it has url and urlPath"),
        (mapping({"urlPath": "x"}), "does not begin with /"),
        (mapping(response={"status": "200"}), "the status is '200'"),
        (mapping(response={"bodyFileName": "../x"}), "leads out of the folder"),
        (mapping(response={"bodyFileName": "x"}), "cannot be read"),
    ],
)
def test_mistakes_have_a_place(value: Any, complaint: str) -> None:
    with pytest.raises(ConfigError, match=rf"stubs\.json: .*{complaint}"):
        read(value, FILE, Path("nowhere"), START)


def test_an_empty_folder_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there are no mappings"):
        read_directory(tmp_path, START)
