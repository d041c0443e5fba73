"""The front page in a real browser."""

from pathlib import Path

import pytest

from tests.browser.inspecting import Inspector
from tests.support.engine_client import Client
from xs2a_sandbox.config import RealBank
from xs2a_sandbox.control.front_page import Addresses, FrontPage

pytestmark = pytest.mark.slow

COMMAND = "curl --cacert /home/you/.xs2a-sandbox/mitmproxy-ca-cert.pem -x http://127.0.0.1:8080 https://bank.example/v1"


def introduce(client: Client, *banks: RealBank) -> str:
    """Return its address."""
    direct = client.engine.parts.public_url
    file = Path("/home/you/.xs2a-sandbox/mitmproxy-ca-cert.pem")
    addresses = Addresses("http://127.0.0.1:8080", direct, "https://127.0.0.1:8443", file)
    client.engine.use(front_page=FrontPage(addresses, COMMAND, banks))
    return direct


def test_front_page(inspector: Inspector, client: Client) -> None:
    page = inspector.page
    page.goto(introduce(client))
    inspector.look("front")
    assert page.title() == "A bank to test with – xs2a-sandbox"
    assert page.get_by_text("http://127.0.0.1:8080", exact=True).is_visible()
    assert page.get_by_role("link", name="Download the CA certificate").get_attribute("href") == "/_sandbox/ca.pem"
    page.get_by_role("link", name="/_sandbox/ready").click()
    page.wait_for_url("**/_sandbox/ready")


def test_front_page_with_a_real_bank(inspector: Inspector, client: Client) -> None:
    bank = RealBank(url="https://api.bank.example/psd2", mode="spy")
    inspector.page.goto(introduce(client, bank) + "/_sandbox/")
    inspector.look("front-with-a-bank")
    assert inspector.page.get_by_text("Sandbox – with a real bank behind it").is_visible()
