"""Broken consents: sections 2.1 to 2.5, 3.1 and 4.1, and our readings of them."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from tests.contract import facts

from tools.breakers.breaker import (
    REMOVED,
    Ask,
    Breaker,
    Change,
    When,
    altered,
    bad,
    content,
    error,
    forgives,
    header,
    leaves_out,
    member,
    misnames,
    overlooks,
    path,
    pretends,
    refuses,
    says,
    session,
    takes,
    turns,
    with_body,
    with_content,
    with_header,
)
from tools.breakers.operations import (
    ACCOUNTS,
    BALANCES,
    CONSENT,
    CONSENT_STATUS,
    CREATE_CONSENT,
    DELETE_CONSENT,
    LIST,
    TRANSACTIONS,
)
from xs2a_sandbox.http.messages import Request, Response

IBAN = facts.untied()[0]
REFERENCES = [{"iban": IBAN}]
PRECONFIGURED = facts.testdata()["consents"]


# Which consents


def accounts_named(request: Request) -> set[str]:
    """Those that a new consent is to cover."""
    access = content(request).get("access") or {}
    lists = [access.get(name) or [] for name in ("balances", "transactions")] if isinstance(access, dict) else []
    return {entry["iban"] for entries in lists for entry in entries if isinstance(entry, dict) and "iban" in entry}


def is_for_one_tied(request: Request) -> bool:
    return len(accounts_named(request)) == 1 and accounts_named(request) <= set(facts.tied())


FOR_ACCOUNTS = When("for accounts", lambda request: bool(accounts_named(request)))
FOR_ALL = When("for all accounts", lambda request: not accounts_named(request))
FOR_ONE_TIED = When("for one tied account", is_for_one_tied)
FOR_OTHERS = When("for others", lambda request: bool(accounts_named(request)) and not is_for_one_tied(request))
FOR_SEVERAL = When("for several accounts", lambda request: len(accounts_named(request)) > 1)


def for_one(name: str) -> When:
    """Named in one of the two lists alone."""
    other = {"balances": "transactions", "transactions": "balances"}[name]
    return When(
        f"for one tied account named in {name} alone",
        lambda request: is_for_one_tied(request) and not content(request)["access"].get(other),
    )


def id_in(request: Request) -> str:
    return unquote(path(request).split("/")[3])


IS_PRECONFIGURED = When("of a preconfigured one", lambda request: id_in(request) in PRECONFIGURED)
IS_NEW = When("of a new one", lambda request: id_in(request) not in PRECONFIGURED)


def with_role(role: str) -> When:
    return When(f"of the {role} one", lambda request: PRECONFIGURED.get(id_in(request), {}).get("role") == role)


def without(pointer: str) -> When:
    return When(f"without {pointer}", lambda request: member(content(request), pointer) is REMOVED)


def having(pointer: str) -> When:
    return When(f"with {pointer}", lambda request: member(content(request), pointer) is not REMOVED)


def holding(pointer: str, value: Any) -> When:
    return When(f"with {pointer} {value!r}", lambda request: member(content(request), pointer) == value)


UNTIL_TOMORROW = When(
    "with /validUntil of tomorrow", lambda request: member(content(request), "/validUntil") == facts.today(1)
)


def reference_with(name: str) -> When:
    """In either list."""

    def holds(request: Request) -> bool:
        access = content(request).get("access") or {}
        entries = [entry for list in ("balances", "transactions") for entry in access.get(list) or []]
        return any(isinstance(entry, dict) and isinstance(entry.get(name), str) for entry in entries)

    return When(f"for a reference with {name}", holds)


def with_consent(role: str) -> When:
    return When(f"with the {role} consent", lambda request: header(request, "Consent-ID") == facts.consent(role))


def opened(request: Request) -> Request:
    """With a valid consent for the account of the path."""
    parts = path(request).split("/")
    consent = facts.tied().get(parts[3] if len(parts) > 3 else "", facts.consent())
    return with_header(request, "Consent-ID", consent)


# Products of their own


def by_status(name: str, then: Any) -> Breaker:
    """Reads of a consent's status go through `then`, which gets what was said before in this session."""
    before: dict[str, str] = {}

    async def answer(ask: Ask, request: Request) -> Response:
        response = await ask(request)
        if CONSENT_STATUS.matches(request) and response.status == 200:
            key = session(request) + id_in(request)
            status = content(response)["consentStatus"]
            changed = then(before.get(key), status)
            before.setdefault(key, status)
            return with_body(response, {"consentStatus": changed})
        return response

    return Breaker(name, answer)


def _history_moves() -> Breaker:
    seen: set[str] = set()

    async def answer(ask: Ask, request: Request) -> Response:
        response = await ask(request)
        if not TRANSACTIONS.matches(request) or response.status != 200:
            return response
        if session(request) in seen:
            return with_body(response, altered(content(response), "/transactions/booked/0/bookingDate", facts.today(4)))
        seen.add(session(request))
        return response

    return Breaker("booked entries move with the clock", answer)


def _shows_in_both() -> Breaker:
    """What was asked for in one list is shown in the other too."""

    def shown_twice(access: Any) -> Any:
        return {**access, "balances": access["accounts"], "transactions": access["accounts"]}

    return says(CONSENT, "/access", Change("as asked for in both lists", shown_twice), when=IS_NEW)


def _made_again_stays_deleted() -> Breaker:
    """The consent that is created again answers its id, and is unknown."""
    deleted: set[str] = set()

    async def answer(ask: Ask, request: Request) -> Response:
        response = await ask(request)
        if DELETE_CONSENT.matches(request) and response.status == 204:
            deleted.add(session(request) + id_in(request))
        elif CONSENT_STATUS.matches(request) and session(request) + id_in(request) in deleted:
            return error(request, 403, "CONSENT_UNKNOWN")
        return response

    return Breaker("a deleted preconfigured consent never comes back", answer)


def _made_again_is_new() -> Breaker:
    deleted: set[str] = set()

    async def answer(ask: Ask, request: Request) -> Response:
        response = await ask(request)
        if DELETE_CONSENT.matches(request) and response.status == 204:
            deleted.add(session(request))
        elif CREATE_CONSENT.matches(request) and session(request) in deleted and response.status == 200:
            return with_body(response, altered(content(response), "/consentId", str(uuid.uuid4())))
        return response

    return Breaker("a deleted preconfigured consent is created anew under another id", answer)


def _changes_the_preconfigured() -> Breaker:
    """A request for one tied account changes its consent's frequency."""
    frequencies: dict[str, Any] = {}

    async def answer(ask: Ask, request: Request) -> Response:
        response = await ask(request)
        if CREATE_CONSENT.matches(request) and response.status == 200:
            frequencies[session(request) + content(response)["consentId"]] = content(request).get("frequencyPerDay")
        if CONSENT.matches(request) and session(request) + id_in(request) in frequencies and IS_PRECONFIGURED(request):
            return with_body(
                response, altered(content(response), "/frequencyPerDay", frequencies[session(request) + id_in(request)])
            )
        return response

    return Breaker("a request for a tied account changes its consent", answer)


def _sca_changes_the_preconfigured() -> Breaker:
    signed: set[str] = set()

    async def answer(ask: Ask, request: Request) -> Response:
        response = await ask(request)
        if "/v1/consents/" in request.target and b'"finalised"' in response.body:
            signed.add(session(request) + id_in(request))
        if CONSENT.matches(request) and session(request) + id_in(request) in signed and IS_PRECONFIGURED(request):
            return with_body(response, altered(content(response), "/lastActionDate", facts.today()))
        return response

    return Breaker("the authentication of a preconfigured consent changes it", answer)


def _covers_too_little() -> Breaker:
    """A consent for all accounts does not cover the last of them."""
    return says(LIST, "/accounts/-1", REMOVED, when=When("of a new consent", _has_new_consent))


def _has_new_consent(request: Request) -> bool:
    return header(request, "Consent-ID") not in PRECONFIGURED


def _content(pointer: str, to: Any) -> list[Breaker]:
    """Left out, and something else; of new consents and of preconfigured ones."""
    return [says(CONSENT, pointer, value, when=when) for when in (IS_NEW, IS_PRECONFIGURED) for value in (REMOVED, to)]


def _creation(pointer: str, to: Any) -> list[Breaker]:
    return [says(CREATE_CONSENT, pointer, value, when=when) for when in WAYS for value in (REMOVED, to)]


WAYS = (FOR_ONE_TIED, FOR_OTHERS, FOR_ALL)


def _required(pointer: str, value: Any) -> list[Breaker]:
    """Does not ask for the member, or does not look at what it is."""
    return [overlooks(CREATE_CONSENT, pointer, value, when=when) for when in (without(pointer), having(pointer))]


def _asks_for_no_account(request: Request) -> Request:
    body = content(request)
    if not accounts_named(request) and isinstance(body.get("access"), dict):
        return with_content(request, altered(body, "/access/availableAccounts", "allAccounts"))
    return request


UNKNOWN_IN_PATH = "CONSENT_UNKNOWN"
HREF = "/_links/scaRedirect/href"


CATALOGUE: Mapping[str, Sequence[Breaker]] = {
    # 2.1
    "2.1-valid-count": [
        *(
            refuses(
                CONSENT_STATUS,
                When(f"of the valid consent number {i + 1}", lambda request, id=id: id_in(request) == id),
                403,
                "CONSENT_UNKNOWN",
            )
            for i, (id, _) in enumerate(facts.consents("valid"))
        ),
        says(
            CONSENT,
            "/access/accounts",
            Change("with another account", lambda references: [*references, {**references[0], "iban": IBAN}]),
            when=with_role("valid"),
        ),
        says(CONSENT, "/access/accounts/0/iban", facts.covered(), when=with_role("valid")),
    ],
    "2.1-valid": [
        refuses(operation, with_consent("valid"), 401, "CONSENT_INVALID")
        for operation in (LIST, BALANCES, TRANSACTIONS)
    ],
    "2.1-valid-status": [says(CONSENT_STATUS, "/consentStatus", "received", when=with_role("valid"))],
    "2.1-expired-count": [
        says(CONSENT_STATUS, "/consentStatus", "valid", when=with_role("expired")),
        forgives(CONSENT_STATUS, [UNKNOWN_IN_PATH], 200, {"consentStatus": "expired"}),
    ],
    "2.1-expired": [
        *(takes(operation, "it as a valid one", opened, when=with_consent("expired")) for operation in ACCOUNTS),
        misnames("XS2A005E", status=403),
        misnames("XS2A004E", status=403),
        misnames("XS2A005E", to="CONSENT_INVALID"),
        misnames("XS2A004E", to="CONSENT_INVALID"),
    ],
    "2.1-expired-status": [
        says(CONSENT_STATUS, "/consentStatus", "valid", when=with_role("expired")),
        turns(CONSENT_STATUS, 200, 401, when=with_role("expired")),
    ],
    "2.1-unknown-count": [forgives(CONSENT_STATUS, [UNKNOWN_IN_PATH], 200, {"consentStatus": "valid"})],
    "2.1-unknown": [
        *(takes(operation, "it as a valid one", opened, when=with_consent("unknown")) for operation in ACCOUNTS),
        misnames("XS2A017E", status=401),
        misnames("XS2A017E", to="CONSENT_INVALID"),
    ],
    "2.1-unknown-status": [forgives(CONSENT_STATUS, [UNKNOWN_IN_PATH], 200, {"consentStatus": "received"})],
    "2.1-created": [
        says(CREATE_CONSENT, "/consentId", str(uuid.UUID(int=1)), when=FOR_ONE_TIED),
        *(
            says(
                CREATE_CONSENT,
                "/consentId",
                str(uuid.UUID(int=2)),
                when=When(f"for the tied account number {i + 1}", lambda r, iban=iban: accounts_named(r) == {iban}),
            )
            for i, iban in enumerate(facts.tied())
        ),
        says(CREATE_CONSENT, "/consentId", str(uuid.UUID(int=3)), when=for_one("balances")),
        says(CREATE_CONSENT, "/consentId", str(uuid.UUID(int=3)), when=for_one("transactions")),
        says(CREATE_CONSENT, "/consentId", facts.consent(), when=FOR_ONE_TIED),
    ],
    # 2.2
    "2.2-access": _required("/access", {"balances": REFERENCES}),
    "2.2-access-balances": [
        overlooks(CREATE_CONSENT, "/access/balances", REFERENCES),
        overlooks(CREATE_CONSENT, "/access/balances/*", REFERENCES[0]),
        refuses(CREATE_CONSENT, without("/access/balances")),
    ],
    "2.2-access-transactions": [
        overlooks(CREATE_CONSENT, "/access/transactions", REFERENCES),
        overlooks(CREATE_CONSENT, "/access/transactions/*", REFERENCES[0]),
        refuses(CREATE_CONSENT, without("/access/transactions")),
        refuses(CREATE_CONSENT, holding("/access/transactions", [])),
    ],
    "2.2-access-available-accounts": [
        refuses(CREATE_CONSENT, holding("/access/availableAccounts", "allAccounts")),
        overlooks(CREATE_CONSENT, "/access/availableAccounts", "allAccounts"),
    ],
    "2.2-recurring-indicator": _required("/recurringIndicator", True),
    "2.2-valid-until": [
        *_required("/validUntil", facts.today(90)),
        refuses(CREATE_CONSENT, UNTIL_TOMORROW),
    ],
    "2.2-frequency-per-day": _required("/frequencyPerDay", 4),
    "2.2-account-reference": [
        overlooks(CREATE_CONSENT, "/access/balances/*/iban", IBAN),
        overlooks(CREATE_CONSENT, "/access/balances/*/currency", "EUR"),
        overlooks(CREATE_CONSENT, "/access/balances/*/maskedPan", "1"),
        *(refuses(CREATE_CONSENT, reference_with(name)) for name in ("bban", "pan", "maskedPan", "msisdn", "currency")),
    ],
    # 2.3
    "2.3-consent-status": [
        says(CREATE_CONSENT, "/consentStatus", "valid", when=FOR_ONE_TIED),
        says(CREATE_CONSENT, "/consentStatus", "valid", when=FOR_OTHERS),
        says(CREATE_CONSENT, "/consentStatus", "received", when=FOR_ALL),
        *leaves_out(CREATE_CONSENT, "/consentStatus"),
    ],
    "2.3-consent-id": [
        says(CREATE_CONSENT, "/consentId", "consent-4711", when=FOR_OTHERS),
        says(CREATE_CONSENT, "/consentId", str(uuid.UUID(int=4711)), when=FOR_OTHERS),
        *leaves_out(CREATE_CONSENT, "/consentId"),
    ],
    "2.3-sca-methods": _creation("/scaMethods", []),
    "2.3-chosen-sca-method": _creation("/chosenScaMethod", {}),
    "2.3-challenge-data": _creation("/challengeData", {}),
    "2.3-psu-message": _creation("/psuMessage", "hello"),
    "2.3-sca-redirect": [
        says(CREATE_CONSENT, HREF, Change("without consent_id", lambda href: href.replace("consent_id=", "id="))),
        says(CREATE_CONSENT, HREF, Change("without redirectBackUrl", lambda href: href.partition("&redirectB")[0])),
        says(CREATE_CONSENT, HREF, Change("unencoded", unquote)),
        says(CREATE_CONSENT, HREF, Change("elsewhere", lambda href: f"https://bank.example/?{href.partition('?')[2]}")),
        *leaves_out(CREATE_CONSENT, "/_links/scaRedirect"),
    ],
    "2.3-self": _creation("/_links/self/href", "/v1/consents"),
    "2.3-status": _creation("/_links/status/href", "/v1/consents"),
    # 2.4
    "2.4-consent-status": [
        *leaves_out(CONSENT_STATUS, "/consentStatus"),
        says(CONSENT_STATUS, "/consentStatus", "partiallyAuthorised"),
        says(CONSENT_STATUS, "/psuMessage", None),
    ],
    # 2.5
    "2.5-access-accounts": [
        *_content("/access/accounts", []),
        says(CONSENT, "/access/accounts/0/iban", facts.foreign_iban()),
        says(CONSENT, "/access/accounts/-1", REMOVED, when=IS_NEW),
        *leaves_out(CONSENT, "/access/accounts/*/msisdn", when=IS_PRECONFIGURED),
    ],
    "2.5-access-balances": _content("/access/balances", None),
    "2.5-access-transactions": _content("/access/transactions", None),
    "2.5-access-additional-information": _content("/access/additionalInformation", {}),
    "2.5-access-available-accounts": _content("/access/availableAccounts", "allAccounts"),
    "2.5-access-available-accounts-with-balance": _content("/access/availableAccountsWithBalance", "allAccounts"),
    "2.5-access-all-psd2": _content("/access/allPsd2", "allAccounts"),
    "2.5-access-restricted-to": _content("/access/restrictedTo", []),
    "2.5-recurring-indicator": [
        *_content("/recurringIndicator", "true"),
        says(CONSENT, "/recurringIndicator", Change("inverted", lambda indicator: not indicator)),
        says(CONSENT, "/recurringIndicator", Change("as a number", int)),
    ],
    "2.5-valid-until": [
        *_content("/validUntil", "2099-12-31T00:00:00Z"),
        says(CONSENT, "/validUntil", Change("a day early", lambda _: facts.today(89)), when=IS_NEW),
    ],
    "2.5-frequency-per-day": [
        *_content("/frequencyPerDay", "4"),
        says(CONSENT, "/frequencyPerDay", Change("one more", lambda frequency: frequency + 1)),
    ],
    "2.5-last-action-date": [*_content("/lastActionDate", None), says(CONSENT, "/lastActionDate", "today")],
    "2.5-consent-status": [
        *leaves_out(CONSENT, "/consentStatus"),
        says(CONSENT, "/consentStatus", "valid", when=IS_NEW),
        says(CONSENT, "/consentStatus", "received", when=IS_PRECONFIGURED),
    ],
    "2.5-links": _content("/_links", {}),
    # 3.1
    "3.1-received": [
        says(CREATE_CONSENT, "/consentStatus", "valid", when=FOR_ACCOUNTS),
        says(CONSENT_STATUS, "/consentStatus", "valid", when=IS_NEW),
        *leaves_out(CREATE_CONSENT, "/_links/scaRedirect", when=FOR_ONE_TIED),
        *leaves_out(CREATE_CONSENT, "/_links/scaRedirect", when=FOR_OTHERS),
    ],
    "3.1-valid": [
        says(CREATE_CONSENT, "/consentStatus", "received", when=FOR_ALL),
        says(CONSENT_STATUS, "/consentStatus", "received", when=IS_NEW),
        *leaves_out(CREATE_CONSENT, "/_links/scaRedirect", when=FOR_ALL),
    ],
    "3.1-deleted": [
        turns(DELETE_CONSENT, 204, 200),
        pretends(DELETE_CONSENT, 204),
        pretends(DELETE_CONSENT, 204, when=with_role("valid")),
        refuses(DELETE_CONSENT, with_role("expired"), 401, "CONSENT_EXPIRED"),
        refuses(DELETE_CONSENT, IS_NEW),
    ],
    "3.1-preconfigured": [
        says(CONSENT_STATUS, "/consentStatus", "received", when=with_role("valid")),
        says(CONSENT_STATUS, "/consentStatus", "valid", when=with_role("expired")),
    ],
    # 4.1
    "4.1-create-consent": [turns(CREATE_CONSENT, 200, 201), *(refuses(CREATE_CONSENT, when) for when in WAYS)],
    "4.1-read-consent": [
        *(
            broken
            for when in (IS_NEW, IS_PRECONFIGURED)
            for broken in (turns(CONSENT, 200, 206, when=when), refuses(CONSENT, when))
        ),
        *leaves_out(CONSENT, "/access"),
    ],
    "4.1-consent-status": [
        turns(CONSENT_STATUS, 200, 206),
        turns(CONSENT_STATUS, 403, 404),
        forgives(CONSENT_STATUS, [UNKNOWN_IN_PATH], 200, {"consentStatus": "expired"}),
    ],
    "4.1-delete-consent": [turns(DELETE_CONSENT, 204, 200), turns(DELETE_CONSENT, 204, 202), refuses(DELETE_CONSENT)],
    # Readings
    "reading-consent-single": [
        says(CREATE_CONSENT, "/consentId", str(uuid.UUID(int=5)), when=FOR_ONE_TIED),
        says(CREATE_CONSENT, "/consentStatus", "valid", when=FOR_ONE_TIED),
        says(CONSENT_STATUS, "/consentStatus", "received", when=with_role("valid")),
    ],
    "reading-consent-preconfigured-content": [_changes_the_preconfigured(), _sca_changes_the_preconfigured()],
    "reading-consent-other": [
        says(CREATE_CONSENT, "/consentId", facts.consent(), when=FOR_OTHERS),
        says(CREATE_CONSENT, "/consentId", facts.consent(), when=FOR_SEVERAL),
        says(CREATE_CONSENT, "/consentStatus", "valid", when=FOR_SEVERAL),
        says(CONSENT_STATUS, "/consentStatus", "valid", when=IS_NEW),
    ],
    "reading-consent-unknown-account": [
        forgives(CREATE_CONSENT, ["RESOURCE_UNKNOWN"], 200, {"consentId": str(uuid.UUID(int=6))}),
        forgives(CREATE_CONSENT, ["RESOURCE_UNKNOWN"], 200, {"consentId": str(uuid.UUID(int=6))}, when=FOR_SEVERAL),
        misnames("XS2A902E", to="FORMAT_ERROR"),
        misnames("XS2A902E", status=404),
    ],
    "reading-consent-all-accounts": [
        says(CREATE_CONSENT, "/consentStatus", "received", when=FOR_ALL),
        says(CONSENT_STATUS, "/consentStatus", "received", when=IS_NEW),
        _covers_too_little(),
    ],
    "reading-consent-access-empty": [
        takes(CREATE_CONSENT, "access to nothing as all accounts", _asks_for_no_account),
        says(CREATE_CONSENT, "/tppMessages/0/path", None, of=bad),
    ],
    "reading-consent-valid-until": [
        forgives(CREATE_CONSENT, ["PERIOD_INVALID"], 200, {"consentId": str(uuid.UUID(int=7))}),
        misnames("XS2A903E", to="FORMAT_ERROR"),
        refuses(CREATE_CONSENT, holding("/validUntil", "9999-12-31"), 400, "PERIOD_INVALID"),
    ],
    "reading-consent-frequency": [overlooks(CREATE_CONSENT, "/frequencyPerDay", 1)],
    "reading-consent-deleted": [
        pretends(DELETE_CONSENT, 204, when=IS_NEW),
        pretends(DELETE_CONSENT, 204, when=IS_PRECONFIGURED),
        forgives(LIST, [UNKNOWN_IN_PATH], 200, {"accounts": []}),
        forgives(DELETE_CONSENT, [UNKNOWN_IN_PATH], 204),
    ],
    "reading-consent-comes-back": [_made_again_stays_deleted(), _made_again_is_new()],
    "reading-consent-lapses": [
        by_status("consents never expire", lambda before, status: before or status),
        by_status("received consents never expire", lambda before, now: before if before == "received" else now),
        _history_moves(),
        misnames("XS2A005E", to="CONSENT_INVALID"),
        misnames("XS2A004E", "text", "{sensitive} XS2A005E: expired"),
    ],
    "reading-consent-received": [forgives(operation, ["CONSENT_INVALID"], 200, {}) for operation in ACCOUNTS]
    + [misnames("XS2A913E", to="CONSENT_UNKNOWN"), misnames("XS2A913E", status=403)],
    "reading-consent-content": [
        says(CONSENT, "/access/accounts/-1", REMOVED, when=IS_NEW),
        says(CONSENT, "/access/balances/-1", REMOVED, when=IS_NEW),
        says(CONSENT, "/access/transactions/-1", REMOVED, when=IS_NEW),
        _shows_in_both(),
    ],
    "reading-consent-no-redirect-uri": [
        says(CREATE_CONSENT, HREF, Change("with an empty redirectBackUrl", lambda href: f"{href}&redirectBackUrl=")),
        refuses(CREATE_CONSENT, When("without TPP-Redirect-URI", lambda r: not header(r, "TPP-Redirect-URI"))),
    ],
}
