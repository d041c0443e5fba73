"""Mutations of the dialect that no other test notices, found by `make mutants`."""

import asyncio
import json
import logging
import re
import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.contract import bodies, facts
from tests.contract.answers import check_answer, validator
from tests.contract.conftest import Sandbox
from tests.contract.doors import Answer, Bank
from tests.contract.test_errors import is_error, provoke
from tests.contract.test_further import OPERATIONS
from xs2a_sandbox.bank.handlers.table import collect_handlers
from xs2a_sandbox.config import Settings
from xs2a_sandbox.doors import door
from xs2a_sandbox.engine import Engine
from xs2a_sandbox.engine.build import build
from xs2a_sandbox.errors import BankError, StoreUnavailable
from xs2a_sandbox.http import Headers, Request, Response
from xs2a_sandbox.state import MemoryStore, attempts

UUID = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
TEXTS = {
    "unknown consent": f"XS2A017E: consent {UUID} unknown",
    "expired consent": f"XS2A005E: consent {UUID} expired",
    "expired consent on transactions": f"XS2A004E: consent {UUID} expired",
    "unknown account": r"XS2A016E: resource AT\d{18} unknown / not found / not part of the current consent",
    "no request id": "XS2A901E: the header X-Request-ID is missing; it must be a UUID",
    "wrong type": "XS2A906E: Content-Type must be application/json, not text/plain",
    "large body": "XS2A905E: the body must not be larger than 1048576 bytes",
    "wrong period": "XS2A903E: validUntil must not be before 2[0-9-]{9}",
    "foreign account": r"XS2A902E: the bank holds no account AT\d{18}",
    "received consent": f"XS2A913E: consent {UUID} is received",
    "unknown path": "XS2A910E: resource /v1/nothing unknown",
    "unknown product": "XS2A911E: the payment product of /v1/payments/gold-bars is not offered",
    "wrong method": "XS2A912E: PUT is not offered here, only POST",
    "unknown payment": f"XS2A914E: payment {UUID} unknown",
    "wrong date": "XS2A904E: requestedExecutionDate must not be before 2[0-9-]{9}",
    "cancelled twice": f"XS2A915E: payment {UUID} is CANC and cannot be cancelled",
    "wrong session": r"XS2A907E: the name of a session \(/s/NAME/, X-Sandbox-Session or the proxy user\) must be 1 to "
    "64 of the characters A-Z a-z 0-9 . _ -, not two words",
    "placeholder": "XS2A916E: authorisation authorization_not_yet_available unknown",
    "wrong password": "XS2A920E: wrong credentials, 2 attempts left",
    "finished authorisation": f"XS2A921E: {UUID} is finalised",
    "unknown method": "XS2A922E: the customer has no SCA method pigeon",
    "password by redirect": "XS2A923E: psuData is not allowed with the redirect approach",
    "member of a basket": f"XS2A924E: {UUID} is in a signing basket and is authorised with it",
    "unknown basket": f"XS2A925E: signing basket {UUID} unknown",
    "unknown member": f"XS2A926E: payment or consent {UUID} unknown",
    "member of two baskets": f"XS2A927E: {UUID} is authorised already, or in another signing basket",
}


def test_texts_of_errors(bank: Bank) -> None:
    answers = provoke(bank)

    for kind, text in TEXTS.items():
        found = answers[kind].error["text"].removeprefix("{sensitive} ")
        assert re.fullmatch(text, found), kind


@pytest.mark.parametrize("part", ["", "/balances", "/transactions?bookingStatus=booked", "/transactions/A-0001"])
def test_error_for_a_missing_consent_id(bank: Bank, part: str) -> None:
    answer = bank.get(f"/v1/accounts/{facts.covered()}{part}")

    says(answer, 400, "FORMAT_ERROR", "XS2A901E: the header Consent-ID is missing")
    assert answer.headers["X-Sandbox-Source"] == "sandbox", "the interface requires it, not a handler"


# The placeholder


@pytest.mark.parametrize("method", ["GET", "PUT"])
def test_the_placeholder_is_an_unknown_authorisation(bank: Bank, method: str) -> None:
    payment = f"/v1/{bodies.SEPA}/{uuid.uuid4()}/authorisations"
    body: dict[str, Any] = {"json": {}} if method == "PUT" else {}

    answer = bank.request(method, f"{payment}/authorization_not_yet_available", **body)

    is_error(answer, 404, "RESOURCE_UNKNOWN")
    text = "XS2A916E: authorisation authorization_not_yet_available unknown"
    assert answer.error["text"] == f"{{sensitive}} {text}"
    other = bank.request(method, f"{payment}/1", **body)
    assert "XS2A914E" in other.error["text"], "for other ids the payment is looked up first"


# Errors that a single request cannot cause


class Away(MemoryStore):
    def read(self, *_: Any) -> Any:
        raise StoreUnavailable("the disk is away")


@pytest.fixture
def cases(tmp_path: Path) -> Callable[[str], Engine]:
    """Return an engine with additional rules."""

    def make(rules: str) -> Engine:
        file = tmp_path / "case.yaml"
        file.write_text(f"cassette: 1\ntitle: Case\nrules:\n{rules}")
        return build(Settings(state="memory:", cassettes=(file,), confdir=tmp_path))

    return make


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    return build(Settings(state="memory:", confdir=tmp_path))


def ask(engine: Engine, path: str, method: str = "GET") -> Answer:
    id = str(uuid.uuid4())
    response = asyncio.run(engine.answer(Request(method, path, Headers([("X-Request-ID", id)]), host="bank.example")))
    answer = Answer(response.status, httpx.Headers(response.headers), response.body)
    check_answer(answer, method, [id])
    return answer


def says(answer: Answer, status: int, code: str, text: str) -> None:
    is_error(answer, status, code)
    assert answer.error["text"] == f"{{sensitive}} {text}"


STATUS = f"/v1/consents/{facts.consent()}/status"


def test_error_if_the_state_is_unavailable(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "_SECONDS", 0.0)
    engine.use(store=Away())

    text = "XS2A993E: the sandbox could not use its state; its log says why"
    says(ask(engine, STATUS), 503, "SERVICE_UNAVAILABLE", text)


def test_error_if_a_handler_fails(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def breaks(_: object) -> Any:
        raise ZeroDivisionError

    monkeypatch.setitem(
        collect_handlers(), "consents.status", replace(collect_handlers()["consents.status"], run=breaks)
    )

    with caplog.at_level(logging.CRITICAL):
        answer = ask(engine, STATUS)

    text = "XS2A990E: the sandbox failed on this request; see its log"
    says(answer, 500, "INTERNAL_SERVER_ERROR", text)


def test_error_if_a_sequence_is_exhausted(cases: Callable[[str], Engine]) -> None:
    rule = "- {id: once, match: {path: /v1/once}, sequence: [{status: 204}], on_exhausted: fail}\n"
    engine = cases(rule)

    assert ask(engine, "/v1/once").status == 204
    text = "XS2A994E: the sequence of the rule once has been given, all 1 answers of it"
    says(ask(engine, "/v1/once"), 500, "INTERNAL_SERVER_ERROR", text)


OF_NO_HANDLER = {
    "timeout": (504, "INTERNAL_SERVER_ERROR", "XS2A991E: the sandbox did not answer in time"),
    "bank-not-configured": (
        502,
        "SERVICE_UNAVAILABLE",
        "XS2A995E: this rule asks the real bank, and none is asked in this mode (--bank URL --mode spy)",
    ),
    "bank-unreachable": (502, "SERVICE_UNAVAILABLE", "XS2A981E: the bank B cannot be reached: R"),
    "bank-late": (504, "SERVICE_UNAVAILABLE", "XS2A982E: the bank B is too slow: R"),
    "bank-garbled": (502, "SERVICE_UNAVAILABLE", "XS2A983E: the answer of the bank B is not valid HTTP: R"),
    "bank-loop": (508, "SERVICE_UNAVAILABLE", "XS2A984E: the bank B leads back to this sandbox"),
    "bank-private": (
        502,
        "SERVICE_UNAVAILABLE",
        "XS2A985E: B leads to the private address A, which the settings do not allow (private: true in banks)",
    ),
    "recording-failed": (
        503,
        "SERVICE_UNAVAILABLE",
        "XS2A986E: requests are not sent to the bank until they can be recorded: R",
    ),
}
"""The doors send the first errors themselves. The others need a bank, which does not exist here."""


@pytest.mark.parametrize("name", OF_NO_HANDLER)
def test_errors_that_no_handler_raises(engine: Engine, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    def raises(_: object) -> Any:
        raise BankError(name, bank="B", reason="R", address="A")

    monkeypatch.setitem(
        collect_handlers(), "consents.status", replace(collect_handlers()["consents.status"], run=raises)
    )

    says(ask(engine, STATUS), *OF_NO_HANDLER[name])


OF_CHECKS = {
    "access-exceeded": (
        429,
        "ACCESS_EXCEEDED",
        "XS2A918E: the consent I has been used 4 times today without the customer",
    ),
    "access-missing": (401, "CONSENT_INVALID", "XS2A919E: the consent I is not for the balances of A"),
    "certificate-missing": (401, "CERTIFICATE_MISSING", "XS2A950E: E"),
    "certificate-invalid": (401, "CERTIFICATE_INVALID", "XS2A951E: E"),
    "certificate-expired": (401, "CERTIFICATE_EXPIRED", "XS2A952E: the certificate was good until T"),
    "certificate-revoked": (
        401,
        "CERTIFICATE_REVOKED",
        "XS2A953E: the certificate 17 was revoked by who has issued it",
    ),
    "certificate-blocked": (401, "CERTIFICATE_BLOCKED", "XS2A954E: the TPP P is blocked by the competent authority"),
    "role-invalid": (401, "ROLE_INVALID", "XS2A955E: E"),
    "digest-wrong": (400, "FORMAT_ERROR", "XS2A930E: E"),
    "token-unknown": (401, "TOKEN_UNKNOWN", "XS2A931E: E"),
    "token-expired": (401, "TOKEN_EXPIRED", "XS2A932E: the token was good until T"),
    "token-invalid": (401, "TOKEN_INVALID", "XS2A933E: the token is for S"),
    "token-unproven": (401, "TOKEN_INVALID", "XS2A934E: E"),
    "token-proof-invalid": (401, "TOKEN_INVALID", "XS2A935E: E"),
    "token-key-wrong": (401, "TOKEN_INVALID", "XS2A936E: E"),
    "signature-missing": (401, "SIGNATURE_MISSING", "XS2A940E: E"),
    "signature-invalid": (401, "SIGNATURE_INVALID", "XS2A941E: E"),
    "sessions-not-supported": (
        400,
        "SESSIONS_NOT_SUPPORTED",
        "XS2A945E: combinedServiceIndicator must be false, as the bank combines no services",
    ),
    "format-not-offered": (406, "REQUESTED_FORMATS_INVALID", "XS2A929E: only F are offered"),
    "access-not-offered": (400, "PARAMETER_NOT_SUPPORTED", "XS2A928E: consents with K are not offered"),
}
"""Errors of a sandbox that is configured to check more, or to offer less, than documented."""

HEADERS_OF_CHECKS = {
    "access-exceeded": ("Retry-After", "90"),
    "token-proof-invalid": ("WWW-Authenticate", 'DPoP error="invalid_dpop_proof", algs="ES256 PS256"'),
    "token-key-wrong": ("WWW-Authenticate", 'DPoP error="invalid_token", algs="ES256 PS256"'),
}


@pytest.mark.parametrize("name", OF_CHECKS)
def test_errors_of_checks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    values = {"id": "I", "limit": 4, "right": "balances", "account": "A", "expected": "E", "expires": "T", "serial": 17}
    values |= {"tpp": "P", "scope": "S", "offered": "F", "kind": "K"}

    def raises(_: object) -> Any:
        raise BankError(name, **values)

    monkeypatch.setitem(
        collect_handlers(), "consents.status", replace(collect_handlers()["consents.status"], run=raises)
    )
    almost_midnight = datetime.fromisoformat("2026-03-01T23:58:30+01:00")
    answer = ask(build(Settings(state="memory:", confdir=tmp_path, frozen_at=almost_midnight)), STATUS)

    says(answer, *OF_CHECKS[name])
    header, value = HEADERS_OF_CHECKS.get(name, ("Retry-After", None))
    assert answer.headers.get(header) == value


@pytest.mark.parametrize(("name", "response"), [("timeout", door.LATE), ("internal", door.FAILED)])
def test_errors_of_doors_have_the_texts_of_the_dialect(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, name: str, response: Response
) -> None:
    def raises(_: object) -> Any:
        raise BankError(name, reason="the sandbox failed on this request; see its log")

    monkeypatch.setitem(
        collect_handlers(), "consents.status", replace(collect_handlers()["consents.status"], run=raises)
    )
    answer = ask(engine, STATUS)

    assert (answer.status, answer.json()) == (response.status, json.loads(response.body))


# States that no payment in the test data has


@pytest.mark.parametrize(("state", "status", "then"), [("PDNG", 202, "PDNG"), ("ACTC", 202, "ACTC")])
def test_cancellation_in_every_state(cases: Callable[[str], Engine], state: str, status: int, then: str) -> None:
    id, payment = facts.payments("PDNG")[0]
    path = f"/v1/{payment['service']}/{payment['product']}/{id}"
    effect = f"{{set: \"state.payments['{id}'].status\", to: {state}}}"
    engine = cases(f"- {{id: prepare, match: {{path: /v1/prepare}}, respond: {{status: 204}}, effects: [{effect}]}}\n")
    assert ask(engine, "/v1/prepare").status == 204

    answer = ask(engine, path, "DELETE")

    assert answer.status == status, answer.body
    assert ask(engine, f"{path}/status").json()["transactionStatus"] == then


# Schemas that the dialect names for its answers


def shapes(sandbox: Sandbox) -> Mapping[tuple[str, str], str]:
    """Return the schema of an operation's answer by id and status, as loaded by the engine."""
    found = {}
    for operation in sandbox.engine.interface.operations.values():
        for status, name in (operation.behaviour.answers or {}).items():
            found[operation.id, str(status)] = name
    return found


def test_operations_name_the_schema_of_their_answer(bank: Bank, sandbox: Sandbox) -> None:
    """This includes answers in which nothing is filled with null, where the name has no effect."""
    pending = f"/v1/{facts.payments('PDNG')[0][1]['service']}/{facts.payments('PDNG')[0][1]['product']}"
    answers = {
        ("consent-status", "200"): bank.get(STATUS),
        ("cancel-payment", "202"): bank.delete(f"{pending}/{facts.payments('PDNG')[0][0]}"),
    }

    for (operation, status), answer in answers.items():
        assert str(answer.status) == status
        name = shapes(sandbox)[operation, status]
        assert [error.message for error in validator(name).iter_errors(answer.json())] == []


def test_further_operations_name_the_schema_of_their_answer(bank: Bank, sandbox: Sandbox) -> None:
    for operation in OPERATIONS.values():
        answer = operation.send(bank)
        if answer.body:
            name = shapes(sandbox)[answer.headers["X-Sandbox-Rule"], str(answer.status)]
            assert [error.message for error in validator(name).iter_errors(answer.json())] == [], operation.path


def test_errors_name_their_schema(bank: Bank, sandbox: Sandbox) -> None:
    error = bank.get(f"/v1/consents/{facts.consent('unknown')}")

    name = sandbox.engine.interface.every_error.schema
    assert name
    assert [error.message for error in validator(name).iter_errors(error.json())] == []


def test_an_operation_that_was_not_recorded_is_reported_as_such(engine: Engine) -> None:
    bank = engine.banks.default
    bank.interface = replace(bank.interface, silent=frozenset(bank.interface.operations))
    answer = ask(engine, "/v1/accounts")
    assert (answer.status, answer.error["code"]) == (404, "RESOURCE_UNKNOWN")
    assert answer.error["text"] == "{sensitive} XS2A917E: GET /v1/accounts was not recorded"
