"""An oracle for comparisons: planted changes in a bank's answers, which must be reported, and noise, which must not.

They are based on the Berlin Group's interface, not on the code of the comparison. `make compare-oracle` writes the
table in `docs/compare.md`.
"""

import asyncio
import json
import re
import unicodedata
import uuid
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import structs

from tests.compare.test_comparison import entry, step
from tests.support.engine_client import an_engine, bundled_engine
from xs2a_sandbox.compare.comparison import Compared, Comparison, Result, Step
from xs2a_sandbox.compare.difference import SEVERITIES, Severity
from xs2a_sandbox.compare.identifiers import Counterparts
from xs2a_sandbox.compare.reports.report import report
from xs2a_sandbox.compare.states import BankStates, SandboxSide
from xs2a_sandbox.config import Settings
from xs2a_sandbox.engine.redacting import redactor_of
from xs2a_sandbox.http import Request, Response

PAGE = Path(__file__).parents[2] / "docs" / "compare.md"
BANK = "https://bank.example"
MODES = ("batch", "offline", "live, answered by the sandbox", "live, answered by the bank")
IBAN = "AT459880000010204711"
CONSENT = ("Consent-ID", "9d3c41b2-5f0e-4c6a-8b1d-2e7f60a4c911")
WHOLE = "*"
"""The place of a change of a whole answer."""
UNKNOWN = "0cae8c3e-1111-4222-8333-444455556666"
_UUID = re.compile(rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_SAME = {b"99391c7e-ad88-49ec-a2ad-99ddcb1f7721", UNKNOWN.encode(), CONSENT[1].encode()}

Change = Callable[[Response], Response]
Fluctuation = Callable[[Response, int], Response]


@dataclass(frozen=True)
class Plant:
    """A change at `place` in the answer `base`, applied after `before`. `severity` is its effect on an app."""

    kind: str
    name: str
    base: str
    change: Change
    place: str
    severity: Severity
    before: tuple[str, ...] = ()


@dataclass(frozen=True)
class Noise:
    """A change that does not matter.

    Fluctuating values are recognised only if the bank is asked repeatedly (`reads`).
    """

    kind: str
    name: str
    base: str
    change: Fluctuation
    reads: bool = False
    before: tuple[str, ...] = ()


@cache
def exchanges() -> dict[str, tuple[Request, Response]]:
    """Return the exchanges of a flow with a sandbox, by name."""
    return asyncio.run(_journey())


async def _journey() -> dict[str, tuple[Request, Response]]:
    engine = an_engine()
    done: dict[str, tuple[Request, Response]] = {}

    async def send(name: str, method: str, target: str, body: Any = None, *headers: tuple[str, str]) -> Any:
        request = step(method, target, body, *headers).request
        response = await engine.answer(request)
        done[name] = request, response
        return json.loads(response.body) if response.body else None

    everything = {"access": {"availableAccounts": "allAccounts"}, "recurringIndicator": True}
    everything |= {"validUntil": "9999-12-31", "frequencyPerDay": 4}
    other = await send("other consent", "POST", "/v1/consents", everything)
    consent = await send("consent", "POST", "/v1/consents", everything)
    await send("consent content", "GET", f"/v1/consents/{consent['consentId']}")
    await send("consent status", "GET", f"/v1/consents/{consent['consentId']}/status")
    await send("accounts", "GET", "/v1/accounts?withBalance=true", None, CONSENT)
    await send("account", "GET", f"/v1/accounts/{IBAN}", None, CONSENT)
    await send("balances", "GET", f"/v1/accounts/{IBAN}/balances", None, CONSENT)
    await send("transactions", "GET", f"/v1/accounts/{IBAN}/transactions?bookingStatus=booked", None, CONSENT)
    order = {
        "instructedAmount": {"currency": "EUR", "amount": "10.00"},
        "debtorAccount": {"iban": IBAN},
        "creditorAccount": {"iban": "DE40100100103307118608"},
        "creditorName": "X",
    }
    payment = await send("payment", "POST", "/v1/payments/sepa-credit-transfers", order)
    path = f"/v1/payments/sepa-credit-transfers/{payment['paymentId']}"
    await send("payment content", "GET", path)
    await send("payment status", "GET", f"{path}/status")
    started = await send("authorisation", "POST", f"{path}/authorisations", {})
    first, second = started["authorisationId"], str(uuid.uuid5(uuid.NAMESPACE_OID, started["authorisationId"]))
    request, answer = done["authorisation"]
    headers = tuple((name, value.replace(first, second)) for name, value in answer.headers)
    renamed = answer.body.replace(first.encode(), second.encode())
    done["second authorisation"] = request, structs.replace(answer, headers=headers, body=renamed)
    await send("authorisations", "GET", f"{path}/authorisations")
    await send("SCA status", "GET", f"{path}/authorisations/{started['authorisationId']}")
    basket = await send("basket", "POST", "/v1/signing-baskets", {"paymentIds": [payment["paymentId"]]})
    await send("basket content", "GET", f"/v1/signing-baskets/{basket['basketId']}")
    funds = {"account": {"iban": IBAN}, "instructedAmount": {"currency": "EUR", "amount": "10.00"}}
    await send("funds", "POST", "/v1/funds-confirmations", funds)
    await send("delete", "DELETE", f"/v1/consents/{other['consentId']}")
    await send("refusal", "GET", f"/v1/consents/{UNKNOWN}")
    await send("bad request", "POST", "/v1/consents", {})
    request, answer = done["authorisations"]
    done["authorisations"] = request, structs.replace(answer, body=_json({"authorisationIds": [first, second]}))
    request, answer = done["transactions"]
    value = json.loads(answer.body)
    value["transactions"]["_links"]["next"] = {"href": f"/v1/accounts/{IBAN}/transactions?page=2"}
    done["first page"] = request, structs.replace(answer, body=_json(value))
    plain = (("Content-Type", "text/plain"),)
    done["statement"] = (
        request,
        Response(200, plain, b":20:STARTUMS\n:25:12345/678\n:60F:C261121EUR100,00\n:61:2611211121D10,00\n"),
    )
    xml = b'<Document><Stmt><Id>1</Id><Ntry><Amt Ccy="EUR">10.00</Amt></Ntry></Stmt></Document>'
    done["camt"] = request, Response(200, (("Content-Type", "application/xml"),), xml)
    return done


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


@cache
def of_bank(base: str) -> Response:
    """Return the same exchanges from a bank with other ids and other addresses of pages."""

    def renamed(text: bytes) -> bytes:
        own = _UUID.sub(
            lambda m: m[0] if m[0] in _SAME else str(uuid.uuid5(uuid.NAMESPACE_URL, m[0].decode())).encode(), text
        )
        return own.replace(b"http://127.0.0.1:8081/", b"https://login.bank.example/")

    response = exchanges()[base][1]
    headers = (
        (name, renamed(value.encode()).decode()) for name, value in response.headers if not name.startswith("X-Sandbox")
    )
    return structs.replace(response, headers=tuple(headers), body=renamed(response.body))


# Changes


def _steps(path: str) -> list[Any]:
    return [int(one) if one.isdecimal() else one for one in path.split("/")] if path else []


def edit(path: str, change: Callable[[Any, Any], None]) -> Change:
    """Call `change` with the container of the place, and the last step to it."""

    def made(response: Response) -> Response:
        value = json.loads(response.body)
        holder, steps = value, _steps(path)
        for one in steps[:-1]:
            holder = holder[one]
        change(holder, steps[-1])
        return structs.replace(response, body=_json(value))

    return made


def without(path: str) -> Change:
    return edit(path, lambda holder, step: holder.pop(step))


def put(path: str, to: Any) -> Change:
    return edit(path, lambda holder, step: holder.__setitem__(step, to))


def turned(path: str, by: Callable[[Any], Any]) -> Change:
    return edit(path, lambda holder, step: holder.__setitem__(step, by(holder[step])))


def body(text: bytes, kind: str | None = None) -> Change:
    return lambda response: structs.replace(header("Content-Type", kind)(response) if kind else response, body=text)


def header(name: str, value: str | None) -> Change:
    """Replace the value of the header, or remove the header."""

    def made(response: Response) -> Response:
        kept = tuple(pair for pair in response.headers if pair[0].lower() != name.lower())
        return structs.replace(response, headers=kept if value is None else (*kept, (name, value)))

    return made


def status(code: int, answer: Any = None) -> Change:
    def made(response: Response) -> Response:
        return structs.replace(response, status=code, body=response.body if answer is None else answer)

    return made


def _error(code: str) -> bytes:
    message = {"category": "ERROR", "code": code, "path": None, "text": "no"}
    return _json({"tppMessages": [message], "_links": None})


def swapped(entries: list[Any]) -> list[Any]:
    return [entries[1], entries[0], *entries[2:]]


def id_of(base: str, member: str) -> str:
    return str(json.loads(of_bank(base).body)[member])


def relinked(path: str, to: Callable[[], str]) -> Change:
    return lambda response: put(path, to())(response)


def _negative(text: str) -> str:
    return text[1:] if text.startswith("-") else f"-{text}"


A, B, T = "accounts/0", "accounts/0/balances/0", "transactions/booked/0"
M = "tppMessages/0"


def plants() -> Iterator[Plant]:
    yield from _statuses()
    yield from _headers()
    yield from _members()
    yield from _types()
    yield from _values()
    yield from _structure()
    yield from _identities()


def _statuses() -> Iterator[Plant]:
    codes = [(400, "FORMAT_ERROR"), (401, "TOKEN_EXPIRED"), (403, "CONSENT_UNKNOWN"), (404, "RESOURCE_UNKNOWN")]
    codes += [
        (405, "SERVICE_INVALID"),
        (429, "ACCESS_EXCEEDED"),
        (500, "INTERNAL_SERVER_ERROR"),
        (503, "SERVICE_UNAVAILABLE"),
    ]
    for code, word in codes:
        yield Plant("statuses", f"{code} {word} for accounts", "accounts", status(code, _error(word)), "status", "high")
    for base, code in (("consent", 201), ("payment", 201), ("authorisation", 200), ("basket", 200), ("accounts", 206)):
        yield Plant("statuses", f"{code} for {base}", base, status(code), "status", "high")
    yield Plant("statuses", "200 for a deletion", "delete", status(200), "status", "high")
    yield Plant("statuses", "202 for a deletion", "delete", status(202), "status", "high")
    yield Plant("statuses", "204 instead of accounts", "accounts", status(204, b""), WHOLE, "high")
    yield Plant("statuses", "302 instead of accounts", "accounts", status(302, b""), "status", "high")
    yield Plant("statuses", "401 for an unknown consent", "refusal", status(401), "status", "high")
    yield Plant("statuses", "404 for an unknown consent", "refusal", status(404), "status", "high")
    yield Plant("statuses", "422 for a bad request", "bad request", status(422), "status", "high")
    yield Plant("statuses", "200 for a bad request", "bad request", status(200, b"{}"), "status", "high")


def _headers() -> Iterator[Plant]:
    acted = [
        ("accounts", "Content-Type", "text/plain"),
        ("accounts", "Content-Type", None),
        ("accounts", "Content-Type", "application/hal+json"),
        ("accounts", "Content-Type", "application/json-patch+json"),
        ("authorisation", "Location", None),
        ("authorisation", "Location", "/v1/elsewhere"),
        ("authorisation", "ASPSP-SCA-Approach", None),
        ("authorisation", "ASPSP-SCA-Approach", "DECOUPLED"),
        ("authorisation", "ASPSP-SCA-Approach", "EMBEDDED"),
        ("SCA status", "ASPSP-SCA-Approach", None),
        ("consent", "ASPSP-SCA-Approach", "REDIRECT"),
        ("basket", "Location", None),
        ("refusal", "WWW-Authenticate", "Bearer"),
        ("refusal", "Retry-After", "120"),
        ("refusal", "Allow", "POST"),
        ("accounts", "Link", '</v1/accounts?page=2>; rel="next"'),
    ]
    for base, name, value in acted:
        title = f"{name}: {value or '(missing)'} for {base}"
        yield Plant("headers", title, base, header(name, value), f"header {name.lower()}", "high")
    idle = [
        ("X-RateLimit-Remaining", "3"),
        ("Content-Language", "de"),
        ("Cache-Control", "no-store"),
        ("X-Region", "AT"),
    ]
    for name, value in idle:
        yield Plant("headers", f"{name} for accounts", "accounts", header(name, value), f"header {name.lower()}", "low")


def _members() -> Iterator[Plant]:
    required = {
        "accounts": [
            *(f"{A}/{name}" for name in ("resourceId", "iban", "currency", "name", "product", "bic", "_links")),
            f"{A}/_links/balances",
            f"{A}/_links/transactions",
            f"{B}/balanceAmount",
            f"{B}/balanceType",
            f"{B}/referenceDate",
            f"{B}/balanceAmount/currency",
            f"{B}/balanceAmount/amount",
        ],
        "transactions": [
            "account",
            "account/iban",
            "transactions",
            f"{T}/transactionId",
            f"{T}/bookingDate",
            f"{T}/transactionAmount",
            f"{T}/creditorName",
            f"{T}/remittanceInformationUnstructured",
            f"{T}/creditorAccount/iban",
            "transactions/_links/account",
        ],
        "consent": ["consentStatus", "consentId", "_links/self", "_links/status", "_links/scaRedirect"],
        "consent content": ["access", "access/accounts", "recurringIndicator", "validUntil", "frequencyPerDay"],
        "payment": ["transactionStatus", "paymentId", "_Left/self", "_Left/scaStatus"],
        "authorisation": ["scaStatus", "authorisationId"],
        "basket": ["basketId"],
        "funds": ["fundsAvailable"],
        "refusal": ["tppMessages", f"{M}/code", f"{M}/text", f"{M}/category"],
    }
    for base, paths in required.items():
        for path in paths:
            yield Plant("missing members", f"{base}: {path}", base, without(path), f"/{path}", "high")
    yield Plant("missing members", "an optional one", "accounts", without(f"{A}/balances"), f"/{A}/balances", "medium")
    yield Plant("missing members", "a null left out", "accounts", without(f"{A}/details"), f"/{A}/details", "medium")
    yield Plant("missing members", "a null of an error", "refusal", without(f"{M}/path"), f"/{M}/path", "medium")
    forbidden = [
        ("accounts", f"{A}/ownerName", "Anna"),
        ("accounts", f"{B}/creditLimitIncluded", False),
        ("transactions", f"{T}/batchIndicator", True),
        ("consent", "psuData", {}),
        ("consent", "_links/next", {"href": "/x"}),
        ("payment status", "statusReason", "AC01"),
        ("refusal", "title", "x"),
        ("refusal", f"{M}/link", "x"),
    ]
    for base, path, value in forbidden:
        yield Plant("more members", f"{base}: {path}", base, put(path, value), f"/{path}", "high")
    allowed = [
        ("accounts", f"{A}/details", "x"),
        ("accounts", f"{A}/cashAccountType", "CACC"),
        ("accounts", f"{A}/usage", "PRIV"),
        ("accounts", f"{A}/status", "enabled"),
        ("accounts", f"{B}/lastChangeDateTime", "2026-11-21T10:00:00Z"),
        ("transactions", f"{T}/additionalInformation", "x"),
        ("consent", "psuMessage", "hello"),
        ("refusal", f"{M}/path", "/x"),
    ]
    for base, path, value in allowed:
        yield Plant("more members", f"{base}: {path} filled", base, put(path, value), f"/{path}", "medium")


def _types() -> Iterator[Plant]:
    changes: list[tuple[str, str, Any]] = [
        ("accounts", f"{A}/name", 7),
        ("accounts", f"{A}/name", None),
        ("accounts", f"{A}/name", ["Anna"]),
        ("accounts", f"{A}/_links", []),
        ("accounts", f"{A}/_links/balances", "/v1/x"),
        ("accounts", "accounts", {}),
        ("accounts", "accounts", None),
        ("accounts", f"{B}/balanceAmount/amount", 7210.62),
        ("accounts", f"{A}/balances", {}),
        ("accounts", f"{A}/iban", {"iban": IBAN}),
        ("transactions", f"{T}/transactionAmount", "-8.54"),
        ("transactions", f"{T}/remittanceInformationUnstructured", ["a"]),
        ("transactions", f"{T}/transactionId", 308),
        ("consent content", "recurringIndicator", "true"),
        ("consent content", "frequencyPerDay", "4"),
        ("consent content", "access/accounts", None),
        ("funds", "fundsAvailable", "true"),
        ("funds", "fundsAvailable", None),
        ("consent", "consentStatus", 1),
        ("refusal", f"{M}/code", 403),
        ("refusal", "tppMessages", {}),
        ("authorisations", "authorisationIds", None),
    ]
    for base, path, value in changes:
        name = f"{base}: {path} is {json.dumps(value)[:20]}"
        yield Plant("types", name, base, put(path, value), f"/{path}", "high")
    page = body(b"<html>maintenance</html>", "text/html")
    yield Plant("types", "a page instead of JSON", "accounts", page, WHOLE, "high")
    yield Plant("types", "an array instead of the object", "accounts", body(b"[]"), "", "high")
    yield Plant("types", "nothing instead of the object", "accounts", body(b""), "", "high")
    yield Plant(
        "types",
        "half of the JSON",
        "accounts",
        lambda r: structs.replace(r, body=r.body[: len(r.body) // 2]),
        "",
        "high",
    )


def _values() -> Iterator[Plant]:
    enums = [
        ("accounts", f"{B}/balanceType", "closingBooked"),
        ("consent", "consentStatus", "active"),
        ("consent status", "consentStatus", "VALID"),
        ("payment status", "transactionStatus", "DONE"),
        ("payment", "transactionStatus", "rcvd"),
        ("SCA status", "scaStatus", "done"),
        ("basket", "transactionStatus", "OPEN"),
        ("refusal", f"{M}/category", "WARNING"),
    ]
    for base, path, value in enums:
        yield Plant("unknown values of enumerations", f"{base}: {value}", base, put(path, value), f"/{path}", "high")
    states = [
        ("consent status", "consentStatus", "expired"),
        ("consent status", "consentStatus", "revokedByPsu"),
        ("consent content", "consentStatus", "terminatedByTpp"),
        ("payment status", "transactionStatus", "ACSC"),
        ("payment status", "transactionStatus", "RJCT"),
        ("SCA status", "scaStatus", "finalised"),
        ("SCA status", "scaStatus", "failed"),
        ("basket content", "transactionStatus", "ACTC"),
    ]
    for base, path, value in states:
        yield Plant("states", f"{base}: {value}", base, put(path, value), f"/{path}", "medium")
    forms = [
        ("accounts", f"{B}/referenceDate", "22.11.2026"),
        ("accounts", f"{B}/referenceDate", "2026-11-22T00:00:00Z"),
        ("accounts", f"{B}/referenceDate", "20261122"),
        ("accounts", f"{B}/balanceAmount/amount", "7210,62"),
        ("accounts", f"{B}/balanceAmount/amount", "7 210.62"),
        ("accounts", f"{B}/balanceAmount/amount", "7210.6200"),
        ("accounts", f"{B}/balanceAmount/currency", "eur"),
        ("accounts", f"{A}/currency", "Euro"),
        ("accounts", f"{A}/iban", "AT45 9880 0000 1020 4711"),
        ("accounts", f"{A}/iban", "at459880000010204711"),
        ("accounts", f"{A}/iban", "AT459880000010204712"),
        ("accounts", f"{A}/bic", "bank"),
        ("transactions", f"{T}/bookingDate", "21/11/2026"),
        ("transactions", f"{T}/valueDate", ""),
        ("consent content", "validUntil", "31.12.9999"),
        ("refusal", f"{M}/code", "consent-unknown"),
    ]
    for base, path, value in forms:
        yield Plant("formats", f"{base}: {path} {value!r}", base, put(path, value), f"/{path}", "high")
    for base, path in (
        ("transactions", f"{T}/transactionAmount/amount"),
        ("accounts", f"{B}/balanceAmount/amount"),
        ("payment content", "instructedAmount/amount"),
    ):
        yield Plant("signs", f"{base}: {path}", base, turned(path, _negative), f"/{path}", "high")
    scales: list[tuple[str, Callable[[Any], Any]]] = [
        ("a hundred times", lambda text: text.replace(".", "")),
        ("one digit less", lambda text: text[:-1]),
        ("one digit more", lambda text: text + "0"),
        ("one cent", lambda text: text[:-1] + "9"),
    ]
    for name, by in scales:
        path = f"{B}/balanceAmount/amount"
        yield Plant("amounts and scales", name, "accounts", turned(path, by), f"/{path}", "medium")
    for currency in ("USD", "CHF"):
        yield Plant(
            "amounts and scales", currency, "accounts", put(f"{A}/currency", currency), f"/{A}/currency", "medium"
        )
    texts: list[tuple[str, Callable[[str], str]]] = [
        ("decomposed", lambda text: unicodedata.normalize("NFD", text)),
        ("a blank at the end", lambda text: text + " "),
        ("upper case", str.upper),
        ("a blank that does not break", lambda text: text.replace(" ", "\u00a0")),
        ("a zero-width blank", lambda text: text + "\u200b"),
        ("ue for ü", lambda text: text.replace("ü", "ue")),
        ("one character", lambda text: text[:-1] + "t"),
        ("a line break", lambda text: text + "\n"),
        ("broken UTF-8", lambda text: text.encode().decode("latin-1")),
        ("cut", lambda text: text[:6]),
        ("empty", lambda text: ""),
    ]
    for name, by in texts:
        yield Plant("texts and Unicode", name, "accounts", turned(f"{A}/name", by), f"/{A}/name", "medium")
    yield Plant("texts and Unicode", "the text of an error", "refusal", put(f"{M}/text", "no"), f"/{M}/text", "medium")
    for days in ("2026-11-20", "2025-11-22"):
        yield Plant("dates", days, "consent content", put("validUntil", days), "/validUntil", "medium")
    yield Plant(
        "dates", "a day earlier", "transactions", put(f"{T}/bookingDate", "2026-11-01"), f"/{T}/bookingDate", "medium"
    )
    for value in (0, 5, 1000):
        yield Plant(
            "dates",
            f"frequencyPerDay {value}",
            "consent content",
            put("frequencyPerDay", value),
            "/frequencyPerDay",
            "medium",
        )
    yield Plant(
        "dates",
        "no recurring consent",
        "consent content",
        put("recurringIndicator", False),
        "/recurringIndicator",
        "medium",
    )


def _structure() -> Iterator[Plant]:
    booked = "transactions/booked"
    yield Plant(
        "order", "transactions reversed", "transactions", turned(booked, lambda e: e[::-1]), f"/{booked}", "high"
    )
    yield Plant("order", "two transactions swapped", "transactions", turned(booked, swapped), f"/{booked}", "high")
    yield Plant(
        "order", "the newest last", "transactions", turned(booked, lambda e: [*e[1:], e[0]]), f"/{booked}", "high"
    )
    yield Plant("order", "balances swapped", "accounts", turned(f"{A}/balances", swapped), f"/{A}/balances", "medium")
    yield Plant(
        "order",
        "authorisations swapped",
        "authorisations",
        turned("authorisationIds", swapped),
        "/authorisationIds",
        "medium",
        ("authorisation", "second authorisation"),
    )
    lists: list[tuple[str, Callable[[Any], Any]]] = [
        ("one less", lambda e: e[:-1]),
        ("the first gone", lambda e: e[1:]),
        ("one in the middle gone", lambda e: e[:2] + e[3:]),
        ("one more", lambda e: [{**e[0], "transactionId": "NEW"}, *e]),
        ("one twice", lambda e: [e[0], *e]),
        ("none", lambda e: []),
    ]
    for name, by in lists:
        yield Plant("lists", f"transactions: {name}", "transactions", turned(booked, by), f"/{booked}", "medium")
    yield Plant("lists", "no account", "accounts", put("accounts", []), "/accounts", "medium")
    yield Plant("lists", "one balance less", "balances", turned("balances", lambda e: e[:1]), "/balances", "medium")
    yield Plant(
        "lists",
        "pending transactions",
        "transactions",
        put("transactions/pending", []),
        "/transactions/pending",
        "medium",
    )
    for code in ("CONSENT_EXPIRED", "RESOURCE_UNKNOWN", "FORMAT_ERROR", "BANK_OWN_CODE"):
        yield Plant("errors", code, "refusal", put(f"{M}/code", code), f"/{M}/code", "high")
    yield Plant(
        "errors",
        "PERIOD_INVALID for a bad request",
        "bad request",
        put(f"{M}/code", "PERIOD_INVALID"),
        f"/{M}/code",
        "high",
    )
    yield Plant(
        "errors", "another member is wrong", "bad request", put(f"{M}/path", "/validUntil"), f"/{M}/path", "medium"
    )
    yield Plant("errors", "two messages", "refusal", turned("tppMessages", lambda e: e * 2), "/tppMessages", "high")
    yield Plant("errors", "no message", "refusal", put("tppMessages", []), "/tppMessages", "high")
    problem = body(_json({"type": "x", "title": "unknown", "code": "CONSENT_UNKNOWN"}), "application/json")
    yield Plant("errors", "RFC 7807", "refusal", problem, WHOLE, "high")
    yield Plant(
        "paging", "no next page", "first page", without("transactions/_links/next"), "/transactions/_links/next", "high"
    )
    yield Plant(
        "paging",
        "another next page",
        "first page",
        turned("transactions/_links/next/href", lambda t: t.replace("page=2", "page=3")),
        "/transactions/_links/next/href",
        "high",
    )
    yield Plant(
        "paging",
        "a page more",
        "transactions",
        put("transactions/_links/next", {"href": "/v1/next"}),
        "/transactions/_links/next",
        "medium",
    )
    texts = [
        ("statement", b"D10,00", b"D11,00"),
        ("statement", b"EUR", b"USD"),
        ("camt", b"10.00", b"10.01"),
        ("camt", b'"EUR"', b'"USD"'),
        ("camt", b"<Id>1</Id>", b""),
    ]
    for base, old, new in texts:
        yield Plant(
            "XML and text",
            f"{base}: {new.decode() or 'an element less'}",
            base,
            lambda r, old=old, new=new: structs.replace(r, body=r.body.replace(old, new)),
            "",
            "medium",
        )
    yield Plant("XML and text", "JSON instead of XML", "camt", body(b"{}", "application/json"), WHOLE, "high")
    yield Plant("XML and text", "nothing instead of text", "statement", body(b""), "", "high")


def _identities() -> Iterator[Plant]:
    links = [
        ("accounts", f"{A}/_links/balances/href", "/v1/accounts/AT000/balances"),
        ("accounts", f"{A}/_links/balances/href", "/v2/balances"),
        ("accounts", f"{A}/_links/balances/href", "https://other.example/v1/balances"),
        ("accounts", f"{A}/_links/transactions/href", ""),
        ("authorisation", "_links/scaStatus/href", "/v1/authorisations"),
    ]
    for base, path, value in links:
        yield Plant("links", f"{base}: {value or '(empty)'}", base, put(path, value), f"/{path}", "high")
    yield Plant(
        "links",
        "self is status",
        "consent",
        turned("_links/self/href", lambda text: text + "/status"),
        "/_links/self/href",
        "high",
    )
    yield Plant(
        "links",
        "an absolute link for a relative one, elsewhere",
        "consent",
        turned("_links/self/href", lambda t: f"https://else.example{t}"),
        "/_links/self/href",
        "high",
    )

    def other() -> str:
        return f"/v1/consents/{id_of('other consent', 'consentId')}"

    before = ("other consent",)
    yield Plant(
        "identifiers",
        "self of another consent",
        "consent",
        relinked("_links/self/href", other),
        "/_links/self/href",
        "high",
        before,
    )
    yield Plant(
        "identifiers",
        "status of another consent",
        "consent",
        relinked("_links/status/href", lambda: other() + "/status"),
        "/_links/status/href",
        "high",
        before,
    )
    yield Plant(
        "identifiers",
        "self of an unknown consent",
        "consent",
        put("_links/self/href", f"/v1/consents/{uuid.UUID(int=7)}"),
        "/_links/self/href",
        "high",
    )
    yield Plant(
        "identifiers",
        "another account's links",
        "accounts",
        put(f"{A}/_links/balances/href", "/v1/accounts/AT449880000010204729/balances"),
        f"/{A}/_links/balances/href",
        "high",
    )
    yield Plant(
        "identifiers",
        "an account by another identifier",
        "account",
        put("resourceId", "AT449880000010204729"),
        "/resourceId",
        "high",
        ("accounts",),
    )
    yield Plant(
        "identifiers",
        "a basket with another payment",
        "basket content",
        put("payments/0", str(uuid.UUID(int=9))),
        "/payments",
        "medium",
        ("payment", "basket"),
    )
    yield Plant(
        "identifiers",
        "Location of another authorisation",
        "second authorisation",
        lambda r: header("Location", dict(of_bank("authorisation").headers)["Location"])(r),
        "header location",
        "high",
        ("authorisation",),
    )


# Noise


def always(change: Change) -> Fluctuation:
    return lambda response, read: change(response)


def by_turns(*changes: Change) -> Fluctuation:
    """Use another value in each of the bank's answers."""
    return lambda response, read: changes[read % len(changes)](response)


def same(response: Response) -> Response:
    return response


def noises() -> Iterator[Noise]:
    values = {
        "Date": "Sun, 22 Nov 2026 10:00:00 GMT",
        "X-Request-ID": str(uuid.UUID(int=1)),
        "ETag": '"a1"',
        "Set-Cookie": "session=1; Path=/",
        "Server": "nginx",
        "Via": "1.1 gateway",
        "Age": "7",
        "Expires": "0",
        "Last-Modified": "Sun, 22 Nov 2026 10:00:00 GMT",
        "Vary": "Accept",
        "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "X-B3-TraceId": "463ac35c9f6413ad",
        "CF-Ray": "7d1-VIE",
        "X-Correlation-ID": "abc",
        "Keep-Alive": "timeout=5",
        "Strict-Transport-Security": "max-age=1",
        "X-Frame-Options": "DENY",
        "Server-Timing": "db;dur=53",
        "Digest": "SHA-256=abc",
        "Signature": "keyId=1",
        "X-Content-Type-Options": "nosniff",
        "Alt-Svc": "h3",
        "X-Powered-By": "bank",
        "Content-Security-Policy": "default-src 'none'",
    }
    for name, value in values.items():
        yield Noise("headers of one message", name, "accounts", always(header(name, value)))
    for kind in (
        "application/json;charset=utf-8",
        "Application/JSON",
        'application/json; charset="UTF-8"',
        "application/json ; charset=UTF-8",
    ):
        yield Noise("spelling", kind, "accounts", always(header("Content-Type", kind)))
    yield Noise(
        "spelling",
        "headers in another order",
        "authorisation",
        always(lambda r: structs.replace(r, headers=r.headers[::-1])),
    )
    yield Noise(
        "spelling",
        "headers in lower case",
        "authorisation",
        always(lambda r: structs.replace(r, headers=tuple((name.lower(), value) for name, value in r.headers))),
    )
    spellings: list[tuple[str, Callable[[Any], str]]] = [
        ("indented", lambda v: json.dumps(v, indent=4)),
        ("escaped", json.dumps),
        ("sorted", lambda v: json.dumps(v, sort_keys=True)),
        ("escaped slashes", lambda v: json.dumps(v).replace("/", "\\/")),
        ("members reversed", lambda v: json.dumps(_reversed(v))),
    ]
    for name, by in spellings:
        for base in ("accounts", "consent"):
            yield Noise(
                "spelling",
                f"{name}, {base}",
                base,
                always(lambda r, by=by: structs.replace(r, body=by(json.loads(r.body)).encode())),
            )
    for number in (b"4.0", b"4.00", b"4e0", b"0.4E1"):
        change = always(
            lambda r, number=number: structs.replace(
                r, body=re.sub(rb'"frequencyPerDay": ?4', b'"frequencyPerDay":' + number, r.body)
            )
        )
        yield Noise("trailing zeros", number.decode(), "consent content", change)
    ids: list[tuple[str, Callable[[str], str]]] = [
        ("numbers", lambda u: str(int(uuid.UUID(u)))[:12]),
        ("words", lambda u: f"C-{u[:8]}"),
        ("upper case", str.upper),
        ("without hyphens", lambda u: u.replace("-", "")),
    ]
    for name, by in ids:
        for base, before in (
            ("consent", ()),
            ("payment status", ("payment",)),
            ("second authorisation", ("payment", "authorisation")),
        ):
            yield Noise("identifiers", f"{name}, {base}", base, always(_renamed(by)), before=before)
    for base, member in (
        ("consent", "_links/self/href"),
        ("consent", "_links/status/href"),
        ("accounts", f"{A}/_links/balances/href"),
    ):
        yield Noise("links", f"absolute, {member}", base, always(turned(member, lambda text: BANK + text)))
    yield Noise(
        "links",
        "another page of the payment user",
        "consent",
        always(put("_links/scaRedirect/href", "https://login.bank.example/a?b=7")),
    )
    yield Noise("links", "consents made one after another", "consent", always(same), before=("other consent",))
    fluctuating: list[tuple[str, str, Sequence[Change]]] = [
        ("a counter", "consent content", [put("frequencyPerDay", n) for n in (1, 2)]),
        ("a day", "consent content", [put("lastActionDate", day) for day in ("2026-11-20", "2026-11-19")]),
        ("a reference", "transactions", [put(f"{T}/remittanceInformationUnstructured", f"{n}") for n in (1, 2)]),
        ("an amount", "accounts", [put(f"{B}/balanceAmount/amount", f"{n}.00") for n in (1, 2)]),
        ("a text", "accounts", [put(f"{A}/product", f"offer {n}") for n in (1, 2)]),
        ("a UUID in a text", "refusal", [put(f"{M}/text", f"trace {uuid.UUID(int=n)}") for n in (1, 2)]),
        ("balances shuffled", "accounts", [turned(f"{A}/balances", swapped), same]),
        (
            "transactions shuffled",
            "transactions",
            [turned("transactions/booked", swapped), turned("transactions/booked", lambda e: e[::-1])],
        ),
        ("an optional member comes and goes", "accounts", [without(f"{A}/balances"), same]),
        ("a transaction comes and goes", "transactions", [turned("transactions/booked", lambda e: e[1:]), same]),
        ("null and text by turns", "accounts", [put(f"{A}/details", "x"), same]),
        ("a header that goes", "accounts", [same, header("X-RateLimit-Remaining", "8")]),
        ("a header comes and goes", "accounts", [header("X-Node", "7"), same]),
        ("a state on its way", "payment status", [put("transactionStatus", "ACTC"), put("transactionStatus", "ACSP")]),
        ("the text of a page", "statement", [body(b":20:A"), body(b":20:B")]),
    ]
    for name, base, changes in fluctuating:
        yield Noise("fluctuating", name, base, by_turns(*changes), reads=True)
    yield Noise(
        "fluctuating", "a bank that has had enough", "accounts", by_turns(same, status(429, _error("ACCESS_EXCEEDED")))
    )


def _reversed(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _reversed(value[name]) for name in reversed(value)}
    return [_reversed(one) for one in value] if isinstance(value, list) else value


def _renamed(by: Callable[[str], str]) -> Change:
    def text(value: bytes) -> bytes:
        return _UUID.sub(lambda m: m[0] if m[0] in _SAME else by(m[0].decode()).encode(), value)

    return lambda r: structs.replace(
        r, body=text(r.body), headers=tuple((name, text(value.encode()).decode()) for name, value in r.headers)
    )


# Comparing


Ask = Callable[[Request], Awaitable[Response]]


@cache
def _comparison() -> Comparison:
    engine = bundled_engine()

    async def nobody(request: Request) -> Response:
        raise ValueError("the flow sends no other request")

    return Comparison(
        engine.interface,
        engine.schemas,
        nobody,
        None,
        bank_url=BANK,
        sandbox_url=engine.parts.public_url,
        allow_writes=True,
    )


async def compared(mode: str, case: Plant | Noise) -> Compared:
    """Return the result of the last exchange of a case."""
    current, reads = "", 0

    async def sandbox(request: Request) -> Response:
        return exchanges()[current][1]

    def answer() -> Response:
        nonlocal reads
        response = of_bank(current)
        if isinstance(case, Noise):
            is_alike = case.kind == "identifiers"
            if current == case.base or is_alike:
                response = case.change(response, reads)
        elif current == case.base:
            response = case.change(response)
        reads += 1
        return response

    async def bank(request: Request) -> Response:
        return answer()

    async def follow(request: Request, told: Any) -> None:
        return None

    asked: Any = None if mode == "offline" else bank
    comparison = _comparison().on_journey(
        Counterparts(BANK, _comparison().sandbox_url), BankStates(), SandboxSide(sandbox, follow), asked
    )
    one: Compared | None = None
    for current in (*case.before, case.base):
        reads = 0
        request = exchanges()[current][0]
        if mode == "batch":
            one = await comparison.step(Step("", request))
        elif mode == "offline":
            one = await comparison.step(Step("", request, entry(request, answer())))
        elif mode == MODES[2]:
            one = await comparison.beside(request, exchanges()[current][1], "sandbox")
        else:
            one = await comparison.beside(request, answer(), "bank")
    assert one is not None
    return one


@cache
def _redact() -> Any:
    return redactor_of(Settings(), bundled_engine().banks, key=b"0" * 32).entry


@dataclass(frozen=True)
class Outcome:
    """`is_told` means that the planted difference was reported; `others` are reported elsewhere.

    `is_redacted_told` means that a redacted report contains it too, and shows how both sides differ.
    """

    case: Plant | Noise
    mode: str
    is_told: bool
    severity: Severity | None
    others: tuple[str, ...]
    is_redacted_told: bool


def outcome(mode: str, case: Plant | Noise) -> Outcome:
    for base in (*case.before, case.base):
        of_bank(base)
    one = asyncio.run(compared(mode, case))
    assert one.trouble is None, (case.name, one.trouble)
    place = case.place if isinstance(case, Plant) else "nowhere"
    there = [d for d in one.differences if _is_at(place, d.where) or _is_at(place, _bank_where(d))]
    others = tuple(d.where for d in one.differences if d not in there)
    worst = min((d.severity for d in there), key=SEVERITIES.index, default=None)
    (shown,) = report(Result((one,)), "bank", _redact()).exchanges
    is_shown = all(f.bank != f.sandbox or f.manner or f.drift or f.kind == "order" or f.header for f in shown.findings)
    is_redacted_told = len(shown.findings) == len(one.differences) and is_shown
    return Outcome(case, mode, bool(there), worst, others, is_redacted_told)


def _bank_where(difference: Any) -> str:
    return "/" + "/".join(map(str, difference.bank_place)) if difference.bank_place else difference.where


def _is_at(place: str, where: str) -> bool:
    where = where.lower() if where.startswith("header") else where
    return place in (where, WHOLE) or (place.startswith("/") and where.startswith((f"{place}/",)))


def outcomes(cases: Sequence[Plant | Noise], modes: Sequence[str] = MODES) -> list[Outcome]:
    is_seen = {
        mode: [c for c in cases if mode != "offline" or not (isinstance(c, Noise) and c.reads)] for mode in modes
    }
    return [outcome(mode, case) for mode in modes for case in is_seen[mode]]


def table() -> str:
    planted, noise = list(plants()), list(noises())
    planted_outcomes, quiet = outcomes(planted), outcomes(noise)
    lines = [
        f"There are {len(planted)} changes and {len(noise)} examples of noise. Offline, noise that only a second read",
        "can show is left out.",
        "",
    ]
    lines += ["| change | | " + " | ".join(MODES) + " |", "|---|---|" + "---|" * len(MODES)]
    for kind in dict.fromkeys(one.kind for one in planted):
        ones = [one for one in planted_outcomes if one.case.kind == kind]
        lines.append(_row(kind, [[one for one in ones if one.mode == mode] for mode in MODES], _is_told))
    everything = [[one for one in planted_outcomes if one.mode == mode] for mode in MODES]
    lines.append(_row("**all: reported**", everything, _is_told))
    lines.append(
        _row("with the right severity", everything, lambda one: one.is_told and one.severity == one.case.severity)
    )  # type: ignore[union-attr]
    lines.append(
        _row("reported in a redacted report, too", everything, lambda one: one.is_told and one.is_redacted_told)
    )
    lines.append(_row("without any other difference", everything, lambda one: not one.others))
    lines += ["", "| noise | | " + " | ".join(MODES) + " |", "|---|---|" + "---|" * len(MODES)]
    for kind in [*dict.fromkeys(one.kind for one in noise), "**all: not reported**"]:
        ones = [one for one in quiet if one.case.kind == kind or kind.startswith("**")]
        lines.append(
            _row(kind, [[one for one in ones if one.mode == mode] for mode in MODES], lambda one: not one.others)
        )
    return "\n".join(lines) + "\n"


def _is_told(one: Outcome) -> bool:
    return one.is_told


def _row(name: str, modes: Sequence[Sequence[Outcome]], counts: Callable[[Outcome], bool]) -> str:
    most = max(len(ones) for ones in modes)
    return f"| {name} | {most} | " + " | ".join(f"{sum(map(counts, ones))} of {len(ones)}" for ones in modes) + " |"


BEGIN = "## How reliable it is\n"


def page(text: str) -> str:
    """Return the page with the current table."""
    before, _, _ = text.partition(BEGIN)
    words = (
        "\n`make compare-oracle` puts changes and noise into the answers of a bank, counts the differences that\n"
        "`compare` reports, and writes this section. Changes must be reported; noise must not be reported.\n\n"
    )
    return before + BEGIN + words + table()


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
