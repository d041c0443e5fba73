"""The customers, accounts, consents and payments that a recording shows of its bank, as test data of the sandbox."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from xs2a_sandbox.bank.testdata import TestData
from xs2a_sandbox.documents.json_schema import bundled_schema
from xs2a_sandbox.http.body import read
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.http.target import split_target
from xs2a_sandbox.redaction.values import DROPPED

_CUSTOMER = "customer"
"""The PSU-ID of somebody who never named one."""
_SERVICES = ("payments", "bulk-payments", "periodic-payments")
_LISTS = ("booked", "pending", "information")
_ACCESS = ("accounts", "balances", "transactions")


def recorded_data(entries: Iterable[Exchange], data: TestData) -> TestData:
    """The test data with what the exchanges show besides: accounts that are not among them, and what is about these."""
    recorded = _RecordedBank()
    for entry in entries:
        recorded.look_at(entry)
    return _over(data, recorded)


class _RecordedBank:
    """Collects what exchanges show: of each thing as it was first, but of lists the longest."""

    def __init__(self) -> None:
        self.accounts: dict[str, dict[str, Any]] = {}
        self.consents: dict[str, dict[str, Any]] = {}
        self.payments: dict[str, dict[str, Any]] = {}
        self.psus: dict[str, None] = {}
        self.methods: list[Any] = []
        self.made: set[str] = set()
        self._ibans: dict[str, str] = {}

    def look_at(self, entry: Exchange) -> None:
        if psu := entry.headers.get("psu-id"):
            self.psus.setdefault(psu)
        body = read(entry.answer_body).value
        if not isinstance(body, Mapping) or not 200 <= entry.status < 300:
            return
        self._take_methods(body)
        if entry.method != "GET":
            # What the recording itself has made the sandbox makes, too.
            ids = {body[name] for name in ("consentId", "paymentId") if isinstance(body.get(name), str)}
            self.made |= ids - self.consents.keys() - self.payments.keys()
            return
        match _below_version(split_target(entry.target).segments):
            case ("accounts",):
                self._take_accounts(entry, body)
            case ("accounts", _):
                self._account(body)
            case ("accounts", id, "balances"):
                self._add(id, balances=body.get("balances"))
            case ("accounts", id, "transactions"):
                self._take_transactions(id, body.get("transactions"))
            case ("consents", id):
                self._take_consent(id, body)
            case (service, product, id) if service in _SERVICES:
                self._keep(self.payments, id, {"service": service, "product": product, **_entry("paymentEntry", body)})

    def _take_accounts(self, entry: Exchange, body: Mapping[str, Any]) -> None:
        ibans = [iban for reference in _mappings(body.get("accounts")) if (iban := self._account(reference))]
        if (consent := entry.headers.get("consent-id")) and ibans:
            consent_entry = self.consents.setdefault(consent, {"role": "valid", "accounts": []})
            consent_entry["accounts"] = list(dict.fromkeys([*consent_entry["accounts"], *ibans]))

    def _account(self, reference: Mapping[str, Any]) -> str | None:
        iban = reference.get("iban")
        if not isinstance(iban, str):
            return None
        account = self.accounts.setdefault(iban, {})
        account |= {name: value for name, value in _entry("accountEntry", reference).items() if name not in account}
        if isinstance(id := reference.get("resourceId"), str):
            self._ibans[id] = iban
        if isinstance(name := reference.get("ownerName"), str):
            account.setdefault("name", name)
        return iban

    def _add(self, id: str, **members: Any) -> None:
        account = self.accounts.setdefault(self._ibans.get(id, id), {})
        for name, value in members.items():
            if isinstance(value, list):
                account.setdefault(name, [_entry("balance", balance) for balance in _mappings(value)])

    def _take_transactions(self, id: str, report: Any) -> None:
        if not isinstance(report, Mapping):
            return
        account = self.accounts.setdefault(self._ibans.get(id, id), {})
        lists = account.setdefault("transactions", {})
        for name in _LISTS:
            entries = [_entry("transaction", entry) for entry in _mappings(report.get(name))]
            if len(entries) > len(lists.get(name, ())):
                lists[name] = entries

    def _take_consent(self, id: str, body: Mapping[str, Any]) -> None:
        access = body.get("access")
        rights = (
            reference
            for name in _ACCESS
            for reference in _mappings(access.get(name) if isinstance(access, Mapping) else ())
        )
        ibans = [reference["iban"] for reference in rights if isinstance(reference.get("iban"), str)]
        role = "expired" if body.get("consentStatus") == "expired" else "valid"
        consent = self.consents.setdefault(id, {"role": role, "accounts": []})
        consent["accounts"] = list(dict.fromkeys([*consent["accounts"], *ibans]))
        consent |= {name: value for name, value in _entry("consentEntry", body).items() if name not in consent}
        consent["role"] = role
        for reference in _mappings(access.get("accounts") if isinstance(access, Mapping) else ()):
            self._account({"iban": reference.get("iban"), "currency": reference.get("currency")})

    def _take_methods(self, body: Mapping[str, Any]) -> None:
        for offered in _mappings([*(body.get("scaMethods") or ()), body.get("chosenScaMethod")]):
            method = {name: offered.get(name) for name in ("authenticationMethodId", "authenticationType", "name")}
            if all(isinstance(value, str) for value in method.values()) and method not in self.methods:
                self.methods.append(method)

    def _keep(self, collection: dict[str, dict[str, Any]], id: str, document: dict[str, Any]) -> None:
        collection.setdefault(id, document)


def _over(data: TestData, recorded: _RecordedBank) -> TestData:
    there = data.collections.get("accounts", {})
    accounts = {iban: account for iban, account in recorded.accounts.items() if iban not in there}
    psus = list(recorded.psus) or [_CUSTOMER]
    owner = next((psu for psu in psus if psu not in data.collections.get("psus", {})), psus[0])
    names = [account["name"] for account in accounts.values() if "name" in account]
    # What opens doors was dropped in the recording: so it is what the customers say.
    customer = {"name": (names or [owner])[0], "password": DROPPED, "otp": DROPPED, "methods": recorded.methods}
    filled = {
        iban: {"currency": _currency(account), "name": customer["name"], "product": None, "bic": None, "psuId": owner}
        | {"balances": []}
        | account
        for iban, account in accounts.items()
    }
    consents = {
        id: consent
        for id, consent in recorded.consents.items()
        if id not in recorded.made and not accounts.keys().isdisjoint(consent["accounts"])
    }
    payments = {
        id: payment
        for id, payment in recorded.payments.items()
        if id not in recorded.made and payment.get("debtorAccount", {}).get("iban") not in there
    }
    more = {"accounts": filled, "consents": consents, "payments": payments}
    own = dict.fromkeys(psus, customer) if filled else {}
    collections = dict(data.collections)
    for name, documents in more.items():
        collections[name] = {**collections.get(name, {}), **documents}
    collections["psus"] = {**own, **collections.get("psus", {})}
    return TestData(collections, tuple(id for id in data.unknown_consents if id not in consents))


def _currency(account: Mapping[str, Any]) -> str:
    amounts = (balance.get("balanceAmount", {}).get("currency") for balance in account.get("balances", ()))
    return next(filter(None, amounts), "EUR")


def _entry(kind: str, document: Mapping[str, Any]) -> dict[str, Any]:
    """The members that an entry of test data has, and a value; an account there as well."""
    members = bundled_schema("testdata").document["$defs"][kind]["properties"]
    return {name: _without_nulls(value) for name, value in document.items() if name in members and value is not None}


def _without_nulls(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _without_nulls(inner) for name, inner in value.items() if inner is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [mapping for mapping in value if isinstance(mapping, Mapping)] if isinstance(value, Sequence) else []


def _below_version(segments: Sequence[str]) -> tuple[str, ...]:
    """The segments after the interface's version, with which they begin."""
    return tuple(segments[segments.index("v1") + 1 :]) if "v1" in segments else tuple(segments)
