"""The control interface over real sockets: which requests it accepts and which it refuses."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.doors import Loop, talk, trusting
from tests.support.engine_client import bundled_engine
from xs2a_sandbox.config import Settings
from xs2a_sandbox.control.access import FILE
from xs2a_sandbox.doors.serving import Addresses, serve
from xs2a_sandbox.state.store import Collections

REQUEST = {"X-Request-ID": "99391c7e-ad88-49ec-a2ad-99ddcb1f7721"}


@contextmanager
def served(settings: Settings) -> Iterator[Addresses]:
    with Loop() as loop:

        async def main() -> tuple[asyncio.Event, "asyncio.Task[None]", Addresses]:
            stop: asyncio.Event = asyncio.Event()
            ready: asyncio.Future[Addresses] = asyncio.get_running_loop().create_future()
            serving = asyncio.create_task(serve(settings, ready=ready.set_result, stop=stop))
            await asyncio.wait([serving, ready], return_when="FIRST_COMPLETED")
            if serving.done():
                await serving
            return stop, serving, ready.result()

        stop, serving, addresses = loop.run(main())

        async def end() -> None:
            stop.set()
            await serving

        try:
            yield addresses
        finally:
            loop.run(end())


@pytest.fixture(scope="module")
def confdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("conf")


@pytest.fixture(scope="module")
def addresses(confdir: Path) -> Iterator[Addresses]:
    settings = Settings(port=0, proxy_port=0, tls_port=0, confdir=confdir, state=f"sqlite:{confdir / 'state.db'}")
    with served(settings) as addresses:
        yield addresses


@pytest.fixture
def token(confdir: Path, addresses: Addresses) -> str:
    return (confdir / FILE).read_text().strip()


@pytest.fixture
def admin(addresses: Addresses, token: str) -> Iterator[httpx.Client]:
    with httpx.Client(
        base_url=addresses.direct, headers={"Authorization": f"Bearer {token}"}, trust_env=False
    ) as client:
        yield client


@pytest.fixture(scope="module")
def consent() -> str:
    data: Collections = bundled_engine().parts.testdata.at(bundled_engine().parts.started)
    return next(id for id, one in data["consents"].items() if one["role"] == "authorised")


def error(response: httpx.Response) -> Any:
    assert not [name for name in response.headers if name.startswith("access-control")]
    return response.json()["error"]


def test_serve_creates_a_token_readable_only_by_its_owner(confdir: Path, token: str) -> None:
    assert len(token) >= 40
    assert (confdir / FILE).stat().st_mode & 0o777 == 0o600


def test_the_token_gives_access(admin: httpx.Client) -> None:
    response = admin.get("/_sandbox/state")

    assert response.status_code == 200
    assert {"accounts", "consents", "payments", "psus"} <= response.json().keys()
    assert response.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("sent", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic eDp5"}])
@pytest.mark.parametrize("path", ["state", "clock", "sessions", "sca/x"])
def test_access_without_the_token_is_refused(addresses: Addresses, sent: dict[str, str], path: str) -> None:
    response = httpx.get(f"{addresses.direct}/_sandbox/{path}", headers=sent, trust_env=False)

    assert (response.status_code, error(response)[:5]) == (401, "token")
    assert response.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize("headers", [{"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}])
def test_a_page_of_another_site_is_refused(admin: httpx.Client, headers: dict[str, str]) -> None:
    response = admin.post("/_sandbox/reset", json={"all": True}, headers=headers)

    assert (response.status_code, error(response)) == (403, "origin-refused")


def test_a_page_of_the_sandbox_has_access(admin: httpx.Client, addresses: Addresses) -> None:
    headers = {"Origin": addresses.direct, "Sec-Fetch-Site": "same-origin"}

    assert admin.get("/_sandbox/clock", headers=headers).status_code == 200


def test_a_foreign_name_that_resolves_to_the_sandbox_is_refused(admin: httpx.Client, addresses: Addresses) -> None:
    port = httpx.URL(addresses.direct).port

    response = admin.get("/_sandbox/state", headers={"Host": f"evil.example:{port}"})

    assert (response.status_code, error(response)) == (403, "host-refused")


def test_a_request_without_a_host_is_refused(addresses: Addresses, token: str) -> None:
    head = f"GET /_sandbox/state HTTP/1.0\r\nAuthorization: Bearer {token}\r\n\r\n".encode()

    answered = talk(httpx.URL(addresses.direct).port or 0, head)

    assert answered.startswith(b"HTTP/1.1 403")


def test_a_cors_preflight_gets_no_permission(addresses: Addresses) -> None:
    question = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}

    for origin in ("https://evil.example", "null", "http://localhost:3000"):
        response = httpx.request(
            "OPTIONS", f"{addresses.direct}/_sandbox/reset", headers={"Origin": origin, **question}, trust_env=False
        )
        assert (response.status_code, error(response)) == (403, "origin-refused")


@pytest.mark.parametrize(
    "path", ["/_sandbox/state", "/_sandbox/clock", "/s/ci/_sandbox/sessions", "/x/../_sandbox/state"]
)
def test_the_proxy_does_not_reach_the_control_interface(addresses: Addresses, token: str, path: str) -> None:
    own = addresses.direct
    headers = {"Authorization": f"Bearer {token}"}

    with httpx.Client(proxy=addresses.proxy, trust_env=False, verify=trusting(addresses.ca_file)) as client:
        for base in (own, "https://127.0.0.1", "http://bank.example"):
            response = client.get(f"{base}{path}", headers=headers)
            assert (response.status_code, "tppMessages" in response.json()) == (404, True), base


def test_the_tls_door_does_not_reach_the_control_interface(addresses: Addresses, token: str) -> None:
    headers = {"Authorization": f"Bearer {token}"}

    response = httpx.get(
        f"{addresses.tls}/_sandbox/state", headers=headers, trust_env=False, verify=trusting(addresses.ca_file)
    )

    assert (response.status_code, "tppMessages" in response.json()) == (404, True)


@pytest.mark.parametrize("path", ["health", "ready", "ca.pem"])
def test_the_open_pages_need_no_token(addresses: Addresses, path: str) -> None:
    assert httpx.get(f"{addresses.direct}/_sandbox/{path}", trust_env=False).status_code == 200


def test_a_reset_restores_a_deleted_consent(admin: httpx.Client, consent: str) -> None:
    def status(session: str) -> int:
        headers = {**REQUEST, "X-Sandbox-Session": session}
        return admin.get(f"/v1/consents/{consent}/status", headers=headers).status_code

    for session in ("one", "two"):
        headers = {**REQUEST, "X-Sandbox-Session": session}
        assert admin.delete(f"/v1/consents/{consent}", headers=headers).status_code == 204
        assert status(session) >= 400

    response = admin.post("/_sandbox/reset", headers={"X-Sandbox-Session": "one"})

    assert response.json() == {"reset": ["one"]}
    assert (status("one"), status("two") >= 400) == (200, True)
    assert "two" in [session["id"] for session in admin.get("/_sandbox/sessions").json()["sessions"]]
