"""The sandbox's credentials are never sent to a bank: a real `serve`, and a bank that records its requests."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.support.doors import DEADLINE
from tests.support.far_bank import FarBank, ok
from tests.support.serving import Serving, served
from xs2a_sandbox.features.console.sign_in import link
from xs2a_sandbox.http.own_credentials import COOKIE

FLAGS = {"spy": (), "record": ("--no-redact", "--to", "recorded"), "compare": ("--answer-from", "bank")}


@contextmanager
def signed_in(serving: Serving) -> Iterator[tuple[str, str]]:
    """Yield the name and value of the console's cookie, and the link that was exchanged for it."""
    url = link(serving.direct, serving.token)
    answer = httpx.get(url, trust_env=False)
    assert answer.status_code == 303
    ((name, value),) = answer.cookies.items()
    assert name.startswith(COOKIE)
    yield f"{name}={value}", url


@pytest.mark.parametrize("mode", FLAGS)
def test_the_bank_gets_no_cookie_link_or_token(tmp_path: Path, mode: str) -> None:
    ours = f"Set-Cookie: {COOKIE}=theirs; Path=/_sandbox/".encode()
    with (
        FarBank(ok(b"{}", ours, b"Set-Cookie: theirs=1")) as bank,
        served(tmp_path, "--mode", mode, "--bank", bank.url, *FLAGS[mode]) as serving,
        signed_in(serving) as (cookie, url),
    ):
        sent = {"Cookie": f"app=1; {cookie}; last=2", "Referer": url}
        for base, options in (
            (serving.direct, {}),
            (serving.tls, {"verify": str(serving.ca_file)}),
            (bank.url, {"proxy": serving.proxy}),
        ):
            with httpx.Client(trust_env=False, timeout=DEADLINE, **options) as client:
                answer = client.get(f"{base}/v1/theirs", headers=sent)
                assert answer.headers["X-Sandbox-Source"] == "bank"
                assert answer.headers.get_list("Set-Cookie") == ["theirs=1"]
                token = client.get(f"{base}/v1/theirs", headers={"Authorization": f"Bearer {serving.token}"})
                assert token.status_code == 403
    assert len(bank.seen) >= 3
    for request in bank.seen:
        assert b"app=1; last=2" in request
        for secret in (cookie.partition("=")[2], url.partition("link=")[2], serving.token, COOKIE):
            assert secret.encode() not in request
    written = b"".join(file.read_bytes() for file in (tmp_path / "recorded").rglob("*") if file.is_file())
    assert bool(written) == (mode == "record")
    assert cookie.encode() not in written
    assert COOKIE.encode() not in written


def test_after_a_restart_cookies_are_invalid_and_used_links_stay_used(tmp_path: Path) -> None:
    state = ("--state", "sqlite:state.db")
    with served(tmp_path, *state) as serving, signed_in(serving) as (cookie, url):
        page = f"{serving.direct}/_sandbox/console/bank"
        assert httpx.get(page, headers={"Cookie": cookie}, trust_env=False).status_code == 200
    with served(tmp_path, *state) as serving:
        page = f"{serving.direct}/_sandbox/console/bank"
        assert httpx.get(page, headers={"Cookie": cookie}, trust_env=False).status_code == 401
        again = url.partition("/_sandbox/")[2]
        assert httpx.get(f"{serving.direct}/_sandbox/{again}", trust_env=False).status_code == 403
