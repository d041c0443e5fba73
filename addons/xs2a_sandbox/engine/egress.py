"""The only way out of the engine: requests to real banks, callbacks to apps, and the app's other traffic."""

import logging
import time
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from xs2a_sandbox.clock import Clock
from xs2a_sandbox.config import RealBank
from xs2a_sandbox.config.readers import LOOPBACK, Network
from xs2a_sandbox.config.real_bank import BankDestination
from xs2a_sandbox.control.access import Guard
from xs2a_sandbox.engine import egress_policy
from xs2a_sandbox.engine.route import BankRequest
from xs2a_sandbox.errors import BankError, RecordingFailed
from xs2a_sandbox.http import Headers, Request, Response
from xs2a_sandbox.http.body import decode, restrict_encodings
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.http.header_fields import OURS
from xs2a_sandbox.http.origin import destinations
from xs2a_sandbox.http.own_credentials import sets_console_cookie, without_own_credentials
from xs2a_sandbox.http.target import client_url
from xs2a_sandbox.upstream import links
from xs2a_sandbox.upstream.callbacks import CallbackClient
from xs2a_sandbox.upstream.client import Upstream

if TYPE_CHECKING:
    from xs2a_sandbox.recording.har_log import Recording

log = logging.getLogger("xs2a_sandbox")


class Egress:
    """`recording` records the traffic of mode record and, with `spied`, of mode spy.

    Callbacks may go to `callback_hosts`; `callback_ca` has issued the certificates of apps.
    """

    def __init__(
        self,
        forward_hosts: Collection[str] = (),
        recording: "Recording | None" = None,
        *,
        spied: bool = False,
        callback_hosts: Iterable[str | Network] = LOOPBACK,
        callback_ca: Path | None = None,
    ) -> None:
        self.recording = recording
        self._upstream = Upstream(forward_hosts)
        self._forwarded = frozenset(host.lower() for host in forward_hosts)
        self._spied = spied
        self._calls = 0
        self._callback_hosts = tuple(callback_hosts)
        self._callbacks = CallbackClient(callback_ca)

    @property
    def can_forward(self) -> bool:
        return bool(self._forwarded)

    def forwards(self, request: Request) -> bool:
        """Return whether the request names only a host to which requests are forwarded."""
        if not self._forwarded or request.door != "proxy":
            return False
        origin, *more = destinations(request)
        return origin is not None and not more and origin.host in self._forwarded

    async def forward(self, request: Request, guard: Guard) -> Response:
        """Forward the request to its host, without recording it. Raises BankError, Refused."""
        egress_policy.check_forwarding(request, guard)
        return _of_no_sandbox(await self._upstream.forward(request))

    async def ask(self, to_bank: BankRequest, guard: Guard) -> Response:
        """Return the bank's own answer. If it is recorded, it is on disk first.

        Raises BankError; also Refused for requests that must not go to this bank.
        """
        bank, request = to_bank.real, to_bank.request
        egress_policy.check(to_bank, guard)
        destination = to_bank.destination
        if self.recording and (to_bank.mode == "record" or self._spied):
            response = await self._record(self.recording, bank, request, destination)
        else:
            response = await self.send(bank, request, destination.sent)
        if bank.rewrite_links:
            return links.rewrite(response, destination.url, client_url(request, destination.segments))
        return response

    def keep_from(self, ports: Collection[int]) -> None:
        """Never send callbacks to these ports of this machine, which are the sandbox's own."""
        self._callbacks.own_ports = frozenset(ports)

    async def call_back(self, method: str, url: str, headers: Iterable[tuple[str, str]], body: bytes) -> Response:
        """Send a callback to an app, and return the app's answer.

        Raises Refused if it must not go to this address, and BankError if there is no answer.
        """
        egress_policy.check_callback(url, self._callback_hosts, self._callbacks.own_ports)
        return await self._callbacks.send(method, url, headers, body)

    async def close(self) -> None:
        await self._upstream.close()
        if self.recording:
            self.recording.close()

    def counts(self) -> dict[str, int]:
        """Return the numbers of requests to banks and of recorded exchanges."""
        counts = {"bank_calls": self._calls}
        if self.recording:
            counts |= {"recorded": self.recording.exchanges, "recordings_lost": self.recording.lost}
        return counts

    async def send(self, bank: RealBank, request: Request, target: str) -> Response:
        """Send a request for a target below the bank's URL, without checks. Raises BankError."""
        self._calls += 1
        return _of_no_sandbox(await self._upstream.send(bank, request, target))

    async def _record(
        self, recording: "Recording", bank: RealBank, request: Request, destination: BankDestination
    ) -> Response:
        try:
            async with recording.room(len(request.body)):
                started, clock = Clock().now(), time.perf_counter()
                response = await self.send(
                    bank, structs.replace(request, headers=restrict_encodings(request.headers)), destination.sent
                )
                milliseconds = (time.perf_counter() - clock) * 1000
                plain = structs.replace(without_own_credentials(request), target=destination.target)
                exchange = Exchange.of(plain, _decode(response), destination.url, started, milliseconds)
                await self._write(recording, exchange)
                return response
        except RecordingFailed as error:
            raise BankError("recording-failed", reason=str(error)) from None

    async def _write(self, recording: "Recording", entry: Exchange) -> None:
        try:
            await recording.add(entry)
        except RecordingFailed as error:
            # The bank has acted: keeping its answer from the app would be worse than the gap in the recording.
            log.error("an exchange is not recorded yet, and no other request goes to the bank until it is: %s", error)
        except Exception as error:
            # The text or traceback of the error could quote data that must not be written.
            log.error("could not record an exchange: converting it failed (%s)", type(error).__name__)


def _of_no_sandbox(response: Response) -> Response:
    """Remove the headers of another sandbox, which the bank may be."""
    headers = tuple(
        (name, value)
        for name, value in response.headers
        if not name.lower().startswith(OURS) and not sets_console_cookie(name, value)
    )
    return response if headers == response.headers else structs.replace(response, headers=headers)


def _decode(response: Response) -> Response:
    """Return the response for recording, with its body decoded if possible."""
    headers = Headers(response.headers)
    if response.rest is not None or (body := decode(headers, response.body)) is None:
        return response
    kept = tuple(pair for pair in response.headers if pair[0].lower() != "content-encoding")
    return structs.replace(response, headers=kept, body=body)
