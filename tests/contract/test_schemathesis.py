"""The documented interface, called with what schemathesis thinks of: no server error, no answer that is not documented.

`make test` makes a few of each operation. XS2A_TEST_CASES says how many there are in all with `make test-slow` (5,000
unless it is set); XS2A_TEST_SEED varies them.
"""

import copy
import itertools
import logging
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import strategies as st

from tests.contract.generated_requests import CASES, ENOUGH, FEW, Bank
from tests.support.doors import opened
from tests.support.roads import direct_door
from xs2a_sandbox.bank import TestData
from xs2a_sandbox.clock import REAL
from xs2a_sandbox.config import Settings
from xs2a_sandbox.documentation.openapi import bundled_document
from xs2a_sandbox.engine.build import build

OF_A_JOURNEY = ("{authorisationId}", "{transactionId}", "signing-baskets", "cancellation-authorisations")
"""Paths with ids that only an earlier answer tells: success is for the journeys of the conformance suite to show."""

FOREIGN = "DE89370400440532013000"

type Json = dict[str, Any]

document = bundled_document()
OPERATIONS = [(method, path) for path, methods in document["paths"].items() for method in methods]
MANY = -(-CASES // len(OPERATIONS))


def stocked(written: Json) -> Json:
    """The document with texts of the bank beside those that only look right, so that requests succeed too."""
    written = copy.deepcopy(written)
    for path, operations in written["paths"].items():
        for parameter in itertools.chain(*(operation["parameters"] for operation in operations.values())):
            if (name := parameter.get("name")) in ("account-id", "consentId", "paymentId"):
                kind = path.split("/")[2] if name == "paymentId" or "card-accounts" in path else name
                parameter["schema"] = {"type": "string", "minLength": 1, "format": kind}
    written["components"]["parameters"]["Consent-ID"]["schema"] = {"type": "string", "format": "Consent-ID"}
    schemas = written["components"]["schemas"]
    schemas["consent-request"]["properties"]["validUntil"] = {"type": "string", "format": "day"}
    schemas["definitions.positiveAmount"] = {"type": "string", "format": "amount"}
    for member in schemas["bulk-payments.sepa-credit-transfers"]["properties"].values():
        if "minItems" in member:
            member["maxItems"] = 1
    return written


def texts(data: TestData) -> dict[str, st.SearchStrategy[str]]:
    """What the formats of the interface, and of `stocked`, stand for."""
    stock = data.collections
    anything = st.one_of(st.text("abcXYZ019-._~ é%/", min_size=1), st.uuids().map(str))
    ids: dict[str, list[str]] = {}
    for id, payment in stock["payments"].items():
        ids.setdefault(payment["service"], []).append(id)
    days = [REAL.today(count).isoformat() for count in (2, 90, -2)]
    return {
        "card-accounts": st.sampled_from(list(stock["cards"])) | anything,
        "account-id": st.sampled_from(list(stock["accounts"])) | anything,
        "consentId": st.sampled_from(list(stock["consents"])) | anything,
        "Consent-ID": st.sampled_from([*stock["consents"], *data.unknown_consents]) | st.uuids().map(str),
        **{service: st.sampled_from(known) | st.sampled_from(known) | anything for service, known in ids.items()},
        "day": st.sampled_from([*days, "9999-12-31"]),
        "iban": st.sampled_from([*stock["accounts"], FOREIGN]),
        "bic": st.sampled_from(["GIBAATWWXXX", "COBADEFF"]),
        "currency": st.sampled_from(["EUR", "EUR", "EUR", "USD", "CZK", "JPY", "KWD", "XTS"]),
        "country": st.sampled_from(["AT", "DE", "US"]),
        "amount": st.sampled_from(["0.01", "12.50", "1", "99999999.99", "1.005", "7.125"]),
    }


@pytest.fixture(scope="module")
def bank() -> Iterator[Bank]:
    engine = build(Settings(state="memory:"))
    stock = engine.parts.testdata.at(REAL.today())
    # Whatever has become of a payment, this bank also has the same one just initiated; what comes first is tried most.
    fresh = {
        str(uuid.uuid5(uuid.UUID(id), "RCVD")): {**payment, "status": "RCVD"}
        for id, payment in stock["payments"].items()
    }
    engine.use(
        testdata=TestData({**stock, "payments": {**fresh, **stock["payments"]}}, engine.parts.testdata.unknown_consents)
    )
    for name, strategy in texts(engine.parts.testdata).items():
        schemathesis.openapi.format(name, strategy)
    schema = schemathesis.openapi.from_dict(stocked(document))
    with (
        opened(lambda: direct_door(engine.answer)) as (door, _),
        requests.Session() as client,
    ):
        yield Bank(f"http://127.0.0.1:{door.port}", client, schema)


@pytest.mark.parametrize("cases", [FEW, pytest.param(MANY, marks=pytest.mark.slow)], ids=["few", "many"])
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_every_answer_is_documented(
    bank: Bank, caplog: pytest.LogCaptureFixture, method: str, path: str, cases: int
) -> None:
    with caplog.at_level(logging.WARNING):
        statuses = bank.call_often(method, path, cases)

    assert [
        record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR or record.exc_info
    ] == []
    success = {int(status) for status in document["paths"][path][method]["responses"] if status < "300"}
    if cases >= ENOUGH and success and not any(part in path for part in OF_A_JOURNEY):
        assert success & statuses.keys(), f"nothing succeeded: {dict(statuses)}"
