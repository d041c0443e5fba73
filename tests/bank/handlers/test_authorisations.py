"""The steps of an authorisation, in process: those that fit, those that do not, and what is wrong with each."""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.contract import bodies
from tests.support.engine_client import NO_BODY, Answer, Client, an_engine, speaking
from tests.support.rehearsal import (
    APP_ONLY,
    DECOUPLED,
    EMBEDDED,
    FAMILIES,
    NONE,
    ONE,
    OTHER,
    OWN,
    PSUS,
    REDIRECT,
    SEVERAL,
    Stage,
    Thing,
    a_stage,
    starting,
)
from xs2a_sandbox.http import Headers, Request, Response
from xs2a_sandbox.state import MemoryStore, attempts
from xs2a_sandbox.state.sqlite import SqliteStore

DONE = {"consent": "valid", "payment": "ACSP", "cancellation": "CANC", "basket": "ACTC"}
FAILED = {"consent": "rejected", "payment": "RJCT", "cancellation": "ACTC", "basket": "RJCT"}

RETRIED = ("cancellation", "failed")
"""Changes nothing, so that it can be tried again."""

every_family = pytest.mark.parametrize("family", FAMILIES)


@pytest.fixture
def stage() -> Stage:
    return a_stage()


def refused(answer: Answer, status: int, code: str, path: str | None = None) -> str:
    assert (answer.status, answer.error["code"], answer.error["path"]) == (status, code, path), answer.body
    return str(answer.error["text"])


def links(answer: Answer) -> set[str]:
    return set(answer.json()["_links"])


def otp(psu: str) -> str:
    return str(PSUS[psu]["otp"])


# -- embedded, from one end to the other


@every_family
def test_identification_password_method_and_otp(stage: Stage, family: str) -> None:
    thing = stage.make(family, SEVERAL)
    answer = stage.start(thing, None, EMBEDDED)
    own = answer.headers["location"]
    assert own == f"{thing.starts}/{answer.json()['authorisationId']}"
    assert (answer.json()["scaStatus"], links(answer)) == ("received", {"updatePsuIdentification", "scaStatus"})

    answer = stage.put(own, SEVERAL)
    assert (answer.json()["scaStatus"], links(answer)) == ("psuIdentified", {"updatePsuAuthentication", "scaStatus"})

    answer = stage.put(own, psuData={"password": PSUS[SEVERAL]["password"]})
    body = answer.json()
    assert (body["scaStatus"], links(answer)) == ("psuAuthenticated", {"selectAuthenticationMethod", "scaStatus"})
    assert body["scaMethods"] == PSUS[SEVERAL]["methods"]
    assert body["chosenScaMethod"] is None

    method = PSUS[SEVERAL]["methods"][2]
    answer = stage.put(own, authenticationMethodId=method["authenticationMethodId"])
    body = answer.json()
    assert (body["scaStatus"], links(answer)) == ("scaMethodSelected", {"authoriseTransaction", "scaStatus"})
    assert (body["chosenScaMethod"], body["scaMethods"]) == (method, None)
    assert body["challengeData"]

    answer = stage.put(own, scaAuthenticationData=otp(SEVERAL))
    assert (answer.json()["scaStatus"], links(answer)) == ("finalised", {"scaStatus"})
    assert answer.headers["aspsp-sca-approach"] == "EMBEDDED"
    assert (stage.sca(own), stage.status(thing)) == ("finalised", DONE[family])


@every_family
@pytest.mark.parametrize(
    ("psu", "status"), [(NONE, "exempted"), (ONE, "scaMethodSelected"), (SEVERAL, "psuAuthenticated")]
)
def test_a_start_with_the_password(stage: Stage, family: str, psu: str, status: str) -> None:
    thing = stage.make(family, psu)

    answer = stage.start(thing, psu, EMBEDDED, json={"psuData": {"password": PSUS[psu]["password"]}})

    assert (answer.status, answer.json()["scaStatus"]) == (201, status)
    assert stage.sca(answer.headers["location"]) == status
    assert (stage.status(thing) == DONE[family]) == (psu == NONE)


def test_the_password_says_whose_it_is_with_the_header(stage: Stage) -> None:
    own = stage.begin(stage.make("payment"), None, EMBEDDED)
    text = refused(stage.put(own, psuData={"password": PSUS[ONE]["password"]}), 400, "FORMAT_ERROR")
    assert "PSU-ID" in text
    assert stage.log_in(own, ONE).json()["scaStatus"] == "scaMethodSelected"


def test_a_body_that_is_not_there_is_an_empty_one(stage: Stage) -> None:
    own = stage.begin(stage.make("payment"), None, EMBEDDED)
    answer = stage.client.request("PUT", own, headers={"PSU-ID": ONE})
    assert answer.json()["scaStatus"] == "psuIdentified"


# -- wrong credentials


@every_family
def test_a_wrong_password_counts_and_the_third_ends_it(stage: Stage, family: str) -> None:
    thing = stage.make(family)
    before = stage.status(thing)
    own = stage.begin(thing, ONE, EMBEDDED)

    for left in (2, 1, 0):
        assert (stage.sca(own), stage.status(thing)) == ("psuIdentified", before)
        text = refused(stage.put(own, psuData={"password": "wrong"}), 401, "PSU_CREDENTIALS_INVALID")
        assert f"{left} attempts left" in text

    assert (stage.sca(own), stage.status(thing)) == ("failed", FAILED[family])
    refused(stage.log_in(own, ONE), 409, "STATUS_INVALID")


@every_family
def test_a_wrong_otp_counts_and_the_third_ends_it(stage: Stage, family: str) -> None:
    thing = stage.make(family)
    own = stage.awaiting_otp(thing)

    for _ in range(3):
        assert stage.sca(own) == "scaMethodSelected"
        refused(stage.put(own, scaAuthenticationData="000000"), 401, "PSU_CREDENTIALS_INVALID")

    assert (stage.sca(own), stage.status(thing)) == ("failed", FAILED[family])
    refused(stage.put(own, scaAuthenticationData=otp(ONE)), 409, "STATUS_INVALID")


def test_the_attempts_are_kept_although_the_answers_are_errors(tmp_path: Path) -> None:
    """By the next process, too."""
    stage = a_stage(SqliteStore(tmp_path / "state.db"))
    own = stage.begin(stage.make("payment"), ONE, EMBEDDED)
    for _ in range(2):
        stage.put(own, psuData={"password": "wrong"})

    again = Stage(Client(an_engine(SqliteStore(tmp_path / "state.db"))))
    text = refused(again.put(own, psuData={"password": "wrong"}), 401, "PSU_CREDENTIALS_INVALID")

    assert "0 attempts left" in text
    assert again.sca(own) == "failed"


def test_a_right_password_sets_the_count_back(stage: Stage) -> None:
    own = stage.begin(stage.make("payment"), ONE, EMBEDDED)
    for _ in range(2):
        stage.put(own, psuData={"password": "wrong"})
    stage.log_in(own, ONE)

    for _ in range(2):
        stage.put(own, scaAuthenticationData="wrong")

    assert stage.put(own, scaAuthenticationData=otp(ONE)).json()["scaStatus"] == "finalised"


def test_a_start_with_a_wrong_password_counts(stage: Stage) -> None:
    thing = stage.make("payment")
    answer = stage.start(thing, ONE, EMBEDDED, json={"psuData": {"password": "wrong"}})
    refused(answer, 401, "PSU_CREDENTIALS_INVALID")

    (id,) = stage.client.get(thing.starts).json()["authorisationIds"]
    assert stage.kept("authorisations")[id]["attempts"] == 1
    assert stage.log_in(f"{thing.starts}/{id}", ONE).json()["scaStatus"] == "scaMethodSelected"


@pytest.mark.parametrize("password", ["", " ", "Alpenrose", "alpenrose ", "älpenrose"])
def test_the_password_is_the_very_same(stage: Stage, password: str) -> None:
    own = stage.begin(stage.make("payment"), ONE, EMBEDDED)
    refused(stage.put(own, psuData={"password": password}), 401, "PSU_CREDENTIALS_INVALID")


def test_the_otp_is_that_of_the_customer(stage: Stage) -> None:
    own = stage.awaiting_otp(stage.make("payment"))
    refused(stage.put(own, scaAuthenticationData=otp(OTHER)), 401, "PSU_CREDENTIALS_INVALID")


# -- steps that do not fit


def test_a_method_that_the_customer_has_not(stage: Stage) -> None:
    own = stage.begin(stage.make("payment", SEVERAL), SEVERAL, EMBEDDED)
    stage.log_in(own, SEVERAL)

    for method in ("sms-anna", "x"):
        refused(stage.put(own, authenticationMethodId=method), 400, "SCA_METHOD_UNKNOWN", "/authenticationMethodId")

    assert stage.sca(own) == "psuAuthenticated"


STEPS: list[dict[str, Any]] = [
    {"psuData": {"password": "x"}},
    {"authenticationMethodId": "x"},
    {"scaAuthenticationData": "x"},
]


@pytest.mark.parametrize("wishes", [REDIRECT, DECOUPLED], ids=["redirect", "decoupled"])
@pytest.mark.parametrize("psu", [None, ONE])
@pytest.mark.parametrize("step", STEPS, ids=lambda s: next(iter(s)))
def test_a_step_that_the_approach_does_not_have(
    stage: Stage, wishes: Mapping[str, str], psu: str | None, step: dict[str, Any]
) -> None:
    thing = stage.make("payment")
    own = stage.begin(thing, psu, wishes)
    before = stage.sca(own)
    (name,) = step
    refused(stage.put(own, ONE, **step), 400, "SERVICE_INVALID", f"/{name}")
    assert stage.sca(own) == before


@pytest.mark.parametrize("wishes", [REDIRECT, EMBEDDED, DECOUPLED], ids=["redirect", "embedded", "decoupled"])
def test_no_step_at_all(stage: Stage, wishes: Mapping[str, str]) -> None:
    own = stage.begin(stage.make("payment"), None, wishes)
    refused(stage.put(own), 400, "FORMAT_ERROR")
    refused(stage.put(own, unknown="member"), 400, "FORMAT_ERROR")


def test_two_steps_at_once(stage: Stage) -> None:
    own = stage.begin(stage.make("payment"), ONE, EMBEDDED)
    two = {"psuData": {"password": PSUS[ONE]["password"]}, "scaAuthenticationData": otp(ONE)}
    refused(stage.put(own, **two), 400, "FORMAT_ERROR", "/scaAuthenticationData")
    assert stage.sca(own) == "psuIdentified"


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"psuData": {}}, "/psuData/password"),
        ({"psuData": "x"}, "/psuData"),
        ({"psuData": {"password": 1}}, "/psuData/password"),
        ({"authenticationMethodId": "x" * 36}, "/authenticationMethodId"),
        ({"scaAuthenticationData": 123456}, "/scaAuthenticationData"),
        ({"confirmationCode": None}, "/confirmationCode"),
    ],
)
def test_a_step_of_another_shape(stage: Stage, body: dict[str, Any], path: str) -> None:
    thing = stage.make("payment")
    own = stage.begin(thing, ONE, EMBEDDED)
    for answer in (stage.put(own, **body), stage.client.post(stage.make("payment").starts, json=body)):
        assert (answer.status, answer.error["code"]) == (400, "FORMAT_ERROR"), answer.body
        assert str(answer.error["path"]) in (path, path.rpartition("/")[0])


@pytest.mark.parametrize("step", [*STEPS[1:], {}], ids=lambda s: next(iter(s), "identify"))
def test_a_step_out_of_turn(stage: Stage, step: dict[str, Any]) -> None:
    own = stage.begin(stage.make("payment"), ONE, EMBEDDED)
    refused(stage.put(own, ONE, **step), 409, "STATUS_INVALID")


def test_a_password_after_the_password(stage: Stage) -> None:
    own = stage.awaiting_otp(stage.make("payment"))
    refused(stage.log_in(own, ONE), 409, "STATUS_INVALID")
    assert stage.sca(own) == "scaMethodSelected"


@every_family
@pytest.mark.parametrize("ending", ["finalised", "failed", "exempted"])
@pytest.mark.parametrize("step", [*STEPS, {"confirmationCode": "x"}, {}], ids=lambda s: next(iter(s), "identify"))
def test_nothing_happens_to_a_final_one(stage: Stage, family: str, ending: str, step: dict[str, Any]) -> None:
    psu = NONE if ending == "exempted" else ONE
    thing = stage.make(family, psu)
    if ending == "failed":
        own = stage.begin(thing, psu)
        stage.decide(own, "decline")
    else:
        own = stage.sign(thing)
    after = stage.status(thing)

    refused(stage.put(own, psu, **step), 409, "STATUS_INVALID")

    assert (stage.sca(own), stage.status(thing)) == (ending, after)


def test_an_authorisation_of_a_payment_that_was_cancelled_meanwhile(stage: Stage) -> None:
    thing = stage.make("payment")
    own = stage.awaiting_otp(thing)
    assert stage.client.delete(thing.path).status == 204

    refused(stage.put(own, scaAuthenticationData=otp(ONE)), 409, "STATUS_INVALID")

    assert (stage.sca(own), stage.status(thing)) == ("failed", "CANC")


def test_a_cancellation_that_comes_too_late(stage: Stage) -> None:
    thing = stage.make("cancellation")
    stage.move(days=4, hours=11)
    own = stage.awaiting_otp(thing)
    stage.move(hours=2)

    refused(stage.put(own, scaAuthenticationData=otp(ONE)), 409, "STATUS_INVALID")

    assert stage.status(thing) == "ACSP"


@pytest.mark.parametrize(
    ("family", "ending"),
    [(family, ending) for family in FAMILIES for ending in ("done", "failed") if (family, ending) != RETRIED],
)
def test_what_is_settled_is_not_authorised_again(stage: Stage, family: str, ending: str) -> None:
    thing = stage.make(family)
    if ending == "done":
        stage.sign(thing)
    else:
        stage.decide(stage.begin(thing), "decline")

    refused(stage.start(thing, ONE, EMBEDDED), 409, "STATUS_INVALID")


def test_a_cancellation_that_failed_can_be_tried_again(stage: Stage) -> None:
    thing = stage.make("cancellation")
    stage.decide(stage.begin(thing), "decline")
    assert stage.status(thing) == "ACTC"
    stage.sign(thing, ONE)
    assert stage.status(thing) == "CANC"


def test_a_rejected_payment_cannot_be_authorised(stage: Stage) -> None:
    thing = stage.payment(debtor=OWN[NONE][0], amount="9999.00")
    assert stage.status(thing) == "RJCT"
    refused(stage.start(thing, NONE, EMBEDDED), 409, "STATUS_INVALID")


@pytest.mark.parametrize("debtor", [OWN[ONE][0]])
def test_only_what_waits_can_have_its_cancellation_authorised(stage: Stage, debtor: str) -> None:
    for changes in ({}, {"requestedExecutionDate": stage.day(3)}):
        made = stage.payment(debtor=debtor, **changes)
        refused(stage.start(Thing("cancellation", made.path), ONE), 409, "STATUS_INVALID")
    stage.sign(made)
    assert stage.start(Thing("cancellation", made.path), ONE).status == 201


# -- what is not there


@every_family
def test_an_authorisation_that_there_is_not(stage: Stage, family: str) -> None:
    thing, other = stage.make(family), stage.make(family)
    foreign = stage.begin(other, ONE).rpartition("/")[2]

    for id in ("0cae8c3e-1111-4222-8333-444455556666", "x", foreign):
        for answer in (stage.client.get(f"{thing.starts}/{id}"), stage.put(f"{thing.starts}/{id}", ONE)):
            text = refused(answer, 404, "RESOURCE_UNKNOWN")
            assert "XS2A916E" in text


def test_a_payments_authorisation_is_none_of_its_cancellation(stage: Stage) -> None:
    thing = stage.make("cancellation")
    payment = Thing("payment", thing.path)
    (id,) = stage.client.get(payment.starts).json()["authorisationIds"]
    assert stage.client.get(thing.starts).json()["authorisationIds"] == []
    refused(stage.client.get(f"{thing.starts}/{id}"), 404, "RESOURCE_UNKNOWN")


@pytest.mark.parametrize(
    ("family", "path", "status", "code"),
    [
        ("consent", "/v1/consents/{}", 403, "CONSENT_UNKNOWN"),
        ("payment", f"/v1/{bodies.SEPA}/{{}}", 404, "RESOURCE_UNKNOWN"),
        ("cancellation", f"/v1/{bodies.SEPA}/{{}}", 404, "RESOURCE_UNKNOWN"),
        ("basket", "/v1/signing-baskets/{}", 403, "RESOURCE_UNKNOWN"),
    ],
)
def test_a_resource_that_there_is_not(stage: Stage, family: str, path: str, status: int, code: str) -> None:
    thing = Thing(family, path.format("0cae8c3e-1111-4222-8333-444455556666"))
    refused(stage.start(thing, ONE), status, code)
    refused(stage.client.get(thing.starts), status, code)
    refused(stage.client.get(f"{thing.starts}/x"), status, code)
    refused(stage.put(f"{thing.starts}/x", ONE), status, code)


@every_family
def test_ids_compare_without_case(stage: Stage, family: str) -> None:
    own = stage.begin(stage.make(family), ONE)
    head, _, id = own.rpartition("/")
    assert stage.client.get(f"{head}/{id.upper()}").status == 200


# -- confirmation code


@every_family
def test_a_right_confirmation_code(tmp_path: Path, family: str) -> None:
    stage = starting(tmp_path, confirmation=True)
    thing = stage.make(family)
    before = stage.status(thing)
    own = stage.begin(thing, None, REDIRECT)
    stage.decide(own, "approve")
    assert (stage.sca(own), stage.status(thing)) == ("unconfirmed", before)

    answer = stage.put(own, confirmationCode=stage.code(own))

    assert (answer.status, answer.json()["scaStatus"], links(answer)) == (200, "finalised", {"scaStatus"})
    assert stage.status(thing) == DONE[family]


@every_family
def test_a_wrong_confirmation_code(tmp_path: Path, family: str) -> None:
    stage = starting(tmp_path, confirmation=True)
    thing = stage.make(family)
    own = stage.begin(thing, None, REDIRECT)
    stage.decide(own, "approve")

    answer = stage.put(own, confirmationCode=stage.code(own) + "x")

    assert (answer.status, answer.json()["scaStatus"]) == (200, "failed")
    assert stage.status(thing) == FAILED[family]
    refused(stage.put(own, confirmationCode=stage.code(own)), 409, "STATUS_INVALID")


def test_nothing_but_the_code_confirms(tmp_path: Path) -> None:
    stage = starting(tmp_path, confirmation=True)
    own = stage.begin(stage.make("payment"), None, REDIRECT)
    refused(stage.put(own, confirmationCode=stage.code(own)), 409, "STATUS_INVALID")
    stage.decide(own, "approve")
    for step in [*STEPS, {}]:
        refused(stage.put(own, ONE, **step), 409, "STATUS_INVALID")
    assert stage.sca(own) == "unconfirmed"


def test_a_code_that_nobody_sends_runs_out(tmp_path: Path) -> None:
    stage = starting(tmp_path, confirmation=True, expires_after=60)
    thing = stage.make("payment")
    own = stage.begin(thing, None, REDIRECT)
    stage.decide(own, "approve")
    stage.move(seconds=60)
    assert (stage.sca(own), stage.status(thing)) == ("failed", "RJCT")


def test_the_code_goes_with_the_browser(tmp_path: Path) -> None:
    stage = starting(tmp_path, confirmation=True)
    thing = stage.make("payment", headers={"TPP-Redirect-URI": "https://tpp.example/ok"})

    end = stage.open(thing.page or "", decide="approve").headers["location"]

    (id,) = stage.client.get(thing.starts).json()["authorisationIds"]
    own = f"{thing.starts}/{id}"
    assert end == f"https://tpp.example/ok?confirmationCode={stage.code(own)}"
    assert stage.put(own, confirmationCode=end.rpartition("=")[2]).json()["scaStatus"] == "finalised"


@pytest.mark.parametrize(("wishes", "psu"), [(EMBEDDED, ONE), (DECOUPLED, ONE), ({}, APP_ONLY)])
def test_without_a_redirect_there_is_nothing_to_confirm(tmp_path: Path, wishes: Mapping[str, str], psu: str) -> None:
    stage = starting(tmp_path, confirmation=True)
    thing = stage.make("payment", psu)
    own = stage.begin(thing, psu, wishes)
    if wishes == EMBEDDED:
        stage.log_in(own, psu)
        stage.put(own, scaAuthenticationData=otp(psu))
    else:
        stage.decide(own, "approve")
    assert (stage.sca(own), stage.status(thing)) == ("finalised", "ACSP")


def test_without_the_option_there_is_no_code(stage: Stage) -> None:
    own = stage.begin(stage.make("payment"), None, REDIRECT)
    refused(stage.put(own, confirmationCode="x"), 409, "STATUS_INVALID")
    stage.decide(own, "approve")
    assert stage.sca(own) == "finalised"


# -- two at once


class Raced(MemoryStore):
    other: Callable[[], Any] | None = None

    def commit(self, *arguments: Any) -> bool:
        if other := self.other:
            self.other = None
            other()
        return super().commit(*arguments)


class RacedInAFile(SqliteStore):
    other: Callable[[], Any] | None = None

    def commit_together(self, *arguments: Any) -> bool:
        if other := self.other:
            self.other = None
            other()
        return super().commit_together(*arguments)


def finish(work: Any) -> Any:
    """Runs a coroutine in a loop of its own, inside of a running one."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(asyncio.run, work).result()


@pytest.fixture(params=["memory", "sqlite", "two processes"])
def racers(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Stage, Client]:
    """A stage whose store lets a rival go first, and the rival's client."""
    monkeypatch.setattr(attempts, "_SECONDS", 0.0)
    if request.param == "memory":
        stage = a_stage(Raced())
        return stage, stage.client
    stage = a_stage(RacedInAFile(tmp_path / "state.db"))
    if request.param == "sqlite":
        return stage, stage.client
    return stage, Client(an_engine(SqliteStore(tmp_path / "state.db")))


def race(stage: Stage, rival: Client, own: str, mine: dict[str, Any], theirs: dict[str, Any]) -> list[Answer]:
    """Mine has been decided and is about to be written when theirs comes; both answers, mine first."""
    answers: list[Answer] = []
    store: Any = stage.client.engine.store

    async def both() -> None:
        store.other = lambda: answers.append(finish(rival.send("PUT", own, json=theirs)))
        answers.insert(0, await stage.client.send("PUT", own, json=mine))

    asyncio.run(both())
    return answers


@every_family
def test_two_right_otps_have_one_winner(racers: tuple[Stage, Client], family: str) -> None:
    stage, rival = racers
    thing = stage.make(family)
    own = stage.awaiting_otp(thing)
    right = {"scaAuthenticationData": otp(ONE)}

    mine, theirs = race(stage, rival, own, right, right)

    assert (theirs.status, mine.status) == (200, 409)
    assert (stage.sca(own), stage.status(thing)) == ("finalised", DONE[family])
    resource = stage.kept({"consent": "consents", "basket": "baskets"}.get(family, "payments"))[thing.id]
    signed = "cancellationAuthorisationsSignedBy" if family == "cancellation" else "authorisationsSignedBy"
    assert resource[signed] == [ONE]


def test_two_wrong_otps_both_count(racers: tuple[Stage, Client]) -> None:
    stage, rival = racers
    own = stage.awaiting_otp(stage.make("payment"))
    wrong = {"scaAuthenticationData": "wrong"}

    answers = race(stage, rival, own, wrong, wrong)

    assert [answer.status for answer in answers] == [401, 401]
    assert stage.kept("authorisations")[own.rpartition("/")[2]]["attempts"] == 2


def test_a_right_one_wins_over_a_wrong_one_that_is_slower(racers: tuple[Stage, Client]) -> None:
    stage, rival = racers
    thing = stage.make("payment")
    own = stage.awaiting_otp(thing)

    mine, theirs = race(stage, rival, own, {"scaAuthenticationData": "wrong"}, {"scaAuthenticationData": otp(ONE)})

    assert (theirs.status, mine.status, stage.status(thing)) == (200, 409, "ACSP")


def test_many_at_once(stage: Stage) -> None:
    thing = stage.make("payment")
    own = stage.awaiting_otp(thing)
    headers = Headers([("X-Request-ID", "99391c7e-ad88-49ec-a2ad-99ddcb1f7721")])
    body = b'{"scaAuthenticationData": "%s"}' % otp(ONE).encode()

    async def all_at_once() -> list[Response]:
        asked = (stage.client.engine.answer(Request("PUT", own, headers, body)) for _ in range(20))
        return await asyncio.gather(*asked)

    assert sorted(answer.status for answer in asyncio.run(all_at_once())) == [200, *[409] * 19]


# -- other habits


@pytest.fixture
def habits(tmp_path: Path) -> Client:
    options = "family: payment, sca: embedded, expires_after: 60, decides_after: null, confirmation: false"
    habits = "encrypted_passwords: true, approaches: [oauth, embedded]"
    (tmp_path / "habits.yaml").write_text(
        "cassette: 1\nrules: [{id: habits, match: {operation: start-payment-authorisation}, "
        f"handler: authorisations.start, with: {{{options}, {habits}}}}}]\n"
    )
    return Client(speaking("berlin-group-1.3", tmp_path))


def begun(client: Client, psu: str, json: Any = NO_BODY, **headers: str) -> Answer:
    body = {
        "debtorAccount": {"iban": "DE47999888770000200002"},
        "instructedAmount": {"currency": "EUR", "amount": "1.00"},
        "creditorAccount": {"iban": "DE65999777660000001000"},
        "creditorName": "Berta",
    }
    path = client.post("/v1/payments/sepa-credit-transfers", json=body).headers["location"]
    return client.post(f"{path}/authorisations", json=json, headers={"PSU-ID": psu, **headers})


def test_an_encrypted_password_is_taken_for_right(habits: Client) -> None:
    password = {"psuData": {"encryptedPassword": "whatever"}}
    assert begun(habits, "oskar", password).json()["scaStatus"] == "scaMethodSelected"
    assert begun(habits, "petra", password).status == 401
    assert begun(habits, "oskar", {"psuData": {"additionalPassword": "x"}}).status == 400


def test_a_bank_with_oauth_names_its_link(habits: Client) -> None:
    links = begun(habits, "oskar", **{"TPP-Redirect-Preferred": "true"}).json()["_links"]
    assert links.keys() == {"scaOAuth", "scaStatus"}
    assert links["scaOAuth"]["href"].endswith("/.well-known/oauth-authorization-server")
