"""Broken operations of section 4.3: authorisations, baskets, cards, funds; tokens and sessions."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tools.breakers.breaker import (
    REMOVED,
    Breaker,
    Change,
    Operation,
    bad,
    drops_nulls,
    forgives,
    ignores,
    misnames,
    pretends,
    refuses,
    says,
    sends,
    spoils,
    takes,
    turns,
    with_body,
)
from tools.breakers.operations import (
    BASKET,
    BASKET_STATUS,
    CONSENT_STATUS,
    CREATE_BASKET,
    CREATE_CONSENT,
    DELETE_BASKET,
    FAMILIES,
    FURTHER,
    PAGES,
    PRODUCTS,
    TOKEN,
    authorisation,
    authorisations,
    initiate,
    start,
    update,
)
from tools.breakers.payments import ANY_CANCELLATION, reads_as

UNKNOWN = "RESOURCE_UNKNOWN"
DONE = {"scaStatus": "finalised", "_links": {}}
STARTED = {"scaStatus": "received", "authorisationId": "4711", "_links": {}}
SHAPED = [id for id in FURTHER if id not in ("account-list", "delete-basket")]
WITH_NULLS = [
    id for id in SHAPED if not id.endswith("authorisations") and id not in ("funds-confirmation", "basket-status")
]
CREATED = [id for id in FURTHER if id.startswith("start-")] + ["create-basket"]
WRONG_LINK = Change("elsewhere", lambda href: f"/v2{href}")


def emptied(operation: Operation) -> Breaker:
    return spoils(operation, "answers an empty object", lambda _, response: with_body(response, {}))


def offered(id: str) -> list[Breaker]:
    """The operation is there, and says something."""
    operation = FURTHER[id]
    usual = 201 if id in CREATED else 204 if id == "delete-basket" else 200
    broken = [refuses(operation, status=404, code=UNKNOWN), turns(operation, usual, 299)]
    return [*broken, pretends(operation, 204) if usual == 204 else emptied(operation)]


def each(make: Any) -> list[Breaker]:
    return [broken for family in FAMILIES for broken in make(family)]


def consent_reads(was: str, now: str) -> Breaker:
    def changed(status: str) -> str:
        return now if status == was else status

    return says(CONSENT_STATUS, "/consentStatus", Change(f"{now} for {was}", changed))


def in_link(words: str, before: str, after: str) -> list[Breaker]:
    change = Change(words, lambda href: href.replace(before, after))
    return [says(start(family), "/_links/scaRedirect/href", change) for family in FAMILIES]


CATALOGUE: Mapping[str, Sequence[Breaker]] = {
    "2.13-other-resources": [refuses(operation, status=404, code=UNKNOWN) for operation in FURTHER.values()],
    **{f"4.3-{id}": offered(id) for id in FURTHER},
    "reading-sca-shapes": [
        *(drops_nulls(FURTHER[id]) for id in WITH_NULLS),
        *(says(FURTHER[id], "/more", 1) for id in SHAPED),
        *each(lambda family: [says(authorisation(family), "/scaStatus", "done")]),
        *each(lambda family: [says(start(family), "/authorisationId", 4711)]),
        *each(lambda family: [says(update(family), "/_links/scaStatus", REMOVED)]),
    ],
    "reading-sca-habits": [
        *(turns(FURTHER[id], 201, 200) for id in CREATED),
        *(sends(FURTHER[id], "Location", REMOVED) for id in CREATED),
        *each(lambda family: [says(start(family), "/_links/scaStatus/href", WRONG_LINK)]),
        says(CREATE_BASKET, "/_links/self/href", WRONG_LINK),
        says(start("basket"), "/_links", {}, of=bad),
    ],
    "reading-sca-redirect-default": each(
        lambda family: [
            sends(start(family), "ASPSP-SCA-Approach", "EMBEDDED"),
            says(start(family), "/_links/scaRedirect", REMOVED),
        ]
    ),
    "reading-sca-approach": each(
        lambda family: [
            ignores(start(family), "TPP-Redirect-Preferred"),
            ignores(start(family), "TPP-Decoupled-Preferred"),
            forgives(update(family), ["SERVICE_INVALID"], 200, DONE),
        ]
    ),
    "reading-sca-explicit": [
        ignores(CREATE_CONSENT, "TPP-Explicit-Authorisation-Preferred"),
        *(ignores(initiate(product), "TPP-Explicit-Authorisation-Preferred") for product in PRODUCTS[:1]),
    ],
    "reading-sca-placeholder-links": each(lambda family: [says(authorisations(family), "/authorisationIds", [])]),
    "reading-sca-psu-id": each(
        lambda family: [
            ignores(start(family), "PSU-ID"),
            ignores(update(family), "PSU-ID"),
            forgives(start(family), ["PSU_CREDENTIALS_INVALID"], 201, STARTED),
        ]
    ),
    "reading-sca-password": each(
        lambda family: [
            forgives(update(family), ["PSU_CREDENTIALS_INVALID"], 200, DONE),
            says(start(family), "/scaStatus", "received"),
        ]
    ),
    "reading-sca-method-unknown": [
        *each(lambda family: [forgives(update(family), ["SCA_METHOD_UNKNOWN"], 200, DONE)]),
        misnames("XS2A922E", status=404),
    ],
    "reading-sca-otp": each(
        lambda family: [
            forgives(update(family), ["PSU_CREDENTIALS_INVALID"], 200, DONE),
            says(authorisation(family), "/scaStatus", "received"),
        ]
    ),
    "reading-sca-final": [
        *each(lambda family: [forgives(update(family), ["STATUS_INVALID"], 200, DONE)]),
        forgives(start("payment"), ["STATUS_INVALID"], 201, STARTED),
        misnames("XS2A921E", status=400),
    ],
    "reading-sca-one-open": each(lambda family: [forgives(start(family), ["STATUS_INVALID"], 201, STARTED)]),
    "reading-sca-unknown": [
        *each(lambda family: [forgives(authorisation(family), [UNKNOWN], 200, {"scaStatus": "received"})]),
        forgives(BASKET, [UNKNOWN], 200, {}),
        misnames("XS2A916E", status=403),
        misnames("XS2A925E", status=404),
    ],
    "reading-sca-decoupled": each(
        lambda family: [
            ignores(start(family), "TPP-Decoupled-Preferred"),
            says(start(family), "/scaStatus", "finalised"),
        ]
    ),
    "reading-sca-link": [
        *in_link("without its ids", "_id=", "_number="),
        *in_link("without redirectBackUrl", "redirectBackUrl", "back"),
        *each(lambda family: [says(update(family), "/_links/scaRedirect/href", WRONG_LINK)]),
    ],
    "reading-sca-decide": [
        turns(PAGES, 303, 200),
        takes(
            PAGES,
            "any decision as approve",
            lambda r: replace(r, target=r.target.replace("decide=decline", "decide=approve")),
        ),
        takes(
            PAGES,
            "an unknown decision",
            lambda r: replace(r, target=r.target.replace("decide=perhaps", "decide=approve")),
        ),
    ],
    "reading-sca-registered": [
        spoils(
            PAGES,
            "sends the browser anywhere",
            lambda _, r: replace(
                r, headers=tuple((n, "https://evil.example" if n == "Location" else v) for n, v in r.headers)
            ),
            of=lambda status: status == 303,
        ),
        turns(PAGES, 200, 500),
    ],
    "reading-consent-sca": [
        consent_reads("valid", "received"),
        consent_reads("rejected", "received"),
        consent_reads("expired", "valid"),
    ],
    "reading-payment-sca": [reads_as("ACSP", "RCVD"), reads_as("ACTC", "ACSP"), reads_as("RJCT", "RCVD")],
    "reading-cancellation-sca": [
        reads_as("CANC", "ACTC"),
        reads_as("ACTC", "CANC"),
        turns(ANY_CANCELLATION, 202, 204),
    ],
    "reading-basket-members": [reads_as("ACSP", "RCVD"), consent_reads("valid", "received")],
    "reading-basket-blocked": [
        forgives(start("payment"), ["RESOURCE_BLOCKED"], 201, STARTED),
        forgives(start("consent"), ["RESOURCE_BLOCKED"], 201, STARTED),
        forgives(update("payment"), ["RESOURCE_BLOCKED"], 200, DONE),
        refuses(start("payment"), status=400, code="RESOURCE_BLOCKED"),
        consent_reads("received", "rejected"),
        reads_as("RCVD", "RJCT"),
    ],
    "reading-basket-deleted": [
        pretends(DELETE_BASKET, 204),
        forgives(DELETE_BASKET, ["STATUS_INVALID"], 204),
        says(BASKET_STATUS, "/transactionStatus", "RCVD"),
    ],
    "reading-basket-errors": [
        forgives(CREATE_BASKET, [code], 201, {"basketId": "4711"})
        for code in ("FORMAT_ERROR", UNKNOWN, "REFERENCE_STATUS_INVALID")
    ],
    "reading-tokens": [
        refuses(TOKEN),
        says(TOKEN, "/token_type", "bearer"),
        says(TOKEN, "/expires_in", 600),
        turns(TOKEN, 401, 400),
        turns(TOKEN, 400, 401),
        says(TOKEN, "/error", "invalid_grant", of=bad),
    ],
}
