"""Broken accounts, balances and transactions: sections 2.6 to 2.8 and 4.1, and our readings of them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs

from tests.contract import facts

from tools.breakers.breaker import (
    REMOVED,
    Ask,
    Breaker,
    Change,
    Operation,
    When,
    altered,
    content,
    forgives,
    leaves_out,
    misnames,
    name_of,
    path,
    query,
    refuses,
    says,
    spoils,
    takes,
    turns,
    with_body,
)
from tools.breakers.operations import ACCOUNT, ACCOUNTS, BALANCES, LIST, TRANSACTIONS
from xs2a_sandbox.http.messages import Request, Response

KINDS = ("booked", "pending", "information")


def asking(name: str, value: str) -> When:
    return When(f"with {name}={value}", lambda request: parse_qs(query(request)).get(name) == [value])


def asking_for(status: str) -> When:
    return asking("bookingStatus", status)


WITH_BALANCE = asking("withBalance", "true")
WITHOUT_BALANCE = When("without withBalance", lambda request: "withBalance" not in query(request))
WITH_SLASH = When("with a slash at the end", lambda request: request.target.partition("?")[0].endswith("/"))


def with_query(name: str, value: str | None, more: str = "") -> Any:
    """A request with the parameter set, or without it."""

    def changed(request: Request) -> Request:
        bare, _, before = request.target.partition("?")
        others = [pair for pair in before.split("&") if pair and pair.partition("=")[0] != name]
        pairs = [*others, *([f"{name}={value}"] if value is not None else []), *([more] if more else [])]
        return replace(request, target=f"{bare}?{'&'.join(pairs)}" if pairs else bare)

    return changed


def asked_as(operation: Operation, name: str, value: str | None, words: str, *, when: When) -> Breaker:
    return takes(operation, words, with_query(name, value), when=when)


# Accounts, in the list and alone


def _account(pointer: str, *values: Any) -> list[Breaker]:
    return [
        says(operation, f"{at}{pointer}", value)
        for operation, at in ((LIST, "/accounts/-1"), (ACCOUNT, ""))
        for value in (REMOVED, *values)
    ]


def _balance(pointer: str, *values: Any) -> list[Breaker]:
    return [
        says(operation, f"{at}{pointer}", value, when=when)
        for operation, at, when in (
            (BALANCES, "/balances/-1", When("", lambda _: True)),
            (LIST, "/accounts/*/balances/-1", WITH_BALANCE),
            (ACCOUNT, "/balances/-1", WITH_BALANCE),
        )
        for value in (REMOVED, *values)
    ]


TODAY = Change("today's", lambda _: facts.today())


def _record(pointer: str, *values: Any, kinds: Sequence[str] = ()) -> list[Breaker]:
    """The last entry of each kind; without `kinds` all of them lose the member, and booked ones have it changed."""
    return [
        says(TRANSACTIONS, f"/transactions/{'booked' if kind == 'both' else kind}/-1{pointer}", value, when=when)
        for value in values
        for kind in kinds or (("both", *KINDS) if value is REMOVED else ["booked"])
        for when in (asking_for(kind),)
    ]


def _order(pointer: str, *values: Any) -> list[Breaker]:
    return _record(
        f"/additionalInformationStructured/standingOrderDetails{pointer}", REMOVED, *values, kinds=["information"]
    )


def _other_kind(status: str, other: str) -> Breaker:
    """The entries of one kind stand where those of another belong."""

    async def answer(ask: Ask, request: Request) -> Response:
        response = await ask(request)
        if not TRANSACTIONS.matches(request) or not asking_for(status)(request) or response.status != 200:
            return response
        entries = content(await ask(with_query("bookingStatus", other)(request)))["transactions"][other]
        return with_body(response, altered(content(response), f"/transactions/{status}", entries))

    return Breaker(name_of(TRANSACTIONS, asking_for(status), f"lists what is {other}"), answer)


def _everything_filled() -> Breaker:
    """`booked` shows the pending entries too."""

    async def answer(ask: Ask, request: Request) -> Response:
        response = await ask(request)
        if not TRANSACTIONS.matches(request) or not asking_for("booked")(request) or response.status != 200:
            return response
        entries = content(await ask(with_query("bookingStatus", "pending")(request)))["transactions"]["pending"]
        return with_body(response, altered(content(response), "/transactions/pending", entries or []))

    return Breaker("bookingStatus=booked fills pending as well", answer)


def _both_with_pending() -> Breaker:
    async def answer(ask: Ask, request: Request) -> Response:
        response = await ask(request)
        if not TRANSACTIONS.matches(request) or not asking_for("both")(request) or response.status != 200:
            return response
        entries = content(await ask(with_query("bookingStatus", "pending")(request)))["transactions"]["pending"]
        return with_body(response, altered(content(response), "/transactions/pending", entries))

    return Breaker("bookingStatus=both fills pending", answer)


def _lists_uncovered() -> Breaker:
    """The list of one consent holds an account of another."""

    async def answer(ask: Ask, request: Request) -> Response:
        response = await ask(request)
        if not LIST.matches(request) or response.status != 200:
            return response
        listed = content(response)["accounts"]
        return with_body(response, {"accounts": [*listed, {**listed[0], "resourceId": facts.uncovered()}]})

    return Breaker("the list holds an account that the consent does not cover", answer)


def _shows_uncovered(operation: Operation) -> Breaker:
    """Any account of the bank is shown with any consent: that of the covered one, in place of it."""

    def repaired(request: Request) -> Request:
        iban = path(request).split("/")[3]
        return replace(request, target=request.target.replace(iban, facts.covered()))

    uncovered = When("of an uncovered one", lambda request: path(request).split("/")[3] == facts.uncovered())
    return takes(operation, "no care of the consent", repaired, when=uncovered)


def _account_first() -> Breaker:
    """Says that an account is unknown before the consent is looked at."""

    async def answer(ask: Ask, request: Request) -> Response:
        response = await ask(request)
        if ACCOUNT.matches(request) and path(request).endswith(facts.foreign_iban()) and response.status in (401, 403):
            return replace(response, status=404)
        return response

    return Breaker("an unknown account is said to be unknown before the consent is looked at", answer)


def _within(which: str, keeps: Any) -> Breaker:
    """Filters entries by a rule of its own, after asking without the parameter."""

    async def answer(ask: Ask, request: Request) -> Response:
        values = parse_qs(query(request))
        if not TRANSACTIONS.matches(request) or not {"dateFrom", "dateTo"} & values.keys():
            return await ask(request)
        response = await ask(request)
        if response.status != 200:
            return response
        bare = with_query("dateTo", None)(with_query("dateFrom", None)(request))
        whole = content(await ask(bare))
        first, last = values.get("dateFrom", ["0"])[0], values.get("dateTo", ["9"])[0]
        kept = [entry for entry in whole["transactions"]["booked"] or [] if keeps(entry, first, last)]
        return with_body(response, altered(whole, "/transactions/booked", kept))

    return Breaker(f"dateFrom and dateTo {which}", answer)


def _bad_date_ignored(name: str) -> Breaker:
    async def answer(ask: Ask, request: Request) -> Response:
        response = await ask(request)
        if TRANSACTIONS.matches(request) and response.status == 400 and name in parse_qs(query(request), True):
            return await ask(with_query(name, None)(request))
        return response

    return Breaker(f"a {name} that is none is ignored", answer)


def _lenient(operation: Operation, name: str, value: str) -> Breaker:
    """Takes any value of the parameter, or none, as this one."""

    async def answer(ask: Ask, request: Request) -> Response:
        response = await ask(request)
        if operation.matches(request) and response.status == 400:
            return await ask(with_query(name, value)(request))
        return response

    return Breaker(name_of(operation, When("", lambda _: True), f"takes any {name} as {value}"), answer)


AMOUNT = "/balanceAmount/amount"
BARE_REFERENCE = Change("as an IBAN alone", lambda reference: reference["iban"])
WITHOUT_NULLS = Change("without its nulls", lambda reference: {k: v for k, v in reference.items() if v is not None})
AS_NUMBER = Change("as a number", lambda amount: float(amount))
WITH_COMMA = Change("with a comma", lambda amount: amount.replace(".", ","))
UNSIGNED = Change("without its sign", lambda amount: amount.lstrip("-"))
IN_SMALL = Change("in small letters", str.lower)
WITH_TIME = Change("with a time", lambda day: day and f"{day}T00:00:00Z")
NULLS = ("cashAccountType", "status", "linkedAccounts", "usage", "details")
AGENTS = ("creditorAgent", "debtorAgent", "ultimateCreditor", "ultimateDebtor")
REMITTANCE = (
    "remittanceInformationUnstructuredArray",
    "remittanceInformationStructured",
    "remittanceInformationStructuredArray",
)
CODES = ("purposeCode", "proprietaryBankTransactionCode", "balanceAfterTransaction")
REFERENCES = ("entryReference", "endToEndId", "mandateId", "checkId")
UNKNOWN = ["RESOURCE_UNKNOWN"]
ONE_ACCOUNT = (ACCOUNT, BALANCES, TRANSACTIONS)


CATALOGUE: Mapping[str, Sequence[Breaker]] = {
    # 2.6
    "2.6-resource-id": [
        *_account("/resourceId", "4711"),
        *(
            refuses(operation, When("by IBAN", lambda r: "/AT" in r.target), 404, UNKNOWN[0])
            for operation in (ACCOUNT,)
        ),
    ],
    "2.6-iban": _account("/iban", facts.foreign_iban(), None),
    "2.6-currency": _account("/currency", "XXX", None),
    "2.6-name": _account("/name", "Somebody", None),
    "2.6-product": _account("/product", "Something", None),
    "2.6-nulls": [broken for name in NULLS for broken in _account(f"/{name}", "something")],
    "2.6-bic": _account("/bic", "XXXXATWWXXX", None),
    "2.6-balances": [
        asked_as(LIST, "withBalance", "false", "it as false", when=WITH_BALANCE),
        asked_as(ACCOUNT, "withBalance", "false", "it as false", when=WITH_BALANCE),
        says(LIST, "/accounts/-1/balances", REMOVED, when=WITH_BALANCE),
        says(LIST, "/accounts/-1/balances", [], when=WITH_BALANCE),
        says(ACCOUNT, "/balances", [], when=WITH_BALANCE),
    ],
    "2.6-links-balances": _account("/_links/balances/href", "/v1/accounts/4711/balances"),
    "2.6-links-transactions": _account("/_links/transactions/href", "/v1/accounts/4711/transactions"),
    # 2.7
    "2.7-currency": _balance("/balanceAmount/currency", IN_SMALL, "XXX"),
    "2.7-amount": [*_balance(AMOUNT, AS_NUMBER, "0.00"), says(BALANCES, f"/balances/*{AMOUNT}", UNSIGNED)],
    "2.7-balance-type": _balance("/balanceType", "closingBooked"),
    "2.7-last-change": _balance("/lastChangeDateTime", "2026-01-01T00:00:00Z"),
    "2.7-reference-date": _balance("/referenceDate", WITH_TIME, None),
    "2.7-last-committed": _balance("/lastCommittedTransaction", "A-0001"),
    # 2.8
    "2.8-account": [
        says(TRANSACTIONS, pointer, value, when=asking_for(kind))
        for kind in KINDS
        for pointer, value in (
            ("/account", WITHOUT_NULLS),
            ("/account", None),
            ("/account/iban", facts.foreign_iban()),
            ("/account/maskedPan", ""),
            ("/account/currency", REMOVED),
        )
    ],
    "2.8-account-both": [
        says(TRANSACTIONS, "/account/bban", None, when=asking_for("both")),
        says(TRANSACTIONS, "/account/currency", "EUR", when=asking_for("both")),
        says(TRANSACTIONS, "/account/iban", REMOVED, when=asking_for("both")),
    ],
    "2.8-balances": [
        says(TRANSACTIONS, "/balances", value, when=asking_for(kind))
        for kind in ("both", *KINDS)
        for value in (REMOVED, [])
    ],
    "2.8-links": [
        says(TRANSACTIONS, "/_links", value, when=asking_for(kind))
        for kind in ("both", *KINDS)
        for value in (REMOVED, {})
    ],
    **{
        f"2.8-{kind}": [
            says(TRANSACTIONS, f"/transactions/{kind}", {}, when=asking_for(kind)),
            says(TRANSACTIONS, f"/transactions/{kind}/-1", REMOVED, when=asking_for(kind)),
            *(
                says(TRANSACTIONS, f"/transactions/{kind}", value, when=asking_for(other))
                for other in ("both", *KINDS)
                if other != kind and (other, kind) not in (("both", "booked"), ("both", "information"))
                for value in (REMOVED, [])
            ),
        ]
        for kind in KINDS
    },
    "2.8-information-both": [
        says(TRANSACTIONS, "/transactions/information", value, when=asking_for("both")) for value in (None, [])
    ],
    "2.8-links-account": [
        says(TRANSACTIONS, pointer, value, when=asking_for(kind))
        for kind in KINDS
        for pointer, value in (
            ("/transactions/_links", None),
            ("/transactions/_links/account/href", "/v1/accounts"),
            ("/transactions/_links/account", REMOVED),
        )
    ],
    "2.8-links-account-both": [
        says(TRANSACTIONS, "/transactions/_links", value, when=asking_for("both"))
        for value in (REMOVED, {"account": {"href": "/v1/accounts/4711"}})
    ],
    "2.8-only-matching": [
        _everything_filled(),
        says(TRANSACTIONS, "/transactions/booked", [], when=asking_for("pending")),
        says(TRANSACTIONS, "/transactions/information", [], when=asking_for("booked")),
        says(TRANSACTIONS, "/transactions/pending", [], when=asking_for("information")),
    ],
    "2.8-transaction-id": _record("/transactionId", REMOVED, None, "A"),
    "2.8-references": [broken for name in REFERENCES for broken in _record(f"/{name}", REMOVED, 4711, [])],
    "2.8-creditor-id": _record("/creditorId", REMOVED, None, 4711),
    "2.8-booking-date": [
        *_record("/bookingDate", REMOVED, None, "yesterday", kinds=("both", "booked")),
        *_record("/bookingDate", REMOVED, "yesterday", kinds=["pending"]),
        *_record("/bookingDate", REMOVED, TODAY, kinds=["information"]),
    ],
    "2.8-value-date": [
        *_record("/valueDate", REMOVED, "yesterday", kinds=("both", "booked")),
        *_record("/valueDate", REMOVED, TODAY, kinds=("pending", "information")),
    ],
    "2.8-amount": [
        *_record("/transactionAmount/amount", REMOVED, 1, "1,00"),
        *_record("/transactionAmount/currency", REMOVED, "euro"),
        says(TRANSACTIONS, "/transactions/booked/*/transactionAmount/amount", UNSIGNED),
    ],
    "2.8-currency-exchange": _record("/currencyExchange", REMOVED, []),
    "2.8-names": [
        broken for name in ("creditorName", "debtorName") for broken in _record(f"/{name}", REMOVED, None, ["x"])
    ],
    "2.8-party-accounts": [
        broken
        for name in ("creditorAccount", "debtorAccount")
        for broken in _record(f"/{name}", REMOVED, None, BARE_REFERENCE, WITHOUT_NULLS)
    ],
    "2.8-agents": [broken for name in AGENTS for broken in _record(f"/{name}", REMOVED, "")],
    "2.8-remittance": _record("/remittanceInformationUnstructured", REMOVED, None, []),
    "2.8-remittance-nulls": [broken for name in REMITTANCE for broken in _record(f"/{name}", REMOVED, "")],
    "2.8-additional-information": _record("/additionalInformation", REMOVED, 4711),
    "2.8-standing-order": [
        *_record("/additionalInformationStructured", REMOVED, None, {}, kinds=["information"]),
        *_record("/additionalInformationStructured", REMOVED, {}, kinds=("both", "booked", "pending")),
    ],
    "2.8-codes": [broken for name in CODES for broken in _record(f"/{name}", REMOVED, "")],
    "2.8-bank-transaction-code": _record("/bankTransactionCode", REMOVED, 4711),
    "2.8-record-links": _record("/_links", REMOVED, {}),
    "2.8-standing-order-dates": [
        broken for name in ("startDate", "endDate") for broken in _order(f"/{name}", None, WITH_TIME, "")
    ],
    "2.8-standing-order-frequency": _order("/frequency", None, "", 12, "Often"),
    "2.8-standing-order-rule": _order("/executionRule", None, "", 1, "whenever"),
    "2.8-standing-order-months": _order(
        "/monthsOfExecution",
        None,
        Change("as numbers", lambda months: [int(month) for month in months]),
        Change("with one more", lambda months: [*months, "13"]),
        [],
    ),
    "2.8-standing-order-day": _order("/dayOfExecution", None, 31, "32", ""),
    "2.8-standing-order-nulls": [
        broken for name in ("withinAMonthFlag", "multiplicator", "limitAmount") for broken in _order(f"/{name}", "")
    ],
    # 4.1
    "4.1-account-list": [
        turns(LIST, 200, 206),
        refuses(LIST),
        refuses(LIST, WITH_SLASH, 404, UNKNOWN[0]),
        spoils(LIST, "is a bare list", lambda _, response: with_body(response, content(response)["accounts"])),
        says(LIST, "/accounts", Change("as an object", lambda listed: {"account": listed})),
    ],
    "4.1-account": [
        turns(ACCOUNT, 200, 206),
        refuses(ACCOUNT, WITH_SLASH, 404, UNKNOWN[0]),
        refuses(ACCOUNT),
        spoils(ACCOUNT, "is a list", lambda _, response: with_body(response, {"accounts": [content(response)]})),
    ],
    "4.1-balances": [
        turns(BALANCES, 200, 206),
        refuses(BALANCES),
        says(BALANCES, "/account", {}),
        *leaves_out(BALANCES, "/account", "/balances"),
        spoils(BALANCES, "is a bare list", lambda _, response: with_body(response, content(response)["balances"])),
    ],
    "4.1-transactions": [
        *(turns(TRANSACTIONS, 200, 206, when=asking_for(kind)) for kind in KINDS),
        *(refuses(TRANSACTIONS, asking_for(kind)) for kind in KINDS),
    ],
    "4.1-rule-1": [
        *(refuses(TRANSACTIONS, asking_for(status)) for status in ("both", *KINDS)),
        _other_kind("booked", "pending"),
        _other_kind("pending", "booked"),
        _other_kind("information", "pending"),
        _both_with_pending(),
        says(TRANSACTIONS, "/transactions/booked", [], when=asking_for("both")),
    ],
    "4.1-rule-2": [
        asked_as(LIST, "withBalance", "false", "it as false", when=WITH_BALANCE),
        asked_as(ACCOUNT, "withBalance", "false", "it as false", when=WITH_BALANCE),
        refuses(LIST, WITH_SLASH & WITH_BALANCE, 404, UNKNOWN[0]),
        refuses(ACCOUNT, WITH_SLASH & WITH_BALANCE, 404, UNKNOWN[0]),
    ],
    "4.1-rule-3": [
        says(LIST, "/accounts/-1", REMOVED),
        says(LIST, "/accounts", Change("with the first alone", lambda listed: listed[:1])),
        _lists_uncovered(),
    ],
    "4.1-rule-4": [
        *(forgives(operation, UNKNOWN, 200, {}) for operation in ONE_ACCOUNT),
        *(_shows_uncovered(operation) for operation in ONE_ACCOUNT),
        *(forgives(operation, ["CONSENT_EXPIRED"], 200, {}) for operation in ACCOUNTS),
        *(forgives(operation, ["CONSENT_UNKNOWN"], 200, {}) for operation in ACCOUNTS),
        misnames("XS2A016E", status=403),
        misnames("XS2A016E", to="CONSENT_INVALID"),
        misnames("XS2A005E", status=403),
        misnames("XS2A017E", status=404),
        _account_first(),
    ],
    # Readings
    "reading-account-bare": [
        spoils(ACCOUNT, "is wrapped", lambda _, response: with_body(response, {"account": content(response)})),
        asked_as(ACCOUNT, "withBalance", "true", "it as withBalance=true", when=WITHOUT_BALANCE),
    ],
    "reading-account-list-bare": [
        asked_as(LIST, "withBalance", "true", "it as withBalance=true", when=WITHOUT_BALANCE),
        refuses(LIST, WITHOUT_BALANCE),
    ],
    "reading-with-balance": [_lenient(operation, "withBalance", "false") for operation in (LIST, ACCOUNT)],
    "reading-booking-status": [
        _lenient(TRANSACTIONS, "bookingStatus", "booked"),
        asked_as(
            TRANSACTIONS,
            "bookingStatus",
            "both",
            "it as both",
            when=When("without bookingStatus", lambda request: "bookingStatus" not in query(request)),
        ),
    ],
    "reading-dates": [
        _within("are exclusive at the start", lambda e, first, last: first < e["bookingDate"] <= last),
        _within("are exclusive at the end", lambda e, first, last: first <= e["bookingDate"] < last),
        _within("bound valueDate", lambda e, first, last: first <= e["valueDate"] <= last),
        _within("have dateFrom ignored", lambda e, first, last: e["bookingDate"] <= last),
        _within("have dateTo ignored", lambda e, first, last: first <= e["bookingDate"]),
        _bad_date_ignored("dateFrom"),
        _bad_date_ignored("dateTo"),
    ],
    "reading-dates-order": [
        forgives(TRANSACTIONS, ["PERIOD_INVALID"], 200, {}),
        misnames("XS2A903E", to="FORMAT_ERROR"),
    ],
    "reading-expired-numbers": [
        *(
            says(
                operation,
                "/tppMessages/0/text",
                Change("with the number of transactions", lambda text: text.replace("XS2A005E", "XS2A004E")),
                of=lambda status: status == 401,
            )
            for operation in (LIST, ACCOUNT, BALANCES)
        ),
        misnames("XS2A004E", "text", Change("XS2A005E", lambda text: text.replace("XS2A004E", "XS2A005E"))),
    ],
    "reading-testdata": [
        says(LIST, f"/accounts/*/balances/*{AMOUNT}", UNSIGNED),
        says(
            TRANSACTIONS, "/transactions/booked", Change("no more than 300", lambda entries: entries and entries[:300])
        ),
        says(TRANSACTIONS, "/transactions/pending", None),
        says(TRANSACTIONS, "/transactions/information", None),
        says(TRANSACTIONS, "/transactions/booked/*/transactionAmount/amount", UNSIGNED),
        says(
            TRANSACTIONS,
            "/transactions/booked/*/transactionAmount/amount",
            Change("negative", lambda amount: f"-{amount.lstrip('-')}"),
        ),
        says(LIST, "/accounts/*/currency", "EUR"),
        says(LIST, "/accounts/*/name", "Anna Grünwald"),
        says(LIST, f"/accounts/*/balances/*{AMOUNT}", "1000.00"),
    ],
}
