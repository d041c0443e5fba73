"""Authorisations in NextGenPSD2 1.3: start, list, steps, and the mistakes in steps."""

import uuid
from typing import Any

import pytest

from tests.contract.berlin_group.conftest import OSKAR, PETRA, Tpp, error

SEPA = "/v1/payments/sepa-credit-transfers"
NORA = "DE79999888770000100001"
OWN = {"nora": NORA, "oskar": OSKAR, "petra": PETRA}
EMBEDDED = {"TPP-Redirect-Preferred": "false"}
REDIRECT = {"TPP-Redirect-Preferred": "true"}
APART = {"TPP-Explicit-Authorisation-Preferred": "true"}
FAMILIES = ("payment", "cancellation", "consent", "basket")


def payment(tpp: Tpp, psu: str = "oskar", **more: Any) -> str:
    """Return the path of a payment that waits for authorisation."""
    body = {
        "debtorAccount": {"iban": OWN[psu]},
        "instructedAmount": {"currency": "EUR", "amount": "1.25"},
        "creditorAccount": {"iban": "DE65999777660000001000"},
        "creditorName": "Berta Bauer",
        **more,
    }
    answer = tpp.request("POST", SEPA, json=body, headers=APART)
    assert answer.status_code == 201, answer.text
    return str(answer.headers["location"])


def start(tpp: Tpp, family: str, psu: str = "oskar") -> str:
    """Return the path for starting authorisations of a new resource."""
    if family == "payment":
        return f"{payment(tpp, psu)}/authorisations"
    if family == "consent":
        made = tpp.consents({"balances": [{"iban": OWN[psu]}]}, headers=APART)
        return f"{made.headers['location']}/authorisations"
    if family == "basket":
        id = payment(tpp, psu).rpartition("/")[2]
        made = tpp.request("POST", "/v1/signing-baskets", json={"paymentIds": [id]})
        return f"{made.headers['location']}/authorisations"
    own = payment(tpp, psu, requestedExecutionDate="2999-01-31")
    done(tpp, f"{own}/authorisations", psu)
    assert tpp.request("DELETE", own).status_code == 202
    return f"{own}/cancellation-authorisations"


def begin(tpp: Tpp, path: str, psu: str | None = "oskar", json: Any = None, **wishes: str) -> Any:
    headers = {**(wishes or EMBEDDED), **({"PSU-ID": psu} if psu else {})}
    answer = tpp.request("POST", path, headers=headers, **({"json": json} if json is not None else {}))
    assert answer.status_code == 201, answer.text
    assert answer.headers["location"] == f"{path}/{answer.json()['authorisationId']}"
    return answer


def put(tpp: Tpp, path: str, psu: str | None = "oskar", **body: Any) -> Any:
    return tpp.request("PUT", path, json=body, headers={"PSU-ID": psu} if psu else {})


def links(answer: Any) -> dict[str, str]:
    return {name: link["href"] for name, link in answer.json()["_links"].items()}


def done(tpp: Tpp, path: str, psu: str) -> str:
    return tpp.authorise(begin(tpp, path, psu).headers["location"], psu)


# -- embedded


@pytest.mark.parametrize("family", FAMILIES)
def test_a_single_method_is_preselected(tpp: Tpp, family: str) -> None:
    path = start(tpp, family)
    begun = begin(tpp, path)
    own = begun.headers["location"]
    assert (begun.headers["aspsp-sca-approach"], begun.json()["scaStatus"]) == ("EMBEDDED", "psuIdentified")
    assert links(begun) == {"updatePsuAuthentication": own, "scaStatus": own}

    authorisation = put(tpp, own, psuData={"password": "ostwind"})
    assert authorisation.json()["scaStatus"] == "scaMethodSelected"
    assert authorisation.json()["chosenScaMethod"]["authenticationMethodId"] == "sms-oskar"
    assert authorisation.json()["challengeData"]["otpFormat"] in ("characters", "integer")
    assert links(authorisation) == {"authoriseTransaction": own, "scaStatus": own}
    assert "scaMethods" not in authorisation.json()

    ended = put(tpp, own, scaAuthenticationData="222222")
    assert (ended.status_code, ended.json()["scaStatus"], links(ended)) == (200, "finalised", {"scaStatus": own})
    assert tpp.get(own).json() == {"scaStatus": "finalised", "psuName": "Oskar Petersen"}
    assert tpp.get(path).json() == {"authorisationIds": [begun.json()["authorisationId"]]}
    assert "null" not in begun.text + authorisation.text + ended.text


@pytest.mark.parametrize("family", FAMILIES)
def test_one_of_several_methods_is_selected(tpp: Tpp, family: str) -> None:
    own = begin(tpp, start(tpp, family, "petra"), "petra").headers["location"]

    authorisation = put(tpp, own, "petra", psuData={"password": "pusteblume"})
    assert authorisation.json()["scaStatus"] == "psuAuthenticated"
    assert [one["authenticationMethodId"] for one in authorisation.json()["scaMethods"]] == ["push-petra", "sms-petra"]
    assert links(authorisation) == {"selectAuthenticationMethod": own, "scaStatus": own}

    chosen = put(tpp, own, "petra", authenticationMethodId="sms-petra")
    assert (chosen.json()["scaStatus"], chosen.json()["chosenScaMethod"]["authenticationMethodId"]) == (
        "scaMethodSelected",
        "sms-petra",
    )
    assert put(tpp, own, "petra", scaAuthenticationData="333333").json()["scaStatus"] == "finalised"


@pytest.mark.parametrize(("family", "status"), [("payment", "ACSP"), ("basket", "ACTC")])
def test_the_password_is_enough_for_a_customer_without_a_method(tpp: Tpp, family: str, status: str) -> None:
    path = start(tpp, family, "nora")
    ended = put(tpp, begin(tpp, path, "nora").headers["location"], "nora", psuData={"password": "nordlicht"})
    assert (ended.status_code, ended.json()["scaStatus"]) == (200, "exempted")
    assert tpp.get(path.removesuffix("authorisations") + "status").json()["transactionStatus"] == status


def test_the_password_can_be_sent_with_the_start(tpp: Tpp) -> None:
    begun = begin(tpp, start(tpp, "payment"), json={"psuData": {"password": "ostwind"}})
    assert begun.json()["scaStatus"] == "scaMethodSelected"
    assert set(links(begun)) == {"authoriseTransaction", "scaStatus"}


def test_an_unknown_customer_is_identified_first(tpp: Tpp) -> None:
    begun = begin(tpp, start(tpp, "consent"), None)
    own = begun.headers["location"]
    assert (begun.json()["scaStatus"], links(begun)) == ("received", {"updatePsuIdentification": own, "scaStatus": own})
    authorisation = put(tpp, own)
    assert (authorisation.json()["scaStatus"], set(links(authorisation))) == (
        "psuIdentified",
        {"updatePsuAuthentication", "scaStatus"},
    )


# -- redirect and decoupled


@pytest.mark.parametrize("family", FAMILIES)
def test_a_redirect_links_to_the_page_of_the_customer(tpp: Tpp, family: str) -> None:
    path = start(tpp, family)
    begun = begin(tpp, path, None, **REDIRECT, **{"TPP-Redirect-URI": "https://tpp.example/back"})
    page = links(begun)["scaRedirect"]
    assert begun.headers["aspsp-sca-approach"] == "REDIRECT"

    answer = tpp.http.get(f"{page}&decide=approve")
    assert (answer.status_code, answer.headers["location"].partition("?")[0]) == (303, "https://tpp.example/back")
    assert tpp.get(begun.headers["location"]).json()["scaStatus"] == "finalised"


def test_a_decoupled_authorisation_waits_for_the_app(tpp: Tpp) -> None:
    begun = begin(tpp, start(tpp, "payment"), **{"TPP-Decoupled-Preferred": "true"})
    own = begun.headers["location"]
    assert (begun.headers["aspsp-sca-approach"], begun.json()["scaStatus"]) == ("DECOUPLED", "started")
    assert begun.json()["psuMessage"]
    assert links(begun) == {"scaStatus": own}
    assert tpp.get(own).json().keys() == {"scaStatus", "psuMessage"}


# -- mistakes in a step


def test_the_third_wrong_password_fails_the_authorisation(tpp: Tpp) -> None:
    path = start(tpp, "payment")
    own = begin(tpp, path).headers["location"]
    for _ in range(3):
        assert error(put(tpp, own, psuData={"password": "wrong"})) == (401, "PSU_CREDENTIALS_INVALID")
    assert tpp.get(own).json() == {"scaStatus": "failed"}
    assert error(put(tpp, own, psuData={"password": "ostwind"})) == (409, "STATUS_INVALID")
    assert tpp.get(path.removesuffix("authorisations") + "status").json() == {"transactionStatus": "RJCT"}


def test_wrong_one_time_passwords_are_counted(tpp: Tpp) -> None:
    own = begin(tpp, start(tpp, "consent"), json={"psuData": {"password": "ostwind"}}).headers["location"]
    assert error(put(tpp, own, scaAuthenticationData="000000")) == (401, "PSU_CREDENTIALS_INVALID")
    assert put(tpp, own, scaAuthenticationData="222222").json()["scaStatus"] == "finalised"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"authenticationMethodId": "pigeon"}, (400, "SCA_METHOD_UNKNOWN")),
        ({"scaAuthenticationData": "333333"}, (409, "STATUS_INVALID")),
        ({"psuData": {}}, (400, "FORMAT_ERROR")),
        ({"psuData": {"encryptedPassword": "secret"}}, (400, "FORMAT_ERROR")),
        ({"confirmationCode": "1"}, (409, "STATUS_INVALID")),
    ],
)
def test_an_unexpected_step_is_refused(tpp: Tpp, body: dict[str, Any], expected: tuple[int, str]) -> None:
    own = begin(tpp, start(tpp, "payment", "petra"), "petra").headers["location"]
    if "psuData" not in body:
        put(tpp, own, "petra", psuData={"password": "pusteblume"})
    assert error(put(tpp, own, "petra", **body)) == expected


@pytest.mark.parametrize("family", FAMILIES)
def test_an_unknown_authorisation(tpp: Tpp, family: str) -> None:
    assert error(tpp.get(f"{start(tpp, family)}/{uuid.uuid4()}")) == (403, "RESOURCE_UNKNOWN")


def test_another_customer_may_not_authorise(tpp: Tpp) -> None:
    answer = tpp.request("POST", start(tpp, "payment"), headers={**EMBEDDED, "PSU-ID": "petra"})
    assert error(answer) == (401, "PSU_CREDENTIALS_INVALID")


def test_an_authorised_payment_cannot_be_authorised_again(tpp: Tpp) -> None:
    path = start(tpp, "payment")
    assert done(tpp, path, "oskar") == "finalised"
    assert error(tpp.request("POST", path, headers={**EMBEDDED, "PSU-ID": "oskar"})) == (409, "STATUS_INVALID")


def test_a_consent_needs_a_method(tpp: Tpp) -> None:
    headers, body = {**EMBEDDED, "PSU-ID": "nora"}, {"psuData": {"password": "nordlicht"}}
    answer = tpp.request("POST", start(tpp, "consent", "nora"), json=body, headers=headers)
    assert error(answer) == (400, "SCA_METHOD_UNKNOWN")
