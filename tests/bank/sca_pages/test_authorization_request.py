"""The authorisation endpoint, in process: where it redirects, and the addresses that a client has registered."""

from base64 import b64encode
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

from tests.support.engine_client import Answer, Client, an_engine, speaking
from tests.support.visitor import change, transaction
from xs2a_sandbox.bank import testdata

REGISTERED = "https://mine.example/back"
QUERY = {
    "response_type": "code",
    "client_id": "demo-tpp",
    "redirect_uri": REGISTERED,
    "state": "1",
    "code_challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
    "code_challenge_method": "S256",
}


VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
BASIC = "Basic " + b64encode(b"demo-tpp:kletterrose").decode()


@pytest.fixture
def client() -> Client:
    return Client(speaking("berlin-group-1.3"))


def consent(client: Client, psu: str = "selma") -> str:
    body: dict[str, Any] = {
        "access": {"allPsd2": "allAccounts"},
        "recurringIndicator": True,
        "validUntil": "9999-12-31",
        "frequencyPerDay": 4,
        "combinedServiceIndicator": False,
    }
    return str(client.post("/v1/consents", json=body, headers={"PSU-ID": psu}).json()["consentId"])


def authorization_page(client: Client, scope: str, more: str = "", **other: str) -> Answer:
    return client.get(f"/sca/authorize?{urlencode({**QUERY, 'scope': scope, **other})}{more}", headers={})


def brought(answer: Answer) -> dict[str, str]:
    assert answer.status == 303
    return dict(parse_qsl(urlsplit(answer.headers["location"]).query))


def test_the_endpoint_redirects_to_the_page_of_the_resource_in_the_scope(client: Client) -> None:
    id = consent(client)
    lead = authorization_page(client, f"AIS:{id}")
    assert (lead.status, lead.headers["location"]) == (303, f"consents?consent_id={id}")
    page = client.get(f"/sca/{lead.headers['location']}", headers={})
    assert (page.status, "Selma Brandt" in page.body.decode()) == (200, True)
    assert "form-action 'self' http: https:" in page.headers["content-security-policy"]


def test_uppercase_letters_and_a_space_in_the_scope_are_accepted(client: Client) -> None:
    id = consent(client)
    assert authorization_page(client, f"AIS: {id.upper()}").headers["location"] == f"consents?consent_id={id}"


@pytest.mark.parametrize("name", ["scope", "state", "code_challenge"])
def test_a_duplicate_parameter_is_reported_to_the_app(client: Client, name: str) -> None:
    parameters = brought(authorization_page(client, f"AIS:{consent(client)}", more=f"&{name}=x"))
    assert (parameters["error"], parameters["error_description"]) == (
        "invalid_request",
        f"{name} must be sent only once",
    )


def test_a_scope_is_valid_only_for_its_kind_of_resource(client: Client) -> None:
    assert brought(authorization_page(client, f"PIS:{consent(client)}"))["error"] == "invalid_scope"


def test_the_browser_is_redirected_only_to_registered_addresses(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(
        "testdata: 2\nclients:\n  demo-tpp: {secret: x, name: Mine, redirectUris: ['https://mine.example/back']}\n"
    )
    client = Client(an_engine(testdata=testdata.load([file])))
    refused = authorization_page(client, "AIS:none", redirect_uri="https://evil.example/back")
    assert (refused.status, "location" in refused.headers) == (400, False)
    assert "has registered" in refused.body.decode()
    assert brought(authorization_page(client, "AIS:none"))["error"] == "invalid_scope"


def test_a_resource_that_cannot_be_approved_any_more_is_access_denied(client: Client) -> None:
    id = consent(client)
    change(client, "consents", id, status="rejected")
    assert brought(authorization_page(client, f"AIS:{id}"))["error"] == "access_denied"


def test_other_methods_are_refused(client: Client) -> None:
    answer = client.delete("/sca/authorize", headers={})
    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD, POST")


def test_a_scope_without_an_id_opens_a_login(client: Client) -> None:
    lead = authorization_page(client, "AIS PIS", login_hint="ruth")
    link = lead.headers["location"]
    assert (lead.status, link.startswith("logins?login_id=")) == (303, True)
    page = client.get(f"/sca/{link}", headers={"Accept-Language": "en"}).body.decode()
    assert all(text in page for text in ("Your login at the bank", "Account information", "Selma Brandt", "Nora"))

    back = brought(client.get(f"/sca/{link}&decide=approve", headers={}))
    assert (back["state"], "code" in back) == ("1", True)
    form = {"grant_type": "authorization_code", "code": back["code"], "redirect_uri": REGISTERED}
    answer = client.post(
        "/as/token.oauth2",
        body=urlencode({**form, "code_verifier": VERIFIER}).encode(),
        headers={"Content-Type": "application/x-www-form-urlencoded", "Authorization": BASIC},
    )
    assert (answer.status, answer.json()["scope"]) == (200, "AIS PIS")
    token = transaction(client).get("tokens", answer.json()["access_token"]) or {}
    assert token["psuId"] == "ruth"


def test_a_declined_login_is_reported_to_the_app(client: Client) -> None:
    link = authorization_page(client, "PIIS").headers["location"]
    assert brought(client.get(f"/sca/{link}&decide=decline", headers={})) == {"error": "access_denied", "state": "1"}
    over = client.get(f"/sca/{link}", headers={"Accept-Language": "en"}).body.decode()
    assert "Login: <code>rejected</code>" in over


def test_an_unknown_login_has_no_page(client: Client) -> None:
    answer = client.get("/sca/logins?login_id=none", headers={"Accept-Language": "en"})
    assert (answer.status, "There is no such page" in answer.body.decode()) == (404, True)


@pytest.mark.parametrize("scope", ["AIS XXX", "accounts", "AIS PIS:1"])
def test_unknown_scopes_are_reported_to_the_app(client: Client, scope: str) -> None:
    assert brought(authorization_page(client, scope))["error"] == "invalid_scope"


def test_without_a_page_in_the_dialect_the_app_gets_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(
        "cassette: 1\nauthorisation: {of: {consent: {page: null, approaches: [embedded, decoupled]}}}\n"
    )
    client = Client(speaking("berlin-group-1.3", tmp_path))
    id = consent(client)
    for begun in transaction(client).own("authorisations"):  # created by a version with a page
        change(client, "authorisations", begun, approach="oauth", status="begun")
    parameters = brought(authorization_page(client, f"AIS:{id}"))
    assert parameters["error"] == "server_error"
    assert "names no page for a consent" in parameters["error_description"]
