"""A browser without a window: it asks an engine for pages and keeps the cookie."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from tests.support.engine_client import Answer, Client, an_engine, bundled_engine
from xs2a_sandbox.config import Settings
from xs2a_sandbox.control.front_page import Addresses, FrontPage
from xs2a_sandbox.engine.engine import Engine
from xs2a_sandbox.features.console import sign_in
from xs2a_sandbox.features.console.console import Console
from xs2a_sandbox.http import Headers, Request

TOKEN = "the-token-of-this-sandbox"


ACCOUNT = "AT459880000010204711"


BASE = "http://127.0.0.1:8081"


class Browser:
    """One that asks at the direct door of an engine of its own."""

    def __init__(self, tmp_path: Path, engine: Engine | None = None, **settings: Any) -> None:
        self.engine = engine or an_engine(display=bundled_engine().parts.display)
        self.engine.use(admin_token=TOKEN)
        self.settings = Settings(confdir=tmp_path, **settings)
        addresses = Addresses("http://127.0.0.1:1", BASE, None, tmp_path / "ca.pem")
        self.engine.use(front_page=FrontPage(addresses, None))
        self.engine.add_pages("console", Console(self.engine, self.settings, BASE, "a run"))
        self.app = Client(self.engine)
        self.cookie = ""
        self.run: Callable[[Coroutine[Any, Any, Answer]], Answer] = asyncio.run
        """Runs a request to its end; in a loop of a test where another request waits meanwhile."""

    def ask(self, method: str, target: str, form: dict[str, str] | None = None, **headers: str) -> Answer:
        pairs = [("Host", "127.0.0.1:8081"), ("Accept", "text/html"), ("Cookie", self.cookie)]
        pairs += [(name.replace("_", "-"), value) for name, value in headers.items()]
        request = Request(
            method, target, Headers(pairs), urlencode(form or {}).encode(), host="127.0.0.1", door="direct"
        )

        async def answered() -> Answer:
            response = await self.engine.answer(request)
            body = response.body
            if response.rest is not None:
                body += b"".join([part async for part in response.rest])
            return Answer(response.status, {n.lower(): v for n, v in response.headers}, body)

        return self.run(answered())

    def sign_in(self) -> "Browser":
        answer = self.ask("GET", sign_in.link("", TOKEN))
        assert (answer.status, answer.headers["location"]) == (303, "/_sandbox/")
        self.cookie = answer.headers["set-cookie"].partition(";")[0]
        return self

    def page(self, target: str, form: dict[str, str] | None = None, status: int = 200) -> str:
        answer = self.ask("GET" if form is None else "POST", target, form)
        assert answer.status == status, answer.body.decode()
        return answer.body.decode()

    def app_asks(self, method: str, target: str, **more: Any) -> Answer:
        return self.run(self.app.send(method, target, **more))


def payment(browser: Browser, creditor: str = "Nahversorger Talblick", amount: str = "12.50", **members: Any) -> str:
    body = {
        "debtorAccount": {"iban": ACCOUNT, "currency": "EUR"},
        "instructedAmount": {"amount": amount, "currency": "EUR"},
        "creditorAccount": {"iban": "AT379821100040023757"},
        "creditorName": creditor,
        **members,
    }
    created = browser.app_asks("POST", "/v1/payments/sepa-credit-transfers", json=body)
    return str(created.json()["paymentId"])
