"""The app's tests: a customer connects, pays, reads, reads again days later, and reconnects.

    xs2a-sandbox campaign --dialect berlin-group-1.3 -- python check.py [BUG,BUG…]

It prints a finding if a rule is violated that must hold under every fault. Without a fault, all data must be complete.
"""

import http.client
import json
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from app import BUGS, CANCELLED, IBANS, App

_PREFIX = "XS2A_SANDBOX_"
_WITHOUT_LIST = "closed-account-fails-list"
ACCOUNT = "3d9a81b3-a47d-4130-8765-a9c0ff861b02"
"""Return the id of the account with the first of these IBANs."""


class Psu:
    """A customer who approves in a browser or in the bank's app."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._url = urlsplit(environ[f"{_PREFIX}URL"])
        self._token = (Path(environ[f"{_PREFIX}CONFDIR"]) / "admin-token").read_text().strip()

    def approve(self, links: Mapping[str, Any]) -> str | None:
        if redirect := links.get("scaRedirect"):
            parts = urlsplit(redirect["href"])
            status, location, _ = self._ask("GET", f"{parts.path}?{parts.query}&decide=approve")
            return location.rpartition("/")[2].partition("?")[0] if status in (302, 303) else None
        authorisation = links["scaStatus"]["href"].rpartition("/")[2]
        self._ask("POST", f"{self._url.path}/_sandbox/sca/{authorisation}", {"decide": "approve"})
        return "ok"

    def wait(self, days: int) -> None:
        """Let days pass, so that the bank books pending entries."""
        self._ask("POST", f"{self._url.path}/_sandbox/clock", {"move": f"{days}d"})
        target = f"{self._url.path}/_sandbox/state/accounts/{ACCOUNT}"
        account = json.loads(self._ask("GET", target)[2])
        entries = account["entries"]
        booked = [{**entry, "value_on": entry["booked_on"]} for entry in entries["pending"]]
        account["entries"] = {**entries, "booked": booked + entries["booked"], "pending": []}
        self._ask("PUT", target, account)

    def _ask(self, method: str, target: str, body: Any = None) -> tuple[int, str, bytes]:
        connection = http.client.HTTPConnection(self._url.hostname or "", self._url.port, timeout=30)
        headers = {"Authorization": f"Bearer {self._token}"} if "/_sandbox/" in target else {}
        connection.request(method, target, None if body is None else json.dumps(body), headers)
        response = connection.getresponse()
        answer = response.read()
        connection.close()
        return response.status, response.headers.get("Location") or "", answer


def check(app: App, psu: Psu, fault: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield violations of the rules that must hold under every fault."""
    connects = len(app.store["connects"])
    steps: list[Callable[[], None]] = [
        app.follow,
        lambda: app.connect(psu),
        lambda: app.pay(psu, "12.50"),
        app.sync,
        lambda: app.connect(psu),
        lambda: psu.wait(3),
        app.sync,
    ]
    for step in steps:
        before = app.state
        try:
            step()
        except Exception as error:
            traceback.print_exc()
            yield f"the app failed: {type(error).__name__} {error}"
        connects += before in (None, "ended") and step in (steps[1], steps[4])
    if app.state == "valid":
        connects += 1
        try:
            app.reconnect(psu)
        except Exception as error:
            yield f"the app failed: {type(error).__name__} {error}"
        if app.state is None:
            yield "a reconnect that failed has deleted the connection"
    app.save()
    if len(app.store["connects"]) < connects:
        yield "a connect has left no trace"
    if CANCELLED in app.messages and not (fault and fault["name"] in ("decline", "timeout")):
        yield "the customer is told to have cancelled, and has not"
    for id, count in app.received.items():
        if (kept := len(app.store["entries"].get(id, ()))) != count:
            yield f"{count} entries are there, {kept} are kept"
    if fault is None or ("operation" not in fault and fault["name"] != _WITHOUT_LIST):
        yield from _all_there(app)


def _all_there(app: App) -> Iterator[str]:
    if app.state != "valid":
        yield f"the connection is {app.state}"
    if len(app.received) < len(IBANS):
        yield "not all accounts are read"
    if stuck := [payment for payment in app.store["payments"].values() if payment["state"] in ("open", "error")]:
        yield f"{len(stuck)} payments have no status"


def main() -> int:
    bugs = frozenset(filter(None, ",".join(sys.argv[1:]).split(",")))
    if unknown := bugs - BUGS.keys():
        sys.exit(f"there is no bug {sorted(unknown)[0]}")
    text = os.environ.get(f"{_PREFIX}FAULT")
    app = App(os.environ[f"{_PREFIX}URL"], Path(os.environ[f"{_PREFIX}RUN_DIR"]), bugs)
    wrong = list(check(app, Psu(os.environ), json.loads(text) if text else None))
    if text:
        with Path(os.environ[f"{_PREFIX}FINDINGS"]).open("a") as findings:
            findings.writelines(line.replace("\n", " ") + "\n" for line in wrong)
    for line in wrong:
        print(line)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
