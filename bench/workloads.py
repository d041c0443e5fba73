"""The requests to the sandbox and its peers, and the answers of all of them."""

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from journey import IDS, journey
from load import Load

from engine import HEADERS, answered, engine, requests
from xs2a_sandbox.clock import Clock
from xs2a_sandbox.http import Headers, Request

BANK = "bank.example"
CONSENT = "6c0d7a52-1a43-4f0e-9a5e-5b1d0c3f7e20"
"""A consent id of the rules, which the dialect does not have."""
LIST_SIZE = 12_900


@dataclass(frozen=True, slots=True)
class Workload:
    name: str
    what: str


WORKLOADS = (
    Workload("W1", "consent status from a rule"),
    Workload("W2", "a list of 12.9 kB, matched on path, query and Consent-ID"),
    Workload("W3", "a payment initiation that is checked and kept under a fresh id"),
    Workload("W4", "the same, and then GET of what was created"),
    Workload(
        "W5", "a journey, per request: consent, status, accounts, list, payment, status, cancellation; all ids fresh"
    ),
    Workload("P1", "W1 through the forward proxy"),
    Workload("P2", "the same in CONNECT and TLS, connections kept"),
    Workload("P3", "the same, each request on a new connection with CONNECT and TLS"),
)
OWN = (
    Workload("H1", "consent status by the documented operation, as no rule answers"),
    Workload("H2", "a list of 12.9 kB by the documented operation"),
)


class Work:
    """Return the requests as they are sent, and in the format for `peers/`."""

    def __init__(self) -> None:
        with engine() as bank:
            asked = requests(bank)
            status, transactions = asked["consent status"], asked["20 transactions"]
            self._initiation = asked["payment initiation"]
            self._list, listed = asyncio.run(_of_size(bank, transactions))
            kept = asyncio.run(answered(bank, self._initiation)).body.decode()
            id = json.loads(kept)["paymentId"]
            read = Request("GET", f"{self._initiation.target}/{id}", Headers(HEADERS))
            self._status, self._read = status, read.target.replace(id, "{payment}")
            path, _, query = self._list.target.partition("?")
            self.told: dict[str, Any] = {
                "consent": {"path": f"/v1/consents/{CONSENT}/status", "body": '{"consentStatus":"valid"}'},
                "list": {"path": path, "query": dict(parse_qsl(query)), "consent": CONSENT, "body": listed},
                "payment": {"path": self._initiation.target, "body": kept.replace(id, "{id}")},
                "read": {"body": asyncio.run(answered(bank, read)).body.decode()},
            }
            debtors = list(bank.parts.testdata.at(Clock().today())["accounts"])
            walk = asyncio.run(journey(bank.answer, self._initiation, self._list, debtors))
            self._journey, self.told["journey"] = walk.requests, walk.told

    def cassette(self, directory: Path, rules: int) -> Path:
        """Return the rules of W1 and W2, and this number of additional rules."""
        written = [
            {
                "id": f"status-{number}",
                "match": {"method": "GET", "path": path},
                "respond": {"body": json.loads(self.told["consent"]["body"])},
            }
            for number, path in enumerate(
                [
                    self.told["consent"]["path"],
                    *(f"/v1/consents/6c0d7a52-1a43-4f0e-9a5e-{n:012x}/status" for n in range(rules - 2)),
                ]
            )
        ]
        listed = self.told["list"]
        match = {
            "method": "GET",
            "path": listed["path"],
            "query": listed["query"],
            "headers": {"Consent-ID": listed["consent"]},
        }
        written.append({"id": "list", "match": match, "respond": {"body": json.loads(listed["body"])}})
        directory.mkdir(parents=True)
        # JSON is valid YAML.
        (directory / "bench.yaml").write_text(json.dumps({"cassette": 1, "title": "Bench", "rules": written}))
        return directory

    def load(self, workload: str, port: int, ca_file: str, seconds: float, connections: int = 16) -> Load:
        """Return one of `WORKLOADS` or `OWN` as a load for a port."""
        consent = self._list.headers.first.get("consent-id", "")
        of_rules = Headers((name, CONSENT if value == consent else value) for name, value in self._list.headers)
        status = Request("GET", self.told["consent"]["path"], self._status.headers)
        direct = {
            "W1": status,
            "W2": Request("GET", self._list.target, of_rules),
            "W3": self._initiation,
            "W4": self._initiation,
            "W5": self._journey[0],
            "H1": self._status,
            "H2": self._list,
        }
        request = direct.get(workload, status)
        then = {"W4": [Request("GET", self._read, Headers(HEADERS))], "W5": self._journey[1:]}.get(workload, [])
        encrypted = workload in ("P2", "P3")
        return Load(
            port=port,
            request=text(request, f"http://{BANK}" if workload == "P1" else ""),
            seconds=seconds,
            connections=connections,
            connect=BANK if encrypted else None,
            ca_file=ca_file if encrypted else None,
            then=[text(request) for request in then],
            ids=IDS,
            anew=workload == "P3",
        )


def text(request: Request, origin: str = "") -> str:
    """Return the request as it is sent."""
    lines = [f"{request.method} {origin}{request.target} HTTP/1.1"]
    lines += (f"{name}: {value}" for name, value in request.headers)
    if request.body:
        lines.append(f"Content-Length: {len(request.body)}")
    return "\r\n".join([*lines, "", request.body.decode("latin-1")])


async def _of_size(bank: Any, request: Request) -> tuple[Request, str]:
    """Return a list that starts at the day for which its size is about `LIST_SIZE`."""
    whole = json.loads((await answered(bank, request)).body)
    days = sorted({entry["bookingDate"] for entry in whole["transactions"]["booked"]})
    lists = []
    for day in days:
        since = Request("GET", f"{request.target}&dateFrom={day}", request.headers)
        lists.append((since, (await answered(bank, since)).body.decode()))
    return min(lists, key=lambda pair: abs(len(pair[1].encode()) - LIST_SIZE))
