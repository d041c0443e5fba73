"""All 27 operations of section 4.3: each succeeds, requires a request id, and matches the schema of the framework."""

import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from tests.contract import facts, framework, resources
from tests.contract.doors import Answer, Bank
from tests.contract.framework import misfits
from tests.contract.resources import SEVERAL, make
from tests.support.berlin_group import needs_openapi, validate

spec = pytest.mark.spec


@dataclass(frozen=True, slots=True)
class Operation:
    """`path` is written as in the framework.

    `ask` creates what the request needs, and returns the path and other arguments.
    """

    method: str
    path: str
    status: int
    ask: Callable[[Bank], tuple[str, dict[str, Any]]]

    def send(self, bank: Bank, **headers: str | None) -> Answer:
        path, options = self.ask(bank)
        return bank.request(self.method, path, **{**options, "headers": {**options.get("headers", {}), **headers}})


CARD, KEPT = next(iter(facts.cards().items()))
CARD_CONSENT = facts.tied()[KEPT["linkedAccount"]]


def card(tail: str = "") -> Callable[[Bank], tuple[str, dict[str, Any]]]:
    return lambda bank: (f"/v1/card-accounts{tail}", {"consent": CARD_CONSENT})


def account(tail: str) -> Callable[[Bank], tuple[str, dict[str, Any]]]:
    return lambda bank: (f"/v1/accounts{tail}", {"consent": facts.consent()})


def _start(family: str) -> Callable[[Bank], tuple[str, dict[str, Any]]]:
    return lambda bank: (make(bank, family).starts, {})


def _list(family: str) -> Callable[[Bank], tuple[str, dict[str, Any]]]:
    def ask(bank: Bank) -> tuple[str, dict[str, Any]]:
        made = make(bank, family)
        assert resources.begin(bank, made).status == 201
        return made.starts, {}

    return ask


def _read(family: str) -> Callable[[Bank], tuple[str, dict[str, Any]]]:
    return lambda bank: (resources.begin(bank, make(bank, family)).headers["Location"], {})


def _update(family: str) -> Callable[[Bank], tuple[str, dict[str, Any]]]:
    def ask(bank: Bank) -> tuple[str, dict[str, Any]]:
        return resources.awaiting_otp(bank, make(bank, family), SEVERAL), {"json": resources.otp(SEVERAL)}

    return ask


def _create_basket(bank: Bank) -> tuple[str, dict[str, Any]]:
    return "/v1/signing-baskets", {"json": {"paymentIds": [make(bank, "payment").id]}}


def _basket(tail: str = "") -> Callable[[Bank], tuple[str, dict[str, Any]]]:
    return lambda bank: (f"{make(bank, 'basket').own}{tail}", {})


def _funds(bank: Bank) -> tuple[str, dict[str, Any]]:
    amount = {"currency": "EUR", "amount": "1.00"}
    return "/v1/funds-confirmations", {
        "json": {"account": {"iban": resources.debtor(SEVERAL)}, "instructedAmount": amount}
    }


BOOKED = facts.booked(facts.covered())[0]["transactionId"]
OPERATIONS: Mapping[str, Operation] = {
    **{
        f"4.3-{id}": operation
        for family in resources.FAMILIES.values()
        for id, operation in {
            f"start-{family.name}-authorisation": Operation("POST", family.template, 201, _start(family.name)),
            f"{family.name}-authorisations": Operation("GET", family.template, 200, _list(family.name)),
            f"{family.name}-authorisation": Operation(
                "GET", f"{family.template}/{{authorisationId}}", 200, _read(family.name)
            ),
            f"update-{family.name}-authorisation": Operation(
                "PUT", f"{family.template}/{{authorisationId}}", 200, _update(family.name)
            ),
        }.items()
    },
    "4.3-account-list": Operation("GET", "/v1/accounts", 200, account("")),
    "4.3-transaction": Operation(
        "GET",
        "/v1/accounts/{account-id}/transactions/{transactionId}",
        200,
        account(f"/{facts.covered()}/transactions/{BOOKED}"),
    ),
    "4.3-card-accounts": Operation("GET", "/v1/card-accounts", 200, card()),
    "4.3-card-account": Operation("GET", "/v1/card-accounts/{account-id}", 200, card(f"/{CARD}")),
    "4.3-card-balances": Operation("GET", "/v1/card-accounts/{account-id}/balances", 200, card(f"/{CARD}/balances")),
    "4.3-card-transactions": Operation(
        "GET",
        "/v1/card-accounts/{account-id}/transactions",
        200,
        card(f"/{CARD}/transactions?bookingStatus=booked"),
    ),
    "4.3-funds-confirmation": Operation("POST", "/v1/funds-confirmations", 200, _funds),
    "4.3-create-basket": Operation("POST", "/v1/signing-baskets", 201, _create_basket),
    "4.3-basket": Operation("GET", "/v1/signing-baskets/{basketId}", 200, _basket()),
    "4.3-delete-basket": Operation("DELETE", "/v1/signing-baskets/{basketId}", 204, _basket()),
    "4.3-basket-status": Operation("GET", "/v1/signing-baskets/{basketId}/status", 200, _basket("/status")),
}

every_operation = pytest.mark.parametrize(
    "operation", [pytest.param(operation, marks=spec(id), id=id) for id, operation in OPERATIONS.items()]
)


def test_there_are_27_operations() -> None:
    assert len(OPERATIONS) == 27


@spec("2.13-other-resources")
@every_operation
def test_every_operation_succeeds(bank: Bank, operation: Operation) -> None:
    """The request id is returned, and the answer matches its schema."""
    answer = operation.send(bank, **{"TPP-Redirect-URI": "https://tpp.example/"})

    assert answer.status == operation.status, answer.body
    assert ("Location" in answer.headers) == (operation.status == 201)
    one_authorisation = "authorisation" in operation.path and not operation.path.endswith("authorisations")
    if one_authorisation or operation.status == 201:
        assert answer.headers["ASPSP-SCA-Approach"] in ("REDIRECT", "EMBEDDED")


@spec("reading-request-id")
@every_operation
@pytest.mark.parametrize("id", [None, "4711"])
def test_every_operation_requires_a_request_id(bank: Bank, operation: Operation, id: str | None) -> None:
    answer = operation.send(bank, **{"X-Request-ID": id})

    assert (answer.status, answer.error["code"]) == (400, "FORMAT_ERROR")
    assert "XS2A901E: the header X-Request-ID " in answer.error["text"]


@spec("reading-psu-ip-address")
@spec("reading-redirect-uri")
@every_operation
@pytest.mark.parametrize(
    ("name", "value"),
    [("PSU-IP-Address", "garbage"), ("TPP-Redirect-URI", "javascript:x"), ("TPP-Nok-Redirect-URI", "garbage")],
)
def test_every_operation_checks_these_headers(bank: Bank, operation: Operation, name: str, value: str) -> None:
    answer = operation.send(bank, **{name: value})

    assert (answer.status, answer.error["code"]) == (400, "FORMAT_ERROR")
    assert f"XS2A901E: the header {name} must be " in answer.error["text"]


@every_operation
def test_a_trailing_slash_is_accepted(bank: Bank, operation: Operation) -> None:
    path, options = operation.ask(bank)
    before, mark, query = path.partition("?")

    assert bank.request(operation.method, f"{before}/{mark}{query}", **options).status == operation.status


@spec("reading-method")
@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_other_methods_are_refused(bank: Bank, operation: Operation) -> None:
    path, options = operation.ask(bank)

    answer = bank.request("PATCH", path, **options)

    assert (answer.status, answer.error["code"]) == (405, "SERVICE_INVALID")
    assert operation.method in answer.headers["Allow"].split(", ")


SPOKEN = {"4.3-account-list": "account records are the dialect's own (2.6)"}
"""Differences between the dialect and the framework."""


SHAPED = [id for id, operation in OPERATIONS.items() if operation.status != 204 and id not in SPOKEN]


@spec("reading-sca-shapes")
@pytest.mark.parametrize("id", [pytest.param(id, marks=spec(id)) for id in SHAPED])
def test_answers_match_the_framework(bank: Bank, id: str) -> None:
    answer = OPERATIONS[id].send(bank)

    assert misfits(answer.json(), framework.ANSWERS[id.removeprefix("4.3-")]) == []


@needs_openapi
@pytest.mark.parametrize("id", SHAPED)
def test_answers_are_valid_for_the_file_of_the_framework(bank: Bank, id: str) -> None:
    operation = OPERATIONS[id]
    validate(operation.path, operation.method, operation.status, operation.send(bank).json())


STEPS: list[tuple[str, dict[str, str], Any]] = [
    ("received", {"TPP-Redirect-Preferred": "true"}, None),
    ("received", resources.EMBEDDED, None),
    ("psuIdentified", {"PSU-ID": SEVERAL, **resources.EMBEDDED}, None),
    ("psuAuthenticated", {"PSU-ID": SEVERAL, **resources.EMBEDDED}, resources.password(SEVERAL)),
    ("started", {"PSU-ID": SEVERAL, **resources.DECOUPLED}, None),
]


every_step = pytest.mark.parametrize(
    ("status", "headers", "body"), STEPS, ids=[f"{s}-{n}" for n, (s, _, _) in enumerate(STEPS)]
)


def steps(bank: Bank, made: resources.Resource, status: str, headers: dict[str, str], body: Any) -> Iterator[Any]:
    """Return the kind, method, status and body of each answer on the way."""
    started = bank.post(made.starts, headers=headers, json=body or {})
    assert started.json()["scaStatus"] == status
    yield "start", "POST", 201, started.json()
    own = started.headers["Location"]
    yield "status", "GET", 200, bank.get(own).json()
    if status == "psuAuthenticated":
        method = {"authenticationMethodId": resources.methods(SEVERAL)[0]["authenticationMethodId"]}
        for step in (method, resources.otp(SEVERAL)):
            yield "update", "PUT", 200, bank.put(own, json=step).json()


@spec("reading-sca-shapes")
@pytest.mark.parametrize("family", resources.FAMILIES)
@every_step
def test_every_step_matches_the_framework(
    bank: Bank, family: str, status: str, headers: dict[str, str], body: Any
) -> None:
    for kind, _, _, answer in steps(bank, make(bank, family), status, headers, body):
        assert misfits(answer, framework.AUTHORISATIONS[kind]) == [], kind


@needs_openapi
@pytest.mark.parametrize("family", resources.FAMILIES)
@every_step
def test_every_step_is_valid_for_the_file_of_the_framework(
    bank: Bank, family: str, status: str, headers: dict[str, str], body: Any
) -> None:
    made = make(bank, family)
    for kind, method, code, answer in steps(bank, made, status, headers, body):
        validate(f"{made.family.template}{'' if kind == 'start' else '/{authorisationId}'}", method, code, answer)


ERRORS: list[tuple[str, str, int]] = [
    ("GET", f"/v1/consents/{uuid.UUID(int=7)}/authorisations", 403),
    ("GET", f"/v1/signing-baskets/{uuid.UUID(int=7)}", 403),
    ("POST", "/v1/signing-baskets", 400),
    ("GET", "{basket}/authorisations/4711", 404),
    ("POST", "{signed}/authorisations", 409),
]
"""With an unknown resource, a wrong body, an unknown authorisation, and a wrong state."""


@spec("reading-sca-habits")
@pytest.mark.parametrize(("method", "target", "status"), ERRORS)
def test_errors_have_the_format_of_section_7(bank: Bank, method: str, target: str, status: int) -> None:
    if "{signed}" in target:
        made = make(bank, "basket")
        resources.sign(bank, made, SEVERAL)
        target = target.replace("{signed}", made.own)
    elif "{basket}" in target:
        target = target.replace("{basket}", make(bank, "basket").own)

    answer = bank.request(method, target, **({"json": {}} if method == "POST" else {}))

    assert answer.status == status, answer.body
    assert answer.json()["_links"] is None
    assert set(answer.error) == {"category", "code", "path", "text"}
    assert re.match(r"\{sensitive\} XS2A\d{3}E: \S", answer.error["text"])


# -- limits


@spec("8-unlimited")
@pytest.mark.parametrize("id", OPERATIONS)
def test_further_operations_are_not_limited(bank: Bank, id: str) -> None:
    """Send more requests than the usual frequencyPerDay."""
    assert [OPERATIONS[id].send(bank).status for _ in range(6)] == [OPERATIONS[id].status] * 6
