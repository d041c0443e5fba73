"""Authorisation by OAuth: from `scaOAuth` to the authorisation server, over the page, back with a code, to tokens."""

import base64
import hashlib
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit

import httpx
import pytest
from jsonschema import Draft202012Validator

from tests.contract.answers import validator
from tests.contract.berlin_group.conftest import Tpp
from tests.contract.berlin_group.test_authorisations import APART, links, payment

berlin_group = pytest.mark.berlin_group

SELMA = "DE81999888770000700007"
CLIENT = ("demo-tpp", "kletterrose")
BACK = "https://tpp.example/back?from=bank"
VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
"""The example of RFC 7636, appendix B."""


def plain(tpp: Tpp, method: str, url: str, **more: Any) -> httpx.Response:
    """Send a request to the path of this address through the door of the test."""
    parts = urlsplit(url)
    path = parts.path if parts.path.startswith("/s/") else tpp.prefix + parts.path
    return tpp.http.request(method, f"{path}?{parts.query}" if parts.query else path, **more)


def consent(tpp: Tpp, psu: str = "selma") -> httpx.Response:
    answer = tpp.consents({"allPsd2": "allAccounts"}, headers={"PSU-ID": psu})
    assert answer.status_code == 201, answer.text
    return answer


def metadata(tpp: Tpp, made: httpx.Response) -> dict[str, Any]:
    """Return the metadata of the authorisation server that a resource links to."""
    answer = plain(tpp, "GET", links(made)["scaOAuth"])
    assert answer.status_code == 200
    assert list(validator("berlin-group-1.3/authorisation-server").iter_errors(answer.json())) == []
    content: dict[str, Any] = answer.json()
    return content


def authorization_url(scope: str, **other: str | None) -> str:
    usual = {
        "response_type": "code",
        "client_id": CLIENT[0],
        "redirect_uri": BACK,
        "scope": scope,
        "state": "4711 ü",
        "code_challenge": CHALLENGE,
        "code_challenge_method": "S256",
    }
    return urlencode({name: text for name, text in {**usual, **other}.items() if text is not None})


def visited(tpp: Tpp, endpoint: str, query: str, decision: str = "approve") -> dict[str, str]:
    """Return the parameters of the redirect after the customer's decision."""
    lead = plain(tpp, "GET", f"{endpoint}?{query}&decide={decision}")
    assert lead.status_code == 303, lead.text
    if not lead.headers["location"].startswith(BACK):
        lead = plain(tpp, "GET", urljoin(endpoint, lead.headers["location"]))
    assert lead.status_code == 303, lead.text
    assert lead.headers["location"].startswith(BACK)
    assert lead.headers["cache-control"] == "no-store"
    return dict(parse_qsl(urlsplit(lead.headers["location"]).query))


def token(tpp: Tpp, endpoint: str = "/as/token.oauth2", **form: str) -> httpx.Response:
    auth = CLIENT if form.get("client_id") is None else None
    answer = plain(tpp, "POST", endpoint, data=form, auth=auth)
    name = "token" if answer.status_code == 200 else "token-error"
    judge: Draft202012Validator = validator(f"berlin-group-1.3/{name}")
    assert list(judge.iter_errors(answer.json())) == []
    assert (answer.headers["cache-control"], answer.headers["pragma"]) == ("no-store", "no-cache")
    return answer


def exchange(code: str, **other: str) -> dict[str, str]:
    usual = {"grant_type": "authorization_code", "code": code, "redirect_uri": BACK, "code_verifier": VERIFIER}
    return {name: text for name, text in {**usual, **other}.items() if text}


def code_of(tpp: Tpp) -> tuple[str, str]:
    """Return a new code and its scope."""
    made = consent(tpp)
    scope = f"AIS:{made.json()['consentId']}"
    return visited(tpp, metadata(tpp, made)["authorization_endpoint"], authorization_url(scope))["code"], scope


def refused(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]


@berlin_group("oauth-consent")
def test_a_consent_is_authorised_by_oauth(tpp: Tpp) -> None:
    made = consent(tpp)
    assert made.headers["aspsp-sca-approach"] == "REDIRECT"
    assert links(made).keys() == {"self", "status", "scaOAuth", "scaStatus"}
    server = metadata(tpp, made)
    assert links(made)["scaOAuth"] == f"{server['issuer']}/.well-known/oauth-authorization-server"
    assert server["issuer"].endswith(tpp.prefix)

    scope = f"AIS:{made.json()['consentId']}"
    back = visited(tpp, server["authorization_endpoint"], authorization_url(scope))
    assert back.keys() == {"from", "code", "state"}
    assert (back["from"], back["state"]) == ("bank", "4711 ü")
    assert tpp.get(links(made)["status"]).json() == {"consentStatus": "valid"}
    assert tpp.get(links(made)["scaStatus"]).json()["scaStatus"] == "finalised"

    grant_answer = token(tpp, server["token_endpoint"], **exchange(back["code"]))
    assert grant_answer.status_code == 200, grant_answer.text
    assert (grant_answer.json()["token_type"], grant_answer.json()["scope"]) == ("Bearer", scope)
    refreshed = token(tpp, grant_type="refresh_token", refresh_token=grant_answer.json()["refresh_token"])
    assert refreshed.status_code == 200
    assert refreshed.json()["access_token"] != grant_answer.json()["access_token"]
    assert refreshed.json()["scope"] == scope


@berlin_group("oauth-payment")
@pytest.mark.parametrize("apart", [False, True])
def test_a_payment_is_authorised_by_oauth(tpp: Tpp, apart: bool) -> None:
    if apart:
        path = payment(tpp, debtorAccount={"iban": SELMA})
        made = tpp.request("POST", f"{path}/authorisations", headers={"PSU-ID": "selma"})
    else:
        body = {
            "debtorAccount": {"iban": SELMA},
            "instructedAmount": {"currency": "EUR", "amount": "1.25"},
            "creditorAccount": {"iban": "DE65999777660000001000"},
            "creditorName": "Berta Bauer",
        }
        made = tpp.request("POST", "/v1/payments/sepa-credit-transfers", json=body, headers={"PSU-ID": "selma"})
        path = made.headers["location"]
    assert made.status_code == 201, made.text
    server = metadata(tpp, made)
    back = visited(tpp, server["authorization_endpoint"], authorization_url(f"PIS:{path.rpartition('/')[2]}"))
    assert tpp.get(f"{path}/status").json()["transactionStatus"] in ("ACSP", "ACSC", "ACCP")
    assert token(tpp, **exchange(back["code"])).json()["scope"] == f"PIS:{path.rpartition('/')[2]}"


@berlin_group("oauth-declined")
@pytest.mark.parametrize("decision", ["decline", "timeout"])
def test_a_customer_who_declines_is_redirected_with_an_error(tpp: Tpp, decision: str) -> None:
    made = consent(tpp)
    server = metadata(tpp, made)
    back = visited(
        tpp, server["authorization_endpoint"], authorization_url(f"AIS:{made.json()['consentId']}"), decision
    )
    assert back == {"from": "bank", "error": "access_denied", "state": "4711 ü"}
    assert tpp.get(links(made)["scaStatus"]).json() == {"scaStatus": "failed"}


WRONG: Mapping[str, tuple[dict[str, str | None], str]] = {
    "no response_type": ({"response_type": None}, "invalid_request"),
    "a token at once": ({"response_type": "token"}, "unsupported_response_type"),
    "no challenge": ({"code_challenge": None}, "invalid_request"),
    "a plain challenge": ({"code_challenge_method": "plain"}, "invalid_request"),
    "a challenge that is none": ({"code_challenge": "abc"}, "invalid_request"),
    "no scope": ({"scope": None}, "invalid_request"),
    "an unknown scope": ({"scope": "openid"}, "invalid_scope"),
    "an unknown consent": ({"scope": "AIS:5b0f6c1e-3a52-4c0b-9a44-6a1d3f6f0a01"}, "invalid_scope"),
}


@berlin_group("oauth-request-refused")
@pytest.mark.parametrize("wrong", WRONG)
def test_mistakes_in_the_link_are_reported_to_the_app(tpp: Tpp, wrong: str) -> None:
    other, error = WRONG[wrong]
    made = consent(tpp)
    endpoint = metadata(tpp, made)["authorization_endpoint"]
    back = visited(tpp, endpoint, authorization_url(**{"scope": f"AIS:{made.json()['consentId']}", **other}))
    assert (back["error"], back["state"]) == (error, "4711 ü")
    assert back["error_description"]
    assert tpp.get(links(made)["scaStatus"]).json() == {"scaStatus": "psuIdentified"}


@pytest.mark.parametrize(
    "other",
    [
        {"client_id": "nobody"},
        {"client_id": None},
        {"redirect_uri": None},
        {"redirect_uri": "javascript:alert(1)"},
        {"redirect_uri": "https://tpp.example/back#part"},
    ],
)
def test_nobody_is_redirected_to_an_invalid_address(tpp: Tpp, other: dict[str, str | None]) -> None:
    made = consent(tpp)
    endpoint = metadata(tpp, made)["authorization_endpoint"]
    query = authorization_url(**{"scope": f"AIS:{made.json()['consentId']}", **other})
    answer = plain(tpp, "GET", f"{endpoint}?{query}&decide=approve")
    assert (answer.status_code, answer.headers["content-type"]) == (400, "text/html; charset=utf-8")
    assert "location" not in answer.headers


def test_a_used_link_redirects_with_an_error(tpp: Tpp) -> None:
    made = consent(tpp)
    endpoint, query = (
        metadata(tpp, made)["authorization_endpoint"],
        authorization_url(f"AIS:{made.json()['consentId']}"),
    )
    assert "code" in visited(tpp, endpoint, query)
    assert visited(tpp, endpoint, query)["error"] == "access_denied"


def test_a_consent_with_another_approach_has_no_oauth_link(tpp: Tpp) -> None:
    made = tpp.consents({"allPsd2": "allAccounts"}, headers={"PSU-ID": "oskar", "TPP-Redirect-Preferred": "true"})
    assert "scaOAuth" not in links(made)
    back = visited(tpp, "/sca/authorize", authorization_url(f"AIS:{made.json()['consentId']}"))
    assert back["error"] == "access_denied"


@berlin_group("oauth-code-once")
def test_a_code_can_be_exchanged_once(tpp: Tpp) -> None:
    code, _ = code_of(tpp)
    grant = token(tpp, **exchange(code)).json()
    assert refused(token(tpp, **exchange(code))) == (400, "invalid_grant")
    again = token(tpp, grant_type="refresh_token", refresh_token=grant["refresh_token"])
    assert refused(again) == (400, "invalid_grant"), "exchanging a code twice revokes its tokens"


EXCHANGES: Mapping[str, tuple[dict[str, str], tuple[int, str]]] = {
    "an unknown code": ({"code": "abc"}, (400, "invalid_grant")),
    "no code": ({"code": ""}, (400, "invalid_request")),
    "no verifier": ({"code_verifier": ""}, (400, "invalid_request")),
    "a wrong verifier": ({"code_verifier": "x" * 43}, (400, "invalid_grant")),
    "no address": ({"redirect_uri": ""}, (400, "invalid_request")),
    "another address": ({"redirect_uri": "https://tpp.example/other"}, (400, "invalid_grant")),
    "another grant": ({"grant_type": "password"}, (400, "unsupported_grant_type")),
    "no grant": ({"grant_type": ""}, (400, "invalid_request")),
    "an unknown client": ({"client_id": "nobody"}, (401, "invalid_client")),
    "no refresh token": ({"grant_type": "refresh_token"}, (400, "invalid_request")),
    "an unknown refresh token": ({"grant_type": "refresh_token", "refresh_token": "abc"}, (400, "invalid_grant")),
}


@berlin_group("oauth-exchange-refused")
@pytest.mark.parametrize("wrong", EXCHANGES)
def test_each_invalid_exchange_has_its_error(tpp: Tpp, wrong: str) -> None:
    other, error = EXCHANGES[wrong]
    code, _ = code_of(tpp)
    assert refused(token(tpp, **exchange(**{"code": code, **other}))) == error
    assert token(tpp, **exchange(code)).status_code == 200, "a failed attempt does not use up the code"


@berlin_group("oauth-refresh")
def test_a_refresh_token_keeps_its_scope(tpp: Tpp) -> None:
    code, scope = code_of(tpp)
    form = {"grant_type": "refresh_token", "refresh_token": token(tpp, **exchange(code)).json()["refresh_token"]}
    assert token(tpp, **form, scope=scope).status_code == 200
    assert refused(token(tpp, **form, scope="AIS:other")) == (400, "invalid_scope")


def test_client_credentials_still_work(tpp: Tpp) -> None:
    grant = token(tpp, grant_type="client_credentials").json()
    assert grant.keys() == {"access_token", "token_type", "expires_in"}


@berlin_group("oauth-own-scope")
def test_a_client_gets_a_token_for_services_but_for_no_resource_of_a_customer(tpp: Tpp) -> None:
    grant = token(tpp, grant_type="client_credentials", scope="AIS PIIS").json()
    assert grant["scope"] == "AIS PIIS"
    for scope in ("AIS:" + consent(tpp).json()["consentId"], "AIS openid", "ais"):
        assert refused(token(tpp, grant_type="client_credentials", scope=scope)) == (400, "invalid_scope"), scope


def revoked(tpp: Tpp, endpoint: str, secret: str, auth: tuple[str, str] | None = CLIENT, **form: str) -> httpx.Response:
    return plain(tpp, "POST", endpoint, data={"token": secret, **form}, auth=auth)


@berlin_group("oauth-revocation")
@pytest.mark.parametrize("hint", [{}, {"token_type_hint": "refresh_token"}, {"token_type_hint": "whatever"}])
def test_an_app_can_revoke_its_tokens(tpp: Tpp, hint: dict[str, str]) -> None:
    """RFC 7009: revoking an access token affects only this token. Revoking a refresh token revokes all its tokens."""
    endpoint = metadata(tpp, consent(tpp))["revocation_endpoint"]
    grant = token(tpp, **exchange(code_of(tpp)[0])).json()
    refresh = {"grant_type": "refresh_token", "refresh_token": grant["refresh_token"]}
    for _ in ("ends it", "it has ended already"):
        answer = revoked(tpp, endpoint, grant["access_token"], **hint)
        assert (answer.status_code, answer.content, answer.headers["cache-control"]) == (200, b"", "no-store")
    assert token(tpp, **refresh).status_code == 200
    assert revoked(tpp, endpoint, grant["refresh_token"], **hint).status_code == 200
    assert refused(token(tpp, **refresh)) == (400, "invalid_grant")


@berlin_group("oauth-revocation")
def test_revocation_requires_client_authentication(tpp: Tpp) -> None:
    endpoint = metadata(tpp, consent(tpp))["revocation_endpoint"]
    own = token(tpp, grant_type="client_credentials").json()["access_token"]
    for auth in (None, ("demo-tpp", "wrong"), ("nobody", "kletterrose")):
        assert refused(revoked(tpp, endpoint, own, auth)) == (401, "invalid_client")
    assert refused(revoked(tpp, endpoint, "")) == (400, "invalid_request")


@berlin_group("oauth-metadata")
def test_the_metadata_is_found_by_the_issuer(tpp: Tpp) -> None:
    """RFC 8414, section 3: the well-known path is between the host and the path of the issuer."""
    server = metadata(tpp, consent(tpp))
    parts = urlsplit(server["issuer"])
    answer = tpp.http.get(f"/.well-known/oauth-authorization-server{parts.path}")
    assert (answer.status_code, answer.json()) == (200, server)


def test_verifier_and_challenge_of_the_rfc_match() -> None:
    digest = hashlib.sha256(VERIFIER.encode()).digest()
    assert base64.urlsafe_b64encode(digest).decode().rstrip("=") == CHALLENGE


def test_a_preference_for_an_explicit_start_applies_to_oauth(tpp: Tpp) -> None:
    made = tpp.consents({"allPsd2": "allAccounts"}, headers={"PSU-ID": "selma", **APART})
    assert (made.headers["aspsp-sca-approach"], "scaOAuth" in links(made)) == ("REDIRECT", False)
    begun = tpp.request("POST", links(made)["startAuthorisation"], headers={"PSU-ID": "selma"})
    assert metadata(tpp, begun)["authorization_endpoint"].endswith("/sca/authorize")
