"""`make wide-callbacks`: consents whose app is notified by two sandboxes on one Redis, all of which are killed.

python -m tests.wide.callbacks [--journeys 20000] [--seed N] [--minutes 90]
"""

import asyncio
import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from random import Random
from time import monotonic

from tests.wide import killing
from tests.wide.client import Answer, Client, Unanswered
from tests.wide.cluster import Cluster, cluster
from tests.wide.killing import CLIENTS, SHARED_BY, GaveUp

STATUSES = ("valid", "terminatedByTpp")
"""The statuses that each consent gets after its first one, in this order."""
_PATIENCE = 90.0
_LATEST = 150.0
"""Seconds after the last journey within which everything must have arrived: leases have to end, and waits to pass."""
_BUSY = 0.01
"""The share of notifications that the app refuses."""
_PAUSE = 0.05
_CONSENT = {
    "access": {"allPsd2": "allAccounts"}, "recurringIndicator": False, "validUntil": "9999-12-31",
    "frequencyPerDay": 1, "combinedServiceIndicator": False,
}  # fmt: skip


@dataclass
class Run(killing.Run):
    """`received` are the statuses of each consent in the order of their arrival."""

    requests: int = 0
    last: float = 0.0
    refused: int = 0
    received: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    consents: list[str] = field(default_factory=list)
    arriving: asyncio.Condition = field(default_factory=asyncio.Condition)

    @property
    def arrived(self) -> int:
        return sum(map(len, self.received.values()))

    @property
    def repeated(self) -> int:
        return self.arrived - sum(len(set(statuses)) for statuses in self.received.values())


class NotifiedApp:
    """The listening part of the app. It refuses some notifications, which then do not count as received."""

    def __init__(self, result: Run, chance: Random) -> None:
        self._result, self._chance = result, chance

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, EOFError, ValueError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = int(head.partition("content-length:")[2].partition("\r\n")[0])
            body = json.loads(await reader.readexactly(length))
            is_busy = self._chance.random() < _BUSY
            if is_busy:
                self._result.refused += 1
            else:
                async with self._result.arriving:
                    self._result.received[body["consentId"]].append(body["consentStatus"])
                    self._result.arriving.notify_all()
            status = "503 Busy" if is_busy else "204 No Content"
            writer.write(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
            await writer.drain()
        writer.close()


class App:
    """One client: it makes a consent, which is then authorised, and deletes it."""

    def __init__(self, made: Cluster, uri: str, result: Run) -> None:
        self._client, self._token, self._uri, self._result = Client(made.port), made.token, uri, result

    def close(self) -> None:
        self._client.close()

    async def journey(self, number: int) -> None:
        """Raises GaveUp."""
        session = f"notified-{number // SHARED_BY}"
        headers = {
            "X-Request-ID": "99391c7e-ad88-49ec-a2ad-99ddcb1f7721", "PSU-IP-Address": "192.0.2.7",
            "X-Sandbox-Session": session, "Authorization": f"Bearer {self._token}",
        }  # fmt: skip
        notified = {**headers, "TPP-Notification-URI": self._uri}
        made = await self._until(notified, "POST", "/v1/consents", _CONSENT, lambda answer: answer.status == 201)
        id = str(made.json["consentId"])
        event = f"/_sandbox/state/consents/{id}"
        # A lost answer to the event is one, too: then it cannot happen again.
        await self._until(
            headers, "POST", event, {"event": "authorised by all"}, lambda answer: answer.status in (200, 409)
        )
        await self._until(
            headers, "DELETE", f"/v1/consents/{id}", None, lambda answer: answer.status < 500 and answer.status != 429
        )
        status = await self._until(
            headers, "GET", f"/v1/consents/{id}/status", None, lambda answer: answer.status < 500
        )
        if status.json.get("consentStatus") != STATUSES[-1]:
            raise GaveUp(f"{id} was not deleted: {status.body!r}")
        self._result.consents.append(id)

    async def _until(
        self, headers: Mapping[str, str], method: str, path: str, body: object, fits: Callable[[Answer], bool]
    ) -> Answer:
        until = monotonic() + _PATIENCE
        while monotonic() < until:
            self._result.requests += 1
            with suppress(Unanswered):
                answer = await self._client.ask(method, path, body, headers)
                if fits(answer):
                    return answer
            await asyncio.sleep(_PAUSE)
        raise GaveUp(f"{method} {path} was not answered")


async def run(journeys: int, seed: int, directory: Path, minutes: float) -> Run:
    """Run until the journeys are done, or for this number of minutes, and until all notifications have arrived."""
    chance, result = Random(seed), Run(journeys)
    server = await asyncio.start_server(NotifiedApp(result, Random(seed)).answer, "127.0.0.1", 0)
    uri = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/notified"
    async with server, cluster(directory, chance, "--dialect", "berlin-group-1.3") as made:
        apps = [App(made, uri, result) for _ in range(CLIENTS)]
        await killing.make_journeys(result, apps, made, chance, minutes)
        waiting = monotonic()
        with suppress(TimeoutError):
            await asyncio.wait_for(_until_all_arrived(result), _LATEST)
        result.last = monotonic() - waiting
        result.complaints += [*find_lost(result), *find_disordered(result.received)]
    return result


async def _until_all_arrived(result: Run) -> None:
    async with result.arriving:
        await result.arriving.wait_for(lambda: not any(find_lost(result)))


def find_lost(result: Run) -> Iterator[str]:
    for id in result.consents:
        if missing := set(STATUSES) - set(result.received.get(id, ())):
            yield f"the app was not told that {id} is {', '.join(sorted(missing))}"


def find_disordered(received: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield the consents whose statuses have arrived in another order. A status may arrive several times in a row."""
    for id, statuses in received.items():
        if any(STATUSES.index(before) > STATUSES.index(after) for before, after in pairwise(statuses)):
            yield f"the app was told in this order about {id}: {', '.join(statuses)}"


def figures(result: Run) -> dict[str, str]:
    return {
        "journeys to their end": f"{result.journeys:,} of {result.wanted:,}, by {CLIENTS} clients",
        "requests": f"{result.requests:,} in {result.seconds:,.0f} s",
        "notifications that the app accepted": f"{result.arrived:,}, {result.repeated:,} of them more than once",
        "notifications that the app refused": f"{result.refused:,}",
        "the last one after the last journey": f"{result.last:.0f} s",
        "`kill -9` of a sandbox": f"{result.killed:,}",
        "`kill -9` of Redis": f"{result.restarts:,}",
        "connections to Redis cut after a commit, before its answer": f"{result.cut:,}",
        "lost, or out of order": f"{len(result.complaints)}",
    }


if __name__ == "__main__":
    sys.exit(killing.main("callbacks", run, figures, __doc__ or ""))
