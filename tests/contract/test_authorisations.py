"""The four families of authorisations: each step, and each mistake in a step."""

import re
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.contract import bodies, facts, resources
from tests.contract.control import Control
from tests.contract.doors import Answer, Bank
from tests.contract.resources import DECOUPLED, EMBEDDED, NONE, ONE, SEVERAL, Resource, make

spec = pytest.mark.spec

FAMILIES = ("consent", "payment", "cancellation", "basket")
UUID = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
REDIRECTED = {"TPP-Redirect-Preferred": "true"}


def each(verb: str) -> pytest.MarkDecorator:
    """Parametrize a test with the four families, each marked as a proof for the operation with this name."""
    return pytest.mark.parametrize(
        "family", [pytest.param(one, marks=spec(f"4.3-{verb.format(one)}"), id=one) for one in FAMILIES]
    )


every_family = pytest.mark.parametrize("family", FAMILIES)


def fails(
    answer: Answer, status: int, code: str, number: str | None = None, path: str | None = None
) -> Mapping[str, Any]:
    assert (answer.status, answer.error["code"], answer.error["path"]) == (status, code, path), answer.body
    if number:
        assert answer.error["text"].startswith(f"{{sensitive}} {number}: ")
    return answer.error


def links(answer: Answer) -> set[str]:
    return set(answer.json()["_links"])


# -- start


@each("start-{}-authorisation")
@spec("reading-sca-redirect-default")
@spec("reading-sca-habits")
def test_an_authorisation_starts_with_a_redirect(bank: Bank, family: str) -> None:
    made = make(bank, family)

    answer = resources.begin(bank, made)

    body = answer.json()
    own = f"{made.starts}/{body['authorisationId']}"
    assert answer.status == 201
    assert answer.headers["Location"] == own
    assert answer.headers["ASPSP-SCA-Approach"] == "REDIRECT"
    assert re.fullmatch(UUID, body["authorisationId"])
    assert (body["scaStatus"], links(answer)) == ("received", {"scaRedirect", "scaStatus"})
    assert body["_links"]["scaStatus"] == {"href": own}
    assert [body[name] for name in ("scaMethods", "chosenScaMethod", "challengeData", "psuMessage")] == [None] * 4
    assert bank.get(own).json()["scaStatus"] == "received"


NAMES = {
    "consent": {"consent_id"},
    "payment": {"payment_id", "service", "product"},
    "cancellation": {"payment_id", "service", "product"},
    "basket": {"basket_id"},
}


@spec("reading-sca-link")
@every_family
@pytest.mark.parametrize("back", [None, bodies.REDIRECT])
def test_parameters_of_the_link_to_the_page(bank: Bank, family: str, back: str | None) -> None:
    made = make(bank, family)
    answer = resources.begin(bank, made, **({"TPP_Redirect_URI": back} if back else {}))

    href = urlsplit(answer.json()["_links"]["scaRedirect"]["href"])

    query = parse_qs(href.query, strict_parsing=True)
    assert f"{href.scheme}://{href.netloc}" == bank.addresses.direct
    assert href.path.startswith(f"/s/{bank.session}/sca/")
    assert query.pop("redirectBackUrl", [None]) == [back]
    assert set(query) == NAMES[family]
    assert made.id in [value for (value,) in query.values()]


@spec("reading-empty")
@spec("reading-unlisted-members")
@every_family
@pytest.mark.parametrize(
    "body",
    [
        {"psuData": "", "authenticationMethodId": "", "scaAuthenticationData": "", "confirmationCode": ""},
        {"somethingElse": 1},
    ],
    ids=["empty", "unlisted"],
)
def test_empty_and_unlisted_members_are_ignored(bank: Bank, family: str, body: dict[str, Any]) -> None:
    answer = bank.post(make(bank, family).starts, json=body, headers={"PSU-ID": SEVERAL, **EMBEDDED})

    assert (answer.status, answer.json()["scaStatus"]) == (201, "psuIdentified")


@spec("reading-sca-link")
@every_family
def test_an_update_returns_the_same_link_to_the_page(bank: Bank, family: str) -> None:
    started = resources.begin(bank, make(bank, family)).json()["_links"]

    updated = bank.put(started["scaStatus"]["href"], headers={"PSU-ID": SEVERAL})

    assert (updated.status, updated.json()["scaStatus"]) == (200, "psuIdentified")
    assert updated.json()["_links"]["scaRedirect"] == started["scaRedirect"]


APPROACHES: list[tuple[dict[str, str], str]] = [
    ({}, "REDIRECT"),
    ({"TPP-Redirect-Preferred": "true"}, "REDIRECT"),
    ({"TPP-Redirect-Preferred": "false"}, "EMBEDDED"),
    ({"TPP-Decoupled-Preferred": "true"}, "DECOUPLED"),
    ({"TPP-Decoupled-Preferred": "false"}, "REDIRECT"),
    ({"TPP-Redirect-Preferred": "false", "TPP-Decoupled-Preferred": "true"}, "DECOUPLED"),
    ({"TPP-Redirect-Preferred": "true", "TPP-Decoupled-Preferred": "false"}, "REDIRECT"),
    ({"TPP-Redirect-Preferred": "false", "TPP-Decoupled-Preferred": "false"}, "EMBEDDED"),
    ({"TPP-Redirect-Preferred": "true", "TPP-Decoupled-Preferred": "true"}, "REDIRECT"),
]


@spec("reading-sca-approach")
@every_family
@pytest.mark.parametrize(("wishes", "approach"), APPROACHES)
def test_the_approach_follows_the_preference_of_the_app(
    bank: Bank, family: str, wishes: dict[str, str], approach: str
) -> None:
    made = make(bank, family)

    answer = bank.post(made.starts, headers=wishes)

    own = answer.headers["Location"]
    assert (answer.status, answer.headers["ASPSP-SCA-Approach"]) == (201, approach)
    assert bank.get(own).headers["ASPSP-SCA-Approach"] == approach
    identified = bank.put(own, headers={"PSU-ID": SEVERAL, **wishes})
    assert (identified.status, identified.headers["ASPSP-SCA-Approach"]) == (200, approach)


@spec("reading-sca-approach")
@every_family
def test_the_approach_depends_on_the_customer(bank: Bank, control: Control, family: str) -> None:
    made = make(bank, family)
    control.change("psus", SEVERAL, approaches=["decoupled"])

    answer = bank.post(made.starts, headers={"PSU-ID": SEVERAL, **REDIRECTED})

    assert (answer.json()["scaStatus"], answer.headers["ASPSP-SCA-Approach"]) == ("started", "DECOUPLED")


@spec("reading-sca-approach")
@every_family
@pytest.mark.parametrize("name", ["TPP-Redirect-Preferred", "TPP-Decoupled-Preferred"])
def test_a_preference_must_be_true_or_false(bank: Bank, family: str, name: str) -> None:
    made = make(bank, family)
    own = resources.begin(bank, made).headers["Location"]
    for wish in ("perhaps", "True", ""):
        fails(bank.post(made.starts, headers={name: wish}), 400, "FORMAT_ERROR", "XS2A901E")
        fails(bank.put(own, headers={name: wish, "PSU-ID": SEVERAL}), 400, "FORMAT_ERROR", "XS2A901E")
    assert bank.get(own).json()["scaStatus"] == "received"


@spec("reading-sca-psu-id")
@every_family
@pytest.mark.parametrize(
    ("wishes", "status", "follows"),
    [
        (REDIRECTED, "psuIdentified", "scaRedirect"),
        (EMBEDDED, "psuIdentified", "updatePsuAuthentication"),
        (DECOUPLED, "started", None),
    ],
    ids=["redirect", "embedded", "decoupled"],
)
def test_the_customer_can_be_named_at_the_start(
    bank: Bank, family: str, wishes: dict[str, str], status: str, follows: str | None
) -> None:
    answer = bank.post(make(bank, family).starts, headers={"PSU-ID": SEVERAL, **wishes})

    assert (answer.status, answer.json()["scaStatus"]) == (201, status)
    assert links(answer) == {"scaStatus", *([follows] if follows else [])}
    assert bool(answer.json()["psuMessage"]) == (status == "started")


@spec("reading-sca-psu-id")
@every_family
@pytest.mark.parametrize("psu", ["nobody", ONE])
def test_a_customer_who_may_not_sign(bank: Bank, family: str, psu: str) -> None:
    made = make(bank, family)
    before = listed(bank, made)

    fails(resources.begin(bank, made, psu), 401, "PSU_CREDENTIALS_INVALID", "XS2A920E")

    assert listed(bank, made) == before


@spec("reading-sca-password")
@every_family
@pytest.mark.parametrize(
    ("psu", "status", "follows"),
    [
        (SEVERAL, "psuAuthenticated", {"selectAuthenticationMethod"}),
        (ONE, "scaMethodSelected", {"authoriseTransaction"}),
        (NONE, "exempted", set()),
    ],
)
def test_the_password_can_be_sent_with_the_start(
    bank: Bank, family: str, psu: str, status: str, follows: set[str]
) -> None:
    made = make(bank, family, psu)

    answer = resources.logged_in(bank, made, psu)

    body = answer.json()
    methods = resources.methods(psu)
    assert (body["scaStatus"], links(answer)) == (status, {"scaStatus", *follows})
    assert body["scaMethods"] == (methods if psu == SEVERAL else None)
    assert body["chosenScaMethod"] == (methods[0] if psu == ONE else None)
    assert body["challengeData"] == ({"otpMaxLength": 8, "otpFormat": "characters"} if psu == ONE else None)
    assert made.status(bank) == (made.family.done if psu == NONE else made.family.waits)


# -- lists and reading


def listed(bank: Bank, made: Resource) -> list[str]:
    answer = bank.get(made.starts)
    assert (answer.status, list(answer.json())) == (200, ["authorisationIds"])
    return list(answer.json()["authorisationIds"])


@each("{}-authorisations")
@spec("reading-sca-placeholder-links")
def test_authorisations_are_listed(bank: Bank, family: str) -> None:
    """A consent or payment starts with an implicit authorisation, which the first explicit one replaces."""
    made = make(bank, family)
    implicit = listed(bank, made)
    assert len(implicit) == (1 if family in ("consent", "payment") else 0)

    first = resources.begin(bank, made).json()["authorisationId"]

    assert listed(bank, made) == [first]
    for id in implicit:
        fails(bank.get(f"{made.starts}/{id}"), 404, "RESOURCE_UNKNOWN", "XS2A916E")


@spec("reading-sca-explicit")
@pytest.mark.parametrize("family", ["consent", "payment"])
@pytest.mark.parametrize(("wish", "count"), [("true", 0), ("false", 1)])
def test_the_app_can_ask_for_an_explicit_start(bank: Bank, family: str, wish: str, count: int) -> None:
    made = make(bank, family, TPP_Explicit_Authorisation_Preferred=wish)

    assert len(listed(bank, made)) == count
    assert resources.begin(bank, made).status == 201


@each("{}-authorisation")
def test_an_authorisation_is_read(bank: Bank, family: str) -> None:
    made = make(bank, family)
    own = resources.begin(bank, made).headers["Location"]

    answer = bank.get(own)
    assert (answer.status, answer.json()) == (200, {"scaStatus": "received", "psuMessage": None})
    assert bank.get(own.replace(own[-36:], own[-36:].upper())).json() == answer.json()


@every_family
@spec("reading-sca-unknown")
@pytest.mark.parametrize("id", [str(uuid.UUID(int=7)), "nonsense", "authorization_not_yet_available"])
def test_an_unknown_authorisation(bank: Bank, family: str, id: str) -> None:
    made = make(bank, family)

    fails(bank.get(f"{made.starts}/{id}"), 404, "RESOURCE_UNKNOWN", "XS2A916E")
    fails(bank.put(f"{made.starts}/{id}", json={}), 404, "RESOURCE_UNKNOWN", "XS2A916E")


@every_family
@spec("reading-sca-unknown")
def test_an_authorisation_belongs_to_its_resource(bank: Bank, family: str) -> None:
    id = resources.begin(bank, make(bank, family)).json()["authorisationId"]
    other = make(bank, family)

    fails(bank.get(f"{other.starts}/{id}"), 404, "RESOURCE_UNKNOWN", "XS2A916E")


UNKNOWN = {
    "consent": ("/v1/consents/{}/authorisations", 403, "CONSENT_UNKNOWN", "XS2A017E"),
    "payment": (f"/v1/{bodies.SEPA}/{{}}/authorisations", 404, "RESOURCE_UNKNOWN", "XS2A914E"),
    "cancellation": (f"/v1/{bodies.SEPA}/{{}}/cancellation-authorisations", 404, "RESOURCE_UNKNOWN", "XS2A914E"),
    "basket": ("/v1/signing-baskets/{}/authorisations", 403, "RESOURCE_UNKNOWN", "XS2A925E"),
}


@every_family
@spec("reading-sca-unknown")
@pytest.mark.parametrize("id", [str(uuid.UUID(int=7)), "nonsense"])
def test_an_unknown_resource(bank: Bank, family: str, id: str) -> None:
    template, *expected = UNKNOWN[family]
    starts = template.format(id)

    fails(bank.post(starts), *expected)
    fails(bank.get(starts), *expected)
    fails(bank.get(f"{starts}/{uuid.UUID(int=8)}"), *expected)
    fails(bank.put(f"{starts}/{uuid.UUID(int=8)}", json={}), *expected)


@pytest.mark.parametrize("product", bodies.PRODUCTS)
@spec("4.3-start-payment-authorisation")
def test_payments_of_all_products_are_authorised(bank: Bank, product: str) -> None:
    made = resources.payment(bank, SEVERAL, product=product)

    own = resources.sign(bank, made, SEVERAL)

    assert bank.get(own).json()["scaStatus"] == "finalised"
    assert own.endswith(listed(bank, made)[-1])
    assert made.status(bank) == ("ACTC" if product == bodies.PERIODIC else "ACSP")


@pytest.mark.parametrize("product", bodies.PRODUCTS)
@spec("4.3-start-cancellation-authorisation")
def test_cancellations_of_all_products_are_known(bank: Bank, product: str) -> None:
    """This holds even if there is nothing to cancel."""
    made = _cancelling(resources.payment(bank, SEVERAL, product=product))

    assert listed(bank, made) == []
    fails(resources.begin(bank, made), 409, "STATUS_INVALID", "XS2A921E")
    fails(bank.get(f"{made.starts}/none"), 404, "RESOURCE_UNKNOWN", "XS2A916E")
    fails(bank.put(f"{made.starts}/none", json={}), 404, "RESOURCE_UNKNOWN", "XS2A916E")


@pytest.mark.parametrize("of", ["authorisations", "cancellation-authorisations"])
@pytest.mark.parametrize("product", ["payments/gold-bars", "bulk-payments/cross-border-credit-transfers"])
def test_an_unsupported_product_is_refused(bank: Bank, product: str, of: str) -> None:
    path = f"/v1/{product}/{uuid.UUID(int=7)}/{of}"
    for answer in (bank.post(path), bank.get(path), bank.get(f"{path}/1"), bank.put(f"{path}/1", json={})):
        fails(answer, 404, "PRODUCT_UNKNOWN", "XS2A911E")


# -- update


@each("update-{}-authorisation")
def test_an_authorisation_step_by_step(bank: Bank, family: str) -> None:
    made = make(bank, family)
    own = bank.post(made.starts, headers=EMBEDDED).headers["Location"]
    _, second, *_ = resources.methods(SEVERAL)
    steps: list[tuple[dict[str, str], Any, str, set[str]]] = [
        ({"PSU-ID": SEVERAL}, {}, "psuIdentified", {"updatePsuAuthentication"}),
        ({}, resources.password(SEVERAL), "psuAuthenticated", {"selectAuthenticationMethod"}),
        ({}, chosen(second), "scaMethodSelected", {"authoriseTransaction"}),
        ({}, resources.otp(SEVERAL), "finalised", set()),
    ]
    for headers, body, status, follows in steps:
        assert made.status(bank) == made.family.waits
        answer = bank.put(own, headers=headers, json=body)
        assert (answer.status, answer.json()["scaStatus"]) == (200, status), answer.body
        assert answer.headers["ASPSP-SCA-Approach"] == "EMBEDDED"
        assert links(answer) == {"scaStatus", *follows}
        assert {link["href"] for link in answer.json()["_links"].values()} == {own}
        assert answer.json()["chosenScaMethod"] == (second if status == "scaMethodSelected" else None)
        assert bank.get(own).json()["scaStatus"] == status
    assert made.status(bank) == made.family.done


def chosen(method: Mapping[str, str]) -> dict[str, str]:
    return {"authenticationMethodId": method["authenticationMethodId"]}


@spec("reading-sca-psu-id")
@every_family
def test_an_update_without_a_body_names_the_customer(bank: Bank, family: str) -> None:
    made = make(bank, family)
    for wishes, status in ((REDIRECTED, "psuIdentified"), (DECOUPLED, "started")):
        own = bank.post(make(bank, family).starts, headers=wishes).headers["Location"]
        answer = bank.put(own, headers={"PSU-ID": SEVERAL}).json()
        assert answer["scaStatus"] == status
        message = "Please confirm in your banking app." if status == "started" else None
        assert (answer["psuMessage"], bank.get(own).json()["psuMessage"]) == (message, message)
    own = bank.post(made.starts, headers=EMBEDDED).headers["Location"]
    fails(bank.put(own), 400, "FORMAT_ERROR", "XS2A901E")
    fails(bank.put(own, headers={"PSU-ID": ONE}), 401, "PSU_CREDENTIALS_INVALID", "XS2A920E")
    assert bank.get(own).json()["scaStatus"] == "received"


@spec("reading-sca-password")
@every_family
def test_the_third_wrong_password_fails_the_authorisation(bank: Bank, family: str) -> None:
    made = make(bank, family)
    own = bank.post(made.starts, headers={"PSU-ID": SEVERAL, **EMBEDDED}).headers["Location"]
    for left in (2, 1, 0):
        assert bank.get(own).json()["scaStatus"] == "psuIdentified"
        error = fails(bank.put(own, json={"psuData": {"password": "no"}}), 401, "PSU_CREDENTIALS_INVALID")
        assert error["text"] == f"{{sensitive}} XS2A920E: wrong credentials, {left} attempts left"

    assert bank.get(own).json()["scaStatus"] == "failed"
    assert made.status(bank) == made.family.refused
    fails(bank.put(own, json=resources.password(SEVERAL)), 409, "STATUS_INVALID", "XS2A921E")


@spec("reading-sca-otp")
@every_family
def test_the_third_wrong_otp_fails_the_authorisation(bank: Bank, family: str) -> None:
    made = make(bank, family)
    own = resources.awaiting_otp(bank, made, SEVERAL)
    for left in (2, 1, 0):
        assert bank.get(own).json()["scaStatus"] == "scaMethodSelected"
        error = fails(bank.put(own, json={"scaAuthenticationData": "000000"}), 401, "PSU_CREDENTIALS_INVALID")
        assert error["text"] == f"{{sensitive}} XS2A920E: wrong credentials, {left} attempts left"

    assert bank.get(own).json()["scaStatus"] == "failed"
    assert made.status(bank) == made.family.refused
    fails(bank.put(own, json=resources.otp(SEVERAL)), 409, "STATUS_INVALID", "XS2A921E")


@spec("reading-sca-otp")
@every_family
def test_success_is_possible_after_two_mistakes(bank: Bank, family: str) -> None:
    made = make(bank, family)
    own = bank.post(made.starts, headers={"PSU-ID": SEVERAL, **EMBEDDED}).headers["Location"]
    for _ in range(2):
        assert bank.put(own, json={"psuData": {"password": "no"}}).status == 401
    assert bank.put(own, json=resources.password(SEVERAL)).status == 200
    assert bank.put(own, json=chosen(resources.methods(SEVERAL)[0])).status == 200
    for _ in range(2):
        assert bank.put(own, json={"scaAuthenticationData": "000000"}).status == 401

    assert bank.put(own, json=resources.otp(SEVERAL)).json()["scaStatus"] == "finalised"
    assert made.status(bank) == made.family.done


@spec("reading-sca-method-unknown")
@every_family
def test_a_method_that_the_customer_does_not_have_is_refused(bank: Bank, family: str) -> None:
    own = resources.logged_in(bank, make(bank, family), SEVERAL).headers["Location"]
    foreign = chosen(resources.methods(ONE)[0])

    fails(bank.put(own, json=foreign), 400, "SCA_METHOD_UNKNOWN", "XS2A922E", "/authenticationMethodId")
    assert bank.get(own).json()["scaStatus"] == "psuAuthenticated"


@spec("reading-sca-final")
@every_family
def test_a_finished_authorisation_does_not_change(bank: Bank, family: str) -> None:
    made = make(bank, family)
    own = resources.sign(bank, made, SEVERAL)

    for body in ({}, resources.password(SEVERAL), resources.otp(SEVERAL), chosen(resources.methods(SEVERAL)[0])):
        fails(bank.put(own, headers={"PSU-ID": SEVERAL}, json=body), 409, "STATUS_INVALID", "XS2A921E")
    assert bank.get(own).json()["scaStatus"] == "finalised"
    fails(resources.begin(bank, made), 409, "STATUS_INVALID", "XS2A921E")


@spec("reading-sca-final")
@every_family
@pytest.mark.parametrize("step", ["authenticationMethodId", "scaAuthenticationData", "confirmationCode"])
def test_steps_must_be_in_order(bank: Bank, family: str, step: str) -> None:
    own = bank.post(make(bank, family).starts, headers={"PSU-ID": SEVERAL, **EMBEDDED}).headers["Location"]

    fails(bank.put(own, json={step: "x"}), 409, "STATUS_INVALID", "XS2A921E")
    assert bank.get(own).json()["scaStatus"] == "psuIdentified"


@spec("reading-sca-one-open")
@every_family
def test_a_new_authorisation_replaces_the_previous_one(bank: Bank, family: str) -> None:
    made = make(bank, family)
    assert resources.begin(bank, made).status == 201

    fails(resources.begin(bank, made), 409, "STATUS_INVALID", "XS2A921E")


@spec("reading-sca-approach")
@every_family
@pytest.mark.parametrize("wishes", [REDIRECTED, DECOUPLED], ids=["redirect", "decoupled"])
@pytest.mark.parametrize("step", ["psuData", "authenticationMethodId", "scaAuthenticationData"])
def test_steps_belong_to_the_embedded_approach(bank: Bank, family: str, wishes: dict[str, str], step: str) -> None:
    own = bank.post(make(bank, family).starts, headers=wishes).headers["Location"]
    body = resources.password(SEVERAL) if step == "psuData" else {step: "x"}

    fails(bank.put(own, json=body, headers={"PSU-ID": SEVERAL}), 400, "SERVICE_INVALID", "XS2A923E", f"/{step}")


BODIES: list[tuple[Any, str]] = [
    ({"psuData": "x"}, "/psuData"),
    ({"psuData": {}}, "/psuData/password"),
    ({"psuData": {"password": 1}}, "/psuData/password"),
    ({"authenticationMethodId": 1}, "/authenticationMethodId"),
    ({"authenticationMethodId": "x" * 36}, "/authenticationMethodId"),
    ({"scaAuthenticationData": 123456}, "/scaAuthenticationData"),
    ({"scaAuthenticationData": "1", "authenticationMethodId": "2"}, "/scaAuthenticationData"),
]


@spec("reading-body")
@spec("reading-body-path")
@every_family
def test_invalid_bodies_of_steps_are_refused(bank: Bank, family: str) -> None:
    made = make(bank, family)
    own = bank.post(made.starts, headers=EMBEDDED).headers["Location"]

    for body, path in BODIES:
        fails(bank.put(own, json=body), 400, "FORMAT_ERROR", "XS2A901E", path)
    for content in (b"{", b"[]", b'"x"'):
        assert (bank.put(own, content=content).status, bank.post(made.starts, content=content).status) == (400, 400)
    fails(bank.put(own, json=resources.password(SEVERAL)), 400, "FORMAT_ERROR", "XS2A901E")
    assert bank.get(own).json()["scaStatus"] == "received"


# -- signatories and consequences


@spec("reading-sca-redirect-once")
@every_family
def test_only_one_of_several_simultaneous_updates_succeeds(bank: Bank, family: str) -> None:
    made = make(bank, family)
    own = resources.awaiting_otp(bank, made, SEVERAL)

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: bank.put(own, json=resources.otp(SEVERAL)), range(6)))

    assert sorted(answer.status for answer in answers) == [200, *[409] * 5]
    assert made.status(bank) == made.family.done


@spec("reading-sca-signatories")
@every_family
@pytest.mark.parametrize("order", [(ONE, SEVERAL), (SEVERAL, ONE)], ids="-".join)
def test_both_signatories_must_sign(bank: Bank, control: Control, family: str, order: tuple[str, str]) -> None:
    made = make(bank, family)
    for iban in resources.ibans(SEVERAL):
        control.change("accounts", iban, signatories=[SEVERAL, ONE])

    resources.sign(bank, made, order[0])
    some = {"consent": "partiallyAuthorised", "payment": "PATC", "cancellation": "ACTC", "basket": "PATC"}
    assert made.status(bank) == some[family]

    resources.sign(bank, made, order[1])
    assert made.status(bank) == made.family.done


@spec("reading-sca-signatories")
def test_the_second_signatory_rejects(bank: Bank, control: Control) -> None:
    made = make(bank, "payment")
    control.change("accounts", resources.debtor(SEVERAL), signatories=[SEVERAL, ONE])
    resources.sign(bank, made, SEVERAL)

    id = bank.post(made.starts, headers={"PSU-ID": ONE, **DECOUPLED}).json()["authorisationId"]
    control.decide(id, "decline")

    assert made.status(bank) == "RJCT"


JOINT = next(iban for iban, account in facts.accounts().items() if "signatories" in account)


@spec("reading-sca-signatories")
def test_a_partially_authorised_payment_is_cancelled_at_once(bank: Bank) -> None:
    first, _ = facts.accounts()[JOINT]["signatories"]
    made = resources.payment(bank, first, debtor=JOINT)
    assert listed(bank, made) == [], "with several signatories there is no implicit authorisation"
    resources.sign(bank, made, first)
    assert made.status(bank) == "PATC"

    assert bank.delete(made.own).status == 204

    assert made.status(bank) == "CANC"


@spec("reading-consent-sca")
def test_a_new_recurring_consent_ends_the_older_one(bank: Bank) -> None:
    first, second, single = (
        resources.consent(bank, SEVERAL, recurringIndicator=recurring) for recurring in (True, True, False)
    )
    for made in (first, second, single):
        resources.sign(bank, made, SEVERAL)

    assert [made.status(bank) for made in (first, second, single)] == ["expired", "valid", "valid"]
    listed = bank.get("/v1/accounts", consent=second.id)
    assert [account["iban"] for account in listed.json()["accounts"]] == resources.ibans(SEVERAL)


@spec("reading-consent-preconfigured-content")
def test_authorising_a_preconfigured_consent_changes_nothing(bank: Bank) -> None:
    own = f"/v1/consents/{facts.tied()[resources.debtor(SEVERAL)]}"
    before = bank.get(own).json()
    answer = bank.post(
        f"{own}/authorisations", headers={"PSU-ID": SEVERAL, **EMBEDDED}, json=resources.password(SEVERAL)
    )
    path = answer.headers["Location"]
    for body in (chosen(resources.methods(SEVERAL)[0]), resources.otp(SEVERAL)):
        answer = bank.put(path, json=body)

    assert answer.json()["scaStatus"] == "finalised"
    assert bank.get(own).json() == before


REFUSED: Mapping[str, Callable[[Bank], Resource]] = {
    "a payment without funds": lambda bank: resources.payment(bank, NONE, amount="9999.00"),
    "a cancelled payment": lambda bank: _deleted(bank, resources.payment(bank, SEVERAL)),
    "a deleted basket": lambda bank: _deleted(bank, resources.basket(bank, SEVERAL)),
    "a cancellation nobody asked for": lambda bank: _cancelling(resources.payment(bank, SEVERAL)),
}


def _deleted(bank: Bank, made: Resource) -> Resource:
    assert bank.delete(made.own).status == 204
    return made


def _cancelling(made: Resource) -> Resource:
    return Resource(resources.FAMILIES["cancellation"], made.id, made.own, f"{made.own}/cancellation-authorisations")


@spec("reading-sca-final")
@pytest.mark.parametrize("what", REFUSED)
def test_resources_that_cannot_be_authorised(bank: Bank, what: str) -> None:
    made = REFUSED[what](bank)

    fails(resources.begin(bank, made), 409, "STATUS_INVALID", "XS2A921E")
