"""Who may control the sandbox: with which token, from which page, under which name."""

from collections.abc import Mapping

import pytest

from admin import TOKEN, Admin, governed, refused
from client import Answer, Client


@pytest.fixture
def admin() -> Admin:
    return Admin(Client(governed()))


@pytest.mark.parametrize(
    ("sent", "error"),
    [
        (None, "token-missing"),
        ("", "token-missing"),
        (TOKEN, "token-missing"),
        (f"Basic {TOKEN}", "token-missing"),
        ("Bearer", "token-wrong"),
        ("Bearer x", "token-wrong"),
        (f"Bearer {TOKEN}x", "token-wrong"),
        ("Bearer é", "token-wrong"),
    ],
)
@pytest.mark.parametrize(
    ("method", "path"), [("GET", "state"), ("POST", "reset"), ("OPTIONS", "clock"), ("GET", "sca/a/b")]
)
def test_nobody_without_the_token(admin: Admin, sent: str | None, error: str, method: str, path: str) -> None:
    answer = admin.ask(method, path, headers={"Authorization": sent})

    refused(answer, 401, error)
    assert answer.headers["www-authenticate"].startswith("Bearer ")
    assert "allow" not in answer.headers


def test_the_scheme_has_no_case(admin: Admin) -> None:
    assert admin.ask("GET", "clock", headers={"Authorization": f"bearer {TOKEN}"}).status == 200


def test_nobody_where_there_is_no_token(admin: Admin) -> None:
    for token, sent in [(None, "Bearer "), (None, "Bearer None")]:
        admin.client.engine.admin_token = token
        refused(admin.ask("GET", "clock", headers={"Authorization": sent}), 403, "no-token")


def fetched(admin: Admin, headers: Mapping[str, str], host: str = "localhost") -> Answer:
    return admin.ask("GET", "clock", door="direct", host=host, headers={"Host": f"{host}:8081", **headers})


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "http://localhost:8081"},
        {"Origin": "https://sandbox.example:9443"},
        {"Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "none"},
    ],
)
def test_pages_of_the_sandbox_may(headers: Mapping[str, str]) -> None:
    engine = governed(public_url="https://Sandbox.example:9443/xs2a")

    assert fetched(Admin(Client(engine)), headers).status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Origin": "http://localhost:3000"},
        {"Origin": "https://localhost:8081"},
        {"Origin": "http://localhost:8081.evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "same-site", "Origin": "http://localhost:8081"},
    ],
)
def test_pages_of_other_sites_may_not(admin: Admin, headers: Mapping[str, str]) -> None:
    refused(fetched(admin, headers), 403, "origin-refused")


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.8.8", "::1", "sandbox.lan", "public.example"])
def test_its_hosts(host: str) -> None:
    engine = governed(host="sandbox.lan", public_url="https://public.example")

    assert fetched(Admin(Client(engine)), {}, host).status == 200


@pytest.mark.parametrize(
    "host", ["", "evil.example", "localhost.evil.example", "192.0.2.1", "127.0.0.1.evil.example", "bank.example"]
)
def test_other_hosts(admin: Admin, host: str) -> None:
    message = refused(fetched(admin, {}, host), 403, "host-refused")

    assert message.startswith(host or "no host")


@pytest.mark.parametrize(("host", "status"), [("192.0.2.1", 200), ("2001:db8::1", 200), ("evil.example", 403)])
@pytest.mark.parametrize("listens", ["0.0.0.0", "::"])
def test_who_listens_everywhere_has_many_addresses(listens: str, host: str, status: int) -> None:
    engine = governed(host=listens)

    assert fetched(Admin(Client(engine)), {}, host).status == status
