"""The explanation on a terminal: 80 columns, plain text, with everything in the JSON."""

import pytest

from tests.contract import facts
from tests.support.engine_client import an_engine, cassette
from tests.support.explained import UUID, explained
from xs2a_sandbox.cli.explain import text
from xs2a_sandbox.engine import Engine

CASES = """
rules:
  - id: teapot
    match: {operation: account-list, headers: {PSU-ID: {regex: "^corp-"}}}
    respond: {status: 418, body: {}}
  - id: kettle
    match: {operation: account-list, headers: {PSU-ID: corp-1}}
    respond: {status: 503, body: {}}
"""


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return an_engine(layers=cassette(tmp_path_factory.mktemp("cases"), CASES))


def test_explanation_of_an_unmatched_request(bank: Engine) -> None:
    printed = text(explained(bank, "GET", "/v1/acounts", {"X-Request-ID": UUID}))

    assert printed.startswith(
        """\
GET /v1/acounts in the session default
  no operation and no rule has this path; the nearest matches follow
  the answer is 404 path-unknown: resource /v1/acounts unknown

Hint: the header Consent-ID is missing: account information needs the id of a
      valid consent

Nearest:

1. operation account-list: GET /v1/accounts, distance 0.062
   cassettes/xs2a-1.84/accounts.yaml:7
     fits  method GET
     not   path: 'acounts' should be 'accounts'
     also  the header Consent-ID is missing
"""
    )
    assert printed.endswith(
        """\
This rule in cassettes/cases/get-v1-acounts.yaml would answer it:

cassette: 1
rules:
  - id: get-v1-acounts
    match: {method: GET, path: /v1/acounts}
    respond:
      status: 200
      body: {}
"""
    )


def test_explanation_of_a_matched_request(bank: Engine) -> None:
    headers = {"X-Request-ID": UUID, "Consent-ID": facts.consent(), "PSU-ID": "corp-1"}
    printed = text(explained(bank, "GET", "/v1/accounts", headers))

    assert "  the rule kettle answers\n  the answer is 503\n" in printed
    assert 'fits  header PSU-ID is "corp-1"\n' in printed
    assert "but   kettle is more specific: strength 8, not 2\n" in printed
    assert "Hint" not in printed


def test_no_line_is_wider_than_a_terminal(bank: Engine) -> None:
    for url in ("/v1/payments/sepa-credit-transfer/x/status", "/v1/" + "a-b " * 60, "/v1/\x1b[31m", "/_sandbox/state"):
        printed = text(explained(bank, "GET", url, {"Consent-ID": "not registered\x1b[0m"}))
        explanation = printed.partition("This rule in")[0]
        assert max(map(len, explanation.splitlines())) <= 80
        assert explanation.replace("\n", "").isprintable()
