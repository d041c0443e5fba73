"""Access tokens, through every door (RFC 6749)."""

import base64
import re
from urllib.parse import urlencode

import pytest

from tests.contract import facts
from tests.contract.answers import validator
from tests.contract.conftest import Sandbox
from tests.contract.control import Control
from tests.contract.doors import Answer, Bank, place
from tests.contract.test_survivors import shapes
from tests.support.proofs import Prover

((CLIENT, KEPT),) = facts.testdata()["clients"].items()
FORM = "application/x-www-form-urlencoded"

spec = pytest.mark.spec


def token(
    bank: Bank,
    path: str = "/as/token.oauth2",
    secret: str = KEPT["secret"],
    media_type: str = FORM,
    proof: str | None = None,
    check: bool = True,
    **form: str,
) -> Answer:
    basic = base64.b64encode(f"{CLIENT}:{secret}".encode()).decode()
    return bank.post(
        path,
        content=urlencode({"grant_type": "client_credentials", **form}).encode(),
        headers={"Content-Type": media_type, "Authorization": f"Basic {basic}", "X-Request-ID": None, "DPoP": proof},
        check=check,
    )


@spec("reading-tokens")
@pytest.mark.parametrize("prefix", ["", "/api/psd2"])
def test_a_client_gets_a_token(bank: Bank, prefix: str) -> None:
    answer = token(bank, f"{prefix}/as/token.oauth2")
    body = answer.json()
    assert answer.status == 200
    assert (answer.headers["Cache-Control"], answer.headers["Pragma"]) == ("no-store", "no-cache")
    assert (body["token_type"], body["expires_in"]) == ("Bearer", 599)
    assert re.fullmatch("[A-Za-z0-9_-]{43}", body["access_token"])


def test_the_path_can_contain_the_session(bank: Bank) -> None:
    assert token(bank, f"/s/{bank.session}/as/token.oauth2").status == 200


REFUSED = {
    "no form": (400, "invalid_request", f"Content-Type must be {FORM}"),
    "no grant": (400, "invalid_request", "grant_type is required"),
    "another grant": (400, "unsupported_grant_type", "the only grant_type is client_credentials"),
    "wrong secret": (401, "invalid_client", "the client is unknown, or its secret is wrong"),
}


def refuse(bank: Bank, kind: str) -> Answer:
    match kind:
        case "no form":
            return token(bank, media_type="text/plain")
        case "no grant":
            return token(bank, grant_type="")
        case "another grant":
            return token(bank, grant_type="password")
        case _:
            return token(bank, secret="wrong")


@spec("reading-tokens")
@pytest.mark.parametrize("kind", REFUSED)
def test_an_invalid_request_gets_no_token_but_an_error_description(bank: Bank, kind: str) -> None:
    status, error, description = REFUSED[kind]
    answer = refuse(bank, kind)
    assert (answer.status, answer.json()) == (status, {"error": error, "error_description": description})
    assert (answer.headers["Cache-Control"], answer.headers["Pragma"]) == ("no-store", "no-cache")
    challenge = 'Basic realm="xs2a-sandbox", charset="UTF-8"' if status == 401 else None
    assert answer.headers.get("WWW-Authenticate") == challenge


def test_the_endpoint_names_the_schema_of_its_answers(bank: Bank, sandbox: Sandbox) -> None:
    for answer in (token(bank), *(refuse(bank, kind) for kind in REFUSED)):
        name = shapes(sandbox)["token", str(answer.status)]
        assert [error.message for error in validator(name).iter_errors(answer.json())] == [], name


def test_a_key_bound_token_needs_a_proof(bank: Bank, control: Control) -> None:
    bound = {"match": {"operation": "token"}, "handler": "token.issue", "with": {"expires_in": 60, "dpop_bound": True}}
    control.ask("POST", "rules", {"rules": [{"id": "bound", **bound}]})
    here = place(bank, "/as/token.oauth2")
    grant_answer = token(bank, proof=Prover().proof("POST", here), check=False)
    assert (grant_answer.status, grant_answer.json()["token_type"], grant_answer.json()["expires_in"]) == (
        200,
        "DPoP",
        60,
    )
    missing = "the header DPoP is missing; it must contain one proof, made for this request (RFC 9449)"
    another = "the htm of the DPoP proof must be POST, not 'GET'"
    for proof, words in ((None, missing), (Prover().proof("GET", here), another)):
        refused = token(bank, proof=proof, check=False)
        assert refused.status == 400
        assert refused.json() == {"error": "invalid_dpop_proof", "error_description": words}
        assert (refused.headers["Cache-Control"], refused.headers["Pragma"]) == ("no-store", "no-cache")
