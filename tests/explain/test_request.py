from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xs2a_sandbox.errors import Refused
from xs2a_sandbox.explain.request import read


def test_a_path_is_enough() -> None:
    request = read({"method": "GET", "url": "/v1/accounts?a=1#top"}, "ci")

    assert (request.method, request.target, request.door, request.user) == ("GET", "/v1/accounts?a=1", "direct", "ci")
    assert (request.body, list(request.headers)) == (b"", [])


@pytest.mark.parametrize(
    ("url", "host", "scheme", "target", "door"),
    [
        ("https://bank.example/v1/x?y=%20", "bank.example", "https", "/v1/x?y=%20", "proxy"),
        ("http://127.0.0.1:8081/v1/x", "127.0.0.1", "http", "/v1/x", "direct"),
        ("http://localhost", "localhost", "http", "/", "direct"),
        ("https://bank.example?a=1", "bank.example", "https", "/?a=1", "proxy"),
        ("/ü x", "", "http", "/%C3%BC%20x", "direct"),
    ],
)
def test_urls_are_split(url: str, host: str, scheme: str, target: str, door: str) -> None:
    request = read({"method": "GET", "url": url})

    assert (request.host, request.scheme, request.target, request.door) == (host, scheme, target, door)


def test_headers_and_bodies_are_read() -> None:
    headers = {"A": "1", "B": ["2", "3"]}

    assert list(read({"method": "GET", "url": "/", "headers": headers}).headers) == [("A", "1"), ("B", "2"), ("B", "3")]
    assert read({"method": "POST", "url": "/", "body": {"a": 1}}).body == b'{"a":1}'
    assert read({"method": "POST", "url": "/", "body": "{a"}).body == b"{a"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"url": "/"}, "method must be"),
        ({"method": "GET /", "url": "/"}, "method must be"),
        ({"method": "GET"}, "url must be"),
        ({"method": "GET", "url": "v1/accounts"}, "url must be"),
        ({"method": "GET", "url": "ftp://x/"}, "url must be"),
        ({"method": "GET", "url": "http://[/"}, "url must be"),
        ({"method": "GET", "url": "/", "headers": []}, "headers must be"),
        ({"method": "GET", "url": "/", "headers": {"A": 1}}, "the header A must be"),
        ({"method": "GET", "url": "/", "headers": {"A B": "1"}}, "'A B' is not a header name"),
        ({"method": "GET", "url": "/", "session": "a b"}, "a session name must have"),
        ({"method": "GET", "url": "/", "session": 1}, "a session name must have"),
    ],
)
def test_mistakes_are_refused(value: dict[str, Any], words: str) -> None:
    with pytest.raises(Refused, match=words) as refused:
        read(value)
    assert (refused.value.status, refused.value.error) == (400, "body-invalid")


@given(st.text())
def test_any_url_is_read_or_refused(url: str) -> None:
    try:
        request = read({"method": "GET", "url": url})
    except Refused:
        return
    assert request.target.isascii()
    assert request.target.startswith("/")
