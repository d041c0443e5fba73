"""An app that reads accounts and pays, with bugs from production that can be switched on by name.

Most of them were found in real apps; the issues are named next to them. Without the bugs the app is correct: it reports
the bank's failures, asks the customer to renew an ended connection, and pays nothing twice.
"""

import http.client
import json
import time
import uuid
from collections.abc import Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

BUGS = {
    "expired-stays": "a 401 parks the connection, and nobody is told (whisper-money #557)",
    "schedule-ends": "a consent that the bank does not know ends the schedule for ever (whisper-money #742)",
    "always-cancelled": "whatever goes wrong at the bank is shown as `you cancelled` (whisper-money #799)",
    "one-account-stops-all": "one account that fails ends the reading of all others (whisper-money #559)",
    "year-refused": "a first fetch of a year that is refused is asked alike again (whisper-money #842)",
    "reconnect-deletes": "a reconnect that fails has deleted the connection (whisper-money #409)",
    "limit-is-error": "a 429 is tried again at once, and then the connection is broken (securo #269)",
    "id-zero": "entries are kept by their id, which may be the same for all (securo #753)",
    "dates-needed": "entries without a date end the import (securo #753)",
    "pending-by-id": "a pending entry goes only when the same id is booked (firefly-iii #9268)",
    "pending-needed": "where pending entries are refused the booked ones are not asked for (sure #3076)",
    "ids-needed": "entries without an id are left out (sure #2883)",
    "redirect-only": "there is no way on without a redirect (sure #2174)",
    "no-way-out": "a payment whose status could not be read stays in error (otherworld Budget #277)",
    "shape-parks": "a 200 of another shape parks the connection (accounted #2296)",
    "no-trace": "a connect that fails leaves no trace (accounted #1841)",
    "pays-again": "a payment whose answer was lost is sent again",
    "pays-next-day": "a payment whose answer was lost is forgotten, and sent again in the next run",
}
IBANS = ("DE47999888770000200002", "DE25999888770000200010")
CANCELLED, TROUBLE, RENEW = "you cancelled", "the bank has trouble, we try again later", "connect your bank again"
_BACK = "http://127.0.0.1:9/back"
_YEAR, _QUARTER = 365, 80
_LONGEST_WAIT = 5
_PERIOD = "PERIOD_INVALID"
_OPEN = ("RCVD", "PDNG", "ACTC", "ACCP", "open")

Json = dict[str, Any]


class BankTrouble(Exception):
    """The bank has rejected a request, or its answer was unreadable (`status` None)."""

    def __init__(self, status: int | None, code: str = "") -> None:
        super().__init__(f"{status} {code}")
        self.status = status
        self.code = code

    @property
    def is_of_all(self) -> bool:
        """Return whether this is the best account."""
        return self.status in (401, 403, 429) or self.code == "CONSENT_UNKNOWN"


class Customer(Protocol):
    def approve(self, links: Mapping[str, Any]) -> str | None:
        """Return the last part of the address to which the browser returned, if it did."""
        ...


class App:
    """`bugs` are the names of the switched-on bugs."""

    def __init__(self, url: str, folder: Path, bugs: frozenset[str]) -> None:
        self.bugs = bugs
        self.messages: list[str] = []
        self.received: dict[str, int] = {}
        self._url = urlsplit(url)
        self._not_before = 0.0
        self._file = folder / "store.json"
        empty: Json = {"connection": None, "connects": [], "payments": {}, "entries": {}}
        self.store: Json = json.loads(self._file.read_text()) if self._file.exists() else empty

    def save(self) -> None:
        self._file.write_text(json.dumps(self.store))

    @property
    def state(self) -> str | None:
        """Return the ids of the connection."""
        return self.store["connection"] and self.store["connection"]["state"]

    # -- connecting

    def connect(self, customer: Customer) -> None:
        """Connect if there is no connection, or it has ended."""
        if self.state in (None, "ended"):
            self._connect(customer)

    def reconnect(self, customer: Customer) -> None:
        """Create the connection that the customer wants. The old one stays until the new one works."""
        if "reconnect-deletes" in self.bugs:
            self.store["connection"] = None
        self._connect(customer)

    def _connect(self, customer: Customer) -> None:
        attempt = {"outcome": "begun"}
        if "no-trace" not in self.bugs:
            self.store["connects"].append(attempt)
        rights = [{"iban": iban} for iban in IBANS]
        consent = {
            "access": {"accounts": rights, "balances": rights, "transactions": rights},
            "recurringIndicator": True,
            "validUntil": "2099-12-31",
            "frequencyPerDay": 4,
            "combinedServiceIndicator": False,
        }
        back = None
        try:
            made = self._ask("POST", "/v1/consents", consent, **_redirect())
            links = _member(made, "_links", dict)
            back = self._approve(customer, links)
            id = _member(made, "consentId", str)
            status = self._ask("GET", f"/v1/consents/{id}/status").get("consentStatus")
        except BankTrouble as trouble:
            attempt["outcome"] = str(trouble)
            self.messages.append(CANCELLED if "always-cancelled" in self.bugs else TROUBLE)
            return
        attempt["outcome"] = str(status)
        if status != "valid":
            self.messages.append(CANCELLED if back == "nok" or "always-cancelled" in self.bugs else TROUBLE)
            return
        self.store["connection"] = {"id": id, "state": "valid"}
        if "no-trace" in self.bugs:
            self.store["connects"].append(attempt)

    def _approve(self, customer: Customer, links: Mapping[str, Any]) -> str | None:
        if "redirect-only" in self.bugs:
            _ = links["scaRedirect"]["href"]
        return customer.approve(links)

    # -- reading

    def sync(self) -> None:
        """Read all accounts separately."""
        if self.state != "valid":
            return
        try:
            accounts = _member(self._read("/v1/accounts"), "accounts", list)
        except BankTrouble as trouble:
            self._note(trouble)
            return
        for account in accounts:
            try:
                id = _member(account, "resourceId", str)
                balances = self._read(f"/v1/accounts/{id}/balances")
                _member(balances, "balances", list)
                self._keep(id, *self._entries(id))
            except BankTrouble as trouble:
                self._note(trouble)
                if trouble.is_of_all or "one-account-stops-all" in self.bugs:
                    return

    def _note(self, trouble: BankTrouble) -> None:
        """Report the trouble, and request a new connection if the bank needs one."""
        state, message = "valid", TROUBLE
        if trouble.status == 401:
            state, message = ("error", "") if "expired-stays" in self.bugs else ("ended", RENEW)
        elif trouble.is_of_all and trouble.status != 429:
            state, message = ("off", "") if "schedule-ends" in self.bugs else ("ended", RENEW)
        elif trouble.status == 429 and "limit-is-error" in self.bugs:
            state = "error"
        elif trouble.code == "shape" and "shape-parks" in self.bugs:
            state = "parked"
        self.store["connection"]["state"] = state
        self.messages.append(message)

    def _entries(self, id: str) -> tuple[list[Json], list[Json]]:
        """Return booked and pending entries.

        If the bank insists, reduce this to a shorter period or to booked entries.
        """
        status, days, refused = "both", _YEAR, BankTrouble(None)
        for _ in range(5):
            try:
                return self._pages(id, status, days)
            except BankTrouble as trouble:
                if (
                    trouble.status != 400
                    or trouble.is_of_all
                    or ("pending-needed" in self.bugs and trouble.code != _PERIOD)
                ):
                    raise
                refused = trouble
                if trouble.code != _PERIOD:
                    status = "booked"
                elif "year-refused" not in self.bugs:
                    days = _QUARTER
        raise refused

    def _pages(self, id: str, status: str, days: int) -> tuple[list[Json], list[Json]]:
        since = date.today() - timedelta(days=days)
        path = f"/v1/accounts/{id}/transactions?bookingStatus={status}&dateFrom={since}"
        booked: list[Json] = []
        pending: list[Json] = []
        for _ in range(20):
            page = _member(self._read(path), "transactions", dict)
            booked += _member(page, "booked", list)
            pending += page.get("pending") or []
            path = page.get("_links", {}).get("next", {}).get("href")
            if path is None:
                break
        return booked, pending

    def _keep(self, id: str, booked: list[Json], pending: list[Json]) -> None:
        """Replace the stored entries, because the bank's are right."""
        self.received[id] = len(booked) + len(pending)
        ids = {entry.get("transactionId") for entry in booked + pending}
        entries = []
        if "pending-by-id" in self.bugs:
            there = self.store["entries"].get(id, [])
            entries = [one for one in there if one.get("pending") and one.get("transactionId") not in ids]
        entries += [{**entry, "pending": True} for entry in pending] + booked
        if "ids-needed" in self.bugs:
            entries = [entry for entry in entries if entry.get("transactionId")]
        if "id-zero" in self.bugs:
            entries = list({entry.get("transactionId", number): entry for number, entry in enumerate(entries)}.values())
        if "dates-needed" in self.bugs:
            entries.sort(key=lambda entry: date.fromisoformat(entry["bookingDate"]))
        self.store["entries"][id] = entries

    # -- paying

    def pay(self, customer: Customer, amount: str) -> None:
        """Pay once. If the answer is lost, tell the customer that the result is unknown."""
        intent = f"KASSA-{len(self.store['payments']) + 1}"
        payment = self.store["payments"][intent] = {"state": "sent"}
        self.save()
        body = {
            "endToEndIdentification": intent,
            "debtorAccount": {"iban": IBANS[0]},
            "instructedAmount": {"amount": amount, "currency": "EUR"},
            "creditorAccount": {"iban": "DE70999777660000001007"},
            "creditorName": "Markthalle Nord",
        }
        path = "/v1/payments/sepa-credit-transfers"
        try:
            try:
                made = self._ask("POST", path, body, **_redirect())
            except BankTrouble as trouble:
                if "pays-again" not in self.bugs or (trouble.status or 500) < 500:
                    raise
                made = self._ask("POST", path, body, **_redirect())
            payment["id"], payment["state"] = _member(made, "paymentId", str), "open"
            self._approve(customer, _member(made, "_links", dict))
        except BankTrouble as trouble:
            refused = trouble.status is not None and trouble.status < 500
            payment["state"] = payment["state"] if "id" in payment else "refused" if refused else "unknown"
            if payment["state"] == "unknown" and "pays-next-day" in self.bugs:
                del self.store["payments"][intent]
            self.messages.append(TROUBLE)
        self.follow()

    def follow(self) -> None:
        """Read the states of the payments that have not ended."""
        for payment in self.store["payments"].values():
            if "id" not in payment or payment["state"] not in _OPEN:
                continue
            try:
                answer = self._ask("GET", f"/v1/payments/sepa-credit-transfers/{payment['id']}/status")
                payment["state"] = _member(answer, "transactionStatus", str)
            except BankTrouble:
                payment["state"] = "error" if "no-way-out" in self.bugs else "open"
                self.messages.append(TROUBLE)

    # -- asking

    def _read(self, path: str) -> Json:
        consent = {"Consent-ID": self.store["connection"]["id"]}
        for _ in range(2 if "limit-is-error" in self.bugs else 0):
            try:
                return self._ask("GET", path, **consent)
            except BankTrouble as trouble:
                if trouble.status != 429:
                    raise
        return self._ask("GET", path, **consent)

    def _ask(self, method: str, path: str, body: Any = None, **headers: str) -> Json:
        """Return the object in the answer. Raises BankTrouble."""
        time.sleep(max(0.0, self._not_before - time.monotonic()))
        connection = http.client.HTTPConnection(self._url.hostname or "", self._url.port, timeout=10)
        sent = {"X-Request-ID": str(uuid.uuid4()), "PSU-IP-Address": "192.0.2.1", "Content-Type": "application/json"}
        content = None if body is None else json.dumps(body)
        try:
            connection.request(method, self._url.path + path, content, {**sent, **headers})
            response = connection.getresponse()
            answer = response.read()
        except (OSError, http.client.HTTPException):
            raise BankTrouble(None, "connection") from None
        finally:
            connection.close()
        try:
            value = json.loads(answer)
        except ValueError:
            value = None
        if response.status >= 400:
            if (seconds := response.headers.get("Retry-After")) and "limit-is-error" not in self.bugs:
                self._not_before = time.monotonic() + min(int(seconds), _LONGEST_WAIT)
            raise BankTrouble(response.status, _code(value))
        if not isinstance(value, dict):
            raise BankTrouble(None, "shape")
        return value


def _redirect() -> dict[str, str]:
    return {"TPP-Redirect-Preferred": "true", "TPP-Redirect-URI": f"{_BACK}/ok", "TPP-Nok-Redirect-URI": f"{_BACK}/nok"}


def _code(value: Any) -> str:
    """Return the code of an error, or an empty string."""
    messages = value.get("tppMessages") if isinstance(value, dict) else None
    first = messages[0] if isinstance(messages, list) and messages else None
    return str(first.get("code", "")) if isinstance(first, dict) else ""


def _member[T](value: Any, name: str, kind: type[T]) -> T:
    member = value.get(name) if isinstance(value, dict) else None
    if not isinstance(member, kind):
        raise BankTrouble(None, "shape")
    return member
