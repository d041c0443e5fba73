"""Answers whose content violates the interface."""

import json

import pytest

from xs2a_sandbox.cassette.body_faults import corrupt
from xs2a_sandbox.http import Response

_JSON = (("Content-Type", "application/json"), ("X-Request-ID", "1"))
LIST = {
    "accounts": [{"iban": "AT1", "_links": {"balances": {"href": "/b"}}}],
    "_links": {"next": {"href": "/2"}, "self": {"href": "/1"}},
}


def answer(fault: str, body: object = LIST) -> Response:
    return Response(200, _JSON, json.dumps(body).encode(), fault)


def content(fault: str) -> object:
    changed = corrupt(answer(fault))
    assert changed
    assert changed.fault is None
    return json.loads(changed.body)


def test_every_object_gets_an_extra_member_and_links_get_an_extra_link() -> None:
    more = {"number": 1, "texts": ["one"]}
    link = {"href": "/v1/unknown"}

    assert content("extra-members") == {
        "accounts": [
            {
                "iban": "AT1",
                "_links": {"balances": {"href": "/b"}, "unknownToTheInterface": link},
                "unknownToTheInterface": more,
            }
        ],
        "_links": {"next": {"href": "/2"}, "self": {"href": "/1"}, "unknownToTheInterface": link},
        "unknownToTheInterface": more,
    }


def test_lists_become_empty() -> None:
    assert content("empty-lists") == {**LIST, "accounts": []}


def test_the_next_page_is_removed() -> None:
    assert content("no-next-page") == {**LIST, "_links": {"self": {"href": "/1"}}}


def test_the_body_has_another_type() -> None:
    assert content("wrong-shape") == [LIST]


def test_the_body_is_half_of_the_json() -> None:
    whole = answer("half-json")
    changed = corrupt(whole)

    assert changed
    assert whole.body.startswith(changed.body)
    with pytest.raises(ValueError, match="line 1"):
        json.loads(changed.body)


def test_an_html_page_has_its_content_type() -> None:
    changed = corrupt(answer("html"))

    assert changed
    assert changed.headers == (("Content-Type", "text/html"), ("X-Request-ID", "1"))
    assert b"<title>" in changed.body


@pytest.mark.parametrize(
    ("fault", "body"), [("empty-lists", {"a": []}), ("no-next-page", {"next": 1}), ("empty-lists", {"a": 1})]
)
def test_missing_content_is_not_changed(fault: str, body: object) -> None:
    assert corrupt(answer(fault, body)) is None


def test_other_content_and_other_faults_are_not_changed() -> None:
    assert corrupt(Response(204, (), b"", "half-json")) is None
    assert corrupt(Response(200, (("Content-Type", "text/plain"),), b"[1]", "empty-lists")) is None
    assert corrupt(Response(200, _JSON, b"not json", "empty-lists")) is None
    assert corrupt(answer("reset")) is None
