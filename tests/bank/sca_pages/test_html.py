"""The page for the payment user through real doors."""

from pathlib import Path
from urllib.parse import urlsplit

import httpx

from tests.contract import bodies, facts
from tests.support.doors import DEADLINE, opened, trusting
from tests.support.engine_client import Client, an_engine
from tests.support.roads import direct_door, proxy_doors
from xs2a_sandbox.bank.sca_pages.html import Page, show

OK = "https://tpp.example/ok"
BANK = "bank.example"


def payment(session: httpx.Client) -> tuple[str, str]:
    headers = {
        "X-Request-ID": "99391c7e-ad88-49ec-a2ad-99ddcb1f7721",
        "PSU-IP-Address": "192.0.2.7",
        "TPP-Redirect-URI": OK,
    }
    answer = session.post(
        f"/v1/{bodies.SEPA}", json=bodies.payment(bodies.SEPA, debtor=facts.debtor()), headers=headers
    )
    assert answer.status_code == 200, answer.text
    parts = urlsplit(answer.json()["_Left"]["scaRedirect"]["href"])
    return f"{parts.path}?{parts.query}", answer.json()["paymentId"]


def test_page_through_the_proxy(tmp_path: Path) -> None:
    engine = an_engine()
    make = lambda: proxy_doors(engine.answer, tmp_path)  # noqa: E731
    with opened(make) as (doors, _):
        context = trusting(tmp_path / "mitmproxy-ca-cert.pem")
        through = {"proxy": f"http://ci-7:x@127.0.0.1:{doors.proxy_port}", "verify": context, "trust_env": False}
        for scheme in ("http", "https"):
            with httpx.Client(base_url=f"{scheme}://{BANK}", timeout=DEADLINE, **through) as session:
                link, _ = payment(session)
                assert link.startswith("/s/ci-7/sca/payments?")
                page = session.get(link)
                assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
                end = session.get(f"{link}&decide=approve")
                assert (end.status_code, end.headers["location"]) == (303, OK)


def test_page_on_the_direct_door() -> None:
    engine = an_engine()
    with (
        opened(lambda: direct_door(engine.answer)) as (door, _),
        httpx.Client(base_url=f"http://127.0.0.1:{door.port}", timeout=DEADLINE, trust_env=False) as session,
    ):
        link, id = payment(session)
        assert session.get(link).status_code == 200
        assert session.get(f"{link}&decide=decline").headers["location"] == OK
    headers = {"X-Request-ID": "99391c7e-ad88-49ec-a2ad-99ddcb1f7721"}
    status = Client(engine).get(f"/v1/{bodies.SEPA}/{id}/status", headers=headers).json()
    assert status["transactionStatus"] == "RJCT"


def test_the_style_matches_the_content_security_policy() -> None:
    response = show(Page("trouble", {"heading": "busy", "text": "x"}))
    policy = dict(response.headers)["Content-Security-Policy"]

    assert "unsafe" not in policy
    assert "style-src 'sha256-" in policy
    assert b' style="' not in response.body
