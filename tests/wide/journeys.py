"""Journeys of an app: a consent and a payment with SCA, reads, a cancelled payment, and races with itself."""

import asyncio
from collections.abc import Mapping
from time import monotonic
from typing import Any

from tests.contract import bodies, facts
from tests.support.state_words import default_states
from tests.wide.checker import DELETED, KINDS, FinalDocument
from tests.wide.client import Answer, Client, Unanswered
from tests.wide.killing import SHARED_BY, GaveUp
from tests.wide.operation import Log, Operation

_PATIENCE = 90.0
"""Seconds within which a repeated request must succeed."""
_PAUSE = 0.05
_PAYMENTS = f"/v1/{bodies.SEPA}"
_HEADERS = {
    "X-Request-ID": "99391c7e-ad88-49ec-a2ad-99ddcb1f7721",
    "PSU-IP-Address": "192.0.2.7",
    "TPP-Redirect-Preferred": "false",
    "TPP-Explicit-Authorisation-Preferred": "true",
}
_STATES = {"consent": "consentStatus", "payment": "transactionStatus", "authorisation": "scaStatus"}
_WORDS = default_states()
_AUTHORISED = {"consent": "valid", "payment": "ACSP"}


def interface_word(kind: str, state: str) -> str:
    """Return the interface's word for it."""
    return _WORDS.word(kind, state) or ""


class App:
    """One client with two connections. On the second it races with itself."""

    def __init__(self, port: int, log: Log) -> None:
        self._clients = Client(port), Client(port)
        self._log = log
        self._iban = facts.untied()[0]
        self._psu = str(facts.accounts()[self._iban]["psuId"])
        self._customer = facts.testdata()["psus"][self._psu]
        self._session = ""
        self.times: list[float] = []

    def close(self) -> None:
        for client in self._clients:
            client.close()

    async def journey(self, number: int) -> None:
        """Raises GaveUp."""
        self._session = f"wide-{number // SHARED_BY}"
        consent = await self._made("consent", number, 1)
        path = f"/v1/consents/{consent}"
        await self._read("consent", consent, path)
        await self._authorise("consent", consent, path)
        await self._read("consent", consent, path)
        for account in ("/v1/accounts", f"/v1/accounts/{self._iban}/balances"):
            await self._until("use", account, headers={"Consent-ID": consent})
        paid = await self._made("payment", number, 2)
        await self._authorise("payment", paid, f"{_PAYMENTS}/{paid}")
        await self._read("payment", paid, f"{_PAYMENTS}/{paid}")
        cancelled = await self._made("payment", number, 3)
        await self._race_to_delete("payment", cancelled, f"{_PAYMENTS}/{cancelled}", "CANC")
        await self._read("payment", cancelled, f"{_PAYMENTS}/{cancelled}")
        if number % 2:
            await self._race_to_delete("consent", consent, path, DELETED)
            await self._read("consent", consent, path)

    async def _made(self, kind: str, number: int, part: int) -> str:
        """Return the id of a consent or payment, which is requested until an answer contains one."""
        path = "/v1/consents" if kind == "consent" else _PAYMENTS
        for attempt in _attempts():
            # Only in the document that is created.
            mark = (number * 10 + part) * 1000 + attempt
            if kind == "consent":
                body = bodies.consent(self._iban, recurringIndicator=False, frequencyPerDay=mark)
            else:
                body = bodies.payment(bodies.SEPA, debtor=self._iban, amount="0.01", endToEndIdentification=str(mark))
            answer = await self._ask("create", kind, "", "POST", path, body, label=f"{kind} {mark}")
            if answer and answer.status < 300:
                return str(answer.json[f"{kind}Id"])
            await asyncio.sleep(_PAUSE)
        raise GaveUp(f"no {kind} was made")

    async def _authorise(self, kind: str, id: str, path: str) -> None:
        starts, headers = f"{path}/authorisations", {"PSU-ID": self._psu}
        await self._race("start", "start", id, "POST", starts, headers=headers)
        for _ in _attempts():
            if ids := (await self._until("list", starts)).json["authorisationIds"]:
                break
            await self._ask("start", "start", id, "POST", starts, headers=headers)
        else:
            raise GaveUp(f"no authorisation of {id} was begun")
        own = f"{starts}/{ids[-1]}"
        for _ in _attempts():
            match (await self._until("read", own, "authorisation", ids[-1])).json["scaStatus"]:
                case "psuIdentified":
                    body: Any = {"psuData": {"password": self._customer["password"]}}
                    await self._ask("password", "authorisation", ids[-1], "PUT", own, body)
                case "scaMethodSelected":
                    body = {"scaAuthenticationData": self._customer["otp"]}
                    await self._race("otp", "authorisation", ids[-1], "PUT", own, body, on=(kind, id))
                case "finalised":
                    return
        raise GaveUp(f"{id} was not authorised")

    async def _race_to_delete(self, kind: str, id: str, path: str, state: str) -> None:
        await self._race("delete", kind, id, "DELETE", path, state_afterwards=state)
        for _ in _attempts():
            answer = await self._read(kind, id, path)
            if answer.status != 200 or answer.json[_STATES[kind]] == state:
                return
            await self._ask("delete", kind, id, "DELETE", path, state_afterwards=state)
        raise GaveUp(f"{id} was not deleted")

    async def _race(
        self,
        name: str,
        kind: str,
        id: str,
        method: str,
        path: str,
        body: Any = None,
        *,
        headers: Mapping[str, str] | None = None,
        state_afterwards: str = "",
        on: tuple[str, str] | None = None,
    ) -> None:
        """Send the same request twice at the same time. A success also changes the resource that it is `on`."""
        race = f"{name} {id} {monotonic()}"
        began = monotonic()
        answers = await asyncio.gather(
            *(
                self._ask(
                    name,
                    kind,
                    id,
                    method,
                    path,
                    body,
                    headers=headers,
                    state_afterwards=state_afterwards,
                    race=race,
                    client=client,
                )
                for client in range(2)
            )
        )
        if on and any(answer and answer.status < 300 for answer in answers):
            kind, id = on
            self._log.add(Operation(name, self._session, kind, id, began, monotonic(), 200, _AUTHORISED[kind]))

    async def _read(self, kind: str, id: str, path: str) -> Answer:
        return await self._until("read", f"{path}/status", kind, id)

    async def _until(
        self, name: str, path: str, kind: str = "", id: str = "", *, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Return the answer to a read, which can be repeated any number of times."""
        for _ in _attempts():
            answer = await self._ask(name, kind, id, "GET", path, headers=headers)
            if answer and answer.status < 500:
                return answer
            await asyncio.sleep(_PAUSE)
        raise GaveUp(f"{path} was not answered")

    async def _ask(
        self,
        name: str,
        kind: str,
        id: str,
        method: str,
        path: str,
        body: Any = None,
        *,
        headers: Mapping[str, str] | None = None,
        label: str = "",
        race: str = "",
        state_afterwards: str = "",
        client: int = 0,
    ) -> Answer | None:
        """Return the answer, or None if the connection broke. Both are written to the log."""
        began, answer = monotonic(), None
        try:
            sent = {**_HEADERS, "X-Sandbox-Session": self._session, **(headers or {})}
            answer = await self._clients[client].ask(method, path, body, sent)
        except Unanswered:
            pass
        ended, state = monotonic(), ""
        if answer and answer.status < 300:
            self.times.append(ended - began)
            value = answer.json
            state = state_afterwards or str(value.get(_STATES.get(kind, ""), "") if isinstance(value, dict) else "")
            id = id or str(value.get(f"{kind}Id", ""))
        elif answer and answer.status == 403 and kind == "consent" and name == "read":
            state = DELETED
        status = answer.status if answer else None
        self._log.add(Operation(name, self._session, kind, id, began, ended, status, state, label, race))
        return answer


def _attempts() -> Any:
    """Yield numbers until the patience runs out."""
    until, number = monotonic() + _PATIENCE, 0
    while monotonic() < until:
        yield number
        number += 1


async def kept(port: int, token: str, sessions: int) -> list[FinalDocument]:
    """Yield all existing consents and payments."""
    client, documents = Client(port), []
    for number in range(sessions):
        session = f"wide-{number}"
        headers = {"Authorization": f"Bearer {token}", "X-Sandbox-Session": session}
        for kind, collection in KINDS.items():
            answer = await client.ask("GET", f"/_sandbox/state/{collection}", None, headers)
            assert answer.status == 200, answer.body
            documents += [
                FinalDocument(kind, session, id, f"{kind} {_marked(one)}", interface_word(kind, one["status"]))
                for id, one in answer.json.items()
                if id not in facts.testdata()[collection]
            ]
    client.close()
    return documents


def _marked(document: Any) -> Any:
    return document["frequency"] if "frequency" in document else document["parts"][0]["end_to_end_id"]
