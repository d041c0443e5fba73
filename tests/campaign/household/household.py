"""An app that pays the rent and reads the accounts of a household. It keeps its data in `household.json`.

Each bug is a mistake of real apps. Without a bug the app is correct: it pays an intent at most once, renews an ended
connection, reads each account separately, waits as long as the bank says, stops at a page that it knows, stores what
the bank sends as it is, and tries again in the next run.
"""

import json
import os
import time
import uuid
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import requests

BUGS = {
    "pays-twice": "a payment whose answer is lost is sent again at once",
    "keeps-dead-consent": "a consent that has ended is used for ever",
    "parks": "after one failure nothing is read any more",
    "one-stops-all": "an account that fails ends the reading of the others",
    "ignores-retry-after": "a refused read is repeated after a pause of the app's own",
    "forgets-intent": "a payment whose answer is lost is forgotten, and made again in the next run",
    "pages-forever": "the reference to the next page is followed wherever it leads",
    "keeps-by-consent": "entries belong to the consent with which they were read, so a new consent brings them again",
    "moves-on": "the day of the last read is noted before the read, and the next read begins there",
    "day-in-utc": "the day of an entry becomes a time, and the day of this time in UTC is stored",
    "sign-from-payee": "an entry is a debit if it has a creditor",
    "shows-later-for-ended": "the end of the consent is shown as trouble that passes",
    "shows-later-for-refused": "a payment that the bank refuses is shown as one to try again",
    "shows-refused-for-lost": "a payment whose answer is lost is shown as refused",
    "shows-paid-for-lost": "a payment whose answer is lost is shown as made",
    "shows-paid-for-declined": "a payment that the customer declines is shown as made",
    "shows-error-for-declined": "a decision of the customer is shown as a technical error",
    "shows-ended-for-limited": "a limit of the bank is shown as the end of the consent",
    "shows-updated-for-limited": "a limit of the bank is shown as a success",
    "shows-password-for-failed": "a failure of the bank is shown as a wrong password",
    "shows-declined-for-failed": "a failure of the bank is shown as a decision of the customer",
}
SHOWN = {
    "paid": "The payment {} is made.",
    "refused": "The payment {} was refused by the bank.",
    "lost": "We do not know whether the payment {} is made. Ask your bank.",
    "declined": "You have declined.",
    "updated": "Your accounts are up to date.",
    "ended": "Please connect your bank again.",
    "limited": "The bank allows no more requests now. We try again later.",
    "failed": "The bank has trouble. We try again later.",
    "password": "Wrong password.",
    "error": "A technical error has occurred.",
    "later": "Something did not work. Try again later.",
}
"""What the customer sees, by what has happened."""
IBANS = ("DE47999888770000200002", "DE25999888770000200010")
PAYMENTS = "/v1/payments/sepa-credit-transfers"
FINAL = ("ACSC", "ACCC", "RJCT", "CANC")  # not ACSP, which the bank still executes
ENDED = ("CONSENT_EXPIRED", "CONSENT_INVALID", "CONSENT_UNKNOWN")
LONGEST_WAIT = 10

Json = dict[str, Any]


class Trouble(Exception):
    """The bank refuses a request, or its answer cannot be read (`status` None)."""

    def __init__(self, status: int | None = None, code: str = "", wait: float | None = None) -> None:
        super().__init__(f"{status} {code}".strip())
        self.status, self.code, self.wait = status, code, wait


class BankApi:
    def __init__(self, url: str, approve: Any) -> None:
        self.url, self.approve = url, approve

    def ask(self, method: str, path: str, body: Json | None = None, consent: str | None = None) -> Json:
        """Return the object of the answer. Raises Trouble."""
        headers = {"X-Request-ID": str(uuid.uuid4()), "PSU-IP-Address": "192.0.2.1"}
        headers |= {"TPP-Redirect-Preferred": "true", "TPP-Redirect-URI": "http://127.0.0.1:9/back"} if body else {}
        headers |= {"Consent-ID": consent} if consent else {}
        try:
            answer = requests.request(method, self.url + path, json=body, headers=headers, timeout=10)
            value = answer.json()
        except ValueError:
            value = None
        except requests.RequestException:
            raise Trouble() from None
        if answer.status_code >= 400:
            seconds = answer.headers.get("Retry-After", "")
            raise Trouble(answer.status_code, _code(value), float(seconds) if seconds.isdigit() else None)
        if not isinstance(value, dict):
            raise Trouble()
        return value


class Household:
    def __init__(self, bank: BankApi, folder: Path, bugs: str = "") -> None:
        self.bank, self.bugs, self.file = bank, frozenset(bugs.split(",")), folder / "household.json"
        empty: Json = {"consent": None, "parked": False, "intents": {}, "entries": {}, "read_on": None}
        self.data: Json = json.loads(self.file.read_text()) if self.file.exists() else empty

    def save(self) -> None:
        self.file.write_text(json.dumps(self.data, indent=1))

    def show(self, what: str, intent: str = "") -> None:
        """Show a text to the customer. A campaign reads it."""
        wrong = {bug.rpartition("-")[2]: bug.split("-")[1] for bug in self.bugs if bug.startswith("shows-")}
        with open(os.environ.get("XS2A_SANDBOX_SHOWN", os.devnull), "a") as shown:
            shown.write(SHOWN[wrong.get(what, what)].format(intent) + "\n")

    # -- paying

    def pay(self, intent: str, amount: str) -> str:
        """Pay once, and return the state. After a lost answer it is `unknown`, and the customer asks the bank."""
        there = self.data["intents"].get(intent)
        if there is None or there["state"] in ("refused", "RJCT"):
            self._send(intent, amount)
            self.save()
        if (made := self.data["intents"].get(intent)) and "id" in made:
            self._follow(made)
        self.save()
        self.show(self._outcome(made), intent)
        return made["state"] if made else "failed"

    def _outcome(self, made: Json | None) -> str:
        state = made["state"] if made else "unknown"
        if state == "refused":
            return "refused"
        if state == "RJCT":
            return "declined"  # the bank rejects what the customer has not approved
        return "paid" if made and "id" in made and state in ("ACSP", *FINAL) else "lost"

    def _send(self, intent: str, amount: str) -> None:
        payment = self.data["intents"][intent] = {"state": "unknown"}
        self.save()
        body = {
            "endToEndIdentification": intent,
            "debtorAccount": {"iban": IBANS[0]},
            "instructedAmount": {"amount": amount, "currency": "EUR"},
            "creditorAccount": {"iban": "DE70999777660000001007"},
            "creditorName": "Hausverwaltung Nord",
        }
        try:
            try:
                made = self.bank.ask("POST", PAYMENTS, body)
            except Trouble as trouble:
                if "pays-twice" not in self.bugs or (trouble.status or 500) < 500:
                    raise
                made = self.bank.ask("POST", PAYMENTS, body)
            payment |= {"id": _text(made, "paymentId"), "state": "open"}
            self._approve(made)
        except Trouble as trouble:
            if "id" not in payment and trouble.status and trouble.status < 500:
                payment["state"] = "refused"
            elif "id" not in payment and "forgets-intent" in self.bugs:
                del self.data["intents"][intent]

    def _follow(self, payment: Json) -> None:
        for _ in range(4):
            if payment["state"] in FINAL:
                return
            try:
                payment["state"] = _text(
                    self.bank.ask("GET", f"{PAYMENTS}/{payment['id']}/status"), "transactionStatus"
                )
            except Trouble:
                return
            time.sleep(0.25)

    def _approve(self, made: Json) -> None:
        links = made.get("_links")
        redirect = links.get("scaRedirect") if isinstance(links, dict) else None
        if not isinstance(redirect, dict) or not isinstance(redirect.get("href"), str):
            raise Trouble()
        self.bank.approve(redirect["href"])

    # -- reading

    def connect(self) -> None:
        """Ask the customer for a consent if there is none."""
        if self.data["consent"]:
            return
        rights = [{"iban": iban} for iban in IBANS]
        access = {"accounts": rights, "balances": rights, "transactions": rights}
        wanted = {"access": access, "recurringIndicator": True, "validUntil": "2099-12-31", "frequencyPerDay": 4}
        try:
            made = self.bank.ask("POST", "/v1/consents", {**wanted, "combinedServiceIndicator": False})
            self._approve(made)
            id = _text(made, "consentId")
            if _text(self.bank.ask("GET", f"/v1/consents/{id}/status"), "consentStatus") == "valid":
                self.data["consent"] = id
        except Trouble:
            pass
        self.save()

    def sync(self) -> list[str]:
        """Read all accounts, and return what went wrong in words for the customer."""
        if not self.data["consent"] or self.data["parked"]:
            return ["not connected"]
        problems = []
        try:
            listed = self._read("/v1/accounts").get("accounts")
            for id in [_text(account, "resourceId") for account in listed or ()]:
                try:
                    self._read_account(id)
                except Trouble as trouble:
                    problems.append(f"{id}: {trouble}")
                    if "one-stops-all" in self.bugs or trouble.status in (401, 403, 429) or trouble.code in ENDED:
                        raise
                    time.sleep(0.2)
        except Trouble as trouble:
            problems.append(str(trouble))
            if (trouble.status == 401 or trouble.code in ENDED) and "keeps-dead-consent" not in self.bugs:
                self.data["consent"] = None
            self.show(_what(trouble))
        else:
            self.show("updated" if not problems else "failed")
        self.data["parked"] = bool(problems) and "parks" in self.bugs
        self.save()
        return problems

    def _read_account(self, id: str) -> None:
        balances = self._read(f"/v1/accounts/{id}/balances").get("balances")
        since = date.today() - timedelta(days=60)
        if "moves-on" in self.bugs and self.data["read_on"]:
            since = date.fromisoformat(self.data["read_on"])
        self.data["read_on"] = str(date.today())
        rows: list[Json] = []
        path, known = f"/v1/accounts/{id}/transactions?bookingStatus=booked&dateFrom={since}", set[str]()
        while path and (path not in known or "pages-forever" in self.bugs):
            known.add(path)
            page = self._read(path).get("transactions")
            if not isinstance(page, dict) or not isinstance(page.get("booked"), list):
                raise Trouble()
            rows += map(self._row, page["booked"])
            path = page.get("_links", {}).get("next", {}).get("href")
        if not isinstance(balances, list):
            raise Trouble()
        key = f"{id} {self.data['consent']}" if "keeps-by-consent" in self.bugs else id
        earlier = [
            row for row in self.data["entries"].get(key, ()) if "moves-on" in self.bugs and row["day"] < str(since)
        ]
        self.data["entries"][key] = [*earlier, *rows]

    def _row(self, entry: Json) -> Json:
        try:
            amount = Decimal(_text(entry["transactionAmount"], "amount"))
        except (InvalidOperation, KeyError, TypeError):
            raise Trouble() from None
        if "sign-from-payee" in self.bugs:
            amount = -abs(amount) if entry.get("creditorName") else abs(amount)
        day = entry.get("bookingDate")
        if day and "day-in-utc" in self.bugs:
            day = str(datetime.fromisoformat(day).astimezone(UTC).date())
        text = entry.get("remittanceInformationUnstructured")
        return {"id": entry.get("transactionId"), "day": day, "cents": int(amount * 100), "text": text}

    def _read(self, path: str) -> Json:
        try:
            return self.bank.ask("GET", path, consent=self.data["consent"])
        except Trouble as trouble:
            if trouble.status != 429 or trouble.wait is None or trouble.wait > LONGEST_WAIT:
                raise
            time.sleep(1 if "ignores-retry-after" in self.bugs else trouble.wait)
            return self.bank.ask("GET", path, consent=self.data["consent"])


def _what(trouble: Trouble) -> str:
    if trouble.status == 401 or trouble.code in ENDED:
        return "ended"
    return "limited" if trouble.status == 429 else "failed"


def _code(value: Any) -> str:
    messages = value.get("tppMessages") if isinstance(value, dict) else None
    first = messages[0] if isinstance(messages, list) and messages else None
    return str(first.get("code", "")) if isinstance(first, dict) else ""


def _text(value: Mapping[str, Any], name: str) -> str:
    text = value.get(name) if isinstance(value, dict) else None
    if not isinstance(text, str):
        raise Trouble()
    return text
