"""What is broken for every request: sections 1, 2, 5, 7, 8 and 9, and our readings of them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tests.contract import facts

from tools.breakers.accounts import AS_NUMBER, IN_SMALL, KINDS, WITH_BALANCE, WITH_TIME, asking_for
from tools.breakers.breaker import (
    REMOVED,
    Ask,
    Breaker,
    Change,
    Operation,
    When,
    altered,
    bad,
    content,
    drops_nulls,
    error,
    good,
    header,
    leaves_out,
    limits,
    misnames,
    overlooks,
    refuses,
    says,
    takes,
    turns,
    with_body,
    with_content,
    with_header,
)
from tools.breakers.consents import IS_NEW, IS_PRECONFIGURED, opened, with_consent, with_role
from tools.breakers.operations import (
    ACCOUNT,
    ACCOUNTS,
    BALANCES,
    CONSENT,
    CONSENT_STATUS,
    CONSENTS,
    CREATE_CONSENT,
    CROSS_BORDER,
    DOCUMENTED,
    FURTHER,
    LIST,
    PAGES,
    PERIODIC,
    PRODUCTS,
    SEPA,
    TRANSACTIONS,
    WITH_AMOUNT,
    cancel,
    initiate,
    record,
    status,
)
from tools.breakers.payments import reads_as
from xs2a_sandbox.http.messages import Request, Response

ANYTHING = Operation("*", "/v1/*")
TWICE = Change("", lambda messages: messages * 2)
UUID = "99391c7e-ad88-49ec-a2ad-99ddcb1f7721"
EVERY = Operation("*", "")


def every(name: str, spoilt: Any, of: Any = lambda _: True) -> Breaker:
    """Every answer below /v1 of these statuses is changed."""

    async def answer(ask: Ask, request: Request) -> Response:
        response = await ask(request)
        return spoilt(request, response) if "/v1" in request.target and of(response.status) else response

    return Breaker(name, answer)


def as_type(value: str) -> Any:
    return lambda _, response: replace(
        response,
        headers=tuple((n, value if n.lower() == "content-type" else v) for n, v in response.headers),
    )


def in_message(name: str, to: Any) -> Breaker:
    return every(
        f"errors have {name} {to.words if isinstance(to, Change) else to!r}",
        lambda _, response: (
            with_body(response, altered(content(response), f"/tppMessages/0/{name}", to)) if response.body else response
        ),
        bad,
    )


def without_v1() -> Breaker:
    async def answer(ask: Ask, request: Request) -> Response:
        response = await ask(request)
        bare = request.target.replace("/v2/", "/").replace("/v1x/", "/")
        if response.status == 404 and "/v1/" not in request.target and "/consents/" in bare:
            return await ask(replace(request, target=f"/v1{bare}"))
        return response

    return Breaker("paths need no /v1", answer)


def header_required(operation: Operation, name: str) -> Breaker:
    return refuses(operation, When(f"without {name}", lambda request: not header(request, name)))


def header_forbidden(operation: Operation, name: str) -> Breaker:
    return refuses(operation, When(f"with {name}", lambda request: bool(header(request, name))))


def with_own(request: Request, name: str, value: str) -> Request:
    return with_header(request, name, value)


def any_request_id(operation: Operation, when: When) -> Breaker:
    """Takes no or any request id."""

    async def answer(ask: Ask, request: Request) -> Response:
        if not operation.matches(request) or not when(request):
            return await ask(request)
        return await ask(with_header(request, "X-Request-ID", UUID))

    return Breaker(f"{operation} {when.words} is answered", answer)


NO_ID = When("without X-Request-ID", lambda request: not header(request, "X-Request-ID"))
MALFORMED_ID = When(
    "with a malformed X-Request-ID",
    lambda request: bool(header(request, "X-Request-ID")) and header(request, "X-Request-ID").count("-") != 4,
)


def any_type(operation: Operation) -> Breaker:
    """Reads a body of any type as JSON."""
    return takes(
        operation, "any Content-Type", lambda request: with_header(request, "Content-Type", "application/json")
    )


def no_json(operation: Operation, body: Mapping[str, Any]) -> Breaker:
    """Takes what is no JSON object for a good body."""

    async def answer(ask: Ask, request: Request) -> Response:
        response = await ask(request)
        if operation.matches(request) and response.status == 400 and not isinstance(content(request), dict):
            return await ask(with_content(request, body))
        return response

    return Breaker(f"{operation} takes what is no JSON object", answer)


def _any_limit(count: int, words: str) -> Breaker:
    """Of all operations together."""
    seen: dict[str, int] = {}

    async def answer(ask: Ask, request: Request) -> Response:
        key = header(request, "X-Sandbox-Session")
        seen[key] = seen.get(key, 0) + 1
        return error(request, 429, "ACCESS_EXCEEDED") if seen[key] > count else await ask(request)

    return Breaker(words, answer)


CONSENT_BODY = {
    "access": {"balances": [{"iban": facts.untied()[0]}]},
    "recurringIndicator": True,
    "validUntil": facts.today(90),
    "frequencyPerDay": 4,
}
RECORDS = tuple(record(product) for product in PRODUCTS)
STATUSES = tuple(status(product) for product in PRODUCTS)
DAY = Change("with a time", lambda day: f"{day}T00:00:00Z")
TAKEN_AS_SENT = Change("unencoded", lambda href: href.replace("%3A", ":"))


CATALOGUE: Mapping[str, Sequence[Breaker]] = {
    # 1
    "1-consents": [refuses(operation) for operation in CONSENTS],
    "1-accounts": [refuses(operation) for operation in ACCOUNTS],
    "1-payments": [refuses(operation(product)) for product in PRODUCTS for operation in (initiate, record, cancel)],
    "1-preconfigured": [
        *(
            takes(o, "it as a valid one", opened, when=with_consent(role))
            for o in ACCOUNTS
            for role in ("expired", "unknown")
        ),
        *(reads_as("RJCT", "RCVD", products=product) for product in WITH_AMOUNT),
    ],
    "1-sca-redirect": [
        *leaves_out(CREATE_CONSENT, "/_links/scaRedirect"),
        *(says(initiate(product), "/_Left/scaRedirect", REMOVED) for product in PRODUCTS),
        turns(PAGES, 200, 404),
    ],
    "1-json": [
        every("good answers are text/html", as_type("text/html"), good),
        every("errors are text/html", as_type("text/html"), bad),
        every("good answers are no JSON", lambda _, r: replace(r, body=b"<ok/>") if r.body else r, good),
        no_json(CREATE_CONSENT, CONSENT_BODY),
    ],
    "1-v1": [without_v1(), *(refuses(operation) for operation in (CREATE_CONSENT, LIST, initiate(SEPA)))],
    # 2
    "2-nulls": [
        drops_nulls(CREATE_CONSENT),
        drops_nulls(CONSENT, when=IS_NEW),
        drops_nulls(CONSENT, when=IS_PRECONFIGURED),
        drops_nulls(LIST),
        drops_nulls(LIST, when=WITH_BALANCE),
        drops_nulls(ACCOUNT),
        drops_nulls(BALANCES),
        *(drops_nulls(TRANSACTIONS, when=asking_for(kind)) for kind in KINDS),
        *(drops_nulls(operation(product)) for product in PRODUCTS for operation in (initiate, record, status)),
    ],
    "2-amounts": [
        says(BALANCES, "/balances/0/balanceAmount/amount", AS_NUMBER),
        says(LIST, "/accounts/0/balances/0/balanceAmount/amount", AS_NUMBER, when=WITH_BALANCE),
        *(says(record(product), "/instructedAmount/amount", AS_NUMBER) for product in WITH_AMOUNT),
        *(overlooks(initiate(product), "/instructedAmount/amount", "1.00") for product in WITH_AMOUNT),
    ],
    "2-currencies": [
        says(BALANCES, "/balances/0/balanceAmount/currency", IN_SMALL),
        says(LIST, "/accounts/0/balances/0/balanceAmount/currency", IN_SMALL, when=WITH_BALANCE),
        overlooks(initiate(CROSS_BORDER), "/instructedAmount/currency", "EUR"),
        overlooks(initiate(CROSS_BORDER), "/instructedAmount/amount", "1"),
    ],
    "2-dates": [
        says(BALANCES, "/balances/0/referenceDate", WITH_TIME),
        says(LIST, "/accounts/0/balances/0/referenceDate", WITH_TIME, when=WITH_BALANCE),
        says(TRANSACTIONS, "/transactions/booked/0/bookingDate", WITH_TIME),
        overlooks(CREATE_CONSENT, "/validUntil", facts.today(90)),
        overlooks(initiate(SEPA), "/requestedExecutionDate", facts.today(3)),
        overlooks(initiate(PERIODIC), "/startDate", facts.today(3)),
        overlooks(initiate(PERIODIC), "/endDate", facts.today(300)),
    ],
    # 5
    "5-authorization": [
        *(header_required(operation, "Authorization") for operation in (CREATE_CONSENT, LIST, initiate(SEPA))),
        *(header_forbidden(operation, "Authorization") for operation in DOCUMENTED),
    ],
    "5-no-authorization": [
        header_required(operation(SEPA), "Authorization") for operation in (initiate, record, status, cancel)
    ],
    "5-request-id": [
        *(any_request_id(operation, when) for operation in DOCUMENTED[:8] for when in (NO_ID, MALFORMED_ID)),
        refuses(
            CONSENT_STATUS,
            When(
                "with an X-Request-ID of another version", lambda r: header(r, "X-Request-ID")[14:15] not in ("4", "")
            ),
        ),
    ],
    "5-consent-id": [
        *(
            takes(
                operation,
                "no Consent-ID",
                opened,
                when=When("without Consent-ID", lambda request: not header(request, "Consent-ID")),
            )
            for operation in ACCOUNTS
        ),
        refuses(TRANSACTIONS, with_consent("valid")),
    ],
    "5-tpp-redirect-uri": [
        says(CREATE_CONSENT, "/_links/scaRedirect/href", TAKEN_AS_SENT),
        *(says(initiate(product), "/_Left/scaRedirect/href", TAKEN_AS_SENT) for product in PRODUCTS),
        takes(CREATE_CONSENT, "no TPP-Redirect-URI", lambda r: with_header(r, "TPP-Redirect-URI", REMOVED)),
        *(
            takes(initiate(product), "no TPP-Redirect-URI", lambda r: with_header(r, "TPP-Redirect-URI", REMOVED))
            for product in PRODUCTS
        ),
    ],
    "5-content-type": [
        *(any_type(operation) for operation in (CREATE_CONSENT, *map(initiate, PRODUCTS))),
        *(
            refuses(operation, When("with a charset", lambda request: "charset" in header(request, "Content-Type")))
            for operation in (CREATE_CONSENT, *map(initiate, PRODUCTS))
        ),
        header_forbidden(LIST, "Content-Type"),
        header_forbidden(cancel(SEPA), "Content-Type"),
    ],
    "5-sca-page": [
        turns(Operation("GET", f"/sca/{page}"), 200, 404)
        for page in ("consents", "payments", "cancellations", "baskets")
    ],
    # 7
    "7-tpp-messages": [
        every(
            "errors hold two messages",
            lambda _, r: (
                with_body(r, altered(content(r), "/tppMessages", Change("", lambda m: m * 2))) if r.body else r
            ),
            bad,
        ),
        every("errors hold no messages", lambda _, r: with_body(r, {"_links": None}) if r.body else r, bad),
    ],
    "7-category": [in_message("category", "WARNING"), in_message("category", REMOVED)],
    "7-code": [misnames("XS2A017E", to="X"), misnames("XS2A005E", to="X"), in_message("code", REMOVED)],
    "7-path": [misnames(number, "path", "/x") for number in ("XS2A017E", "XS2A005E", "XS2A004E", "XS2A016E")]
    + [in_message("path", REMOVED)],
    "7-text": [
        in_message("text", Change("without its marker", lambda text: text.removeprefix("{sensitive} "))),
        in_message("text", Change("without its number", lambda text: text.replace("XS2A", ""))),
        in_message("text", REMOVED),
    ],
    "7-links": [
        every("errors have _links {}", lambda _, r: with_body(r, {**content(r), "_links": {}}) if r.body else r, bad),
        every(
            "errors have no _links",
            lambda _, r: with_body(r, altered(content(r), "/_links", REMOVED)) if r.body else r,
            bad,
        ),
    ],
    **{
        f"7-{number_.lower()}": [
            misnames(number_, status=418),
            misnames(number_, to="OTHER"),
            misnames(number_, "text", Change("another number", lambda text: text.replace("XS2A0", "XS2A1"))),
            misnames(number_, "text", Change("nothing named", lambda text: text.partition(":")[0] + ": unknown")),
        ]
        for number_ in ("XS2A017E", "XS2A005E", "XS2A004E", "XS2A016E")
    },
    "7-expired-status": [
        turns(CONSENT_STATUS, 200, 401, when=with_role("expired")),
        says(CONSENT_STATUS, "/consentStatus", "valid", when=with_role("expired")),
    ],
    # 8
    "8-unlimited": [
        *(limits(operation, 4) for operation in dict.fromkeys((*DOCUMENTED, *FURTHER.values()))),
        limits(LIST, 28),
        _any_limit(150, "a session gets 150 answers"),
    ],
    "8-frequency-per-day": [
        overlooks(CREATE_CONSENT, "/frequencyPerDay", 4),
    ],
    # 9
    "9-prefix": [
        without_v1(),
        *(refuses(operation) for operation in (*CONSENTS, *ACCOUNTS, *map(initiate, PRODUCTS))),
        *(refuses(operation(SEPA)) for operation in (record, status, cancel)),
    ],
}
