"""The customers, accounts, consents and payments that a recording shows of its bank, as test data of the sandbox."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from hashlib import sha256
from typing import Any
from unicodedata import normalize

from xs2a_sandbox.bank.testdata import TestData
from xs2a_sandbox.documents.formats import is_iban
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
_RESOURCES = frozenset(("accounts", "consents", *_SERVICES))


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
        self.payers: set[str] = set()
        self._ibans: dict[str, str] = {}
        self._unnamed: set[str] = set()

    def look_at(self, entry: Exchange) -> None:
        if psu := entry.headers.get("psu-id"):
            self.psus.setdefault(psu)
        body = read(entry.answer_body).value
        if not isinstance(body, Mapping) or not 200 <= entry.status < 300:
            return
        self._take_methods(body)
        resource = _resource(split_target(entry.target).segments)
        if entry.method != "GET":
            # What the recording itself has made the sandbox makes, too.
            ids = {body[name] for name in ("consentId", "paymentId") if isinstance(body.get(name), str)}
            self.made |= ids - self.consents.keys() - self.payments.keys()
            if resource:
                self._take_asked(read(entry.body).value)
            return
        match resource:
            case ("accounts",):
                self._see(entry, *map(self._account, _mappings(body.get("accounts"))))
            case ("accounts", id):
                self._see(entry, self._choose_name(id, body.get("account", body)))
            case ("accounts", id, "balances"):
                self._see(entry, self._choose_name(id, body.get("account")))
                self._add(id, balances=body.get("balances"))
            case ("accounts", id, "transactions", *_):
                self._see(entry, self._choose_name(id, body.get("account")))
                self._take_transactions(id, body.get("transactions"))
            case ("consents", id):
                self._take_consent(id, body)
            case (service, product, id) if service in _SERVICES:
                payment = {"service": service, "product": product, **_entry("paymentEntry", body)}
                self._keep(self.payments, id, payment)
                self._account(payment.get("debtorAccount"))

    def _see(self, entry: Exchange, *ibans: str | None) -> None:
        """The consent that was sent reads these accounts."""
        known = [iban for iban in ibans if iban]
        if (consent := entry.headers.get("consent-id")) and known:
            document = self.consents.setdefault(consent, {"role": "valid", "accounts": []})
            document["accounts"] = list(dict.fromkeys([*document["accounts"], *known]))

    def _take_asked(self, body: Any) -> None:
        """The accounts that the customer's own request is about: who pays, or what a consent is for."""
        for payment in (body, *_mappings(body.get("payments"))) if isinstance(body, Mapping) else ():
            if payer := self._account(payment.get("debtorAccount")):
                self.payers.add(payer)
        access = body.get("access") if isinstance(body, Mapping) else None
        for _, reference in _rights(access):
            self._account(reference)

    def _account(self, reference: Any) -> str | None:
        iban = reference.get("iban") if isinstance(reference, Mapping) else None
        if not isinstance(iban, str):
            return None
        account = self.accounts.setdefault(iban, {})
        account |= {name: value for name, value in _entry("accountEntry", reference).items() if name not in account}
        if isinstance(id := reference.get("resourceId"), str):
            self._is_named(id, iban)
        if isinstance(name := reference.get("ownerName"), str):
            account.setdefault("name", _in_form(name))
        return iban

    def _is_named(self, id: str, iban: str) -> None:
        """What was collected of an account before its IBAN was known is its own."""
        before = self._ibans.get(id, id)
        self._ibans[id] = iban
        if before != iban and before in self._unnamed:
            self._unnamed.discard(before)
            self.accounts[iban] = self.accounts.pop(before) | self.accounts.get(iban, {})
            for consent in self.consents.values():
                consent["accounts"] = list(dict.fromkeys(iban if one == before else one for one in consent["accounts"]))

    def _choose_name(self, id: str, reference: Any) -> str:
        """The IBAN of the account that a path names; one made of the id as long as no answer has said it."""
        if id not in self._ibans:
            self._ibans[id] = id if is_iban(id) else _make_up_iban(id)
            if not is_iban(id):
                self._unnamed.add(self._ibans[id])
                self.accounts.setdefault(self._ibans[id], {"resourceId": id})
        named = {} if is_iban(id) else {"resourceId": id}
        if isinstance(reference, Mapping) and (iban := self._account(named | dict(reference))):
            return iban
        self.accounts.setdefault(self._ibans[id], {})
        return self._ibans[id]

    def _add(self, id: str, **members: Any) -> None:
        account = self.accounts[self._ibans[id]]
        for name, value in members.items():
            if isinstance(value, list):
                account.setdefault(name, [_entry("balance", balance) for balance in _mappings(value)])

    def _take_transactions(self, id: str, report: Any) -> None:
        if not isinstance(report, Mapping):
            return
        lists = self.accounts[self._ibans[id]].setdefault("transactions", {})
        for name in _LISTS:
            entries = [_entry("transaction", entry) for entry in _mappings(report.get(name))]
            if len(entries) > len(lists.get(name, ())):
                lists[name] = entries

    def _take_consent(self, id: str, body: Mapping[str, Any]) -> None:
        rights = list(_rights(body.get("access")))
        ibans = [iban for _, reference in rights if (iban := self._account(_only(reference, "iban", "currency")))]
        role = "expired" if body.get("consentStatus") == "expired" else "valid"
        consent = self.consents.setdefault(id, {"role": role, "accounts": []})
        consent["accounts"] = list(dict.fromkeys([*consent["accounts"], *ibans]))
        consent |= {name: value for name, value in _entry("consentEntry", body).items() if name not in consent}
        consent["role"] = role

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
    for iban in recorded.payers & filled.keys():
        # Nothing says how much there was: enough for what was paid.
        filled[iban]["balances"] = filled[iban]["balances"] or [_make_balance(filled[iban]["currency"])]
    # Of consents and payments that the test data has its own ones count, unless a new account is theirs.
    consents = {
        id: consent
        for id, consent in recorded.consents.items()
        if id not in recorded.made
        and (
            not accounts.keys().isdisjoint(consent["accounts"])
            or (id not in data.collections.get("consents", {}) and not there.keys().isdisjoint(consent["accounts"]))
        )
    }
    payments = {
        id: payment
        for id, payment in recorded.payments.items()
        if id not in recorded.made
        and (
            id not in data.collections.get("payments", {}) or payment.get("debtorAccount", {}).get("iban") not in there
        )
    }
    more = {"accounts": filled, "consents": consents, "payments": payments}
    own = dict.fromkeys(psus, customer) if filled else {}
    collections = dict(data.collections)
    for name, documents in more.items():
        collections[name] = {**collections.get(name, {}), **documents}
    collections["psus"] = {**own, **collections.get("psus", {})}
    return TestData(collections, tuple(id for id in data.unknown_consents if id not in consents))


def adopt(before: TestData, after: TestData) -> str:
    """What is in the second test data and not in the first, in words; empty if there is nothing."""
    counts = (
        (noun, sum(document != before.collections.get(name, {}).get(id) for id, document in documents.items()))
        for name, noun in (
            ("psus", "customer"),
            ("accounts", "account"),
            ("consents", "consent"),
            ("payments", "payment"),
        )
        for documents in [after.collections.get(name, {})]
    )
    return ", ".join(f"{number} {noun}{'s' * (number != 1)}" for noun, number in counts if number)


def _make_balance(currency: str) -> dict[str, Any]:
    return {"balanceType": "interimAvailable", "balanceAmount": {"currency": currency, "amount": "1000000.00"}}


def _currency(account: Mapping[str, Any]) -> str:
    entries = [
        *account.get("balances", ()),
        *(one for some in account.get("transactions", {}).values() for one in some),
    ]
    amounts = (entry.get("balanceAmount") or entry.get("transactionAmount") for entry in entries)
    currencies = (amount.get("currency") for amount in amounts if isinstance(amount, Mapping))
    return next(filter(None, currencies), "EUR")


def _entry(kind: str, document: Mapping[str, Any]) -> dict[str, Any]:
    """The members that an entry of test data has, and a value; an account there as well."""
    members = bundled_schema("testdata").document["$defs"][kind]["properties"]
    return {name: _in_form(value, name) for name, value in document.items() if name in members and value is not None}


def _in_form(value: Any, name: str = "") -> Any:
    """The value as the specification would write it. A comparison shows where the bank has written it otherwise."""
    match value:
        case Mapping():
            return {key: _in_form(inner, key) for key, inner in value.items() if inner is not None}
        case list():
            return [_in_form(item, name) for item in value]
        case int() | float() | Decimal() if name == "amount" and not isinstance(value, bool):
            return f"{Decimal(str(value)):f}"
        case str():
            text = normalize("NFC", _repair_encoding(value))
            return text.upper() if name in ("currency", "unitCurrency") else text
    return value


def _repair_encoding(text: str) -> str:
    """The text that was read in the wrong encoding: `Müller` of `MÃ¼ller`."""
    if text.isascii():
        return text
    try:
        return text.encode("cp1252").decode()
    except ValueError:
        return text


def _rights(access: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name in _ACCESS if isinstance(access, Mapping) else ():
        for reference in _mappings(access.get(name)):
            yield name, reference


def _only(document: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: document[name] for name in names if name in document}


def _make_up_iban(id: str) -> str:
    """An IBAN for an account of which only the resource id is known."""
    digits = f"{int(sha256(id.encode()).hexdigest(), 16) % 10**16:016}"
    return f"AT{98 - int(digits + '102900') % 97:02}{digits}"


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [mapping for mapping in value if isinstance(mapping, Mapping)] if isinstance(value, Sequence) else []


def _resource(segments: Sequence[str]) -> tuple[str, ...]:
    """The segments from the resource on, whatever prefix and version stand before it."""
    start = next((place for place, segment in enumerate(segments) if segment in _RESOURCES), len(segments))
    return tuple(segments[start:])
