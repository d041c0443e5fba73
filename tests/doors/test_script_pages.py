"""Pages for the payment user under `mitmdump -s addons/xs2a.py`, which has no base URL. They are behind its proxy."""

import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urljoin

import httpx
import pytest

from tests.contract import bodies, facts
from tests.doors.test_fail_closed import proxy_port, tool
from tests.support.doors import DEADLINE, trusting
from tests.support.far_bank import FarBank, ok
from xs2a_sandbox.doors import mitmproxy_addon


def set_up(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create the script in a folder without other settings."""
    monkeypatch.setenv("XS2A_SANDBOX_STATE", "memory:")
    monkeypatch.setenv("XS2A_SANDBOX_CONFDIR", str(folder / "confdir"))
    shim = folder / "xs2a.py"
    shim.write_bytes((Path(mitmproxy_addon.__file__).parents[2] / "xs2a.py").read_bytes())
    return shim


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return set_up(tmp_path, monkeypatch)


@pytest.fixture(scope="module")
def mitmdump(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """Yield the URL of its proxy, and its CA."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        script = set_up(tmp_path_factory.mktemp("script"), monkeypatch)
        with tool("mitmdump", script) as (_, output):
            yield f"http://127.0.0.1:{proxy_port(output)}", script.parent / "mitmproxy" / "mitmproxy-ca-cert.pem"


@pytest.mark.parametrize("session", [None, "ci-42"])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_payment_is_approved_on_its_linked_page(mitmdump: tuple[str, Path], scheme: str, session: str | None) -> None:
    proxy, ca_file = mitmdump
    bank = f"{scheme}://bank.example"
    headers = {"X-Request-ID": str(uuid.uuid4()), "PSU-IP-Address": "192.0.2.7", "TPP-Redirect-URI": bodies.REDIRECT}
    if session:
        headers["X-Sandbox-Session"] = session
    with httpx.Client(proxy=proxy, verify=trusting(ca_file), timeout=DEADLINE) as app:
        links = app.post(f"{bank}/v1/{bodies.SEPA}", json=bodies.payment(bodies.SEPA), headers=headers).json()["_Left"]
        status = bank + links["status"]["href"]

        # The payment user's browser uses the proxy like the app does.
        with httpx.Client(proxy=proxy, verify=trusting(ca_file), timeout=DEADLINE) as browser:
            href = links["scaRedirect"]["href"]
            page = browser.get(href)
            assert page.status_code == 200, page.text
            for answers in ({"customer": facts.accounts()[facts.debtor()]["psuId"]}, {"otp": otp()}):
                hidden = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', page.text))
                page = browser.post(href, data={**hidden, **answers})
                assert page.status_code == 303
                if page.headers["Location"].startswith("?"):
                    page = browser.get(urljoin(href, page.headers["Location"]))

        assert page.headers["Location"] == bodies.REDIRECT
        assert app.get(status, headers=headers).json()["transactionStatus"] == "ACSP"


def otp() -> str:
    psu = facts.testdata()["psus"][facts.accounts()[facts.debtor()]["psuId"]]
    assert len(psu["methods"]) == 1
    return str(psu["otp"])


def test_the_link_names_a_host_that_cannot_exist(mitmdump: tuple[str, Path]) -> None:
    """Without the proxy the link reaches neither the bank nor another program on this machine."""
    headers = {"X-Request-ID": str(uuid.uuid4())}
    with httpx.Client(proxy=mitmdump[0], timeout=DEADLINE) as app:
        answer = app.post("http://bank.example/v1/consents", json=bodies.consent(facts.covered()), headers=headers)

    assert answer.json()["_links"]["scaRedirect"]["href"].startswith("http://xs2a-sandbox.invalid/sca/consents?")


def test_a_configured_public_url_is_used(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XS2A_SANDBOX_PUBLIC_URL", "http://sandbox.test:8081")
    headers = {"X-Request-ID": str(uuid.uuid4())}
    with tool("mitmdump", script) as (_, output), httpx.Client(proxy=f"http://127.0.0.1:{proxy_port(output)}") as app:
        answer = app.post("http://bank.example/v1/consents", json=bodies.consent(facts.covered()), headers=headers)

    assert answer.json()["_links"]["scaRedirect"]["href"].startswith("http://sandbox.test:8081/sca/consents?")


def test_the_proxy_address_works_as_a_base_url_without_control_pages(mitmdump: tuple[str, Path]) -> None:
    headers = {"X-Request-ID": str(uuid.uuid4())}
    with httpx.Client(base_url=mitmdump[0], headers=headers, trust_env=False, timeout=DEADLINE) as app:
        assert app.get(f"/v1/consents/{facts.consent()}/status").json() == {"consentStatus": "valid"}
        assert app.get("/_sandbox/health").status_code == 404


def test_the_script_can_forward_to_a_configured_bank(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with FarBank(ok(b'{"from": "the bank"}')) as bank:
        monkeypatch.setenv("XS2A_SANDBOX_MODE", "spy")
        monkeypatch.setenv("XS2A_SANDBOX_BANK", bank.url)
        with tool("mitmdump", script) as (_, said), httpx.Client(proxy=f"http://127.0.0.1:{proxy_port(said)}") as app:
            answer = app.get(f"{bank.url}/v1/unknown", headers={"X-Request-ID": str(uuid.uuid4())})

    assert answer.json() == {"from": "the bank"}
