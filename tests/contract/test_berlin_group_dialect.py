"""The dialects of the Berlin Group, called with requests generated from its own OpenAPI file of version 1.3.11.

Later versions only add to it, so answers of `berlin-group-1.3` match the file, too.

`make test` sends a few requests for each operation. XS2A_TEST_CASES sets the number for `make test-slow`.
Answers are checked unchanged.
"""

import copy
import itertools
import logging
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import strategies as st

from tests.contract.generated_requests import CASES, FEW, ExploredSandbox
from tests.support.berlin_group import needs_openapi, openapi, operations
from tests.support.doors import opened
from tests.support.roads import direct_door
from xs2a_sandbox.clock import REAL
from xs2a_sandbox.config import Settings
from xs2a_sandbox.engine.build import build

pytestmark = needs_openapi

DIALECTS = ("berlin-group-1.3", "berlin-group-1.3.11")
OPERATIONS = operations()
MANY = -(-CASES // max(len(OPERATIONS), 1))
OF_A_JOURNEY = ("{authorisationId}", "{transactionId}", "{payment-product}", "signing-baskets", "/authorisations")
"""Paths with ids from earlier answers, and payments, whose body, service and product hardly ever match by chance.

Other tests prove that these succeed.
"""
ENOUGH = 300
"""Number of cases from which on an operation must have succeeded: its parts must match by chance."""

type Json = dict[str, Any]


def stocked(written: Mapping[str, Any]) -> Json:
    """Return the file with real ids of the bank added to generated ones, so that some requests succeed.

    Its alternatives overlap (an answer can match several of them), so any match is accepted.
    """
    document: Json = copy.deepcopy(dict(written))
    parameters, schemas = document["components"]["parameters"], document["components"]["schemas"]
    for schema in _mappings(document):
        if isinstance(schema.get("oneOf"), list):
            schema["anyOf"] = schema.pop("oneOf")
    parameters["consentId_PATH"]["schema"] = {"type": "string", "minLength": 1, "format": "bg-consent"}
    parameters["consentId_HEADER_mandatory"]["schema"] = {"type": "string", "format": "bg-consent"}
    parameters["accountId"]["schema"] = {"type": "string", "minLength": 1, "format": "bg-account"}
    products = ["sepa-credit-transfers", "instant-sepa-credit-transfers", "pain.001-sepa-credit-transfers"]
    for name in ("dateFrom", "dateTo"):
        parameters[name]["schema"] = {"type": "string", "format": "bg-past"}
    parameters["paymentProduct"]["schema"] = {"type": "string", "enum": products}
    parameters["paymentId"]["schema"] = {"type": "string", "minLength": 1, "format": "bg-payment"}
    schemas["validUntil"]["format"] = "bg-day"
    schemas["iban"] = {"type": "string", "format": "bg-iban"}
    schemas["currencyCode"] = {"type": "string", "format": "bg-currency"}
    schemas["amountValue"] = {"type": "string", "format": "bg-amount"}
    return document


def _mappings(value: Any) -> Iterator[Json]:
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _mappings(inner)


def register_texts(stock: Mapping[str, Mapping[str, Any]]) -> None:
    """Register the formats used by `stocked` with schemathesis."""
    anything = st.one_of(st.text("abcXYZ019-._~", min_size=1), st.uuids().map(str))
    accounts = [account.get("resourceId", iban) for iban, account in stock["accounts"].items()]
    days = [REAL.today(count).isoformat() for count in (2, 90, -2)]
    texts = {
        "bg-consent": st.sampled_from(list(stock["consents"])) | anything,
        # Cards are chosen as often as accounts, of which there are several times as many.
        "bg-account": st.sampled_from([*accounts, *[*stock["cards"]] * len(accounts)]) | anything,
        "bg-payment": st.sampled_from(list(stock.get("payments") or ["none"])) | anything,
        "bg-day": st.sampled_from([*days, "9999-12-31"]),
        "bg-past": st.sampled_from([REAL.today(-count).isoformat() for count in (0, 10, 80)]),
        "bg-iban": st.sampled_from([*stock["accounts"], "DE89370400440532013000"]),
        "bg-currency": st.sampled_from(["EUR", "EUR", "EUR", "USD", "JPY", "XTS"]),
        "bg-amount": st.sampled_from(["0.01", "12.50", "1", "99999999.99", "1.005"]),
    }
    for name, strategy in texts.items():
        schemathesis.openapi.format(name, strategy)


@pytest.fixture(scope="module", params=DIALECTS)
def bank(request: pytest.FixtureRequest) -> Iterator[ExploredSandbox]:
    engine = build(Settings(state="memory:", dialect=request.param))
    register_texts(engine.parts.testdata.at(REAL.today()))
    schema = schemathesis.openapi.from_dict(stocked(openapi()))
    with opened(lambda: direct_door(engine.answer)) as (door, _), requests.Session() as client:
        yield ExploredSandbox(f"http://127.0.0.1:{door.port}", client, schema)


@pytest.mark.parametrize("cases", [FEW, pytest.param(MANY, marks=pytest.mark.slow)], ids=["few", "many"])
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_every_answer_matches_the_berlin_groups_file(
    bank: ExploredSandbox, caplog: pytest.LogCaptureFixture, method: str, path: str, cases: int
) -> None:
    with caplog.at_level(logging.WARNING):
        statuses = bank.call_often(method, path, cases)

    records = itertools.chain(caplog.records)
    assert [one.getMessage() for one in records if one.levelno >= logging.ERROR or one.exc_info] == []
    success = {int(status) for status in openapi()["paths"][path][method]["responses"] if str(status) < "300"}
    if cases >= ENOUGH and not any(part in path for part in OF_A_JOURNEY):
        assert success & statuses.keys(), f"no request succeeded: {dict(statuses)}"
