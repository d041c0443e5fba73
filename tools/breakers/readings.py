"""Broken readings of ours about every request, errors and the sandbox itself."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tools.breakers.breaker import (
    REMOVED,
    Ask,
    Breaker,
    Change,
    Operation,
    When,
    content,
    forgives,
    header,
    limits,
    misnames,
    refuses,
    says,
    sends,
    takes,
    turns,
    with_answer_header,
    with_body,
    with_header,
)
from tools.breakers.consents import opened
from tools.breakers.operations import (
    ACCOUNTS,
    BASKET_STATUS,
    CONSENT,
    CONSENT_STATUS,
    CREATE_CONSENT,
    FAMILIES,
    FURTHER,
    LIST,
    PAGES,
    PRODUCTS,
    SEPA,
    authorisation,
    cancel,
    initiate,
    record,
    start,
    update,
)
from tools.breakers.payments import reads_as
from tools.breakers.requests import (
    MALFORMED_ID,
    NO_ID,
    any_request_id,
    any_type,
    every,
    header_forbidden,
    header_required,
    in_message,
    without_v1,
)
from xs2a_sandbox.http.messages import Request, Response

POSTS = (CREATE_CONSENT, *map(initiate, PRODUCTS))
OK = {"consentStatus": "received", "consentId": "4711"}
PREFIXED = When("below a prefix", lambda request: not re.match("(/s/[^/]+)?/v1/", request.target))
SLASHED = When("with a slash at the end", lambda request: request.target.partition("?")[0].endswith("/"))


def _answered_with(codes: Sequence[str], status: int, words: str) -> Breaker:
    """Errors with these codes have another status."""

    async def answer(ask: Ask, request: Request) -> Response:
        response = await ask(request)
        messages = content(response).get("tppMessages") if response.status >= 400 and response.body else None
        if messages and messages[0]["code"] in codes:
            return replace(response, status=status)
        return response

    return Breaker(words, answer)


def errors(status: int) -> bool:
    return status >= 400


def any_form(operation: Operation, name: str) -> Breaker:
    """Does not look at the form of a header that is sent."""

    async def answer(ask: Ask, request: Request) -> Response:
        response = await ask(request)
        if operation.matches(request) and response.status == 400 and header(request, name):
            good = "192.0.2.7" if name == "PSU-IP-Address" else "https://tpp.example/"
            return await ask(with_header(request, name, good))
        return response

    return Breaker(f"{operation} takes any {name}", answer)


CATALOGUE: Mapping[str, Sequence[Breaker]] = {
    "reading-path-prefix": [
        without_v1(),
        *(
            refuses(operation, PREFIXED, 404, "RESOURCE_UNKNOWN")
            for operation in (CREATE_CONSENT, LIST, initiate(SEPA))
        ),
    ],
    "reading-trailing-slash": [
        refuses(operation, SLASHED, 404, "RESOURCE_UNKNOWN")
        for operation in (*ACCOUNTS, CONSENT_STATUS, initiate(SEPA))
    ],
    "reading-request-id": [
        *(
            any_request_id(o, when)
            for o in (CONSENT, initiate(SEPA), *FURTHER.values())
            for when in (NO_ID, MALFORMED_ID)
        ),
        refuses(
            CONSENT_STATUS,
            When("with upper case", lambda r: header(r, "X-Request-ID").upper() == header(r, "X-Request-ID")),
        ),
    ],
    "reading-request-id-echo": [
        every(
            "good answers echo no request id",
            lambda _, r: with_answer_header(r, "X-Request-ID", REMOVED),
            lambda s: s < 300,
        ),
        every(
            "errors echo no request id", lambda _, r: with_answer_header(r, "X-Request-ID", REMOVED), lambda s: s >= 400
        ),
    ],
    "reading-psu-ip-address": [
        *(
            takes(initiate(product), "no PSU-IP-Address", lambda r: with_header(r, "PSU-IP-Address", "192.0.2.7"))
            for product in PRODUCTS
        ),
        *(header_required(operation, "PSU-IP-Address") for operation in (CREATE_CONSENT, LIST, CONSENT)),
        *(any_form(operation, "PSU-IP-Address") for operation in (*POSTS, CONSENT, *FURTHER.values())),
    ],
    "reading-authorization": [
        header_required(operation, "Authorization")
        for operation in (CREATE_CONSENT, LIST, initiate(SEPA), record(SEPA))
    ],
    "reading-redirect-uri": [
        any_form(operation, name)
        for name in ("TPP-Redirect-URI", "TPP-Nok-Redirect-URI")
        for operation in (*POSTS, *FURTHER.values())
    ],
    "reading-consent-id-missing": [
        takes(
            operation,
            "no Consent-ID",
            opened,
            when=When("without Consent-ID", lambda request: not header(request, "Consent-ID")),
        )
        for operation in ACCOUNTS
    ],
    "reading-consent-id-malformed": [
        takes(
            operation,
            "it as a valid one",
            opened,
            when=When("with a malformed Consent-ID", lambda request: header(request, "Consent-ID") == "no-uuid"),
        )
        for operation in ACCOUNTS
    ],
    "reading-content-type": [
        *(any_type(operation) for operation in POSTS),
        refuses(CREATE_CONSENT, When("without Content-Type", lambda r: not header(r, "Content-Type")), 415),
        takes(CREATE_CONSENT, "a coded body", lambda r: with_header(r, "Content-Encoding", REMOVED)),
    ],
    "reading-body-size": [
        forgives(operation, ["FORMAT_ERROR"], 200, OK) for operation in (CREATE_CONSENT, initiate(SEPA))
    ],
    "reading-body-depth": [forgives(CREATE_CONSENT, ["FORMAT_ERROR"], 200, OK)],
    "reading-body-numbers": [forgives(CREATE_CONSENT, ["FORMAT_ERROR"], 200, OK)],
    "reading-xs2a016e-text": [
        misnames("XS2A016E", "text", Change("other words", lambda text: text.replace("not found", "missing"))),
    ],
    "reading-unknown-path": [_answered_with(["RESOURCE_UNKNOWN"], 400, "unknown paths are 400")],
    "reading-product-unknown": [
        _answered_with(["PRODUCT_UNKNOWN"], 400, "unknown products are 400"),
        misnames("XS2A911E", to="RESOURCE_UNKNOWN"),
    ],
    "reading-method": [
        _answered_with(["SERVICE_INVALID"], 404, "methods that are not offered are 404"),
        misnames("XS2A912E", to="FORMAT_ERROR"),
    ],
    "reading-unlisted-members": [
        *(
            refuses(operation, When("with another member", lambda request: b'"extra"' in request.body))
            for operation in POSTS
        ),
        *(
            refuses(start(family), When("with another member", lambda request: b'"somethingElse"' in request.body))
            for family in FAMILIES
        ),
    ],
    "reading-consent-frequency-free": [limits(LIST, 4), limits(LIST, 28)],
    "reading-session-names": [
        takes(
            CONSENT_STATUS,
            "any name of a session",
            lambda request: with_header(replace(request, user=None), "X-Sandbox-Session", "a"),
            when=When("", lambda request: not request.target.startswith("/s/")),
        ),
        refuses(CONSENT_STATUS, When("in a long session", lambda r: len(header(r, "X-Sandbox-Session")) == 64)),
    ],
    "reading-debug-headers": [
        sends(Operation("*", "*"), "X-Sandbox-Source", REMOVED, of=lambda _: True),
        sends(Operation("*", "*"), "X-Sandbox-Rule", REMOVED),
        sends(Operation("*", "*"), "X-Sandbox-Source", "rule", of=lambda status: status >= 400),
    ],
    "reading-public-url": [
        says(
            CREATE_CONSENT,
            "/_links/scaRedirect/href",
            Change(
                "at the host asked for", lambda href: "http://evil.example/" + href.partition("//")[2].partition("/")[2]
            ),
        )
    ],
    "5-psu-ip-address": [
        *(any_form(initiate(product), "PSU-IP-Address") for product in PRODUCTS),
        *(
            takes(
                initiate(product),
                "no PSU-IP-Address",
                lambda r: with_header(r, "PSU-IP-Address", "192.0.2.7"),
                when=When("without it", lambda request: not header(request, "PSU-IP-Address")),
            )
            for product in PRODUCTS
        ),
        *(header_forbidden(operation, "PSU-IP-Address") for operation in (CREATE_CONSENT, *POSTS[1:])),
        *(header_forbidden(cancel(product), "PSU-IP-Address") for product in PRODUCTS),
        header_required(CREATE_CONSENT, "PSU-IP-Address"),
        *(any_form(operation, "PSU-IP-Address") for operation in (CREATE_CONSENT, cancel(SEPA))),
    ],
    "reading-body": [
        *(forgives(operation, ["FORMAT_ERROR"], 200, OK) for operation in POSTS),
        *(forgives(update(family), ["FORMAT_ERROR"], 200, OK) for family in FAMILIES),
    ],
    "reading-body-path": [
        *(says(operation, "/tppMessages/0/path", "/", of=lambda status: status == 400) for operation in POSTS),
        *(says(update(family), "/tppMessages/0/path", "/", of=lambda status: status == 400) for family in FAMILIES),
    ],
    "reading-error-shape": [
        in_message("category", "WARNING"),
        in_message("path", REMOVED),
        every(
            "errors have no _links", lambda _, r: with_body(r, {"tppMessages": content(r).get("tppMessages")}), errors
        ),
    ],
    "reading-error-text": [
        in_message("text", Change("without its marker", lambda text: text.removeprefix("{sensitive} "))),
        in_message("text", Change("with another number", lambda text: text.replace("XS2A9", "XS2A8"))),
    ],
    "reading-session-links": [
        *(
            says(
                operation,
                f"{links}/scaRedirect/href",
                Change("without the session", lambda h: re.sub("/s/[^/]+", "", h)),
            )
            for operation, links in (
                (CREATE_CONSENT, "/_links"),
                *((initiate(product), "/_Left") for product in PRODUCTS),
            )
        ),
        says(CREATE_CONSENT, "/_links/self/href", Change("below a session", lambda href: f"/s/x{href}")),
    ],
    "reading-sca-redirect-once": [
        turns(PAGES, 409, 303),
        *(forgives(update(family), ["STATUS_INVALID"], 200, OK) for family in FAMILIES),
    ],
    "reading-sca-signatories": [
        says(
            CONSENT_STATUS,
            "/consentStatus",
            Change("valid too early", lambda s: s.replace("partiallyAuthorised", "valid")),
        ),
        reads_as("PATC", "ACSP"),
        says(BASKET_STATUS, "/transactionStatus", Change("ACTC too early", lambda s: s.replace("PATC", "ACTC"))),
        reads_as("RJCT", "PATC"),
    ],
    "reading-sca-confirmation": [
        *(says(authorisation(family), "/scaStatus", "finalised") for family in FAMILIES),
        *(says(update(family), "/scaStatus", "finalised") for family in FAMILIES),
        forgives(update("payment"), ["STATUS_INVALID"], 200, OK),
    ],
}
