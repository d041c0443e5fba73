"""The link that signs in once, and the cookie that it is exchanged for."""

import asyncio
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import pytest
import time_machine

from tests.support.redis_server import needs_redis, the_redis
from xs2a_sandbox.features.console import sign_in
from xs2a_sandbox.features.console.sign_in import SignIn
from xs2a_sandbox.http import Headers, Request
from xs2a_sandbox.state import MemoryStore
from xs2a_sandbox.state.redis import RedisStore
from xs2a_sandbox.state.session import is_session_name
from xs2a_sandbox.state.sqlite import SqliteStore

TOKEN = "a-token-of-this-sandbox"


def code(token: str = TOKEN) -> str:
    return parse_qs(urlsplit(sign_in.link("http://127.0.0.1:8081", token)).query)["link"][0]


def sign_in_of(run: str = "a run") -> SignIn:
    return SignIn(MemoryStore(), run)


def redeemed(sign: SignIn, link: str, token: str) -> str | None:
    return asyncio.run(sign.redeem(link, token))


def with_cookie(header: str) -> Request:
    return Request("GET", "/_sandbox/", Headers([("Cookie", header)]))


def test_a_link_is_used_up_once() -> None:
    sign, link = sign_in_of(), code()
    cookie = redeemed(sign, link, TOKEN)
    assert cookie is not None
    assert {part.strip() for part in cookie.split(";")[1:]} >= {"HttpOnly", "SameSite=Strict", "Path=/_sandbox/"}
    assert sign_in_of().is_signed_in(with_cookie(cookie.partition(";")[0]), TOKEN)
    assert redeemed(sign, link, TOKEN) is None


def test_links_and_cookies_end() -> None:
    with time_machine.travel("2026-11-21T09:00:00Z", tick=False) as traveller:
        sign = sign_in_of()
        late, cookie = code(), redeemed(sign, code(), TOKEN)
        assert cookie is not None
        traveller.shift(601)
        assert redeemed(sign, late, TOKEN) is None
        assert sign_in_of().is_signed_in(with_cookie(cookie.partition(";")[0]), TOKEN)
        traveller.shift(12 * 3600)
        assert not sign_in_of().is_signed_in(with_cookie(cookie.partition(";")[0]), TOKEN)


@pytest.mark.parametrize("wrong", ["", ".", "1.2.3", "9999999999.00.00", "ä.ö.ü", "x" * 5000])
def test_what_nobody_has_signed_is_refused(wrong: str) -> None:
    assert redeemed(sign_in_of(), wrong, TOKEN) is None
    assert not sign_in_of().is_signed_in(with_cookie(f"{sign_in_of().cookie}={wrong}"), TOKEN)


def test_another_sandboxs_link_and_a_link_as_a_cookie_are_refused() -> None:
    assert redeemed(sign_in_of(), code("another-token"), TOKEN) is None
    assert not sign_in_of().is_signed_in(with_cookie(f"{sign_in_of().cookie}={code()}"), TOKEN)


def test_two_sandboxes_on_one_host_have_cookies_of_their_own() -> None:
    one, other = (sign_in.SignIn(MemoryStore(), run) for run in ("one", "other"))
    cookies = [str(redeemed(sign, code(), TOKEN)).partition(";")[0] for sign in (one, other)]
    both = with_cookie("; ".join(cookies))
    assert one.is_signed_in(both, TOKEN)
    assert other.is_signed_in(both, TOKEN)


def test_nobody_is_signed_in_without_a_token() -> None:
    cookie = redeemed(sign_in_of(), code(), TOKEN)
    assert cookie is not None
    assert not sign_in_of().is_signed_in(with_cookie(cookie), None)


def test_among_other_cookies_it_is_found() -> None:
    cookie = (redeemed(sign_in_of(), code(), TOKEN) or "").partition(";")[0]
    assert sign_in_of().is_signed_in(with_cookie(f"theme=dark; {cookie}; a=b"), TOKEN)


def test_a_link_is_used_up_for_all_that_share_the_state(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "state.db")
    first, second = SignIn(store, "one"), SignIn(store, "another")
    link, other = code(), code()
    assert redeemed(second, link, TOKEN)
    assert redeemed(first, link, TOKEN) is None
    assert redeemed(first, other, TOKEN)
    assert redeemed(second, other, TOKEN) is None
    store.close()


def test_where_the_state_is_forgotten_with_the_sandbox_older_links_are_over() -> None:
    with time_machine.travel("2026-11-21T09:00:00Z", tick=False) as traveller:
        link = code()
        traveller.shift(1)
        assert redeemed(sign_in_of(), link, TOKEN) is None


def test_a_cookie_ends_with_the_run_that_has_given_it() -> None:
    cookie = (redeemed(sign_in_of(), code(), TOKEN) or "").partition(";")[0]
    assert sign_in_of().is_signed_in(with_cookie(cookie), TOKEN)
    assert not sign_in_of("another run").is_signed_in(with_cookie(cookie), TOKEN)


def test_used_links_are_kept_until_they_would_have_ended() -> None:
    store = MemoryStore()
    with time_machine.travel("2026-11-21T09:00:00Z", tick=False) as traveller:
        sign = SignIn(store, "a run")
        assert redeemed(sign, code(), TOKEN)
        traveller.shift(601)
        assert redeemed(sign, code(), TOKEN)
    (session,) = store.sessions()
    assert not is_session_name(session)
    assert len([one for one in store.list(session, "used")[1].values() if one]) == 1


@needs_redis
def test_a_link_is_used_up_on_all_machines_that_share_a_redis() -> None:
    async def work() -> None:
        link, url = code(), f"{the_redis().url}?prefix={uuid4()}"
        stores = [await asyncio.to_thread(RedisStore, url, "xs2a-1.84") for _ in range(2)]
        cookies = await asyncio.gather(*(SignIn(store, "one").redeem(link, TOKEN) for store in stores))
        assert sum(cookie is not None for cookie in cookies) == 1
        for store in stores:
            assert await SignIn(store, "another").redeem(link, TOKEN) is None
            await store.close()

    asyncio.run(work())
