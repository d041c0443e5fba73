import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.taping import taped
from xs2a_sandbox.http import Headers
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.http.har import from_har, log, split_url, to_har

ENTRY = taped(
    "/v1/consents?a=1&a=%202",
    {"consentId": "1"},
    "POST",
    status=201,
    headers=[("Content-Type", "application/json"), ("X-A", "1"), ("x-a", "2")],
    body={"name": "Grünwald"},
    answer_headers=[("Content-Type", "application/json"), ("Location", "/v1/consents/1")],
)

LATIN = st.text(st.characters(max_codepoint=255, exclude_categories=["Cc"]), max_size=5)
ENTRIES = st.builds(
    Exchange,
    time=st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=2))])),
    milliseconds=st.floats(0, 1e6),
    bank=st.just("https://bank.example/x"),
    method=st.sampled_from(["GET", "POST"]),
    target=st.sampled_from(["/", "/v1/a?b=c", "/v1/ä"]),
    headers=st.lists(st.tuples(st.sampled_from(["A", "b"]), LATIN), max_size=3).map(Headers),
    body=st.binary(max_size=9) | st.text(max_size=9).map(str.encode),
    status=st.integers(100, 599),
    answer_headers=st.lists(st.tuples(st.sampled_from(["A", "b"]), LATIN), max_size=3).map(Headers),
    answer_body=st.binary(max_size=9) | st.text(max_size=9).map(str.encode),
    cut=st.booleans(),
)


def plain(entry: Exchange) -> tuple[object, ...]:
    bare = replace(entry, headers=Headers(), answer_headers=Headers())
    shown = [getattr(bare, name) for name in Exchange.__slots__ if not name.endswith("headers")]
    return (*shown, entry.headers.pairs, entry.answer_headers.pairs)


@given(ENTRIES)
def test_an_entry_survives_conversion_to_har_and_back(entry: Exchange) -> None:
    assert plain(from_har(json.loads(json.dumps(to_har(entry))))) == plain(entry)


def test_a_document_has_all_members_that_har_requires() -> None:
    document = log([ENTRY, taped("/v1/x", b"\xff")], "said")["log"]

    assert document["version"] == "1.2"
    assert document["creator"].keys() >= {"name", "version"}
    for entry in document["entries"]:
        assert entry.keys() >= {"startedDateTime", "time", "request", "response", "cache", "timings"}
        sized = {"httpVersion", "cookies", "headers", "headersSize", "bodySize"}
        assert entry["request"].keys() >= {"method", "url", "queryString", *sized}
        assert entry["response"].keys() >= {"status", "statusText", "content", "redirectURL", *sized}
        assert entry["response"]["content"].keys() >= {"size", "mimeType"}
        assert entry["timings"].keys() >= {"send", "wait", "receive"}
    assert document["entries"][0]["request"]["url"] == "https://xs2a.bank.example/psd2/v1/consents?a=1&a=%202"
    assert document["entries"][0]["request"]["queryString"] == [
        {"name": "a", "value": "1"},
        {"name": "a", "value": " 2"},
    ]
    assert document["entries"][0]["response"]["redirectURL"] == "/v1/consents/1"
    assert document["entries"][1]["response"]["content"] | {"mimeType": ""} == {
        "size": 1, "mimeType": "", "text": "/w==", "encoding": "base64"
    }  # fmt: skip


def browser(**parts: object) -> dict[str, object]:
    request = {"method": "GET", "url": "https://bank.example:8443/xs2a/v1/accounts?x=y#z", "headers": None}
    response = {"status": 200, "headers": [{"name": ":status", "value": "200"}, {"name": "A", "value": "b"}]}
    return {"startedDateTime": "2026-11-21T10:11:12.123Z", "request": request, "response": response, **parts}


def test_members_that_browsers_omit_are_optional() -> None:
    entry = from_har(browser())

    assert (entry.bank, entry.target) == ("https://bank.example:8443", "/xs2a/v1/accounts?x=y")
    assert entry.time == datetime(2026, 11, 21, 10, 11, 12, 123000, UTC)
    assert entry.answer_headers.pairs == (("A", "b"),)
    assert (entry.milliseconds, entry.body, entry.answer_body, entry.cut) == (0.0, b"", b"", False)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-21T10:11:12", datetime(2026, 11, 21, 10, 11, 12, tzinfo=UTC)),
        ("2026-11-21T12:11:12.1234567+02:00", datetime(2026, 11, 21, 10, 11, 12, 123456, UTC)),
    ],
)
def test_times_are_read_in_several_notations(text: str, expected: datetime) -> None:
    assert from_har(browser(startedDateTime=text)).time == expected


def test_an_answer_without_its_body_is_cut() -> None:
    def with_content(**content: object) -> Exchange:
        return from_har(browser(response={"status": 200, "content": content}))

    assert with_content(size=17).cut
    assert not with_content(size=17, text="x").cut
    assert not with_content(size=0).cut


def test_forms_can_be_given_as_parameters() -> None:
    posted = {"mimeType": "", "params": [{"name": "a b", "value": "c&d"}]}
    assert from_har(browser(request=browser()["request"] | {"postData": posted})).body == b"a+b=c%26d"  # type: ignore[operator]


@pytest.mark.parametrize(
    ("har", "complaint"),
    [
        ([], "request.url is missing"),
        (
            browser(startedDateTime="yesterday"),
            "startedDateTime must be a time such as 2026-11-21T10:11:12Z, not 'yesterday'",
        ),
        (browser(request={"method": "GET", "url": "/v1"}), "'/v1' is not an absolute URL"),
        (browser(response={}), "response.status is missing"),
        (browser(response={"status": "200"}), "response.status has the wrong type: '200'"),
        (browser(response={"status": True}), "response.status has the wrong type: 'True'"),
        (browser(response={"status": 200, "headers": [{"value": "x"}]}), r"response.headers\[0\]: name is missing"),
        (
            browser(response={"status": 200, "content": {"text": "x", "encoding": "base64"}}),
            "response.content.text is not base64",
        ),
    ],
)
def test_mistakes_have_their_place(har: object, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        from_har(har)


def test_a_url_is_split_into_origin_and_target() -> None:
    assert split_url("https://a.example?x") == ("https://a.example", "/?x")
