"""The start of an authorisation: implicit or explicit, and its approach."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.contract import bodies, facts
from tests.support.engine_client import Client, an_engine, cassette
from tests.support.rehearsal import (
    APP_ONLY,
    DECOUPLED,
    EMBEDDED,
    FAMILIES,
    NONE,
    ONE,
    OTHER,
    OWN,
    REDIRECT,
    SEVERAL,
    SIGNATORIES,
    Stage,
    a_stage,
    authorising,
    starting,
)

TOGETHER: Mapping[str, str] = {}


@pytest.fixture
def stage() -> Stage:
    return a_stage()


def listed(stage: Stage, starts: str) -> list[str]:
    ids = stage.client.get(starts).json()["authorisationIds"]
    assert isinstance(ids, list)
    return ids


# -- implicit and explicit


@pytest.mark.parametrize("family", ["consent", "payment"])
def test_several_signatories_always_need_explicit_starts(stage: Stage, family: str) -> None:
    assert listed(stage, stage.make(family, joint=True, headers=TOGETHER).starts) == []


def test_resources_that_are_valid_or_rejected_at_once_start_no_authorisation(stage: Stage) -> None:
    assert listed(stage, stage.consent(headers=TOGETHER).starts) == []
    poor = stage.payment(debtor=facts.low(), amount="9999.00", headers=TOGETHER)
    assert listed(stage, poor.starts) == []


@pytest.mark.parametrize("family", ["consent", "payment"])
@pytest.mark.parametrize(
    ("headers", "status"),
    [({}, "received"), ({"PSU-ID": ONE}, "psuIdentified"), ({"PSU-ID": ONE, **DECOUPLED}, "started")],
)
def test_an_implicit_authorisation_follows_the_headers_of_the_initiation(
    stage: Stage, family: str, headers: Mapping[str, str], status: str
) -> None:
    thing = stage.make(family, headers=headers)
    (id,) = listed(stage, thing.starts)
    assert stage.sca(f"{thing.starts}/{id}") == status


def test_an_implicit_authorisation_can_be_embedded(stage: Stage) -> None:
    thing = stage.make("payment", headers={**EMBEDDED, "PSU-ID": ONE})
    (id,) = listed(stage, thing.starts)
    own = f"{thing.starts}/{id}"

    stage.log_in(own, ONE)
    answer = stage.put(own, scaAuthenticationData=facts.testdata()["psus"][ONE]["otp"])

    assert (answer.json()["scaStatus"], stage.status(thing)) == ("finalised", "ACSP")


def test_an_implicit_decoupled_authorisation_is_decided_after_a_delay(stage: Stage) -> None:
    thing = stage.make("payment", headers={**DECOUPLED, "PSU-ID": ONE})
    stage.move(seconds=29)
    assert stage.status(thing) == "RCVD"
    stage.move(seconds=1)
    assert stage.status(thing) == "ACSP"


def test_options_of_the_explicit_start_apply_to_the_implicit_one(tmp_path: Path) -> None:
    stage = starting(tmp_path, expires_after=60, sca="decoupled", decides_after=None)
    thing = stage.make("payment", headers={"PSU-ID": ONE})
    (id,) = listed(stage, thing.starts)
    own = f"{thing.starts}/{id}"
    stage.move(seconds=59)
    assert (stage.sca(own), stage.status(thing)) == ("started", "RCVD")
    stage.move(seconds=1)
    assert (stage.sca(own), stage.status(thing)) == ("failed", "RJCT")


def test_the_customer_in_an_initiation_must_hold_the_account(stage: Stage) -> None:
    body = bodies.payment(bodies.SEPA, debtor=OWN[ONE][0])
    answer = stage.client.post(f"/v1/{bodies.SEPA}", json=body, headers={"PSU-ID": OTHER})
    assert (answer.status, answer.error["code"]) == (401, "PSU_CREDENTIALS_INVALID")
    assert stage.kept("payments") == {}


# -- which approach

WISHES: list[tuple[dict[str, str], str]] = [
    ({}, "REDIRECT"),
    (REDIRECT, "REDIRECT"),
    (EMBEDDED, "EMBEDDED"),
    (DECOUPLED, "DECOUPLED"),
    ({"TPP-Decoupled-Preferred": "false"}, "REDIRECT"),
    ({**REDIRECT, **DECOUPLED}, "REDIRECT"),
    ({**EMBEDDED, **DECOUPLED}, "DECOUPLED"),
    ({**EMBEDDED, "TPP-Decoupled-Preferred": "false"}, "EMBEDDED"),
]


@pytest.mark.parametrize(("wishes", "_"), WISHES)
def test_a_customer_with_only_the_app(stage: Stage, wishes: dict[str, str], _: str) -> None:
    answer = stage.start(stage.make("payment", APP_ONLY), APP_ONLY, wishes)
    assert (answer.headers["aspsp-sca-approach"], answer.json()["scaStatus"]) == ("DECOUPLED", "started")
    assert answer.json()["psuMessage"]


@pytest.mark.parametrize(
    ("can", "wishes", "approach"),
    [
        (["embedded"], {}, "EMBEDDED"),
        (["embedded", "redirect"], DECOUPLED, "EMBEDDED"),
        (["redirect", "embedded"], DECOUPLED, "REDIRECT"),
        (["redirect", "embedded"], EMBEDDED, "EMBEDDED"),
    ],
)
def test_the_approach_changes_if_the_customer_cannot_use_the_requested_one(
    stage: Stage, can: list[str], wishes: dict[str, str], approach: str
) -> None:
    stage.change("psus", ONE, approaches=can)
    assert stage.start(stage.make("payment"), ONE, wishes).headers["aspsp-sca-approach"] == approach


def test_a_customer_who_is_identified_later(stage: Stage) -> None:
    own = stage.begin(stage.make("payment", APP_ONLY), None, EMBEDDED)

    answer = stage.put(own, APP_ONLY)

    assert (answer.json()["scaStatus"], answer.headers["aspsp-sca-approach"]) == ("started", "DECOUPLED")
    assert "updatePsuAuthentication" not in answer.json()["_links"]


def test_a_password_of_a_customer_with_only_the_app(stage: Stage) -> None:
    own = stage.begin(stage.make("payment", APP_ONLY), None, EMBEDDED)
    answer = stage.log_in(own, APP_ONLY)
    assert (answer.status, answer.error["code"], answer.error["path"]) == (400, "SERVICE_INVALID", "/psuData")


def test_the_dialect_determines_the_approach(tmp_path: Path) -> None:
    stage = starting(tmp_path, sca="embedded")
    assert stage.start(stage.make("payment")).headers["aspsp-sca-approach"] == "EMBEDDED"
    assert stage.start(stage.make("payment"), None, REDIRECT).headers["aspsp-sca-approach"] == "REDIRECT"


# -- who may sign


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("psu", [OTHER, "nobody"])
def test_only_a_holder_may_sign(stage: Stage, family: str, psu: str) -> None:
    thing = stage.make(family)

    answer = stage.start(thing, psu, EMBEDDED)
    assert (answer.status, answer.error["code"]) == (401, "PSU_CREDENTIALS_INVALID")
    assert listed(stage, thing.starts) == []

    own = stage.begin(thing, None, EMBEDDED)
    assert stage.put(own, psu).status == 401
    assert stage.put(own, psu, psuData={"password": "x"}).status == 401
    assert stage.sca(own) == "received"


def test_a_holder_who_is_not_a_signatory_may_not_sign(stage: Stage) -> None:
    stage.change("accounts", OWN[ONE][0], signatories=[OTHER, SEVERAL])
    thing = stage.payment()
    assert stage.start(thing, ONE).status == 401
    assert stage.start(thing, OTHER).status == 201


@pytest.mark.parametrize("family", FAMILIES)
def test_every_signatory_may_sign(stage: Stage, family: str) -> None:
    thing = stage.make(family, joint=True)
    for psu in SIGNATORIES:
        assert stage.start(thing, psu, EMBEDDED).status == 201
    assert stage.start(thing, ONE).status == 401


# -- decoupled authorisations and the clock


def test_the_delay_starts_when_the_customer_is_known(stage: Stage) -> None:
    own = stage.begin(stage.make("payment"), None, DECOUPLED)
    stage.move(hours=1)
    assert stage.sca(own) == "received"
    assert stage.put(own, ONE).json()["scaStatus"] == "started"
    stage.move(seconds=30)
    assert stage.sca(own) == "finalised"


@pytest.mark.parametrize(("after", "seconds"), [(5, 5), (0, 0), (3600, 3600)])
def test_the_delay_is_an_option(tmp_path: Path, after: int, seconds: int) -> None:
    stage = starting(tmp_path, decides_after=after)
    own = stage.begin(stage.make("payment"), ONE, DECOUPLED)
    if seconds:
        stage.move(seconds=seconds - 1)
        assert stage.sca(own) == "started"
        stage.move(seconds=1)
    assert stage.sca(own) == "finalised"


def test_without_a_delay_only_the_control_interface_decides(tmp_path: Path) -> None:
    stage = starting(tmp_path, decides_after=None)
    own = stage.begin(stage.make("payment"), ONE, DECOUPLED)
    stage.move(hours=23)
    assert stage.sca(own) == "started"
    stage.decide(own, "approve")
    assert stage.sca(own) == "finalised"


@pytest.mark.parametrize(("decision", "expected"), [("approve", "ACSP"), ("decline", "RJCT")])
def test_the_control_interface_can_decide_earlier(stage: Stage, decision: str, expected: str) -> None:
    thing = stage.make("payment")
    own = stage.begin(thing, ONE, DECOUPLED)
    stage.decide(own, decision)
    stage.move(seconds=30)
    assert stage.status(thing) == expected


def test_the_day_of_the_decision_counts_even_if_it_is_read_later(stage: Stage) -> None:
    thing = stage.payment(requestedExecutionDate=stage.day(2))
    today = stage.today.isoformat()
    stage.begin(thing, ONE, DECOUPLED)
    stage.move(days=20)

    assert stage.status(thing) == "ACSP"
    assert stage.kept("payments")[thing.id]["authorised_on"] == today


# -- expiry


def test_without_an_authorisation_nothing_expires(stage: Stage) -> None:
    thing = stage.make("consent")
    stage.move(days=30)
    assert stage.status(thing) == "received"


def test_an_update_after_expiry(stage: Stage) -> None:
    own = stage.awaiting_otp(stage.make("payment"))
    stage.move(days=1)
    answer = stage.put(own, scaAuthenticationData=facts.testdata()["psus"][ONE]["otp"])
    assert (answer.status, answer.error["code"]) == (409, "STATUS_INVALID")


def test_one_of_two_authorisations_expires_after_the_other_signature(stage: Stage) -> None:
    thing = stage.make("payment", joint=True)
    stage.sign(thing, SIGNATORIES[0])
    stage.begin(thing, SIGNATORIES[1], EMBEDDED)
    stage.move(days=1)
    assert stage.status(thing) == "RJCT"


def test_an_authorisation_expires_when_it_is_no_longer_needed(stage: Stage) -> None:
    thing = stage.make("consent", joint=True)
    unused = stage.begin(thing, SIGNATORIES[0], EMBEDDED)
    stage.sign(thing)
    stage.move(days=1)
    assert (stage.sca(unused), stage.status(thing)) == ("failed", "valid")


def test_a_layer_may_change_options_of_one_family(tmp_path: Path) -> None:
    stage = starting(tmp_path, of={"payment": {"sca": "decoupled"}})
    assert stage.start(stage.make("payment")).headers["aspsp-sca-approach"] == "DECOUPLED"
    assert stage.start(stage.make("consent")).headers["aspsp-sca-approach"] == "REDIRECT"


# -- the authorisation in the answer to an initiation

CREATED = """
    rules:
      - {id: of-payment, match: {operation: initiate-payment}, handler: payments.initiate,
         respond: {body: "{{ result }}"}, answers: {}}
      - {id: of-consent, match: {operation: create-consent}, handler: consents.create,
         with: {status: {named: awaiting, all: awaiting}}, respond: {body: "{{ result }}"}, answers: {}}
"""


@pytest.fixture
def telling(tmp_path: Path) -> Client:
    return Client(an_engine(layers=cassette(tmp_path, CREATED)))


def created(client: Client, family: str, **headers: str) -> Any:
    path, body = {
        "payment": (f"/v1/{bodies.SEPA}", bodies.payment(bodies.SEPA, debtor=OWN[ONE][0], amount="1.20")),
        "consent": ("/v1/consents", bodies.consent(OWN[ONE][0], validUntil="9999-12-31")),
    }[family]
    answer = client.post(path, json=body, headers={name.replace("_", "-"): value for name, value in headers.items()})
    assert answer.status == 200, answer.body
    return answer.json()


@pytest.mark.parametrize("family", ["payment", "consent"])
def test_an_initiation_reports_the_authorisation_that_it_started(telling: Client, family: str) -> None:
    result = created(telling, family, PSU_ID=ONE, TPP_Redirect_Preferred="false")

    (id,) = telling.get(f"{result['self']}/authorisations").json()["authorisationIds"]
    authorisation = result["authorisation"]
    assert authorisation["id"] == id
    assert authorisation["self"] == f"{result['self']}/authorisations/{id}"
    assert authorisation["status"] == "identified"
    assert (result["approach"], result["next"]) == ("embedded", ["authenticate"])
    assert authorisation["page"].partition("?")[2].split("&")[0].endswith(result["id"])


@pytest.mark.parametrize(
    ("headers", "approach", "link"),
    [
        ({}, "redirect", "start"),
        ({"PSU_ID": ONE}, "redirect", "start"),
        ({"TPP_Redirect_Preferred": "false"}, "embedded", "start-identified"),
        ({"TPP_Redirect_Preferred": "false", "PSU_ID": ONE}, "embedded", "start-authenticated"),
        ({"TPP_Decoupled_Preferred": "true"}, "decoupled", "start-identified"),
        ({"TPP_Decoupled_Preferred": "true", "PSU_ID": ONE}, "decoupled", "start"),
    ],
)
def test_an_initiation_reports_the_link_for_an_explicit_start(
    telling: Client, headers: dict[str, str], approach: str, link: str
) -> None:
    result = created(telling, "payment", TPP_Explicit_Authorisation_Preferred="true", **headers)

    assert (result["approach"], result["next"], result["authorisation"]) == (approach, [link], None)


def test_a_payment_that_nobody_can_sign_has_an_approach_and_no_link(telling: Client) -> None:
    body = bodies.payment(bodies.SEPA, debtor=facts.low(), amount="9999.00")
    result = telling.post(f"/v1/{bodies.SEPA}", json=body).json()
    assert (result["approach"], result["next"], result["authorisation"]) == ("redirect", [], None)


# -- options of a bank


@pytest.mark.parametrize("attempts", [1, 2, 5])
def test_the_number_of_attempts_is_an_option(tmp_path: Path, attempts: int) -> None:
    stage = starting(tmp_path, attempts=attempts)
    own = stage.begin(stage.payment(), ONE, EMBEDDED)

    for number in range(attempts):
        assert stage.sca(own) == "psuIdentified"
        answer = stage.put(own, ONE, psuData={"password": "wrong"})
        assert (answer.status, answer.error["code"]) == (401, "PSU_CREDENTIALS_INVALID")
        assert f" {attempts - number - 1} attempts left" in answer.error["text"]

    assert stage.sca(own) == "failed"


@pytest.mark.parametrize(
    ("habit", "sca", "status"), [("exempted", "exempted", "ACSP"), ("finalised", "finalised", "ACSP")]
)
def test_customers_without_method_are_exempted_or_finalised(tmp_path: Path, habit: str, sca: str, status: str) -> None:
    stage = starting(tmp_path, without_method=habit)
    thing = stage.payment(debtor=OWN[NONE][0])
    own = stage.begin(thing, NONE, EMBEDDED)

    assert stage.log_in(own, NONE).json()["scaStatus"] == sca
    assert (stage.sca(own), stage.status(thing)) == (sca, status)


def test_a_customer_without_a_method_may_be_refused(tmp_path: Path) -> None:
    stage = starting(tmp_path, without_method="refused")
    thing = stage.payment(debtor=OWN[NONE][0])
    own = stage.begin(thing, NONE, EMBEDDED)

    answer = stage.log_in(own, NONE)

    assert (answer.status, answer.error["code"]) == (400, "SCA_METHOD_UNKNOWN")
    assert (stage.sca(own), stage.status(thing)) == ("failed", "RJCT")


def test_on_the_page_a_customer_without_a_method_is_finalised_too(tmp_path: Path) -> None:
    stage = starting(tmp_path, without_method="finalised")
    thing = stage.payment(debtor=OWN[NONE][0])
    own = stage.begin(thing, None, REDIRECT)

    stage.open(thing.page or "", decide="approve")

    assert (stage.sca(own), stage.status(thing)) == ("finalised", "ACSP")


def test_customers_of_a_bank_with_oauth_are_sent_to_its_authorisation_server(tmp_path: Path) -> None:
    layers = [*authorising(tmp_path, of={"payment": {"sca": "oauth"}}), *cassette(tmp_path, CREATED)]
    result = created(Client(an_engine(layers=layers)), "payment")
    assert (result["approach"], result["next"]) == ("oauth", ["oauth"])
