"""Broken payments: sections 2.9 to 2.12, 3.2 and 4.2, and our readings of them."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any
from urllib.parse import unquote

from tests.contract import facts

from tools.breakers.accounts import AS_NUMBER, IN_SMALL
from tools.breakers.breaker import (
    ALWAYS,
    REMOVED,
    Ask,
    Breaker,
    Change,
    Operation,
    When,
    altered,
    answering,
    bad,
    content,
    error,
    forgives,
    header,
    leaves_out,
    member,
    misnames,
    name_of,
    overlooks,
    path,
    pretends,
    refuses,
    says,
    session,
    spoils,
    takes,
    turns,
    with_body,
    with_content,
    with_path,
)
from tools.breakers.consents import having, holding, without
from tools.breakers.operations import (
    BULK,
    CONSENT,
    CREATE_CONSENT,
    CROSS_BORDER,
    FAMILIES,
    FUNDS,
    INSTANT,
    LIST,
    PAYMENT_PAGE,
    PERIODIC,
    PRODUCTS,
    SEPA,
    TRANSACTIONS,
    WITH_AMOUNT,
    cancel,
    initiate,
    record,
    start,
    status,
)
from xs2a_sandbox.http.messages import Request, Response

ACCOUNT = {"iban": facts.debtor(), "currency": "EUR"}
AMOUNT = {"amount": "1.00", "currency": "EUR"}
IBAN = {"iban": facts.foreign_iban()}
OTHER_ID = str(uuid.UUID(int=4711))


def of_each(make: Any, products: Sequence[str] = PRODUCTS) -> list[Breaker]:
    return [broken for product in products for broken in make(product)]


def all_say(operation: Any, pointer: str, *values: Any, products: Sequence[str] = PRODUCTS) -> list[Breaker]:
    """The operation of each product says each of the values."""
    return [says(operation(product), pointer, value) for product in products for value in values]


def initiations(pointer: str, value: Any) -> list[Breaker]:
    return all_say(initiate, pointer, REMOVED, value)


# Payments as they are read


def with_status(id_status: str) -> When:
    """A preconfigured payment in this state."""
    ids = {id for id, _ in facts.payments(id_status)}
    return When(f"of a preconfigured {id_status} one", lambda request: payment_in(request) in ids)


def payment_in(request: Request) -> str:
    parts = path(request).split("/")
    return parts[4] if len(parts) > 4 else ""


ANY_RECORD = Operation("GET", "/v1/*payments/*/*")
ANY_STATUS = Operation("GET", "/v1/*payments/*/*/status")
ANY_INITIATION = Operation("POST", "/v1/*payments/*")
ANY_CANCELLATION = Operation("DELETE", "/v1/*payments/*/*")


def reads_as(was: str, now: str, *, in_record: bool = True, in_status: bool = True, products: str = "") -> Breaker:
    """Reads of a payment in one state say another."""

    async def answer(ask: Ask, request: Request) -> Response:
        response = await ask(request)
        read = (in_record and ANY_RECORD.matches(request)) or (in_status and ANY_STATUS.matches(request))
        if not read or response.status != 200 or (products and products not in request.target):
            return response
        body = content(response)
        return with_body(response, {**body, "transactionStatus": now}) if body["transactionStatus"] == was else response

    where = " and ".join(w for w, there in (("record", in_record), ("status", in_status)) if there)
    return Breaker(f"{products or 'payments'} in {was} read as {now} in their {where}", answer)


def _decided_at_once() -> Breaker:
    """An unfunded payment is RJCT in the answer to its initiation."""

    async def answer(ask: Ask, request: Request) -> Response:
        response = await ask(request)
        amount = str(member(content(request), "/instructedAmount/amount"))
        if ANY_INITIATION.matches(request) and response.status == 200 and amount == "999999.00":
            return with_body(response, altered(content(response), "/transactionStatus", "RJCT"))
        return response

    return Breaker("a large amount is RJCT at once", answer)


def funds(name: str, covered: Any, *, products: Sequence[str] = PRODUCTS) -> Breaker:
    """Decides funds by a rule of its own: `covered` gets the request's body."""
    decided: dict[str, bool] = {}

    async def answer(ask: Ask, request: Request) -> Response:
        response = await ask(request)
        if ANY_INITIATION.matches(request) and response.status == 200 and path(request)[4:] in products:
            decided[content(response)["paymentId"]] = covered(content(request))
        if (ANY_RECORD.matches(request) or ANY_STATUS.matches(request)) and payment_in(request) in decided:
            body = content(response)
            if body.get("transactionStatus") in ("RCVD", "RJCT"):
                changed = "RCVD" if decided[payment_in(request)] else "RJCT"
                return with_body(response, {**body, "transactionStatus": changed})
        return response

    return Breaker(f"funds are {name}", answer)


def worth(body: Mapping[str, Any], *, converted: bool = True, first: bool = False) -> Decimal:
    """In EUR."""
    if "amount" in body:
        pairs = list(zip(body["amount"], body["amountCurrency"], strict=True))[: 1 if first else None]
    else:
        pairs = [(body["instructedAmount"]["amount"], body["instructedAmount"]["currency"])]
    return sum((Decimal(amount) * (facts.rate(of) if converted else 1) for amount, of in pairs), Decimal(0))


def holds(body: Mapping[str, Any], kind: str = "forwardAvailable", *, converted: bool = True) -> Decimal:
    account = facts.accounts()[body["debtorAccount"]["iban"]]
    for balance in account["balances"]:
        if balance["balanceType"] == kind:
            return Decimal(balance["balanceAmount"]["amount"]) * (facts.rate(account["currency"]) if converted else 1)
    return Decimal(0)


def by_empty(operation: Operation, pointer: str) -> Breaker:
    """Refuses an empty text there."""
    return refuses(operation, holding(pointer, ""))


def _keeps_empty(name: str) -> Breaker:
    """Shows an empty text where a member that was not sent is null."""
    empty: set[str] = set()

    async def answer(ask: Ask, request: Request) -> Response:
        response = await ask(request)
        if ANY_INITIATION.matches(request) and response.status == 200 and content(request).get(name) == "":
            empty.add(content(response)["paymentId"])
        if ANY_RECORD.matches(request) and payment_in(request) in empty and response.status == 200:
            return with_body(response, {**content(response), name: ""})
        return response

    return Breaker(f"an empty {name} comes back as empty text", answer)


def _unread(name: str, *, rejected: bool) -> Breaker:
    """DELETE of a payment without funds heeds no reads: it is refused before them too, or taken after them too."""
    unfunded: set[str] = set()
    read: set[str] = set()

    async def answer(ask: Ask, request: Request) -> Response:
        id = payment_in(request)
        if rejected and ANY_CANCELLATION.matches(request) and id in unfunded - read:
            return error(request, 405, "CANCELLATION_INVALID")
        response = await ask(request)
        if ANY_INITIATION.matches(request) and response.status == 200 and worth(body := content(request)) > holds(body):
            unfunded.add(content(response)["paymentId"])
        if (ANY_RECORD.matches(request) or ANY_STATUS.matches(request)) and response.status == 200:
            read.add(id)
        if not rejected and ANY_CANCELLATION.matches(request) and id in unfunded & read and response.status == 405:
            return answering(request, 204)
        return response

    return Breaker(name, answer)


def _read_by(what: str, operation: Operation) -> Breaker:
    """Something else than a read of the payment counts as its first one."""
    made: dict[str, Request] = {}

    async def answer(ask: Ask, request: Request) -> Response:
        response = await ask(request)
        if ANY_INITIATION.matches(request) and response.status == 200:
            id = content(response)["paymentId"]
            made[id] = with_path(request, "GET", f"{path(request)}/{id}")
        read = next((read for id, read in made.items() if id in request.target), None)
        if operation.matches(request) and read:
            await ask(read)
        return response

    return Breaker(f"{what} counts as a read of a payment", answer)


def page_says(words: str, text: str, other: str) -> Breaker:
    """Pages of payments say something else."""
    return spoils(
        PAYMENT_PAGE,
        words,
        lambda _, response: replace(response, body=response.body.replace(text.encode(), other.encode())),
    )


# Cancellation


def _cancels_only_in_words() -> Breaker:
    return replace(pretends(ANY_CANCELLATION, 204), name="DELETE of a payment answers 204 and cancels nothing")


def _pending_is_cancelled_the(nth: int) -> Breaker:
    """DELETE of a pending payment is 204 from this time on."""
    count: dict[str, int] = {}

    async def answer(ask: Ask, request: Request) -> Response:
        response = await ask(request)
        if ANY_CANCELLATION.matches(request) and with_status("PDNG")(request) and response.status == 202:
            key = session(request) + payment_in(request)
            count[key] = count.get(key, 0) + 1
            if count[key] >= nth:
                return answering(request, 204)
        return response

    return Breaker(f"a pending payment is cancelled by DELETE number {nth}", answer)


def _any_id(operation: Any) -> list[Breaker]:
    """Answers for a payment that does not exist as for one that does."""

    def repaired(request: Request) -> Request:
        id, payment = facts.payments("ACSP")[0]
        tail = "/status" if request.target.rstrip("/").endswith("/status") else ""
        return replace(request, target=f"/v1/{payment['service']}/{payment['product']}/{id}{tail}")

    async def answer(ask: Ask, request: Request) -> Response:
        response = await ask(request)
        if operation.matches(request) and response.status == 404:
            return await ask(repaired(request))
        return response

    return [Breaker(name_of(operation, ALWAYS, "knows any payment"), answer)]


def _under_any_product(operation: Operation) -> Breaker:
    """Does not look at the service and product of the path."""
    made: dict[str, str] = {}

    async def answer(ask: Ask, request: Request) -> Response:
        response = await ask(request)
        if ANY_INITIATION.matches(request) and response.status == 200:
            made[content(response)["paymentId"]] = path(request)
        if operation.matches(request) and response.status == 404 and payment_in(request) in made:
            tail = path(request).partition(payment_in(request))[2]
            return await ask(replace(request, target=f"{made[payment_in(request)]}/{payment_in(request)}{tail}"))
        return response

    return Breaker(f"{operation} finds a payment under any product", answer)


def _offered(pair: str, like: str) -> Breaker:
    """A pair of service and product that is not listed."""

    def repaired(request: Request) -> Request:
        return replace(request, target=request.target.replace(f"/v1/{pair}", f"/v1/{like}"))

    there = When("", lambda request: f"/v1/{pair}" in request.target)
    return replace(takes(Operation("*", "*"), pair, repaired, when=there), name=f"{pair} is offered")


def _forgets(pointer: str, products: Sequence[str], to: Any = REMOVED) -> list[Breaker]:
    return [says(record(product), pointer, to) for product in products]


def _required(product: str, *names: str) -> list[Breaker]:
    good = {
        "debtorAccount": ACCOUNT,
        "instructedAmount": AMOUNT,
        "creditorAccount": IBAN,
        "creditorName": "Berta",
        "startDate": facts.today(1),
        "endDate": facts.today(100),
        "frequency": "Monthly",
    }
    return [
        overlooks(initiate(product), f"/{name}", good[name], when=when(f"/{name}"))
        for name in names
        for when in (without, having)
    ]


def _listed(name: str, entry: Any) -> list[Breaker]:
    """A list of a bulk payment that may have any entries."""
    return [overlooks(initiate(BULK), f"/{name}/*", entry), overlooks(initiate(BULK), f"/{name}", [entry, entry])]


def _lengths(name: str) -> Breaker:
    """Lists of a bulk payment may have different lengths."""

    async def answer(ask: Ask, request: Request) -> Response:
        response = await ask(request)
        if not initiate(BULK).matches(request) or response.status != 400:
            return response
        body = content(request)
        lists = {key: value for key, value in body.items() if isinstance(value, list)}
        if not lists or name not in lists or not all(lists.values()):
            return response
        longest = sorted(map(len, lists.values()))[len(lists) // 2]
        as_many = (lists[name] * longest)[:longest]
        return await ask(with_content(request, {**body, name: as_many}))

    return Breaker(f"a bulk payment's {name} may have any length", answer)


def _empty_bulk() -> Breaker:
    def filled(request: Request) -> Request:
        body = content(request)
        return with_content(
            request,
            {**body, "creditorIban": [facts.foreign_iban()], "amount": ["1.00"], "amountCurrency": ["EUR"]}
            | {name: ["x"] for name in ("creditorName", "e2eIdentification", "remittanceInformationUnstructured")}
            | {"remittanceInformationStructured": [None]},
        )

    return takes(initiate(BULK), "no entries", filled, when=holding("/amount", []))


def date_of(what: str, value: Any) -> When:
    return When(f"with {what} execution date", lambda request: member(content(request), EXECUTION) == value)


EXECUTION = "/requestedExecutionDate"
WITHOUT_DATE = When("without execution date", lambda r: member(content(r), EXECUTION) is REMOVED)
FUTURE = When("with a future execution date", lambda r: str(member(content(r), EXECUTION)) > facts.today(1))
TODAY = date_of("today as", facts.today())
WITH_REDIRECT = When("with TPP-Redirect-URI", lambda request: bool(header(request, "TPP-Redirect-URI")))
WITHOUT_REDIRECT = When("without TPP-Redirect-URI", lambda request: not header(request, "TPP-Redirect-URI"))
HREF = "/_Left/scaRedirect/href"
FEES = (
    "transactionFees",
    "currencyConversionFee",
    "estimatedTotalAmount",
    "estimatedInterbankSettlementAmount",
    "transactionFeeIndicator",
)
SCA = ("scaMethods", "chosenScaMethod", "challengeData", "psuMessage", "tppMessages")
FORMAT = ["FORMAT_ERROR"]
SAID = {"transactionStatus": "RCVD", "paymentId": OTHER_ID, "_Left": {"self": {"href": f"/v1/{SEPA}/{OTHER_ID}"}}}
LISTS = (
    "creditorIban",
    "creditorName",
    "amount",
    "amountCurrency",
    "e2eIdentification",
    "remittanceInformationUnstructured",
    "remittanceInformationStructured",
)


EMPTY = {
    SEPA: ["/creditorAgent", "/requestedExecutionDate", "/debtorAccount/currency", "/endToEndIdentification"],
    INSTANT: ["/creditorAgent", "/requestedExecutionDate"],
    CROSS_BORDER: ["/creditorAddressCountryCode", "/chargeBearer", "/creditorAgent"],
    BULK: ["/requestedExecutionDate", "/debtorAccount/currency"],
    PERIODIC: ["/endDate", "/dayOfExecution", "/creditorAdress"],
}
"""Some of the members that may be empty."""

CATALOGUE: Mapping[str, Sequence[Breaker]] = {
    # 2.9
    "2.9-debtor-account": [
        broken
        for product in PRODUCTS
        for broken in (
            *_required(product, "debtorAccount"),
            overlooks(initiate(product), "/debtorAccount/iban", ACCOUNT["iban"]),
            overlooks(initiate(product), "/debtorAccount/currency", "EUR"),
        )
    ],
    "2.9-instructed-amount": [
        broken
        for product in WITH_AMOUNT
        for broken in (
            *_required(product, "instructedAmount"),
            overlooks(initiate(product), "/instructedAmount/amount", "1.00"),
            overlooks(initiate(product), "/instructedAmount/currency", "EUR"),
        )
    ],
    "2.9-requested-execution-date": [
        broken
        for product in PRODUCTS
        for broken in (
            overlooks(initiate(product), EXECUTION, facts.today(3)),
            refuses(initiate(product), holding(EXECUTION, "")),
            refuses(initiate(product), holding(EXECUTION, None)),
            refuses(initiate(product), WITHOUT_DATE),
            refuses(initiate(product), FUTURE),
        )
    ],
    "2.9-end-to-end-identification": [
        broken
        for product in PRODUCTS
        for broken in (
            overlooks(initiate(product), "/endToEndIdentification", "x"),
            refuses(initiate(product), holding("/endToEndIdentification", "")),
            refuses(initiate(product), without("/endToEndIdentification")),
        )
    ],
    "2.9-remittance-structured": [
        broken
        for product in PRODUCTS
        if product != BULK
        for broken in (
            overlooks(initiate(product), "/remittanceInformationStructured", {"reference": "x"}),
            overlooks(initiate(product), "/remittanceInformationStructured/reference", "x"),
            refuses(initiate(product), without("/remittanceInformationStructured")),
        )
    ],
    "2.9-sepa": [
        refuses(initiate(SEPA)),
        *_required(SEPA, "creditorAccount", "creditorName"),
        overlooks(initiate(SEPA), "/creditorAgent", "GIBAATWWXXX"),
        overlooks(initiate(SEPA), "/creditorAccount/iban", IBAN["iban"]),
    ],
    "2.9-instant": [
        refuses(initiate(INSTANT)),
        *_required(INSTANT, "creditorAccount", "creditorName"),
        overlooks(initiate(INSTANT), "/creditorAgent", "GIBAATWWXXX"),
        overlooks(initiate(INSTANT), "/creditorAccount/iban", IBAN["iban"]),
    ],
    "2.9-cross-border": [
        refuses(initiate(CROSS_BORDER)),
        *_required(CROSS_BORDER, "creditorName"),
        overlooks(initiate(CROSS_BORDER), "/creditorAddressCountryCode", "US"),
        overlooks(initiate(CROSS_BORDER), "/chargeBearer", "DEBT"),
        *(
            overlooks(initiate(CROSS_BORDER), f"/{name}", "x")
            for name in (
                "creditorAccountBban",
                "creditorAgentOtherId",
                "creditorAgentIdType",
                "creditorAgentName",
                "creditorAddressStreet",
                "creditorAddressBuildingNumber",
                "creditorAddressCity",
                "creditorAddressPostalCode",
                "remittanceInformationUnstructured",
            )
        ),
        *(
            says(record(CROSS_BORDER), f"/creditorAddress/{name}", None)
            for name in ("streetName", "buildingNumber", "townName", "postCode", "country")
        ),
    ],
    "2.9-cross-border-currency": [
        refuses(
            initiate(CROSS_BORDER),
            When("in another currency", lambda r: str(member(content(r), "/instructedAmount/currency")) != "EUR"),
        ),
        says(record(CROSS_BORDER), "/instructedAmount/currency", "EUR"),
    ],
    "2.9-bulk": [
        refuses(initiate(BULK)),
        *_listed("creditorIban", IBAN["iban"]),
        *_listed("amount", "1.00"),
        *_listed("amountCurrency", "EUR"),
        *_listed("creditorName", "Berta"),
        *_listed("e2eIdentification", "x"),
        *_listed("remittanceInformationUnstructured", "x"),
        refuses(initiate(BULK), without("/instructedAmount")),
    ],
    "2.9-bulk-nulls": [
        refuses(initiate(BULK), holding("/remittanceInformationStructured", [None, None])),
        refuses(
            initiate(BULK),
            When(
                "with one of two entries null",
                lambda r: (
                    None in (member(content(r), "/remittanceInformationStructured") or [])
                    and any(member(content(r), "/remittanceInformationStructured"))
                ),
            ),
        ),
        refuses(initiate(BULK), holding(EXECUTION, None)),
    ],
    "2.9-periodic": [
        refuses(initiate(PERIODIC)),
        *_required(PERIODIC, "startDate", "frequency"),
        overlooks(initiate(PERIODIC), "/endDate", facts.today(100)),
        overlooks(initiate(PERIODIC), "/creditorAdress", "AT;Wien;1010;Graben;21"),
        overlooks(initiate(PERIODIC), "/dayOfExecution", None),
        refuses(initiate(PERIODIC), holding("/dayOfExecution", None)),
        refuses(initiate(PERIODIC), holding("/dayOfExecution", "31")),
        says(record(PERIODIC), "/creditorAddress", None),
    ],
    # 2.10
    "2.10-transaction-status": initiations("/transactionStatus", "ACSP"),
    "2.10-payment-id": initiations("/paymentId", "payment-4711"),
    "2.10-fees": [broken for name in FEES for broken in initiations(f"/{name}", {})],
    "2.10-sca": [broken for name in SCA for broken in initiations(f"/{name}", [])],
    "2.10-left": [
        *(
            says(initiate(product), "", Change("with _links", lambda body: {**body, "_links": body["_Left"]}))
            for product in PRODUCTS
        ),
        *(
            says(
                initiate(product),
                "",
                Change(
                    "with _links for _Left",
                    lambda body: {"_links" if name == "_Left" else name: inner for name, inner in body.items()},
                ),
            )
            for product in PRODUCTS
        ),
        *(
            says(operation, "", Change("with _Left", lambda body: {**body, "_Left": body.get("_links")}))
            for operation in (CREATE_CONSENT, CONSENT, LIST, TRANSACTIONS, ANY_RECORD, ANY_STATUS, ANY_CANCELLATION)
        ),
    ],
    "2.10-left-members": [
        broken
        for name in ("scaStatus", "scaRedirect", "self", "status")
        for broken in (
            *all_say(initiate, f"/_Left/{name}", REMOVED),
            says(ANY_INITIATION, f"/_Left/{name}", Change("as text", lambda link: link["href"])),
        )
    ],
    "2.10-sca-status": all_say(
        initiate, "/_Left/scaStatus/href", Change("with an id", lambda href: href.rpartition("/")[0] + f"/{OTHER_ID}")
    ),
    "2.10-sca-redirect": [
        says(initiate(product), HREF, change, when=when)
        for product in PRODUCTS
        for change, when in (
            (Change("without payment_id", lambda href: href.replace("payment_id=", "id=")), ALWAYS),
            (Change("without service", lambda href: href.replace("&service=", "&s=")), ALWAYS),
            (Change("without product", lambda href: href.replace("&product=", "&p=")), ALWAYS),
            (Change("unencoded", unquote), WITH_REDIRECT),
            (Change("without redirectBackUrl", lambda href: href.partition("&redirectBack")[0]), WITH_REDIRECT),
            (Change("with an empty redirectBackUrl", lambda href: f"{href}&redirectBackUrl="), WITHOUT_REDIRECT),
        )
    ],
    "2.10-self": initiations("/_Left/self/href", "/v1/payments"),
    "2.10-status": initiations("/_Left/status/href", "/v1/payments/status"),
    # 2.11
    "2.11-end-to-end": all_say(record, "/endToEndIdentification", REMOVED, "another", None),
    "2.11-accounts": [
        says(record(product), f"/{name}", value)
        for product in PRODUCTS
        for name in ("debtorAccount", "creditorAccount")
        for value in (
            REMOVED,
            None,
            Change("without nulls", lambda reference: {k: v for k, v in reference.items() if v is not None}),
            Change("with an empty maskedPan", lambda reference: {**reference, "maskedPan": ""}),
        )
    ]
    + all_say(record, "/debtorAccount/iban", facts.foreign_iban())
    + all_say(record, "/creditorAccount/iban", facts.covered()),
    "2.11-instructed-amount": [
        *all_say(record, "/instructedAmount", REMOVED, None),
        *all_say(record, "/instructedAmount/currency", REMOVED, IN_SMALL),
        *all_say(record, "/instructedAmount/amount", REMOVED, AS_NUMBER),
    ],
    "2.11-creditor-agent": all_say(record, "/creditorAgent", REMOVED, []),
    "2.11-creditor-name": all_say(record, "/creditorName", REMOVED, None, "Somebody"),
    "2.11-creditor-address": [
        *all_say(record, "/creditorAddress", REMOVED, {}),
        *(
            says(record(product), f"/creditorAddress/{name}", value)
            for product in (CROSS_BORDER, PERIODIC)
            for name in ("streetName", "buildingNumber", "townName", "postCode", "country")
            for value in (REMOVED, "x")
        ),
    ],
    "2.11-remittance-unstructured": all_say(record, "/remittanceInformationUnstructured", REMOVED, [], "another"),
    "2.11-remittance-structured": [
        *all_say(record, "/remittanceInformationStructured", REMOVED),
        *all_say(record, "/remittanceInformationStructured/reference", "another", REMOVED),
        *all_say(record, "/remittanceInformationStructured/referenceType", "SCOR", REMOVED),
        *all_say(record, "/remittanceInformationStructured/referenceIssuer", "x", REMOVED),
    ],
    "2.11-transaction-status": all_say(record, "/transactionStatus", REMOVED, "ACTC"),
    "2.11-agent-other-id": [
        broken
        for name in ("creditorAgentIdType", "creditorAgentOtherId")
        for broken in all_say(record, f"/{name}", REMOVED, 4711)
    ],
    # 2.12
    "2.12-transaction-status": all_say(status, "/transactionStatus", REMOVED, "ACTC"),
    "2.12-nulls": [
        broken for name in ("fundsAvailable", "psuMessage") for broken in all_say(status, f"/{name}", REMOVED, False)
    ],
    # 3.2
    "3.2-initiated": [
        *(refuses(initiate(product)) for product in PRODUCTS),
        *all_say(initiate, "/transactionStatus", "PDNG"),
        *all_say(initiate, "/_Left", {}),
    ],
    "3.2-acsp": [
        reads_as("ACSP", "RCVD"),
        reads_as("ACSP", "ACSC", in_status=False),
        reads_as("ACSP", "ACSC", in_record=False),
    ],
    "3.2-rjct": [
        *(reads_as("RJCT", "RCVD", products=product) for product in WITH_AMOUNT),
        reads_as("RJCT", "RCVD", in_status=False),
        reads_as("RJCT", "RCVD", in_record=False),
    ],
    "3.2-cancelled": [
        *(turns(cancel(product), 204, 200) for product in PRODUCTS),
        *(refuses(cancel(product)) for product in PRODUCTS),
    ],
    "3.2-pending-stays": [
        reads_as("PDNG", "CANC"),
        turns(ANY_CANCELLATION, 202, 200),
        turns(ANY_CANCELLATION, 202, 204),
    ],
    "3.2-future-date": [
        broken
        for product in PRODUCTS
        for broken in (
            refuses(initiate(product), FUTURE, 400, "EXECUTION_DATE_INVALID"),
            says(initiate(product), "/transactionStatus", "ACTC", when=FUTURE),
        )
    ],
    # 4.2
    **{
        f"4.2-{name}": [turns(initiate(product), 200, 201), refuses(initiate(product))]
        for name, product in (
            ("sepa", SEPA),
            ("instant", INSTANT),
            ("cross-border", CROSS_BORDER),
            ("bulk", BULK),
            ("periodic", PERIODIC),
        )
    },
    "4.2-read": of_each(lambda product: [turns(record(product), 200, 206), refuses(record(product))]),
    "4.2-status": of_each(lambda product: [turns(status(product), 200, 206), refuses(status(product))]),
    "4.2-delete-received": [
        *(turns(cancel(product), 204, 200) for product in PRODUCTS),
        *(turns(cancel(product), 204, 202) for product in PRODUCTS),
    ],
    "4.2-delete-pending": [
        turns(ANY_CANCELLATION, 202, 200),
        says(ANY_CANCELLATION, "/transactionStatus", "CANC"),
        says(ANY_CANCELLATION, "/scaMethods", None),
        says(ANY_CANCELLATION, "/_links/startAuthorisation/href", "/v1/payments"),
        *leaves_out(ANY_CANCELLATION, "/transactionStatus", "/scaMethods", "/_links", "/_links/startAuthorisation"),
    ],
    "4.2-path-values": [
        *(
            broken
            for pair, like in (
                ("payments/gold-bars", SEPA),
                ("payments/target-2-payments", SEPA),
                ("bulk-payments/instant-sepa-credit-transfers", BULK),
                ("bulk-payments/cross-border-credit-transfers", BULK),
                ("periodic-payments/instant-sepa-credit-transfers", PERIODIC),
                ("periodic-payments/cross-border-credit-transfers", PERIODIC),
            )
            for broken in [_offered(pair, like)]
        ),
        *(refuses(Operation("*", f"/v1/{product}*"), status=404, code="PRODUCT_UNKNOWN") for product in PRODUCTS),
        *all_say(initiate, "/paymentId", OTHER_ID),
    ],
    "4.2-rule-1": [
        *(refuses(initiate(product), WITHOUT_REDIRECT) for product in PRODUCTS),
        *(
            says(
                initiate(product),
                HREF,
                Change("with a redirectBackUrl", lambda href: f"{href}&redirectBackUrl=https%3A%2F%2Ftpp.example"),
                when=WITHOUT_REDIRECT,
            )
            for product in PRODUCTS
        ),
    ],
    "4.2-rule-2": [
        broken
        for product in PRODUCTS
        for when in (WITHOUT_DATE, holding(EXECUTION, ""), FUTURE)
        for broken in (
            refuses(initiate(product), when, 400, "EXECUTION_DATE_INVALID"),
            says(initiate(product), "/transactionStatus", "ACTC", when=when),
        )
    ],
    "4.2-rule-3": [
        _decided_at_once(),
        *(reads_as("RJCT", "RCVD", products=product) for product in WITH_AMOUNT),
        refuses(
            ANY_INITIATION,
            When("of a large amount", lambda r: str(member(content(r), "/instructedAmount/amount")) == "999999.00"),
        ),
    ],
    # Readings
    "reading-empty": [
        *(by_empty(initiate(product), pointer) for product, pointers in EMPTY.items() for pointer in pointers),
        by_empty(CREATE_CONSENT, "/access/availableAccounts"),
        by_empty(CREATE_CONSENT, "/access/transactions"),
        refuses(CREATE_CONSENT, When("with an empty bban", lambda r: '"bban": ""' in r.body.decode())),
        *(refuses(start(family), holding("/psuData", ""), 409, "STATUS_INVALID") for family in FAMILIES),
        _keeps_empty("creditorAgent"),
        _keeps_empty("remittanceInformationUnstructured"),
        by_empty(FUNDS, "/account/currency"),
    ],
    "reading-account-currency": [
        *(overlooks(initiate(product), "/debtorAccount/currency", "EUR") for product in PRODUCTS),
        *(overlooks(initiate(product), "/creditorAccount/currency", "EUR") for product in WITH_AMOUNT),
        *(overlooks(CREATE_CONSENT, f"/access/{name}/*/currency", "EUR") for name in ("balances", "transactions")),
        overlooks(FUNDS, "/account/currency", "EUR"),
        says(
            ANY_INITIATION,
            "/tppMessages/0/path",
            Change("of the IBAN", lambda path: path and path.replace("currency", "iban")),
            of=bad,
        ),
    ],
    "reading-money": [
        *all_say(
            record,
            "/instructedAmount/amount",
            Change("with two decimals", lambda amount: amount and f"{Decimal(amount):.2f}"),
            products=WITH_AMOUNT,
        ),
        *all_say(
            record,
            "/instructedAmount/amount",
            Change("as short as it can be", lambda amount: amount and format(Decimal(amount).normalize(), "f")),
            products=WITH_AMOUNT,
        ),
    ],
    "reading-funds": [
        funds("never short", lambda body: True),
        funds("short from the last cent on", lambda body: worth(body) < holds(body)),
        funds("taken from interimAvailable", lambda body: worth(body) <= holds(body, "interimAvailable")),
        funds("counted in whole units", lambda body: int(worth(body)) <= int(holds(body))),
    ],
    "reading-funds-read": [
        _unread("a payment without funds is rejected before it is read", rejected=True),
        _unread("a payment without funds is cancelled after it was read", rejected=False),
        _read_by("a list of authorisations", Operation("GET", "/v1/*payments/*/*/authorisations")),
        _read_by("the page", PAYMENT_PAGE),
        _read_by("another method", Operation("POST", "/v1/*payments/*/*")),
        *(reads_as("RJCT", "RCVD", products=product) for product in PRODUCTS),
    ],
    "reading-funds-page": [
        page_says("says nothing of the money", "does not have enough money", "is fine"),
        page_says("leads nowhere", "https://tpp.example/nok", "#"),
        turns(PAYMENT_PAGE, 303, 200),
        refuses(PAYMENT_PAGE, status=409, code="STATUS_INVALID"),
    ],
    "reading-funds-rates": [
        funds("compared without rates", lambda b: worth(b, converted=False) <= holds(b, converted=False)),
        funds("compared without the payment's rate", lambda body: worth(body, converted=False) <= holds(body)),
        funds("compared without the account's rate", lambda body: worth(body) <= holds(body, converted=False)),
    ],
    "reading-funds-bulk": [
        funds("enough for the first entry", lambda body: worth(body, first=True) <= holds(body), products=[BULK]),
        funds("never short for bulk", lambda body: True, products=[BULK]),
    ],
    "reading-payment-stays": [reads_as("RCVD", "ACSP", products=product) for product in PRODUCTS],
    "reading-preconfigured-payments": [
        *(reads_as(was, "RCVD") for was in ("ACSP", "PDNG", "RJCT")),
        refuses(ANY_RECORD, with_status("ACSP"), 404, "RESOURCE_UNKNOWN"),
        refuses(ANY_STATUS, with_status("RJCT"), 404, "RESOURCE_UNKNOWN"),
        says(ANY_RECORD, "/debtorAccount/iban", facts.foreign_iban(), when=with_status("PDNG")),
    ],
    "reading-pending-delete": [_pending_is_cancelled_the(2), _pending_is_cancelled_the(3)],
    "reading-cancelled": [
        _cancels_only_in_words(),
        *(reads_as("CANC", "RJCT", products=product) for product in PRODUCTS),
        reads_as("CANC", "RCVD", in_status=False),
    ],
    "reading-cancellation-invalid": [
        forgives(ANY_CANCELLATION, ["CANCELLATION_INVALID"], 204),
        *(forgives(ANY_CANCELLATION, ["CANCELLATION_INVALID"], 204, when=with_status(was)) for was in ("ACSP", "RJCT")),
        misnames("XS2A915E", to="SERVICE_INVALID"),
        misnames("XS2A915E", status=409),
    ],
    "reading-debtor-unknown": [
        *(forgives(initiate(product), ["RESOURCE_UNKNOWN"], 200, SAID) for product in PRODUCTS),
        misnames("XS2A902E", to="FORMAT_ERROR"),
        misnames("XS2A902E", status=404),
    ],
    "reading-payment-unknown": [
        *_any_id(ANY_RECORD),
        *_any_id(ANY_STATUS),
        forgives(ANY_CANCELLATION, ["RESOURCE_UNKNOWN"], 204),
        *(_under_any_product(operation) for operation in (ANY_RECORD, ANY_STATUS, ANY_CANCELLATION)),
        misnames("XS2A914E", to="FORMAT_ERROR"),
        misnames("XS2A914E", status=403),
    ],
    "reading-execution-date": [
        *(forgives(initiate(product), ["EXECUTION_DATE_INVALID"], 200, SAID) for product in PRODUCTS),
        misnames("XS2A904E", to="FORMAT_ERROR"),
    ],
    "reading-end-date": [
        forgives(initiate(PERIODIC), ["PERIOD_INVALID"], 200, SAID),
        misnames("XS2A903E", to="EXECUTION_DATE_INVALID"),
    ],
    "reading-instant-date": [
        refuses(initiate(INSTANT), FUTURE, 400, "EXECUTION_DATE_INVALID"),
        says(initiate(INSTANT), "/transactionStatus", "RJCT", when=FUTURE),
    ],
    "reading-bulk-lengths": [*(_lengths(name) for name in LISTS), _empty_bulk()],
    "reading-bulk-record": [
        says(record(BULK), "/instructedAmount/amount", Change("of the first entry", lambda amount: amount and "10.50")),
        says(record(BULK), "/instructedAmount", None),
        says(record(BULK), "/creditorAccount/iban", facts.foreign_iban()),
        says(record(BULK), "/creditorAccount", None),
        says(record(BULK), "/creditorName", "Berta Bauer"),
        says(
            record(BULK),
            "/instructedAmount",
            Change("null for two currencies", lambda amount: amount if amount and amount["currency"] else None),
        ),
        says(record(BULK), "/creditorName", None),
    ],
    "reading-periodic-address": [
        says(record(PERIODIC), "/creditorAddress", None),
        says(
            record(PERIODIC),
            "/creditorAddress",
            Change(
                "in another order",
                lambda address: (
                    address and {**address, "streetName": address["townName"], "townName": address["streetName"]}
                ),
            ),
        ),
        *(
            says(record(PERIODIC), f"/creditorAddress/{name}", None)
            for name in ("streetName", "buildingNumber", "townName", "postCode", "country")
        ),
    ],
    "reading-placeholder": [
        forgives(
            Operation("GET", "/v1/*payments/*/*/authorisations/*"),
            ["RESOURCE_UNKNOWN"],
            200,
            {"scaStatus": "received", "psuMessage": None},
        ),
        misnames("XS2A916E", to="FORMAT_ERROR"),
    ],
}
