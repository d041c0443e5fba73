"""The checks of strict banks, and their order."""

from pathlib import Path

import pytest

from tests.contract import facts
from tests.support.engine_client import Client, an_engine, cassette
from xs2a_sandbox.config import RealBank

PATH = f"/v1/consents/{facts.consent()}/status"
WRONG = {"Digest": "SHA-256=AAAA", "TPP-Redirect-Preferred": "perhaps"}
"""The headers of a request that fails every check: no certificate, signature or token."""

CODES = {
    "certificate": "CERTIFICATE_MISSING",
    "digest": "FORMAT_ERROR",
    "signature": "SIGNATURE_MISSING",
    "token": "TOKEN_UNKNOWN",
    "validity": "FORMAT_ERROR",
}
"""The expected errors by check, in order."""


def bank(*checks: str) -> Client:
    return Client(an_engine(real=RealBank(checks=checks)))


@pytest.mark.parametrize("left_out", range(len(CODES)))
def test_the_first_failed_check_is_reported(left_out: int) -> None:
    checks = [*CODES][left_out:]
    refused = bank(*reversed(checks)).get(PATH, headers=WRONG)
    assert refused.error["code"] == CODES[checks[0]]


def test_all_warnings_are_reported_in_order() -> None:
    warnings = bank("warn").get(PATH, headers=WRONG).headers["x-sandbox-strict"]
    assert [entry.split()[1].strip(":") for entry in warnings.split("; ")] == [
        "FORMAT_ERROR",
        "TOKEN_UNKNOWN",
        "FORMAT_ERROR",
    ]


def test_the_token_endpoint_needs_neither_signature_nor_token() -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded", "X-Request-ID": None}
    body = b"grant_type=client_credentials&client_id=demo-tpp"
    assert bank("signature", "token", "validity").post("/as/token.oauth2", headers=form, body=body).status == 200


AUTHORIZE = """\
every_request: {headers: {X-Request-ID: {format: uuid}}}
operations:
  - id: authorize
    method: GET
    path: /oauth/authorize
    browser: BROWSER
    respond: {status: 303, headers: {Location: "{{ session.url }}/sca/authorize"}}
"""


@pytest.mark.parametrize("checks", [(*CODES, "redirect"), ("token",)])
def test_the_payment_users_browser_is_not_checked(checks: tuple[str, ...], tmp_path: Path) -> None:
    def status(browser: str) -> int:
        layers = cassette(tmp_path, AUTHORIZE.replace("BROWSER", browser))
        client = Client(an_engine(layers=layers, real=RealBank(checks=checks)))
        return client.get("/oauth/authorize", headers={"X-Request-ID": None, "Authorization": None}).status

    assert (status("true"), status("false")) == (303, 401)
