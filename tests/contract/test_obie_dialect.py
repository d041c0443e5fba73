"""The dialect `obie-4.0`, called with requests generated from the OpenAPI files of UK Open Banking.

`make test` sends a few requests for each operation. XS2A_TEST_CASES sets the number for `make test-slow`.
"""

import json
import logging
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import pytest
import requests
import schemathesis

from tests.contract.generated_requests import CASES, FEW, ExploredSandbox
from tests.families.test_uk_open_banking import JWS, account_consent, initiation, payment_consent, token
from tests.support.doors import opened
from tests.support.engine_client import Client
from tests.support.roads import direct_door
from tests.support.shared import SHARED, needs_shared
from xs2a_sandbox.config import Settings
from xs2a_sandbox.engine.build import build

pytestmark = needs_shared("data/obie-v4/openapi")

SCOPES = {"account-info": "accounts", "payment-initiation": "payments", "vrp": "payments"}
SCOPES |= {"confirmation-funds": "fundsconfirmations", "events": "accounts"}
"""The OpenAPI files, each with the scope of its tokens."""
PERMISSIONS = (
    "ReadAccountsDetail ReadBalances ReadBeneficiariesDetail ReadDirectDebits ReadOffers ReadParty ReadPartyPSU "
    "ReadProducts ReadScheduledPaymentsDetail ReadStandingOrdersDetail ReadStatementsDetail ReadTransactionsDetail"
).split()


@cache
def document(name: str) -> Any:
    return json.loads((SHARED / "data/obie-v4/openapi" / f"{name}.json").read_text(encoding="utf-8"))


def operations() -> list[tuple[str, str, str]]:
    """Return file, method and path of each operation of the dialect."""
    return [
        (name, method, path)
        for name in SCOPES
        if (SHARED / "data/obie-v4/openapi").is_dir()
        for path, item in document(name)["paths"].items()
        for method in ("get", "post", "put", "patch", "delete")
        if method in item
    ]


OPERATIONS = operations()
MANY = -(-CASES // max(len(OPERATIONS), 1))


class OpenBank(ExploredSandbox):
    """Send each request with the token that its operation needs."""

    tokens: Mapping[str, str]

    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.tokens['used']}", "x-jws-signature": JWS}


@pytest.fixture(scope="module")
def banks() -> Iterator[Mapping[str, tuple[OpenBank, Mapping[str, str]]]]:
    """Yield for each file a bank and its tokens: the app's, and a customer's."""
    engine = build(Settings(state="memory:", dialect="obie-4.0"))
    app = Client(engine)
    own = {scope: token(app, grant_type="client_credentials", scope=scope) for scope in SCOPES.values()}
    _, reader = account_consent(app, *PERMISSIONS)
    _, payer = payment_consent(app, initiation())
    customers = {"accounts": reader, "payments": payer, "fundsconfirmations": reader}
    with opened(lambda: direct_door(engine.answer)) as (door, _), requests.Session() as client:
        banks = {}
        for name, scope in SCOPES.items():
            (server,) = document(name)["servers"]
            url = f"http://127.0.0.1:{door.port}{server['url']}"
            bank = OpenBank(url, client, schemathesis.openapi.from_dict(document(name)))
            banks[name] = bank, {"TPPOAuth2Security": own[scope], "PSUOAuth2Security": customers[scope]}
        yield banks


@pytest.mark.parametrize("cases", [FEW, pytest.param(MANY, marks=pytest.mark.slow)], ids=["few", "many"])
@pytest.mark.parametrize(("name", "method", "path"), OPERATIONS)
def test_every_answer_matches_the_uk_open_banking_file(
    banks: Mapping[str, tuple[OpenBank, Mapping[str, str]]],
    caplog: pytest.LogCaptureFixture,
    name: str,
    method: str,
    path: str,
    cases: int,
) -> None:
    bank, tokens = banks[name]
    (security,) = document(name)["paths"][path][method]["security"]
    bank.tokens = {"used": tokens[next(iter(security))]}

    with caplog.at_level(logging.WARNING):
        bank.call_often(method, path, cases)

    assert [one.getMessage() for one in caplog.records if one.levelno >= logging.ERROR or one.exc_info] == []
