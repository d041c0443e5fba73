"""Extracts customers, accounts, consents and payments from a recording of a bank, as test data of the sandbox."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import chain
from typing import Any
from unicodedata import normalize

from xs2a_sandbox.bank.domain.schedule import SINGLE
from xs2a_sandbox.bank.domain.signing import payer_of
from xs2a_sandbox.bank.handlers.payments import write_order
from xs2a_sandbox.bank.handlers.token import find_client, issue
from xs2a_sandbox.bank.testdata import TestData
from xs2a_sandbox.cassette import Interface, Operation
from xs2a_sandbox.cassette.evaluation.expressions import (
    ROOTS,
    compile_value,
    is_each,
    is_merge,
    is_shaped,
    render,
)
from xs2a_sandbox.cassette.evaluation.read_back import read_back
from xs2a_sandbox.cassette.index import Lookup
from xs2a_sandbox.cassette.recognition import SentRequest, find_candidates, find_source, recognise
from xs2a_sandbox.cassette.things import Act
from xs2a_sandbox.documents.json_schema import bundled_schema
from xs2a_sandbox.errors import ExpressionError
from xs2a_sandbox.http.body import read
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.http.target import split_target
from xs2a_sandbox.redaction.values import DROPPED

_CUSTOMER = "customer"
"""The id of a customer whom the recording does not name."""
_ORDER = ("kind", "debtor", "parts", "execute_on", "schedule", "instant", "batch")
_CREATES_CONSENT, _CREATES_PAYMENT = Act("create", "consent"), Act("create", "payment")
_READS_CONSENT, _READS_PAYMENT = Act("read", "consent"), Act("read", "payment")
_LISTS = ("booked", "pending", "information")
_DEFINITIONS = {"account": "accountEntry", "balance": "balance", "entry": "entry"}
"""The definition in the test data schema for each shape."""
_PERMITTED: Mapping[str, Sequence[str]] = {"accounts": (), "balances": ("balances",), "transactions": ("entries",)}
"""The permissions for each list of an access, besides reading the accounts."""
_METHOD = "sca-method"
"""The shape of a method of authentication."""
_MEMBER = re.compile(r"\{\{ (?:it|result\.consent)\.(\w+) \}\}")
_RESULT = re.compile(r"\{\{ result\.(\w+) \}\}")
_SHOWN = {"sent": "access"}
"""The name in an answer for a member of a consent, if the dialect computes its answer."""
_RESOURCES = frozenset(("accounts",))


def recorded_data(entries: Iterable[Exchange], data: TestData, interface: Interface) -> TestData:
    """Return the test data, extended with accounts that the exchanges show, and with the things that refer to them.

    The shapes `account`, `balance` and `entry` say how to read the bank's answers.
    """
    recorded = _RecordedBank(interface)
    for entry in entries:
        recorded.look_at(entry)
    return _over(data, recorded)


class _RecordedBank:
    """Collects what the exchanges show: the first version of each thing, but the longest version of lists."""

    def __init__(self, interface: Interface) -> None:
        self._interface = interface
        self._templates = {name: shape.template for name, shape in interface.shapes.items()}
        self._candidates = find_candidates(interface)
        self._method = _find_members(self._templates.get(_METHOD))
        self.accounts: dict[str, dict[str, Any]] = {}
        self.consents: dict[str, dict[str, Any]] = {}
        self.payments: dict[str, dict[str, Any]] = {}
        self.psus: dict[str, None] = {}
        self.clients: dict[str, dict[str, str]] = {}
        self.methods: list[Any] = []
        self.made: set[str] = set()
        self.payers: set[str] = set()
        self._ids: dict[str, str] = {}
        """The ids of accounts by IBAN."""

    def look_at(self, entry: Exchange) -> None:
        operation, _, parameters = recognise(entry.method, entry.target, self._candidates)
        lookup = Lookup((), dict(parameters), operation, ())
        sent, things = SentRequest(entry, parameters), self._interface.things
        for psu in things["customer"].ids(sent):
            self.psus.setdefault(psu)
        body = read(entry.answer_body).value
        if not isinstance(body, Mapping) or not 200 <= entry.status < 300:
            return
        if self._may_show_methods(entry.answer_body):
            self._take_methods(body)
        if operation and operation.behaviour.handler == issue.name:
            self._take_client(entry)
        if not lookup.is_read(entry.method):
            # The sandbox creates what was created within the recording.
            ids = {id for naming in things.namings.values() if (id := naming.id_in(body))}
            self.made |= ids - self.consents.keys() - self.payments.keys()
            self._take_asked(operation, sent)
            return
        if operation and operation.does == _READS_CONSENT:
            for id in things.ids_about(lookup, sent, "consent"):
                self._take_consent(id, body, operation)
        elif operation and operation.does == _READS_PAYMENT:
            for id in things.ids_about(lookup, sent, "payment"):
                if id not in self.payments and (payment := self._read_payment(operation, sent, _in_form(body))):
                    self.payments[id] = payment
        consent = things.find_used_consent(lookup, sent)
        shown = _read_results(operation, body)
        match _resource(split_target(entry.target).segments):
            case ("accounts",):
                self._see(consent, *map(self._account, _mappings(shown.get("accounts", body.get("accounts")))))
            case ("accounts", id):
                self._see(consent, self._account(shown.get("account", body.get("account", body)), id))
            case ("accounts", id, "balances"):
                self._see(consent, self._account(shown.get("account", body.get("account")), id))
                self._take_balances(id, shown.get("balances", body.get("balances")))
            case ("accounts", id, "transactions", *_):
                self._see(consent, self._account(shown.get("account", body.get("account")), id))
                self._take_entries(id, shown if shown.keys() & {*_LISTS} else body.get("transactions"))

    def _see(self, consent: str | None, *accounts: str | None) -> None:
        """Record that the consent of a request reads these accounts."""
        known = [account for account in accounts if account]
        if consent and known:
            document = self.consents.setdefault(consent, {"role": "authorised", "accounts": []})
            document["accounts"] = list(dict.fromkeys([*document["accounts"], *known]))

    def _take_asked(self, operation: Operation | None, sent: SentRequest) -> None:
        """Record the accounts in the customer's own request: the debtor, or those of a consent."""
        if operation is None or operation.does is None:
            return
        if operation.does == _CREATES_PAYMENT and (payer := self._account(self._take(operation, sent, "debtor"))):
            self.payers.add(payer)
        for asked in _mappings(self._take(operation, sent, "access")) if operation.does == _CREATES_CONSENT else ():
            for reference in _mappings(asked.get("accounts")):
                self._account(reference)

    def _take(self, operation: Operation, sent: SentRequest, input: str) -> Any:
        return sent.take(find_source(self._interface, operation, input))

    def _account(self, said: Any, asked: str | None = None) -> str | None:
        """Return the id of the account in an answer or a request, or of the requested account."""
        account = self._read("account", said)
        iban = account.pop("iban", None)
        id = account.pop("id", None) or asked or self._ids.get(iban) or iban
        if not isinstance(id, str):
            return None
        if asked and asked != id:
            self._rename(asked, id)
        if isinstance(iban, str):
            self._rename(self._ids.get(iban, iban), id)
            self._ids[iban] = id
            account |= {"iban": iban} if iban != id else {}
        known = self.accounts.setdefault(id, {})
        known |= {name: value for name, value in account.items() if name not in known}
        if isinstance(name := account.get("owner_name"), str):
            known.setdefault("name", name)
        return id

    def _rename(self, before: str, id: str) -> None:
        """Merge what was collected under an account's earlier id into its real id."""
        if before == id or before not in self.accounts:
            return
        self.accounts[id] = self.accounts.pop(before) | self.accounts.get(id, {})
        self.payers = {id if one == before else one for one in self.payers}
        for payment in self.payments.values():
            if payer_of(payment) == before:
                payment["debtor"] = {**payment["debtor"], "account": id}
        for consent in self.consents.values():
            consent["accounts"] = list(dict.fromkeys(id if one == before else one for one in consent["accounts"]))

    def _take_balances(self, id: str, balances: Any) -> None:
        if isinstance(balances, list) and "balances" not in self.accounts[id]:
            self.accounts[id]["balances"] = [self._read("balance", one) for one in _mappings(balances)]

    def _take_entries(self, id: str, report: Any) -> None:
        if not isinstance(report, Mapping):
            return
        lists = self.accounts[id].setdefault("entries", {})
        for name in _LISTS:
            entries = _mappings(report.get(name))
            if len(entries) > len(lists.get(name, ())):
                lists[name] = [self._read("entry", entry) for entry in entries]

    def _read(self, shape: str, said: Any) -> dict[str, Any]:
        """Return the members of a shaped thing, normalised to the specification."""
        thing = (
            read_back(self._templates.get(shape), _in_form(said), self._templates) if isinstance(said, Mapping) else {}
        )
        members = bundled_schema("testdata").document["$defs"][_DEFINITIONS[shape]]["properties"].keys()
        return {name: value for name, value in thing.items() if name in {*members, "id"} and value is not None}

    def _take_consent(self, id: str, body: Mapping[str, Any], operation: Operation) -> None:
        named: dict[str, list[str]] = {}
        for name, reference in _rights(body.get("access")):
            if account := self._account(_only(reference, "iban", "currency")):
                named.setdefault(name, []).append(account)
        role = "expired" if self._state("consent", body) == "expired" else "authorised"
        consent = self.consents.setdefault(id, {"role": role, "accounts": []})
        consent["accounts"] = list(dict.fromkeys([*consent["accounts"], *chain(*named.values())]))
        told = _consent(body, _SHOWN | _find_shown(operation))
        told |= {"grants": [_grant(*pair) for pair in named.items()]} if named else {}
        consent |= {name: value for name, value in told.items() if name not in consent}
        consent["role"] = role

    def _state(self, thing: str, body: Any) -> str | None:
        """Return the domain's state for the state in an answer."""
        word = self._interface.things[thing].state_in(body)
        return self._interface.states.state(thing, word) if word else None

    def _read_payment(self, operation: Operation, sent: SentRequest, body: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the payment, read as if it were the dialect's request for one, or None if it is not a payment."""
        service, product = (self._take(operation, sent, name) for name in ("service", "product"))
        written = _find_inputs(self._interface, service)
        scope = {**sent.input_scope(), "body": body}
        try:
            order = {name: render(compile_value(written.get(name), ROOTS, _ignore), scope) for name in _ORDER}
            members = write_order(order, self._account(order["debtor"]))
        except (AttributeError, ExpressionError):  # a bank may have sent any value in these members
            return None
        if not members:
            return None
        parts = members.get("parts", ())
        payment = {
            "kind": order["kind"] or SINGLE,
            "service": service,
            "product": product,
            **members,
            "amount": parts[0].get("amount") if len(parts) == 1 else None,
            "status": self._state("payment", body),
            "sent": body,
        }
        return {name: value for name, value in payment.items() if value is not None}

    def _take_client(self, entry: Exchange) -> None:
        """Record the client that got a token, with the secret that the recording shows."""
        if client := find_client(entry):
            id, secret = client
            self.clients.setdefault(id, {"name": id, "secret": secret or DROPPED})

    def _may_show_methods(self, answer: bytes) -> bool:
        """Return whether the answer has all members of a method, because few answers are worth searching."""
        return bool(self._method) and (
            b"\\u" in answer or all(written.encode() in answer for written in self._method.values())
        )

    def _take_methods(self, body: Mapping[str, Any]) -> None:
        for offered in _find_objects(body):
            method = {name: offered.get(written) for name, written in self._method.items()}
            if all(isinstance(value, str) for value in method.values()) and method not in self.methods:
                self.methods.append(method)


def _find_objects(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield every object in a body."""
    if isinstance(value, Mapping):
        yield value
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    for part in inner:
        yield from _find_objects(part)


def _read_results(operation: Operation | None, body: Any) -> dict[str, Any]:
    """Return the parts of an answer that show members of the handler's result, by these members."""
    written = operation.origin.written.get("respond", {}) if operation else {}
    answers = written if isinstance(written, list) else [written]
    return {name: part for answer in reversed(answers) for name, part in _find_results(answer.get("body"), body)}


def _find_results(template: Any, said: Any) -> Iterator[tuple[str, Any]]:
    """Yield the parts of an answer for `{{ result.NAME }}` with a shape or for each entry, by this name."""
    if not isinstance(template, Mapping):
        are_lists = isinstance(template, list) and isinstance(said, list)
        for part, entry in zip(template, said, strict=False) if are_lists else ():
            yield from _find_results(part, entry)
    elif is_merge(template):
        for part in template["merge"]:
            yield from _find_results(part, said)
    elif is_each(template) or is_shaped(template):
        member = _RESULT.fullmatch(str(template.get("each", template.get("of"))))
        if member and said is not None:
            yield member[1], said
    elif isinstance(said, Mapping):
        for name, part in template.items():
            yield from _find_results(part, said.get(name.removesuffix("?")))


def _find_members(template: Any) -> dict[str, str]:
    """Return the members that a template shows, with their names in the template."""
    shown = template.items() if isinstance(template, Mapping) else ()
    found = ((_MEMBER.fullmatch(text), name) for name, text in shown if isinstance(text, str))
    return {member[1]: name.removesuffix("?") for member, name in found if member}


def _find_shown(operation: Operation) -> dict[str, str]:
    """Return the members of a consent, with their names in the answer of an operation that reads it."""
    written = operation.origin.written.get("respond", {})
    bodies = (answer.get("body") for answer in (written if isinstance(written, list) else [written]))
    return {member: name for body in bodies for member, name in _find_members(body).items()}


def _find_inputs(interface: Interface, service: Any) -> Mapping[str, Any]:
    """Return where the dialect's requests for a payment of this service have their inputs."""
    for operation in interface.operations.values():
        written = {name: source.written for name, source in operation.behaviour.inputs.items()}
        if operation.behaviour.handler == "payments.initiate" and written.get("service") == service:
            return written
    return {}


def _ignore(pointer: object, text: str) -> None:
    """Ignore mistakes that were reported when the dialect was loaded."""


def _over(data: TestData, recorded: _RecordedBank) -> TestData:
    there = data.collections.get("accounts", {})
    accounts = {id: account for id, account in recorded.accounts.items() if id not in there}
    psus = list(recorded.psus) or [_CUSTOMER]
    owner = next((psu for psu in psus if psu not in data.collections.get("psus", {})), psus[0])
    names = [account["name"] for account in accounts.values() if "name" in account]
    # The recording contains no secrets, so customers type the placeholder.
    customer = {"name": (names or [owner])[0], "password": DROPPED, "otp": DROPPED, "methods": recorded.methods}
    filled = {
        id: {"currency": _currency(account), "name": customer["name"], "product": None, "bic": None, "psuId": owner}
        | {"balances": []}
        | account
        for id, account in accounts.items()
    }
    for id in recorded.payers & filled.keys():
        # The recording does not show the balance, so make it large enough for the payments.
        filled[id]["balances"] = filled[id]["balances"] or [_make_balance(filled[id]["currency"])]
    # Consents and payments of the test data win, unless the recorded ones belong to a new account.
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
        and (id not in data.collections.get("payments", {}) or payer_of(payment) not in there)
    }
    more = {"accounts": filled, "consents": consents, "payments": payments}
    own = dict.fromkeys(psus, customer) if filled else {}
    collections = dict(data.collections)
    for name, documents in more.items():
        collections[name] = {**collections.get(name, {}), **documents}
    if recorded.clients:
        collections["clients"] = {**recorded.clients, **collections.get("clients", {})}
    collections["psus"] = {**own, **collections.get("psus", {})}
    return TestData(collections, tuple(id for id in data.unknown_consents if id not in consents))


def adopt(before: TestData, after: TestData) -> str:
    """Describe in words the content that only the second test data has. Empty if there is none."""
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
    return {"type": "ITAV", "amount": {"currency": currency, "amount": "1000000.00"}}


def _currency(account: Mapping[str, Any]) -> str:
    entries = [
        *account.get("balances", ()),
        *(one for some in account.get("entries", {}).values() for one in some),
    ]
    amounts = (entry.get("amount") for entry in entries)
    currencies = (amount.get("currency") for amount in amounts if isinstance(amount, Mapping))
    return next(filter(None, currencies), "EUR")


def _consent(body: Mapping[str, Any], shown: Mapping[str, str]) -> dict[str, Any]:
    """Return the members of a consent in test data that have a value."""
    members = {name: _in_form(body.get(written)) for name, written in shown.items()}
    return {name: value for name, value in members.items() if value is not None}


def _in_form(value: Any, name: str = "") -> Any:
    """Return the value in the form of the specification.

    A comparison reports if the bank's form differs.
    """
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
    """Repair a string that was decoded with the wrong encoding: `Müller` for `MÃ¼ller`."""
    if text.isascii():
        return text
    try:
        return text.encode("cp1252").decode()
    except ValueError:
        return text


def _rights(access: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name in _PERMITTED if isinstance(access, Mapping) else ():
        for reference in _mappings(access.get(name)):
            yield name, reference


def _grant(listed: str, accounts: list[str]) -> dict[str, Any]:
    return {"permissions": ["list", "details", *_PERMITTED[listed]], "accounts": accounts}


def _only(document: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: document[name] for name in names if name in document}


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [mapping for mapping in value if isinstance(mapping, Mapping)] if isinstance(value, Sequence) else []


def _resource(segments: Sequence[str]) -> tuple[str, ...]:
    """Return the segments from the resource on, without prefix and version."""
    start = next((place for place, segment in enumerate(segments) if segment in _RESOURCES), len(segments))
    return tuple(segments[start:])
