"""The page at the base URL."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.doors import CountingBank
from tests.support.engine_client import Client, an_engine, cassette
from xs2a_sandbox import __version__
from xs2a_sandbox.config import RealBank
from xs2a_sandbox.control.front_page import Addresses, FrontPage, asks_for_html
from xs2a_sandbox.http import Headers, Request

ADDRESSES = Addresses("http://127.0.0.1:1", "http://127.0.0.1:2", "https://127.0.0.1:3", Path("/conf/ca.pem"))
HTML = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}


def a_client(**options: Any) -> Client:
    engine = an_engine(**options)
    engine.use(front_page=FrontPage(ADDRESSES, "curl it"))
    return Client(engine)


@pytest.mark.parametrize("path", ["/", "/_sandbox", "/_sandbox/", "/s/ci/_sandbox/", "/?x=1"])
def test_a_browser_gets_a_page_with_all_addresses(path: str) -> None:
    answer = a_client().get(path, door="direct", host="127.0.0.1", headers=HTML)
    assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    text = answer.body.decode()
    for part in ("http://127.0.0.1:1", "http://127.0.0.1:2", "https://127.0.0.1:3", "/_sandbox/ca.pem", "/conf/ca.pem"):
        assert part in text
    for part in ("curl it", "quickstart.md", __version__):
        assert part in text
    assert answer.headers["vary"] == "Accept"


def test_the_page_loads_nothing_external_and_runs_no_script() -> None:
    answer = a_client().get("/", door="direct", host="127.0.0.1", headers=HTML)
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    text = answer.body.decode()
    assert "<script" not in text
    assert " style=" not in text
    assert 'src="' not in text
    assert 'href="http' not in text


@pytest.mark.parametrize("headers", [{}, {"Accept": "*/*"}, {"Accept": "application/json"}])
def test_a_program_gets_json(headers: dict[str, str]) -> None:
    for path in ("/", "/_sandbox/"):
        answer = a_client().get(path, door="direct", host="127.0.0.1", headers=headers)
        assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
        assert answer.json() == {
            "name": "xs2a-sandbox",
            "version": __version__,
            "proxy": "http://127.0.0.1:1",
            "direct": "http://127.0.0.1:2",
            "tls": "https://127.0.0.1:3",
            "ca": "http://127.0.0.1:2/_sandbox/ca.pem",
            "ca_file": "/conf/ca.pem",
            "banks": [],
            "try": "curl it",
            "documentation": "http://127.0.0.1:2/_sandbox/docs/",
        }


@pytest.mark.parametrize(
    ("accept", "html"),
    [
        ("text/html", True),
        ("application/json, TEXT/HTML;q=0.1", True),
        ("text/html;q=0", False),
        ("text/html; q=0.0, */*", False),
        ("text/*", False),
        ("", False),
    ],
)
def test_the_accept_header_decides_between_html_and_json(accept: str, html: bool) -> None:
    assert asks_for_html(Request("GET", "/", Headers([("Accept", accept)]))) is html


@pytest.mark.parametrize("door", ["proxy", "tls", "process"])
@pytest.mark.parametrize("path", ["/", "/_sandbox/"])
def test_the_page_is_served_only_at_the_base_url(door: Any, path: str) -> None:
    answer = a_client().get(path, door=door, host="127.0.0.1", headers=HTML)
    assert answer.status == 404
    assert answer.error["code"] == "RESOURCE_UNKNOWN"


@pytest.mark.parametrize("host", ["bank.example", "", "evil.example"])
def test_under_another_host_name_there_is_no_front_page(host: str) -> None:
    assert a_client().get("/", door="direct", host=host, headers=HTML).status == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_the_front_page_cannot_be_written(method: str) -> None:
    assert a_client().request(method, "/", door="direct", host="127.0.0.1").status == 404


def test_the_front_page_answers_head() -> None:
    answer = a_client().request("HEAD", "/", door="direct", host="127.0.0.1", headers=HTML)
    assert (answer.status, answer.body) == (200, b"")


def test_a_rule_for_its_path_replaces_the_front_page(tmp_path: Path) -> None:
    layers = cassette(
        tmp_path,
        """
        rules:
          - id: root
            match: {method: GET, path: /, query: {mine: "1"}}
            respond: {body: {mine: true}}
          - id: own
            match: {method: GET, path: /_sandbox}
            respond: {body: {mine: true}}
        """,
    )
    client = a_client(layers=layers)
    assert client.get("/?mine=1", door="direct", host="127.0.0.1", headers=HTML).json() == {"mine": True}
    assert b"<h1>" in client.get("/", door="direct", host="127.0.0.1", headers=HTML).body
    assert b"<h1>" in client.get("/_sandbox", door="direct", host="127.0.0.1", headers=HTML).body


def test_with_a_base_path_the_root_is_still_the_front_page() -> None:
    client = a_client(base_path="/psd2")
    assert b"<h1>" in client.get("/", door="direct", host="127.0.0.1", headers=HTML).body


@pytest.mark.parametrize("mode", ["spy", "record"])
def test_with_a_real_bank_the_root_belongs_to_the_bank(mode: Any) -> None:
    """/_sandbox/ never does."""
    with CountingBank() as bank:
        client = a_client(real=RealBank(url=f"http://127.0.0.1:{bank.port}", mode=mode, private=True))
        assert client.get("/", door="direct", host="127.0.0.1", headers=HTML).body == b"REAL BANK"
        assert bank.connections == 1
        assert b"<h1>" in client.get("/_sandbox/", door="direct", host="127.0.0.1", headers=HTML).body
        assert bank.connections == 1


def test_visits_are_not_in_the_journal() -> None:
    client = a_client()
    client.get("/", door="direct", host="127.0.0.1", headers=HTML)
    client.get("/_sandbox/", door="direct", host="127.0.0.1")
    assert len(client.engine.journal) == 0


def test_without_addresses_there_is_no_front_page() -> None:
    assert Client(an_engine()).get("/", door="direct", host="127.0.0.1", headers=HTML).status == 404


def test_remote_users_see_no_file_paths_of_this_machine() -> None:
    page = FrontPage(ADDRESSES, "curl --cacert /conf/ca.pem", local=False)
    for headers in ([("Accept", "text/html")], []):
        assert b"/conf" not in page.answer(Request("GET", "/", Headers(headers))).body


def test_the_front_page_names_a_real_bank() -> None:
    page = FrontPage(ADDRESSES, None, [RealBank(url="https://api.bank.example", mode="spy")])
    text = page.answer(Request("GET", "/", Headers([("Accept", "text/html")]))).body.decode()
    assert "https://api.bank.example" in text
    assert "no real bank" not in text
    assert json.loads(page.answer(Request("GET", "/")).body)["banks"] == [
        {"url": "https://api.bank.example", "mode": "spy"}
    ]


def test_the_front_page_links_to_the_console_and_the_documentation() -> None:
    text = a_client().get("/", door="direct", host="127.0.0.1", headers=HTML).body.decode()
    for address in ("/_sandbox/console", "/_sandbox/docs/"):
        assert f'<a class="button" href="{address}">' in text


@pytest.mark.parametrize("path", ["/_sandbox/nothing", "/_sandbox/console2/x", "/s/ci/_sandbox/nothing"])
def test_an_unknown_page_links_back_to_the_existing_ones(path: str) -> None:
    answer = a_client().get(path, door="direct", host="127.0.0.1", headers=HTML)
    assert (answer.status, answer.headers["content-type"]) == (404, "text/html; charset=utf-8")
    text = answer.body.decode()
    assert path in text
    for address in ("/", "/_sandbox/console", "/_sandbox/docs/"):
        assert f'href="{address}"' in text


def test_a_program_gets_an_error_for_an_unknown_page_without_a_proposed_case() -> None:
    answer = a_client().get("/_sandbox/nothing", door="direct", host="127.0.0.1")
    assert (answer.status, answer.error["code"]) == (404, "RESOURCE_UNKNOWN")
    (message,) = answer.json()["sandbox"].values()
    assert "the sandbox does not have this page" in message


def test_there_is_an_icon() -> None:
    answer = a_client().get("/favicon.ico", door="direct", host="127.0.0.1")
    assert (answer.status, answer.headers["content-type"]) == (200, "image/svg+xml")
    assert a_client().get("/favicon.ico", host="bank.example").status == 404
