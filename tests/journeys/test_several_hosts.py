"""One bank whose API and OAuth server have separate hosts: recorded as one, and replayed without them."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from tests.support.doors import DEADLINE
from tests.support.far_bank import FarBank, ok
from tests.support.serving import Serving, served

REQUEST_ID = {"X-Request-ID": "99391c7e-ad88-49ec-a2ad-99ddcb1f7721"}


def redirect(url: str) -> bytes:
    return ok(b"", b"Location: " + url.encode(), status=b"302 Found")


def json_answer(value: object) -> bytes:
    return ok(json.dumps(value).encode(), b"Content-Type: application/json")


@pytest.fixture(scope="module")
def api() -> Iterator[FarBank]:
    with FarBank() as bank:
        yield bank


@pytest.fixture(scope="module")
def oauth() -> Iterator[FarBank]:
    with FarBank() as bank:
        yield bank


def a_session(sandbox: Serving, *, proxy: bool) -> requests.Session:
    session = requests.Session()
    session.trust_env = False
    session.headers.update(REQUEST_ID)
    if proxy:
        session.proxies = {"http": sandbox.proxy}
    return session


def follow_links(session: requests.Session, base: str) -> list[str]:
    """Follow the links from a consent to the OAuth host and back, and return the URLs."""
    consent = session.post(f"{base}/v1/konsens", json={"a": 1}, timeout=DEADLINE)
    sca = consent.json()["_links"]["scaOAuth"]["href"]
    page = session.get(sca, timeout=DEADLINE, allow_redirects=False)
    back = session.get(page.headers["Location"], timeout=DEADLINE, allow_redirects=False)
    assert (consent.status_code, page.status_code, back.json()) == (200, 302, {"done": True})
    return [consent.url, page.url, back.url]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, api: FarBank, oauth: FarBank) -> tuple[Path, list[str]]:
    """Return the recording's directory, and the URLs that the app requested."""
    home = tmp_path_factory.mktemp("recorded")
    links = {"_links": {"scaOAuth": {"href": f"{oauth.url}/authorize?state=one"}}}
    api.answers = [json_answer(links), json_answer({"done": True})]
    oauth.answers = [redirect(f"{api.url}/psd2/v1/zurueck")]
    bank = {"url": f"{api.url}/psd2", "hosts": [{"host": f"127.0.0.1:{oauth.port}", "url": oauth.url}], "private": True}
    with served(home, "--mode", "record", "--to", "tape", settings={"banks": [bank]}) as sandbox:
        urls = follow_links(a_session(sandbox, proxy=True), f"{api.url}/psd2")
        assert sandbox.stop() == 0, sandbox.output
    return home, urls


def test_each_request_is_sent_to_its_own_host(recorded: tuple[Path, list[str]], api: FarBank, oauth: FarBank) -> None:
    _, urls = recorded
    assert [bank.seen[0].split(b"\r\n")[0] for bank in (api, oauth)] == [
        b"POST /psd2/v1/konsens HTTP/1.1",
        b"GET /authorize?state=one HTTP/1.1",
    ]
    assert urls[1] == f"{oauth.url}/authorize?state=one"
    assert (len(api.seen), len(oauth.seen)) == (2, 1)


@pytest.mark.parametrize("road", ["proxy", "base URL"])
def test_links_between_the_hosts_point_to_the_sandbox(
    recorded: tuple[Path, list[str]], api: FarBank, oauth: FarBank, tmp_path: Path, road: str
) -> None:
    home, urls = recorded
    seen = len(api.seen), len(oauth.seen)
    with served(tmp_path, "--cassettes", str(home / "tape/cassettes"), "--confdir", str(home / "conf")) as sandbox:
        if road == "proxy":
            again = follow_links(a_session(sandbox, proxy=True), f"{api.url}/psd2")
            assert [url.partition("?")[0] for url in again] == [url.partition("?")[0] for url in urls]
        else:
            again = follow_links(a_session(sandbox, proxy=False), sandbox.direct)
            assert [url.partition("?")[0].removeprefix(sandbox.direct) for url in again] == [
                "/v1/konsens", "/authorize", "/v1/zurueck"
            ]  # fmt: skip
    assert (len(api.seen), len(oauth.seen)) == seen


def test_a_request_that_names_two_hosts_is_sent_to_neither(tmp_path: Path, api: FarBank, oauth: FarBank) -> None:
    bank = {"url": api.url, "hosts": [{"host": f"127.0.0.1:{oauth.port}", "url": oauth.url}], "private": True}
    before = len(api.seen), len(oauth.seen)
    with served(tmp_path, "--mode", "record", "--to", "tape", settings={"banks": [bank]}) as sandbox:
        session = a_session(sandbox, proxy=True)
        answer = session.get(f"{api.url}/x", headers={"Host": f"127.0.0.1:{oauth.port}"}, timeout=DEADLINE)
    assert (answer.status_code, len(api.seen), len(oauth.seen)) == (404, *before)
