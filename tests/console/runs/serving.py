"""A real sandbox whose console starts commands, and a browser without a window that has signed in to it."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.support.doors import DEADLINE, wait_until
from tests.support.serving import Serving, served

CONSOLE = "/_sandbox/console"
PAYS_AGAIN, PAYS_ONCE, FAILS, WAITS = "pays-again", "pays-once", "fails", "waits"
APP = """
import json, os, pathlib, sys, time, urllib.request, uuid
bug = sys.argv[1]
if bug == "fails":
    sys.exit("the bank of <the app> is not there")
body = {"debtorAccount": {"iban": "AT459880000010204711"}, "instructedAmount": {"amount": "1", "currency": "EUR"}}
body |= {"creditorAccount": {"iban": "AT379821100040023757"}, "creditorName": "N", "endToEndIdentification": "E-1"}
def pay():
    headers = {"X-Request-ID": str(uuid.uuid4()), "PSU-IP-Address": "192.0.2.1", "Content-Type": "application/json"}
    url = os.environ["XS2A_SANDBOX_URL"] + "/v1/payments/sepa-credit-transfers"
    urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers), timeout=20).read()
try:
    pay()
except Exception:
    if bug == "pays-again":
        pay()
if bug == "waits" and "XS2A_SANDBOX_FAULT" in os.environ:
    pathlib.Path("waits").write_text(str(os.getpid()))
    time.sleep(600)
"""


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A browser that has signed in."""

    serving: Serving
    client: httpx.Client

    def page(self, path: str, form: dict[str, str] | None = None, status: int = 200) -> str:
        """The page after the form, whose answer leads to another one."""
        target = path if path.startswith("/_sandbox/") else f"{CONSOLE}/{path}"
        answer = self.client.get(target) if form is None else self.client.post(target, data=form)
        if answer.status_code == 303:
            answer = self.client.get(answer.headers["location"])
        assert answer.status_code == status, answer.text
        return answer.text

    def start(self, path: str, form: dict[str, str]) -> str:
        """The path of the run that the form starts."""
        answer = self.client.post(f"{CONSOLE}/{path}", data=form)
        assert answer.status_code == 303, answer.text
        return str(answer.headers["location"]).removeprefix(f"{CONSOLE}/")

    def wait_for(self, path: str, text: str) -> str:
        """The page, once it has this text."""
        page = ""

        def has_text() -> bool:
            nonlocal page
            page = self.page(path)
            return text in page

        wait_until(has_text, 6 * DEADLINE)
        return page


@contextmanager
def signed_in(directory: Path, *flags: str, bug: str = "", settings: Any = None) -> Iterator[SignedIn]:
    """`bug` says how the app behaves whose command is set; without it no command is."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "app.py").write_text(APP)
    command = ("--app-command", f"{sys.executable} app.py {bug}") if bug else ()
    with served(directory, *command, *flags, settings=settings) as serving:
        yield sign_in(serving)
        serving.stop()


def sign_in(serving: Serving) -> SignedIn:
    link = re.search(r"http://\S+/_sandbox/\?link=\S+", serving.output)
    assert link, serving.output
    client = httpx.Client(base_url=serving.direct, trust_env=False, timeout=DEADLINE)
    assert client.get(link[0]).status_code == 303
    return SignedIn(serving, client)
