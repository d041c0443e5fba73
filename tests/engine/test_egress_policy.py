"""Requests that may go to a bank: real doors, a bank that records its requests, and secrets for other hosts."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.engine.way_out import PROXIED, ROADS, WayOut, status, way_out
from tests.support import roads
from tests.support.far_bank import FarBank
from xs2a_sandbox.doors import door

pytestmark = pytest.mark.by_turns("road")

CANARY = "canary-5c1d"
MODES = ("simulate", "spy", "record", "compare")
ASKED = ("spy", "record", "compare")


@pytest.fixture(scope="module", params=MODES)
def living(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WayOut]:
    with way_out(request.param, tmp_path_factory.mktemp(request.param), forward_host=("localhost",)) as way:
        yield way


@pytest.fixture
def way(living: WayOut) -> Iterator[WayOut]:
    living.bank.seen.clear()
    yield living
    assert CANARY not in sent(living), "a secret for another host has reached the bank"


def sent(way: WayOut) -> str:
    if comparing := way.engine.parts.comparing:
        # Wait for background requests first.
        way.loop.run(_idle(comparing))
    return b"".join(way.bank.seen).decode("latin-1")


async def _idle(comparing: object) -> None:
    import asyncio

    while tasks := list(comparing._tasks):  # type: ignore[attr-defined]
        await asyncio.wait(tasks)


SECRET = f"Authorization: Bearer {CANARY}"

ENGINES = [(mode, "auto") for mode in ASKED] + [("spy", "mitmproxy")]


@pytest.fixture(scope="module", params=ENGINES, ids="-".join)
def shared_way(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WayOut]:
    mode, engine = request.param
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(roads, "engine", engine)
        patch.setattr(door, "LINGER", 0.02)
        with way_out(mode, tmp_path_factory.mktemp(mode)) as way:
            yield way


@pytest.fixture
def quiet_way(shared_way: WayOut) -> WayOut:
    sent(shared_way)  # background requests have ended
    shared_way.bank.seen.clear()
    return shared_way


OTHER_PLACES = [
    ("{scheme}://canary.test/elsewhere", "canary.test"),
    ("{scheme}://canary.test/elsewhere", "{own}"),
    ("{scheme}://canary.test:{port}/elsewhere", "{own}"),
    ("{scheme}://CANARY.test", "{own}"),
    ("{scheme}://canary.test?x=/elsewhere", "{own}"),
    ("{scheme}://{own}@canary.test/elsewhere", "{own}"),
    ("{scheme}://canary.test@{own}/elsewhere", "{own}"),
    ("{scheme}://{own}/elsewhere", "canary.test"),
    ("{other}://{own}/elsewhere", "{own}"),
    ("ftp://canary.test:{port}/elsewhere", "{own}"),
    ("{scheme}:/canary.test/elsewhere", "{own}"),
    ("{scheme}:\\\\canary.test/elsewhere", "{own}"),
    ("canary.test/elsewhere", "{own}"),
    ("//canary.test/elsewhere", "{own}"),
    ("/\\canary.test/elsewhere", "{own}"),
    ("/s/mine//canary.test/elsewhere", "canary.test"),
    ("/elsewhere", "canary.test"),
    ("/elsewhere", "canary.test:{port}"),
    ("/elsewhere", "{own}\r\nHost: canary.test"),
    ("/elsewhere", "{own}, canary.test"),
    ("/elsewhere", "{own}/canary.test"),
    ("/elsewhere", "{own}@canary.test"),
    ("/elsewhere", "localhost."),
    ("/elsewhere", "[2001:db8::1]:{port}"),
    ("/elsewhere", "xn--bnk-qla.test"),
    ("/elsewhere", "b\u00e4nk.test"),
    ("/elsewhere", "127.1"),
]
"""Targets and `Host` headers that name neither the sandbox nor its bank."""


@pytest.mark.parametrize("road", ["direct", "tls", "plain", "tunnel"])
def test_a_request_that_names_another_host_is_refused_at_every_port(quiet_way: WayOut, road: str) -> None:
    way = quiet_way
    mode = way.engine.banks.default.real.mode
    port = {"tls": way.proxy.tls_port, "direct": way.direct.port}.get(road, way.bank.port)
    own = f"127.0.0.1:{port}"
    for target, host in OTHER_PLACES:
        # A proxy can be asked for a TLS host, but the bank's port does not speak TLS, so this is another host too.
        scheme, other = ("https", "http") if road == "tls" else ("http", "https")
        words = {"own": own, "port": port, "scheme": scheme, "other": other}
        named = f"Host: {host}".format(**words)
        line = target.format(**words)
        tunnel = way.bank_host if road == "tunnel" else ""
        answer = way.ask(road, "", "", named, SECRET, target=line, tunnel=tunnel)
        assert status(answer) in (400, 403, 404), (line, named)
        if mode != "compare" or status(answer) == 400:
            assert b"x-sandbox-source: sandbox" in answer.lower(), (line, named)
        assert not sent(way), (line, named)


@pytest.mark.parametrize("road", ["direct", "tls"])
def test_a_full_url_or_name_of_the_sandbox_goes_to_the_bank(quiet_way: WayOut, road: str) -> None:
    way = quiet_way
    port, scheme = (way.direct.port, "http") if road == "direct" else (way.proxy.tls_port, "https")
    own = f"127.0.0.1:{port}"
    for target, host in [
        (f"{scheme}://{own}/elsewhere", own),
        (f"{scheme.upper()}://LOCALHOST/elsewhere", "LocalHost"),
        ("/elsewhere", f"[::1]:{port}"),
        ("/elsewhere", way.bank_host),
    ]:
        way.bank.seen.clear()
        way.ask(road, "", "", f"Host: {host}", target=target)
        assert b"GET /elsewhere HTTP/1.1" in b"".join(way.bank.seen) or sent(way), (target, host)


@pytest.mark.parametrize(
    ("authority", "host", "path", "expected"),
    [
        ("canary.test", None, "/elsewhere", 403),
        ("{own}", "canary.test", "/elsewhere", 400),
        ("canary.test", "{own}", "/elsewhere", 400),
        ("x@{own}", None, "/elsewhere", 400),
        ("{own}", None, "//canary.test/elsewhere", 400),
        ("{own}", None, "https://canary.test/elsewhere", 400),
        ("{own}", None, "canary.test/elsewhere", 400),
    ],
)
def test_an_http_2_request_that_names_another_host_is_refused(
    quiet_way: WayOut, authority: str, host: str | None, path: str, expected: int
) -> None:
    way = quiet_way
    own = f"127.0.0.1:{way.proxy.tls_port}"
    fields = [(":method", "GET"), (":scheme", "https"), (":authority", authority.format(own=own)), (":path", path)]
    fields += [("host", host.format(own=own))] if host else []
    status = way.ask_http2([*fields, ("authorization", f"Bearer {CANARY}")])
    assert not sent(way)
    is_compared = way.engine.banks.default.real.mode == "compare"
    assert status == expected or (is_compared and status == 404) or (status is None and expected == 400)


@pytest.mark.parametrize("road", ["direct", "tls", "plain", "tunnel"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize(
    ("headers", "body"),
    [((), b"GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"), (("Transfer-Encoding: chunked",), b"0\r\n\r\n")],
    ids=["length", "chunks"],
)
def test_a_request_that_some_servers_read_as_two_does_not_reach_the_bank(
    quiet_way: WayOut, road: str, method: str, headers: tuple[str, ...], body: bytes
) -> None:
    way = quiet_way
    answer = way.ask(road, "/elsewhere", "", *headers, method=method, body=body)
    assert status(answer) == (404 if way.engine.banks.default.real.mode == "compare" else 400)
    assert answer.count(b"HTTP/1.1 ") == 1
    assert not sent(way)


def elsewhere(way: WayOut) -> tuple[str, ...]:
    """Return hosts and ports that differ from the bank's, some only slightly."""
    return (
        "login.other-bank.example",
        "127.0.0.1:9443",
        "127.0.0.1",
        f"127.0.0.2:{way.bank.port}",
        f"[::1]:{way.bank.port}",
        f"[::ffff:127.0.0.1]:{way.bank.port}",
        f"127.0.0.1.:{way.bank.port}",
        f"{way.bank_host}.evil.example",
    )


@pytest.mark.parametrize("road", PROXIED)
@pytest.mark.parametrize("path", ["/as/token.oauth2", "/elsewhere", "/sca/x"])
def test_a_request_for_another_host_or_port_does_not_reach_the_bank(way: WayOut, road: str, path: str) -> None:
    for host in elsewhere(way):
        way.ask(road, path, host, SECRET, method="POST", body=f"client_secret={CANARY}".encode())
        way.ask(road, f"{path}?code={CANARY}", host, SECRET)
    assert not way.bank.seen


@pytest.mark.parametrize("road", PROXIED)
def test_the_error_names_the_setting_that_allows_the_host(way: WayOut, road: str) -> None:
    mode = way.engine.banks.default.real.mode
    if mode == "simulate":
        return
    answer = way.ask(road, "/elsewhere", "login.other-bank.example", SECRET)
    assert status(answer) == 404
    assert b"banks[].hosts" in answer
    assert b"--forward-host login.other-bank.example" in answer
    known = way.ask(road, "/v1/accounts", "login.other-bank.example", SECRET)
    if mode == "record":
        assert status(known) == 404
        assert b"banks[].hosts" in known
    else:
        # Operations answer for every host, as they do in `simulate`.
        assert status(known) == 400
        assert b"x-sandbox-source: sandbox" in known.lower()


@pytest.mark.parametrize("road", ["plain", "tunnel"])
def test_a_request_for_the_bank_reaches_it(way: WayOut, road: str) -> None:
    mode = way.engine.banks.default.real.mode
    answer = way.ask(road, "/elsewhere")
    assert status(answer) == (200 if mode in ("spy", "record") else 404)
    assert len(sent(way)) > 0 or mode == "simulate"


def test_another_scheme_counts_as_another_host(way: WayOut) -> None:
    """The bank's address in a tunnel with TLS inside: the app expects a bank that speaks TLS."""
    way.ask("tunnel-tls", f"/elsewhere?code={CANARY}", way.bank_host, SECRET)
    assert not way.bank.seen


@pytest.mark.parametrize(
    "headers",
    [("Host: login.other-bank.example",), ("Host: {bank}", "Host: login.other-bank.example"), ("Host: x@{bank}",)],
)
@pytest.mark.parametrize("road", ["plain", "tunnel"])
def test_a_request_that_names_two_hosts_does_not_reach_the_bank(
    way: WayOut, road: str, headers: tuple[str, ...]
) -> None:
    lines = tuple(header.format(bank=way.bank_host) for header in headers)
    way.ask(road, f"/elsewhere?code={CANARY}", way.bank_host, *lines, SECRET, tunnel=way.bank_host)
    way.ask("tunnel", f"/elsewhere?code={CANARY}", way.bank_host, SECRET, tunnel="login.other-bank.example:443")
    assert not way.bank.seen


@pytest.mark.parametrize("road", ["tls", "direct"])
def test_a_request_to_the_base_url_names_no_bank_and_reaches_the_only_one(way: WayOut, road: str) -> None:
    mode = way.engine.banks.default.real.mode
    assert status(way.ask(road, "/elsewhere")) == (200 if mode in ("spy", "record") else 404)
    assert bool(sent(way)) == (mode != "simulate")


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize(
    "headers",
    [
        ("Origin: https://evil.example",),
        ("Origin: null",),
        ("Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"),
        ("Sec-Fetch-Site: same-site", "Origin: http://localhost:3000"),
        ("Sec-Fetch-Site: cross-site", "Referer: https://evil.example/"),
    ],
)
def test_web_pages_of_other_sites_do_not_reach_the_bank(way: WayOut, road: str, headers: tuple[str, ...]) -> None:
    mode = way.engine.banks.default.real.mode
    answer = way.ask(road, f"/elsewhere?x={CANARY}", "", *headers, SECRET)
    read = way.ask(road, "/v1/accounts", "", *headers, SECRET)
    assert not sent(way)
    # The scheme in that tunnel makes it another host, which is the first error.
    refused = 403 if mode in ("spy", "record") and road != "tunnel-tls" else 404
    assert status(answer) == refused
    if refused == 403:
        assert b"--allow-origin" in answer
        assert b"x-sandbox-source: sandbox" in answer.lower()
    assert status(read) == ((404 if road == "tunnel-tls" else 403) if mode == "record" else 400)


def test_a_request_under_a_foreign_host_name_does_not_reach_the_bank(way: WayOut) -> None:
    mode = way.engine.banks.default.real.mode
    port = way.direct.port
    for host in (
        "evil.example",
        f"evil.example:{port}",
        f"localhost:{port}@evil.example",
        f"{way.bank_host}.evil.example",
    ):
        answer = way.ask("direct", f"/elsewhere?x={CANARY}", host, SECRET)
        is_asked = mode in ("spy", "record")
        assert status(answer) == (400 if "@" in host or host.count(".") > 3 else 403 if is_asked else 404), host
    browser = "Sec-Fetch-Site: same-origin"
    assert status(way.ask("tls", "/elsewhere", "evil.example:8443", browser)) in (403, 404)
    assert not sent(way)


def test_the_admin_token_does_not_reach_the_bank(way: WayOut) -> None:
    for road in ROADS:
        for path in ("/elsewhere", "/_sandbx/reset", "/sandbox/state", "/v1/accounts"):
            way.ask(road, path, "", "Authorization: Bearer the-admin-token")
            way.ask(road, f"{path}?token=the-admin-token")
    assert "the-admin-token" not in sent(way)


@pytest.mark.parametrize("mode", ASKED)
def test_pages_of_an_allowed_web_app_reach_the_bank(mode: str, tmp_path: Path) -> None:
    with way_out(mode, tmp_path, allow_origin=("http://localhost:3000", "http://sandbox:8081")) as way:
        page = ("Origin: http://localhost:3000", "Sec-Fetch-Site: cross-site")
        for road in ("plain", "tunnel", "tls", "direct"):
            before = len(sent(way))
            way.ask(road, "/elsewhere", "", *page)
            assert len(sent(way)) > before, road
        before = len(sent(way))
        way.ask("direct", "/elsewhere", "sandbox:8081")
        assert len(sent(way)) > before


def test_skipped_comparisons_are_reported_with_the_reason(tmp_path: Path) -> None:
    with way_out("compare", tmp_path) as way:
        accounts = ("X-Request-ID: 99391c7e-ad88-49ec-a2ad-99ddcb1f7721",)
        assert status(way.ask("direct", "/v1/accounts", "", *accounts, "Origin: https://evil.example")) == 400
        assert status(way.ask("plain", "/v1/accounts", "login.other-bank.example", *accounts)) == 400
        assert not sent(way)
        comparing = way.engine.parts.comparing
        assert comparing
        assert {line.strip() for line in comparing.report.end()} >= {
            "skipped 1: from a web page of another site, or with the admin token",
            "skipped 1: for a host or port different from the bank's",
        }


@pytest.mark.parametrize(
    ("answer", "path", "expected"), [("bank", "/v1/accounts", 403), ("sandbox", "/v1/accounts", 400)]
)
def test_an_error_on_the_way_to_the_bank_is_not_compared(answer: str, path: str, expected: int, tmp_path: Path) -> None:
    with way_out("compare", tmp_path, answer_from=answer) as way:
        assert status(way.ask("direct", path, "", "Origin: https://evil.example")) == expected
        elsewhere = way.ask("plain", path, "login.other-bank.example")
        assert status(elsewhere) == (404 if answer == "bank" else 400)
        assert (b"banks[].hosts" in elsewhere) == (answer == "bank")
        assert not sent(way)


def test_web_pages_of_other_sites_are_not_forwarded_either(tmp_path: Path) -> None:
    with way_out("record", tmp_path, forward_host=("localhost",)) as way, FarBank() as login:
        host = f"localhost:{login.port}"
        assert status(way.ask("plain", "/token", host, "Origin: https://evil.example")) == 403
        assert status(way.ask("plain", "/_sandbox/reset", host)) == 404
        assert login.connections == 0


OWN = [
    "/_sandbox/stat",
    "/_sandbox/reset/",
    "/_sandbox/sca/../../elsewhere",
    "/s/mine/_sandbox/nothing",
    "//_sandbox/reset",
    "/x/../_sandbox/reset",
    "/psd2/_sandbox/reset",
    "/%5fsandbox/nothing",
    "/%255fsandbox/reset",
    "/_SANDBOX/reset",
    "/x%2f_sandbox/reset",
    "/_sandbox;a/reset",
]


@pytest.mark.parametrize("road", ROADS)
def test_paths_below_sandbox_are_never_forwarded(way: WayOut, road: str) -> None:
    for path in OWN:
        for host in ("", f"localhost:{way.bank.port}"):
            answer = way.ask(road, path, host, SECRET, method="POST")
            assert status(answer) in (400, 401, 403, 404, 405), (path, answer)
    assert not way.bank.seen
    assert not sent(way)


def banks(*hosts: str) -> object:
    return lambda bank: yaml.safe_dump({"banks": [{"url": bank.url, "hosts": list(hosts)}]})


@pytest.mark.parametrize("mode", ASKED)
def test_configured_hosts_belong_to_the_bank(mode: str, tmp_path: Path) -> None:
    hosts = ("api.bank.example", "beside.bank.example:8443", "[::1]:9")
    with way_out(mode, tmp_path, write=banks(*hosts)) as way:  # type: ignore[arg-type]
        for road, host in [
            ("plain", "api.bank.example"),
            ("tunnel-tls", "api.bank.example:443"),
            ("plain", "beside.bank.example:8443"),
            ("tunnel-tls", "beside.bank.example:8443"),
            ("plain", "[::1]:9"),
        ]:
            before = len(sent(way))
            assert status(way.ask(road, "/elsewhere", host)) == (404 if mode == "compare" else 200), (road, host)
            assert len(sent(way)) > before, (road, host)
        way.bank.seen.clear()
        for road, host in [
            ("plain", "api.bank.example:8080"),
            ("tunnel-tls", "api.bank.example:8443"),
            ("plain", "beside.bank.example"),
            ("plain", "beside.bank.example:9443"),
            ("plain", "[::1]"),
        ]:
            answer = way.ask(road, f"/elsewhere?code={CANARY}", host, SECRET)
            assert status(answer) == 404, (road, host)
            assert b"banks[].hosts" in answer
        assert CANARY not in sent(way)


@pytest.mark.parametrize("road", PROXIED)
def test_if_only_named_banks_are_recorded_other_hosts_get_an_error(road: str, tmp_path: Path) -> None:
    with way_out("record", tmp_path, write=banks("api.bank.example"), bank="") as way:  # type: ignore[arg-type]
        for path in ("/v1/accounts", "/elsewhere"):
            answer = way.ask(road, path, "login.other-bank.example", SECRET)
            assert status(answer) == 404
            assert b"banks[].hosts" in answer
        assert not way.bank.seen


def test_two_banks_on_one_host_are_distinguished_by_their_paths(tmp_path: Path) -> None:
    def write(bank: FarBank) -> str:
        return yaml.safe_dump(
            {"banks": [{"url": f"{bank.url}/{name}", "hosts": [f"{name}.test"], "mode": "record"} for name in "ab"]}
        )

    with way_out("spy", tmp_path, write=write, bank="") as way:
        for name in "ab":
            assert status(way.ask("plain", f"/{name}/v1/accounts")) == 200
            assert way.bank.head[0] == f"GET /{name}/v1/accounts HTTP/1.1".encode()


@pytest.mark.parametrize("road", ROADS)
def test_any_path_is_sent_to_the_bank_it_names(road: str, tmp_path: Path) -> None:
    """If the request names the bank itself, the path is unchanged. Otherwise the path of `--bank` is prepended."""
    paths = ("/pagination/v1/accounts", "/10050000/v1/accounts", "/oauth2/token", "/psd2/v1/accounts")
    with FarBank() as elsewhere:
        hostile = (f"/@127.0.0.1:{elsewhere.port}/v1/x", "/../v1/x")

        def write(bank: FarBank) -> str:
            return yaml.safe_dump({"banks": [{"url": f"{bank.url}/psd2", "mode": "record"}]})

        with way_out("record", tmp_path, write=write, bank="") as way:
            exact = road in ("plain", "tunnel")
            for path in (*paths, *hostile):
                way.bank.seen.clear()
                answer = status(way.ask(road, path))
                sent = path if exact or path.startswith("/psd2/") else f"/psd2{path}"
                lines = [line.split()[1].decode() for line in way.bank.seen]
                # With TLS, the scheme differs from that of the bank.
                assert (answer, lines) == ((404, []) if road == "tunnel-tls" else (200, [sent])), path
        assert elsewhere.connections == 0


def test_only_the_forward_host_gets_forwarded_requests(tmp_path: Path) -> None:
    """`localhost` is forwarded on any port. A request that names a second host is refused."""
    with way_out("record", tmp_path, forward_host=("localhost",)) as way, FarBank() as login:
        host = f"localhost:{login.port}"
        assert status(way.ask("plain", "/token", host, SECRET)) == 200
        assert status(way.ask("tunnel", "/token", host, SECRET)) == 200
        assert len(login.seen) == 2
        for tunnel in (f"localhost:{login.port + 1}", "login.other-bank.example:443"):
            assert status(way.ask("tunnel", "/token", host, SECRET, tunnel=tunnel)) == 404
        assert status(way.ask("plain", "/token", host, "Host: login.other-bank.example", SECRET)) == 404
        assert len(login.seen) == 2
        assert not way.bank.seen
