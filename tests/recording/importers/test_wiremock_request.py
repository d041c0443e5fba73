"""The request pattern of a WireMock mapping, as the `match` of a rule."""

import base64
from typing import Any

import pytest

from tests.recording.importers.test_wiremock import PATH, censored, imported, mapping, match, rule

FORM = {"Content-Type": {"equalTo": "application/x-www-form-urlencoded"}}


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ({"urlPath": "/v1/a"}, {"path": "/v1/a"}),
        ({"url": "/v1/a"}, {"path": "/v1/a", "when": "query | length == 0"}),
        ({"url": "/v1/a?b=c"}, {"path": "/v1/a", "query": {"b": "c"}, "when": "query | length == 1"}),
        ({"urlPath": "/10050000/v1/accounts"}, {"path": "/10050000/v1/accounts"}),
        (
            {"urlPathTemplate": "/v1/{account id}/b", "pathParameters": {"account id": {"equalTo": "x/y"}}},
            {"path": "/v1/{account-id}/b", "where": {"account-id": "x/y"}},
        ),
        ({"urlPathTemplate": "/v1/{id}"}, {"path": "/v1/{id}"}),
        (
            {"urlPathPattern": "/([0-9]+)/v1/consents"},
            {"path": "/{id}/v1/consents", "where": {"id": {"regex": "^(?:([0-9]+))$"}}},
        ),
        ({"urlPathPattern": "/v1/(a|b)/c"}, {"path": "/v1/{id1}/c", "where": {"id1": {"in": ["a", "b"]}}}),
        ({"urlPathPattern": "/v1/.*"}, {"path": "/v1/{rest*}"}),
        ({"urlPathPattern": "/v1/a.*/b"}, {"path": "/v1/{rest*}", "where": {"rest": {"regex": "^(?:a.*/b)$"}}}),
        ({"urlPathPattern": ".*/b"}, {"path": "/{path*}", "where": {"path": {"regex": "^(?:.*/b)$"}}}),
        (
            {"urlPattern": "/v1/a\\?limit=[0-9]+&from=(.*)"},
            {"path": "/v1/a", "query": {"limit": {"regex": "^(?:[0-9]+)$"}, "from": {"exists": True}}},
        ),
        ({}, {"path": "/{path*}"}),
    ],
)
def test_all_five_kinds_of_paths_are_imported(request_: Any, expected: Any) -> None:
    (one,) = imported({"request": {"method": "GET", **request_}, "response": {}}).rules
    assert one["match"] == {"method": "GET", **expected}


def test_a_path_of_a_thousand_segments_is_left_out() -> None:
    (line,) = imported({"request": {"urlPattern": "/(a|b)" * 1000}, "response": {}}).left_out
    assert line == "bank.json: its path has more than 100 segments"


def test_any_method_sets_no_method() -> None:
    assert rule({"method": "ANY"})["match"] == PATH


@pytest.mark.parametrize(
    ("matcher", "expected"),
    [
        ({"equalTo": "x"}, "x"),
        ({"equalTo": "a.b", "caseInsensitive": True}, {"regex": r"(?i)^a\.b$"}),
        ({"matches": "[a-z]+"}, {"regex": "^(?:[a-z]+)$"}),
        ({"matches": ".*"}, {"exists": True}),
        ({"doesNotMatch": "x"}, {"not": {"regex": "^(?:x)$"}, "exists": True}),
        ({"contains": "a.b"}, {"regex": r"a\.b"}),
        ({"absent": True}, {"absent": True}),
        ({"not": {"equalTo": "x"}}, {"not": {"equals": "x"}}),
        ({"or": [{"equalTo": "x"}, {"absent": True}]}, {"any": [{"equals": "x"}, {"absent": True}]}),
    ],
)
def test_matchers_of_parameters_are_imported(matcher: Any, expected: Any) -> None:
    assert match({"queryParameters": {"q": matcher}}) == {**PATH, "query": {"q": expected}}


def test_only_headers_that_derived_rules_match_are_matched() -> None:
    ignored = {name: {"equalTo": "1"} for name in ("X-Request-ID", "Digest", "Authorization", "PSU-IP-Address")}
    assert match({"headers": {**ignored, "consent-id": {"equalTo": "7"}}}) == {**PATH, "headers": {"consent-id": "7"}}


def test_some_headers_are_matched_if_mappings_of_one_path_differ_in_them() -> None:
    accepting = [mapping({"headers": {"Accept": {"equalTo": kind}}}, name=kind) for kind in ("a/json", "a/xml")]
    assert "headers" not in imported(accepting[0]).rules[0]["match"]
    assert [one["match"]["headers"] for one in imported(*accepting).rules] == [
        {"Accept": "a/json"},
        {"Accept": "a/xml"},
    ]


@pytest.mark.parametrize("key", ["basicAuth", "basicAuthCredentials"])
def test_basic_authentication_is_matched_only_without_redaction(key: str) -> None:
    header = "Basic " + base64.b64encode(b"app:open").decode()
    request = {key: {"username": "app", "password": "open"}}
    assert match(request) == {**PATH, "headers": {"Authorization": header}}
    assert match(request, redact=censored) == PATH


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        (
            [{"equalToJson": {"a": 1, "b": [2]}}],
            {"body": {"/a": {"equals": 1}, "/b": {"equals": [2]}}, "when": "body | length == 2"},
        ),
        ([{"equalToJson": {"a": 1}, "ignoreExtraElements": True}], {"body": {"contains": {"a": 1}}}),
        ([{"matchesJsonPath": "$.a.b"}], {"body": {"/a/b": {"exists": True}}}),
        ([{"matchesJsonPath": "$.a[?(@.b == 'x')]"}], {"body": {"/a/b": {"equals": "x"}}}),
        ([{"matchesJsonPath": {"expression": "$.a", "contains": "x"}}], {"body": {"/a": {"regex": "x"}}}),
        (
            [{"matchesJsonPath": "$.a[?(@.b == 'x' && @['c-d'].e == 1 && @.f)]"}],
            {"body": {"/a/b": {"equals": "x"}, "/a/c-d/e": {"equals": 1}, "/a/f": {"exists": True}}},
        ),
        (
            [{"matchesJsonPath": {"expression": "$.access.accounts[0]['iban']", "equalTo": "AT1"}}],
            {"body": {"/access/accounts/0/iban": "AT1"}},
        ),
        ([{"equalTo": "plain"}], {"when": 'request.text == "plain"'}),
        ([{"contains": "validUntil"}], {"when": '"validUntil" in request.text'}),
        ([{"doesNotContain": "x"}], {"when": '"x" not in request.text'}),
        ([{"matches": ".*<Amt>1</Amt>.*"}], {"when": '"<Amt>1</Amt>" in request.text'}),
    ],
)
def test_matchers_of_bodies_are_imported(patterns: Any, expected: Any) -> None:
    assert match({"method": "POST", "bodyPatterns": patterns}) == {**PATH, **expected}


@pytest.mark.parametrize(
    ("patterns", "fields"),
    [
        ([{"contains": "grant_type=refresh_token"}], {"/grant_type": "refresh_token"}),
        ([{"contains": "code_verifier"}], {"/code_verifier": {"exists": True}}),
        ([{"contains": "code_verifier="}], {"/code_verifier": {"exists": True}}),
        ([{"equalTo": "a=b%20c&d=e+f"}], {"/a": "b c", "/d": "e f"}),
        ([{"matches": "(.*)grant_type=x&code=(.*)"}], {"/grant_type": "x", "/code": {"exists": True}}),
        (
            [{"matches": "^code=[a-z0-9]+&redirect_uri=https%3A%2F%2Ftpp.example$"}],
            {"/code": {"regex": "^(?:[a-z0-9]+)$"}, "/redirect_uri": "https://tpp.example"},
        ),
    ],
)
def test_patterns_of_a_form_become_its_fields(patterns: Any, fields: Any) -> None:
    assert match({"method": "POST", "headers": FORM, "bodyPatterns": patterns}) == {**PATH, "body": fields}


def test_form_parameters_become_fields() -> None:
    request = {"method": "POST", "formParameters": {"grant/type": {"equalTo": "x"}}}
    assert match(request) == {**PATH, "body": {"/grant~1type": "x"}}
