"""Access to the control interface: by token, origin and host name."""

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec import structs

from tests.support.admin import TOKEN, Admin, governed, refused
from tests.support.engine_client import Answer, Client, bundled_engine
from xs2a_sandbox.control.access import Guard
from xs2a_sandbox.errors import Refused
from xs2a_sandbox.http import Headers, Request
from xs2a_sandbox.http.messages import Door
from xs2a_sandbox.http.origin import Origin


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
def test_a_request_without_the_admin_token_is_refused(
    admin: Admin, sent: str | None, error: str, method: str, path: str
) -> None:
    answer = admin.ask(method, path, headers={"Authorization": sent})

    refused(answer, 401, error)
    assert answer.headers["www-authenticate"].startswith("Bearer ")
    assert "allow" not in answer.headers


def test_the_error_in_the_log_describes_how_to_send_the_token() -> None:
    engine = governed(display=bundled_engine().parts.display)
    answer = Admin(Client(engine)).ask("GET", "clock", headers={"Authorization": None})
    message = refused(answer, 401, "token-missing")
    assert "the header Authorization with the scheme `Bearer` and the token" in message
    assert engine.displayed_text(message, personal=False) == message


def test_the_bearer_scheme_is_case_insensitive(admin: Admin) -> None:
    assert admin.ask("GET", "clock", headers={"Authorization": f"bearer {TOKEN}"}).status == 200


def test_every_token_is_refused_if_the_sandbox_has_none(admin: Admin) -> None:
    for token, sent in [(None, "Bearer "), (None, "Bearer None")]:
        admin.client.engine.use(admin_token=token)
        refused(admin.ask("GET", "clock", headers={"Authorization": sent}), 403, "no-token")


def fetched(admin: Admin, headers: Mapping[str, str], host: str = "localhost") -> Answer:
    name = f"[{host}]" if ":" in host else host
    return admin.ask("GET", "clock", door="direct", host=host, headers={"Host": f"{name}:8081", **headers})


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
def test_pages_of_the_sandbox_have_access(headers: Mapping[str, str]) -> None:
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
def test_pages_of_other_sites_are_refused(admin: Admin, headers: Mapping[str, str]) -> None:
    refused(fetched(admin, headers), 403, "origin-refused")


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.8.8", "::1", "sandbox.lan", "public.example"])
def test_the_hosts_of_the_sandbox_are_accepted(host: str) -> None:
    engine = governed(host="sandbox.lan", public_url="https://public.example")

    assert fetched(Admin(Client(engine)), {}, host).status == 200


@pytest.mark.parametrize(
    "host", ["", "evil.example", "localhost.evil.example", "192.0.2.1", "127.0.0.1.evil.example", "bank.example"]
)
def test_other_hosts_are_refused(admin: Admin, host: str) -> None:
    message = refused(fetched(admin, {}, host), 403, "host-refused")

    assert message.startswith(host or "no host")


@pytest.mark.parametrize(("host", "status"), [("192.0.2.1", 200), ("2001:db8::1", 200), ("evil.example", 403)])
@pytest.mark.parametrize("listens", ["0.0.0.0", "::"])
def test_a_sandbox_that_listens_on_all_interfaces_accepts_any_address(listens: str, host: str, status: int) -> None:
    engine = governed(host=listens)

    assert fetched(Admin(Client(engine)), {}, host).status == status


def refusal_of(request: Request, *names: str, **options: Any) -> str | None:
    """Return the error that stops the request from reaching a bank with these host names, if any."""
    allowed = frozenset(origin for text in options.pop("allowed", ()) if (origin := Origin.parse(text)))
    guard = Guard(TOKEN, options.pop("listens", "127.0.0.1"), "https://public.example:9443/xs2a", allowed)
    try:
        guard.check_way_out(request, names)
    except Refused as refusal:
        return refusal.error if refusal.status == 403 else "with another status"
    return None


def request_with(
    headers: Mapping[str, str], host: str = "localhost:8081", door: Door = "direct", **options: Any
) -> Request:
    name = host.rpartition(":")[0].strip("[]") if ":" in host else host
    return Request("GET", "/v1/accounts", Headers([("Host", host), *headers.items()]), host=name, door=door, **options)


DOORS: list[Door] = ["direct", "tls", "proxy", "process"]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:3000"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site", "Referer": "https://evil.example/page"},
        {"Sec-Fetch-Site": "none", "Origin": "https://evil.example"},
    ],
)
def test_requests_of_other_sites_do_not_reach_the_bank(door: Door, headers: Mapping[str, str]) -> None:
    assert refusal_of(request_with(headers, door=door)) == "origin-refused"
    assert refusal_of(request_with(headers, door=door), allowed=["https://app.example"]) == "origin-refused"


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Sec-Fetch-Site": "none"},
        {"Sec-Fetch-Site": "same-origin", "Origin": "http://localhost:8081"},
        {"Origin": "https://public.example:9443"},
        {"Referer": "https://anywhere.example/"},
    ],
)
def test_requests_of_apps_and_of_the_sandbox_reach_the_bank(door: Door, headers: Mapping[str, str]) -> None:
    assert refusal_of(request_with(headers, door=door)) is None


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("headers", "error"),
    [
        ({"Origin": "https://app.example", "Sec-Fetch-Site": "cross-site"}, None),
        ({"Origin": "https://APP.example:443"}, None),
        ({"Referer": "https://app.example/pay?x=1", "Sec-Fetch-Site": "cross-site"}, None),
        ({"Origin": "http://app.example"}, "origin-refused"),
        ({"Origin": "https://app.example:8443"}, "origin-refused"),
        ({"Origin": "https://app.example.evil.example"}, "origin-refused"),
        ({"Origin": "https://evil.example", "Referer": "https://app.example/"}, "origin-refused"),
        ({"Referer": "https://app.example@evil.example/", "Sec-Fetch-Site": "cross-site"}, "origin-refused"),
        ({"Sec-Fetch-Site": "cross-site"}, "origin-refused"),
    ],
)
def test_requests_of_an_allowed_web_app_reach_the_bank(
    door: Door, headers: Mapping[str, str], error: str | None
) -> None:
    assert refusal_of(request_with(headers, door=door), allowed=["https://app.example"]) == error


def test_both_of_two_origins_must_be_allowed() -> None:
    pairs = [("Host", "localhost"), ("Origin", "https://app.example"), ("Origin", "https://evil.example")]
    request = Request("GET", "/", Headers(pairs), host="localhost", door="direct")
    assert refusal_of(request, allowed=["https://app.example"]) == "origin-refused"


@pytest.mark.parametrize("headers", [{}, {"Sec-Fetch-Site": "same-origin"}, {"Origin": "http://evil.example:8081"}])
def test_a_request_under_a_foreign_host_name_does_not_reach_the_bank(headers: Mapping[str, str]) -> None:
    evil = request_with(headers, "evil.example:8081")
    assert refusal_of(evil) == "host-refused"
    assert refusal_of(evil, "bank.example") == "host-refused"
    assert refusal_of(evil, "evil.example") is None
    assert refusal_of(evil, allowed=["http://evil.example:8081"]) is None
    assert refusal_of(evil, allowed=["http://evil.example"]) == "host-refused"


@pytest.mark.parametrize("headers", [{}, {"Sec-Fetch-Site": "same-origin"}, {"Origin": "https://evil.example:8443"}])
def test_a_tls_request_under_a_foreign_host_name_does_not_reach_the_bank(headers: Mapping[str, str]) -> None:
    assert refusal_of(request_with(headers, "evil.example:8443", "tls", scheme="https")) == "host-refused"


def test_an_allowed_name_does_not_allow_another_name() -> None:
    request = structs.replace(request_with({}, "sandbox:8081"), host="evil.example", port=80)
    assert refusal_of(request, allowed=["http://sandbox:8081"]) == "host-refused"
    assert refusal_of(request_with({}, "sandbox:8081"), allowed=["http://sandbox:8081"]) is None


@pytest.mark.parametrize(
    "host", ["localhost:1@evil.example", "localhost@evil.example:8081", "[::1]@evil.example", "[localhost]", "a[::1]"]
)
def test_a_host_that_resembles_an_own_host_is_refused(admin: Admin, host: str) -> None:
    request = Request("GET", "/v1/x", Headers([("Host", host)]), host="localhost", door="direct")
    assert refusal_of(request) == "host-refused"
    headers = {"Host": host}
    refused(admin.ask("GET", "clock", door="direct", host="localhost", headers=headers), 403, "host-refused")


def test_both_of_two_hosts_must_be_own_hosts() -> None:
    pairs = [("Host", "localhost"), ("Host", "evil.example")]
    assert refusal_of(Request("GET", "/", Headers(pairs), host="localhost", door="direct")) == "host-refused"


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    "change",
    [
        {"headers": Headers([("Host", "localhost"), ("Authorization", f"Bearer {TOKEN}")])},
        {"headers": Headers([("Host", "localhost"), ("X-Any", f"a {TOKEN} b")])},
        {"target": f"/v1/x?token={TOKEN}"},
        {"body": f"token={TOKEN}".encode()},
    ],
)
def test_the_admin_token_does_not_reach_the_bank(door: Door, change: Mapping[str, Any]) -> None:
    assert refusal_of(structs.replace(request_with({}, door=door), **change)) == "token-refused"
