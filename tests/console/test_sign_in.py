"""The link that signs in once, and the cookie that it is exchanged for."""

import asyncio
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import time_machine

from xs2a_sandbox.console import sign_in
from xs2a_sandbox.console.sign_in import SignIn, is_signed_in
from xs2a_sandbox.http import Headers, Request

TOKEN = "a-token-of-this-sandbox"


def code(token: str = TOKEN) -> str:
    return parse_qs(urlsplit(sign_in.link("http://127.0.0.1:8081", token)).query)["link"][0]


def redeemed(sign: SignIn, link: str, token: str) -> str | None:
    return asyncio.run(sign.redeem(link, token))


def with_cookie(header: str) -> Request:
    return Request("GET", "/_sandbox/", Headers([("Cookie", header)]))


def test_a_link_is_used_up_once() -> None:
    sign, link = SignIn(), code()
    cookie = redeemed(sign, link, TOKEN)
    assert cookie is not None
    assert {part.strip() for part in cookie.split(";")[1:]} >= {"HttpOnly", "SameSite=Strict", "Path=/"}
    assert is_signed_in(with_cookie(cookie.partition(";")[0]), TOKEN)
    assert redeemed(sign, link, TOKEN) is None


def test_links_and_cookies_end() -> None:
    sign = SignIn()
    with time_machine.travel("2026-11-21T09:00:00Z", tick=False) as traveller:
        late, cookie = code(), redeemed(sign, code(), TOKEN)
        assert cookie is not None
        traveller.shift(601)
        assert redeemed(sign, late, TOKEN) is None
        assert is_signed_in(with_cookie(cookie.partition(";")[0]), TOKEN)
        traveller.shift(12 * 3600)
        assert not is_signed_in(with_cookie(cookie.partition(";")[0]), TOKEN)


@pytest.mark.parametrize("wrong", ["", ".", "1.2.3", "9999999999.00.00", "ä.ö.ü", "x" * 5000])
def test_what_nobody_has_signed_is_refused(wrong: str) -> None:
    assert redeemed(SignIn(), wrong, TOKEN) is None
    assert not is_signed_in(with_cookie(f"{sign_in.COOKIE}={wrong}"), TOKEN)


def test_another_sandboxs_link_and_a_link_as_a_cookie_are_refused() -> None:
    assert redeemed(SignIn(), code("another-token"), TOKEN) is None
    assert not is_signed_in(with_cookie(f"{sign_in.COOKIE}={code()}"), TOKEN)


def test_nobody_is_signed_in_without_a_token() -> None:
    cookie = redeemed(SignIn(), code(), TOKEN)
    assert cookie is not None
    assert not is_signed_in(with_cookie(cookie), None)


def test_among_other_cookies_it_is_found() -> None:
    cookie = (redeemed(SignIn(), code(), TOKEN) or "").partition(";")[0]
    assert is_signed_in(with_cookie(f"theme=dark; {cookie}; a=b"), TOKEN)


class Process:
    """One of two that serve together."""

    number, workers = 1, 2

    def __init__(self, together: "list[Process]") -> None:
        self.answers: dict[str, Callable[[Any], Any]] = {}
        self.together = together
        together.append(self)

    async def gather(self, question: str, argument: Any = None) -> list[Any]:
        return [one.answers[question](argument) for one in self.together]


def test_a_link_is_used_up_in_all_processes_whichever_has_taken_it() -> None:
    together: list[Process] = []
    first, second = (SignIn(Process(together)) for _ in range(2))
    link, other = code(), code()
    assert redeemed(second, link, TOKEN)
    assert redeemed(first, link, TOKEN) is None
    assert redeemed(first, other, TOKEN)
    assert redeemed(second, other, TOKEN) is None
