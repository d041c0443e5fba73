import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.support.taping import START
from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.features.importing.wiremock import MOST, Imported, Redact, read, read_directory, rules, write
from xs2a_sandbox.http import Headers
from xs2a_sandbox.http.exchange import Exchange

FILE = Path("bank.json")
PATH: Mapping[str, Any] = {"path": "/v1/a"}
FORM = {"Content-Type": {"equalTo": "application/x-www-form-urlencoded"}}


def mapping(request: Any = None, response: Any = None, **parts: Any) -> dict[str, Any]:
    one = {"method": "GET", "urlPath": "/v1/a", **(request or {})}
    return {"name": "one", "request": one, "response": {"status": 200, **(response or {})}, **parts}


def imported(*mappings: Any, files: Path = Path("nowhere"), redact: Redact | None = None) -> Imported:
    return rules(read({"mappings": list(mappings)}, FILE, (files,)), redact, START)


def rule(request: Any = None, response: Any = None, **options: Any) -> Mapping[str, Any]:
    """Return the rule of a single mapping that is imported."""
    result = imported(mapping(request, response), **options)
    assert not result.left_out
    return result.rules[0]


def match(request: Any, **options: Any) -> Any:
    return {key: value for key, value in rule(request, **options)["match"].items() if key != "method"}


def censored(exchange: Exchange) -> Exchange:
    """Drop secrets and replace names."""
    body, answer = (content.replace(b"Ann", b"Eve") for content in (exchange.body, exchange.answer_body))
    headers = Headers(pair for pair in exchange.headers if pair[0] != "Authorization")
    return replace(
        exchange, target=exchange.target.replace("Ann", "Eve"), headers=headers, body=body, answer_body=answer
    )


def test_a_mapping_becomes_a_rule() -> None:
    assert rule(
        {
            "method": "POST",
            "queryParameters": {"a": {"equalTo": "b c"}, "z": {"absent": True}},
            "headers": {"Consent-ID": {"equalTo": "7"}},
            "bodyPatterns": [{"equalToJson": '{"x": 1}', "ignoreExtraElements": True}],
        },
        {"status": 201, "headers": {"Location": "/x", "Link": ["1", "2"]}, "body": "ä", "fixedDelayMilliseconds": 5},
    ) == {
        "id": "bank-one",
        "match": {
            "method": "POST",
            "path": "/v1/a",
            "query": {"a": "b c", "z": {"absent": True}},
            "headers": {"Consent-ID": "7"},
            "body": {"contains": {"x": 1}},
        },
        "require": "none",
        "respond": {
            "status": 201,
            "headers": {"Location": "/x", "Link": "1, 2"},
            "raw": True,
            "text": "ä",
            "delay": "5ms",
        },
    }


def test_a_scenario_becomes_a_state() -> None:
    polled = [
        mapping(name="first", scenarioName="Poll", requiredScenarioState="Started", newScenarioState="Valid"),
        mapping(name="then", scenarioName="Poll", requiredScenarioState="Valid"),
    ]
    first, then = imported(*polled).rules
    assert first["match"]["when"] == '(state.scenarios["Poll"].state or "Started") == "Started"'
    assert first["effects"] == [{"set": "state.scenarios['Poll']", "to": {"state": "Valid"}}]
    assert then["match"]["when"] == 'state.scenarios["Poll"].state == "Valid"'
    assert "effects" not in then


def test_the_mapping_with_the_highest_priority_becomes_the_strongest_rule() -> None:
    result = imported(
        mapping({"queryParameters": {"q": {"equalTo": "x"}}}, name="special", priority=1),
        mapping(name="usual"),
        mapping({"urlPath": "/v1/b"}, name="apart"),
    )
    assert [(one["id"], one.get("priority", 0)) for one in result.rules] == [
        ("bank-special", 1),
        ("bank-usual", 0),
        ("bank-apart", 0),
    ]


def test_a_mapping_that_never_answers_is_left_out() -> None:
    tokens = [mapping({"headers": {"Authorization": {"equalTo": one}}}, name=one) for one in ("first", "last")]
    result = imported(*tokens)
    assert [one["id"] for one in result.rules] == ["bank-last"]
    assert result.left_out == (
        "first: last answers every request that it could answer, because rules do not match its headers authorization",
    )


def test_mappings_with_the_same_name_get_different_ids() -> None:
    ids = [one["id"] for one in imported(*(mapping({"urlPath": f"/v1/{i}"}) for i in range(3))).rules]
    assert ids == ["bank-one", "bank-one-2", "bank-one-3"]


def test_bodies_are_imported_in_all_four_forms(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"a": 1}')
    assert rule(None, {"base64Body": "/w=="})["respond"] == {"status": 200, "raw": True, "base64": "/w=="}
    assert rule(None, {"body": "x"})["respond"] == {"status": 200, "raw": True, "text": "x"}
    for response in ({"jsonBody": {"a": 1}}, {"bodyFileName": "a.json"}):
        respond = rule(None, response, files=tmp_path)["respond"]
        assert respond["body"] == {"a": 1}
        assert respond["headers"] == {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    ("template", "expression"),
    [
        ("{{request.query.q}}", '{{ query["q"] }}'),
        ("{{request.headers.X-Request-ID}}", '{{ headers["x-request-id"] }}'),
        ("a {{request.method}} b", "a {{ request.method }} b"),
        ("{{jsonPath request.body '$.a.b'}}", '{{ body["a"]["b"] }}'),
    ],
)
def test_templates_that_echo_the_request_are_expressions(template: str, expression: str) -> None:
    respond = rule(None, {"jsonBody": {"echo": template}, "transformers": ["response-template"]})["respond"]
    assert (respond["body"], "raw" in respond) == ({"echo": expression}, False)


def test_links_to_wiremock_become_links_to_the_bank() -> None:
    href = "https://localhost:{{request.requestLine.port}}/v1/consents/7"
    assert rule(None, {"jsonBody": {"href": href}})["respond"]["body"] == {"href": "https://bank.invalid/v1/consents/7"}


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        ({"fault": "CONNECTION_RESET_BY_PEER"}, {"fault": "reset"}),
        (
            {"delayDistribution": {"type": "lognormal", "median": 80, "sigma": 0.4}},
            {"delay": {"lognormal": {"median": "80ms", "sigma": Decimal("0.4")}}},
        ),
        ({"chunkedDribbleDelay": {"numberOfChunks": 5, "totalDuration": 1000}}, {"delay": "1000ms"}),
    ],
)
def test_faults_and_delays_are_imported(response: Any, expected: Any, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(mapping(None, response)))
    (one,) = rules(read_directory(tmp_path), None, START).rules
    assert {key: one["respond"].get(key) for key in expected} == expected


def test_requests_and_answers_are_redacted_the_same_way() -> None:
    one = rule(
        {
            "method": "POST",
            "urlPath": "/v1/Ann",
            "queryParameters": {"name": {"equalTo": "Ann"}},
            "bodyPatterns": [{"equalToJson": {"name": "Ann"}}],
        },
        {"jsonBody": {"name": "Ann"}},
        redact=censored,
    )
    assert "Ann" not in json.dumps(one)
    assert (one["match"]["path"], one["match"]["query"]) == ("/v1/Eve", {"name": "Eve"})
    assert (one["match"]["body"], one["respond"]["body"]) == ({"/name": {"equals": "Eve"}}, {"name": "Eve"})


@pytest.mark.parametrize(
    "request_",
    [
        {"urlPathPattern": "/v1/x(Ann)?"},
        {"queryParameters": {"name": {"matches": "Ann.*"}}},
        {"queryParameters": {"name": {"doesNotMatch": "Ann.*"}}},
        {"headers": {"Consent-ID": {"or": [{"matches": "Ann[0-9]"}]}}},
        {"headers": FORM, "bodyPatterns": [{"matches": "name=Ann[0-9]+"}]},
        *({"bodyPatterns": [{key: "<Nm>Ann</Nm>"}]} for key in ("equalTo", "contains", "doesNotContain", "matches")),
    ],
)
def test_a_pattern_or_text_with_possible_personal_data_is_left_out(request_: Any) -> None:
    path = {} if "urlPathPattern" in request_ else {"urlPath": "/v1/a"}
    one = {"request": {"method": "POST", **path, **request_}, "response": {}}
    assert imported(one).left_out == ()
    (line,) = imported(one, redact=censored).left_out
    assert line.endswith("may contain personal data; use --no-redact to keep it")


def test_values_that_a_recording_drops_cannot_be_matched() -> None:
    def empty(exchange: Exchange) -> Exchange:
        return replace(exchange, body=b"{}" if exchange.body[:1] == b"{" else b"")

    for pattern in ({"contains": "code=1"}, {"matchesJsonPath": "$[?(@.code == '1')]"}):
        (line,) = imported(mapping({"bodyPatterns": [pattern]}), redact=empty).left_out
        assert re.search("redaction removes .*code.*; use --no-redact to keep it", line)


def test_a_folder_with_too_many_files_is_not_read(tmp_path: Path) -> None:
    for number in range(MOST + 1):
        (tmp_path / f"{number}.json").touch()
    with pytest.raises(ConfigError, match="it has more than 2,000 mappings; import it in parts"):
        read_directory(tmp_path)


def test_all_mappings_of_a_folder_are_read(tmp_path: Path) -> None:
    for folder in ("mappings/deep", "__files"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "__files" / "a.json").write_text("[1.10]")
    (tmp_path / "mappings" / "a.json").write_text(json.dumps(mapping(response={"bodyFileName": "a.json"})))
    (tmp_path / "mappings" / "deep" / "b.json").write_text(json.dumps({"mappings": [mapping({"urlPath": "/v1/b"})]}))

    texts = [json.dumps(one["respond"], default=str) for one in rules(read_directory(tmp_path), None, START).rules]
    assert ["1.10" in text for text in texts] == [True, False]
    assert len(read_directory(tmp_path / "mappings").listed) == 2


def test_an_existing_cassette_is_not_overwritten(tmp_path: Path) -> None:
    large = imported(mapping(None, {"body": "x" * 70_000}))
    file = write(large, FILE, tmp_path, START, redacted=False)
    assert file == tmp_path / "wiremock-bank.yaml"
    assert [body.stat().st_size for body in (tmp_path / "bodies").iterdir()] == [70_000]
    before = file.read_bytes()
    with pytest.raises(ConfigError, match="already exists, and may have been edited"):
        write(large, FILE, tmp_path, START, redacted=False)
    assert file.read_bytes() == before


def test_an_error_names_the_folder_that_cannot_be_created(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"cannot write .*/file/cassettes: Not a directory"):
        write(imported(mapping(None, {"body": "x"})), FILE, tmp_path / "file" / "cassettes", START, redacted=False)


def inexpressible() -> Iterator[tuple[Any, str]]:
    for key in ("host", "cookies", "multipartPatterns", "customMatcher"):
        yield {"request": {key: "x"}}, f"a rule cannot match {key}"
    yield (
        {"request": {"queryParameters": {"q": {"before": "now"}}}},
        "a rule cannot match its query parameter q with before",
    )
    yield {"request": {"urlPath": "/v1/{a}"}}, "its path contains braces, which are parameters in a rule"
    yield {"request": {"urlPath": "/" + "x" * 70_000}}, "its request is larger than 64 KiB"
    for pattern, reason in (
        ({"equalToXml": "<a"}, "the XML that must match its body is invalid"),
        ({"matchesXPath": "//a"}, "a rule cannot match its body with matchesXPath"),
        ({"equalToJson": "${json-unit.any-string}"}, "a rule cannot match a body that is a single placeholder"),
        (
            {"equalToJson": {"a": "${json-unit.matches:x}"}},
            "a rule cannot match the placeholder ${json-unit.matches:x}",
        ),
        ({"matchesJsonPath": "$..a"}, "a rule cannot match its body with the JSONPath $..a"),
        ({"matches": "a+"}, "a rule cannot match its body with this regular expression"),
    ):
        yield {"request": {"bodyPatterns": [pattern]}}, reason
    for path in ("$", "$.a[*].b", "$[?(@.a > 1)]", "$[?(@.a == 'x' || @.b)]"):
        yield {"request": {"bodyPatterns": [{"matchesJsonPath": path}]}}, "a rule cannot match its body with"
    yield {"response": {"proxyBaseUrl": "http://a"}}, "a rule cannot express proxyBaseUrl"
    yield {"response": {"status": 100}}, "its status 100 is outside 200 to 599"
    yield {"response": {"fault": "X"}}, "a rule cannot express the fault X"
    yield {"response": {"transformers": ["mine"]}}, "a rule cannot express the transformers mine"
    yield {"response": {"body": "{{now}}"}}, "a rule cannot compute {{now}}"
    yield {"request": {"headers": {"Consent-ID": {"matches": "(?=x)"}}}}, "(?=x)"


@pytest.mark.parametrize(("parts", "reason"), list(inexpressible()))
def test_a_mapping_that_no_rule_can_express_is_left_out_with_the_reason(parts: Any, reason: str) -> None:
    result = imported(mapping(**parts))
    assert result.rules == ()
    (line,) = result.left_out
    assert line.startswith("one: ")
    assert reason in line


def test_a_mapping_whose_answer_cannot_be_recorded_is_left_out() -> None:
    def noted(exchange: Exchange) -> Exchange:
        return replace(exchange, answer_body=b"application/pdf, 3 bytes, not recorded" if exchange.answer_body else b"")

    (line,) = imported(mapping(None, {"base64Body": "JVBE"}), redact=noted).left_out
    assert "redaction removes the body of its answer (application/pdf, 3 bytes: its form is not known)" in line


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ([], "mappings must be a list"),
        ({"mappings": {}}, "mappings must be a list"),
        ({"mappings": [{}]}, r"mappings\[0\]: request is missing"),
        ({"mappings": [{"request": {}}]}, r"mappings\[0\]: response is missing"),
        ({"mappings": [{}] * (MOST + 1)}, "has more than 2,000 mappings; import it in parts"),
        (mapping({"url": "/x"}), "one: it can have only one of url and urlPath"),
        (mapping({"urlPath": "x"}), "must start with /"),
        (mapping({"basicAuth": "x"}), "its credentials must be an object, not 'x'"),
        (mapping({"bodyPatterns": {}}), "bodyPatterns must be a list"),
        (mapping(priority="1"), "the priority must be a whole number, not '1'"),
        (mapping(response={"status": "200"}), "the status must be a whole number, not '200'"),
        (mapping(response={"fixedDelayMilliseconds": -1}), "the delay must be a number of at least 0, not -1"),
    ],
)
def test_mistakes_have_their_place(value: Any, complaint: str) -> None:
    with pytest.raises(ConfigError, match=rf"bank\.json: .*{complaint}"):
        rules(read(value, FILE, (Path("nowhere"),)), None, START)


def test_an_empty_folder_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="contains no mappings"):
        read_directory(tmp_path)


@pytest.mark.parametrize("place", ["__files", "mappings/__files", "../__files", "../../__files"])
def test_body_files_are_found_next_to_the_mappings_or_in_parent_folders(place: str, tmp_path: Path) -> None:
    root = tmp_path / "a" / "b"
    (root / "mappings").mkdir(parents=True)
    (root / place).mkdir(parents=True, exist_ok=True)
    (root / place / "x.json").write_text('{"a": 1}')
    (tmp_path / "secret").write_text("secret")
    named = {
        "here": "x.json",
        "gone": "y.json",
        "long": "x" * 300,
        "out": "../secret",
        "further": "../../secret",
        "top": "../../../secret",
    }
    for name, file in named.items():
        (root / "mappings" / f"{name}.json").write_text(
            json.dumps({**mapping({"urlPath": f"/{name}"}, {"bodyFileName": file}), "name": name})
        )
    made = rules(read_directory(root), None, START)
    assert [one["respond"]["body"] for one in made.rules] == [{"a": 1}]
    assert len(made.left_out) == len(named) - 1
    assert all("is not in" in line or "cannot be read" in line for line in made.left_out)


def test_placeholders_become_matchers() -> None:
    pattern = {
        "a": "${json-unit.any-string}", "b": "${json-unit.any-number}", "c": "${json-unit.regex}[0-9]+",
        "d": {"e": ["${json-unit.ignore}", 1]}, "f": "${json-unit.any-boolean}", "g": "x",
    }  # fmt: skip
    body = match({"bodyPatterns": [{"equalToJson": pattern, "enablePlaceholders": True}]})
    assert body["body"] == {
        "/a": {"regex": "^"},
        "/b": {"any": [{"gte": 0}, {"lt": 0}]},
        "/c": {"regex": "^(?:[0-9]+)$"},
        "/d/e/0": {"exists": True},
        "/d/e/1": {"equals": 1},
        "/f": {"in": [True, False]},
        "/g": {"equals": "x"},
    }
    assert body["when"] == 'body | length == 6 and body["d"] | length == 1 and body["d"]["e"] | length == 2'
    lenient = {"equalToJson": json.dumps({"a": "${json-unit.ignore}"}), "ignoreExtraElements": True}
    assert match({"bodyPatterns": [lenient]}) == {**PATH, "body": {"/a": {"exists": True}}}


def test_xml_is_matched_by_its_texts() -> None:
    pattern = {"equalToXml": '<a x="1"><b>2</b><c>${xmlunit.ignore}</c></a>', "enablePlaceholders": True}
    body = match({"bodyPatterns": [pattern]})["body"]
    assert sorted(body.values(), key=str) == [{"equals": "1"}, {"equals": "2"}, {"exists": True}]


def test_a_mistake_in_one_mapping_does_not_affect_the_others() -> None:
    result = imported(mapping(response={"status": ""}), mapping({"urlPath": "/v1/b"}))
    assert [one["match"]["path"] for one in result.rules] == ["/v1/b"]
    assert result.left_out == ("one: the status must be a whole number, not ''",)


def test_a_filter_of_a_json_path_can_be_a_pattern() -> None:
    pattern = {"matchesJsonPath": r"$[?(@.validUntil =~ /[0-9]{4}\-[0-9]{2}/ && @.a == 1)]"}
    assert match({"bodyPatterns": [pattern]})["body"] == {
        "/validUntil": {"regex": r"^(?:[0-9]{4}\-[0-9]{2})$"},
        "/a": {"equals": 1},
    }
