"""The steps of an authorisation, in process: valid steps, invalid steps, and mistakes in each."""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.support.engine_client import NO_BODY, Answer, Client, an_engine, speaking
from tests.support.rehearsal import (
    APP_ONLY,
    DECOUPLED,
    EMBEDDED,
    FAMILIES,
    ONE,
    OTHER,
    PSUS,
    REDIRECT,
    Stage,
    Thing,
    a_stage,
    starting,
)
from xs2a_sandbox.state import MemoryStore, attempts
from xs2a_sandbox.state.sqlite import SqliteStore

DONE = {"consent": "valid", "payment": "ACSP", "cancellation": "CANC", "basket": "ACTC"}

RETRIED = ("cancellation", "failed")
"""An update that changes nothing, so that it can be repeated."""

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


# -- wrong credentials


def test_failed_attempts_are_stored_although_the_answers_are_errors(tmp_path: Path) -> None:
    """They are also stored for the next process."""
    stage = a_stage(SqliteStore(tmp_path / "state.db"))
    own = stage.begin(stage.make("payment"), ONE, EMBEDDED)
    for _ in range(2):
        stage.put(own, psuData={"password": "wrong"})

    again = Stage(Client(an_engine(SqliteStore(tmp_path / "state.db"))))
    text = refused(again.put(own, psuData={"password": "wrong"}), 401, "PSU_CREDENTIALS_INVALID")

    assert "0 attempts left" in text
    assert again.sca(own) == "failed"


def test_a_start_with_a_wrong_password_counts_as_an_attempt(stage: Stage) -> None:
    thing = stage.make("payment")
    answer = stage.start(thing, ONE, EMBEDDED, json={"psuData": {"password": "wrong"}})
    refused(answer, 401, "PSU_CREDENTIALS_INVALID")

    (id,) = stage.client.get(thing.starts).json()["authorisationIds"]
    assert stage.kept("authorisations")[id]["attempts"] == 1
    assert stage.log_in(f"{thing.starts}/{id}", ONE).json()["scaStatus"] == "scaMethodSelected"


@pytest.mark.parametrize("password", ["", " ", "Alpenrose", "alpenrose ", "älpenrose"])
def test_the_password_must_match_exactly(stage: Stage, password: str) -> None:
    own = stage.begin(stage.make("payment"), ONE, EMBEDDED)
    refused(stage.put(own, psuData={"password": password}), 401, "PSU_CREDENTIALS_INVALID")


def test_the_otp_must_be_that_of_the_customer(stage: Stage) -> None:
    own = stage.awaiting_otp(stage.make("payment"))
    refused(stage.put(own, scaAuthenticationData=otp(OTHER)), 401, "PSU_CREDENTIALS_INVALID")


# -- unexpected steps


STEPS: list[dict[str, Any]] = [
    {"psuData": {"password": "x"}},
    {"authenticationMethodId": "x"},
    {"scaAuthenticationData": "x"},
]


@pytest.mark.parametrize("wishes", [REDIRECT, EMBEDDED, DECOUPLED], ids=["redirect", "embedded", "decoupled"])
def test_an_update_without_a_step(stage: Stage, wishes: Mapping[str, str]) -> None:
    own = stage.begin(stage.make("payment"), None, wishes)
    refused(stage.put(own), 400, "FORMAT_ERROR")
    refused(stage.put(own, unknown="member"), 400, "FORMAT_ERROR")


def test_a_password_after_the_password(stage: Stage) -> None:
    own = stage.awaiting_otp(stage.make("payment"))
    refused(stage.log_in(own, ONE), 409, "STATUS_INVALID")
    assert stage.sca(own) == "scaMethodSelected"


def test_an_authorisation_of_a_cancelled_payment(stage: Stage) -> None:
    thing = stage.make("payment")
    own = stage.awaiting_otp(thing)
    assert stage.client.delete(thing.path).status == 204

    refused(stage.put(own, scaAuthenticationData=otp(ONE)), 409, "STATUS_INVALID")

    assert (stage.sca(own), stage.status(thing)) == ("failed", "CANC")


def test_a_late_cancellation(stage: Stage) -> None:
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
def test_a_decided_resource_cannot_be_authorised_again(stage: Stage, family: str, ending: str) -> None:
    thing = stage.make(family)
    if ending == "done":
        stage.sign(thing)
    else:
        stage.decide(stage.begin(thing), "decline")

    refused(stage.start(thing, ONE, EMBEDDED), 409, "STATUS_INVALID")


def test_a_failed_cancellation_can_be_repeated(stage: Stage) -> None:
    thing = stage.make("cancellation")
    stage.decide(stage.begin(thing), "decline")
    assert stage.status(thing) == "ACTC"
    stage.sign(thing, ONE)
    assert stage.status(thing) == "CANC"


# -- unknown resources


def test_an_authorisation_of_a_payment_does_not_belong_to_its_cancellation(stage: Stage) -> None:
    thing = stage.make("cancellation")
    payment = Thing("payment", thing.path)
    (id,) = stage.client.get(payment.starts).json()["authorisationIds"]
    assert stage.client.get(thing.starts).json()["authorisationIds"] == []
    refused(stage.client.get(f"{thing.starts}/{id}"), 404, "RESOURCE_UNKNOWN")


# -- confirmation code


def test_only_the_code_confirms(tmp_path: Path) -> None:
    stage = starting(tmp_path, confirmation=True)
    own = stage.begin(stage.make("payment"), None, REDIRECT)
    refused(stage.put(own, confirmationCode=stage.code(own)), 409, "STATUS_INVALID")
    stage.decide(own, "approve")
    for step in [*STEPS, {}]:
        refused(stage.put(own, ONE, **step), 409, "STATUS_INVALID")
    assert stage.sca(own) == "unconfirmed"


def test_an_authorisation_expires_if_the_code_is_not_sent(tmp_path: Path) -> None:
    stage = starting(tmp_path, confirmation=True, expires_after=60)
    thing = stage.make("payment")
    own = stage.begin(thing, None, REDIRECT)
    stage.decide(own, "approve")
    stage.move(seconds=60)
    assert (stage.sca(own), stage.status(thing)) == ("failed", "RJCT")


@pytest.mark.parametrize(("wishes", "psu"), [(EMBEDDED, ONE), (DECOUPLED, ONE), ({}, APP_ONLY)])
def test_without_a_redirect_no_confirmation_is_needed(tmp_path: Path, wishes: Mapping[str, str], psu: str) -> None:
    stage = starting(tmp_path, confirmation=True)
    thing = stage.make("payment", psu)
    own = stage.begin(thing, psu, wishes)
    if wishes == EMBEDDED:
        stage.log_in(own, psu)
        stage.put(own, scaAuthenticationData=otp(psu))
    else:
        stage.decide(own, "approve")
    assert (stage.sca(own), stage.status(thing)) == ("finalised", "ACSP")


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

    @property
    def has_other_writers(self) -> bool:
        # Otherwise a request takes its turn first, and no other process can write before it.
        return False

    def commit_together(self, *arguments: Any) -> bool:
        if other := self.other:
            self.other = None
            other()
        return super().commit_together(*arguments)


def finish(work: Any) -> Any:
    """Run a coroutine in a separate loop inside a running one."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(asyncio.run, work).result()


@pytest.fixture(params=["memory", "sqlite", "two processes"])
def racers(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Stage, Client]:
    """Return a stage whose store lets a rival commit first, and the rival's client."""
    monkeypatch.setattr(attempts, "_SECONDS", 0.0)
    if request.param == "memory":
        stage = a_stage(Raced())
        return stage, stage.client
    stage = a_stage(RacedInAFile(tmp_path / "state.db"))
    if request.param == "sqlite":
        return stage, stage.client
    return stage, Client(an_engine(SqliteStore(tmp_path / "state.db")))


def race(stage: Stage, rival: Client, own: str, mine: dict[str, Any], theirs: dict[str, Any]) -> list[Answer]:
    """Send `theirs` while `mine` is about to be written. Return both answers, mine first."""
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
    signed = f"{'cancellation_' if family == 'cancellation' else ''}authorisations_signed_by"
    assert resource[signed] == [ONE]


def test_two_wrong_otps_both_count(racers: tuple[Stage, Client]) -> None:
    stage, rival = racers
    own = stage.awaiting_otp(stage.make("payment"))
    wrong = {"scaAuthenticationData": "wrong"}

    answers = race(stage, rival, own, wrong, wrong)

    assert [answer.status for answer in answers] == [401, 401]
    assert stage.kept("authorisations")[own.rpartition("/")[2]]["attempts"] == 2


def test_a_right_otp_wins_over_a_slower_wrong_one(racers: tuple[Stage, Client]) -> None:
    stage, rival = racers
    thing = stage.make("payment")
    own = stage.awaiting_otp(thing)

    mine, theirs = race(stage, rival, own, {"scaAuthenticationData": "wrong"}, {"scaAuthenticationData": otp(ONE)})

    assert (theirs.status, mine.status, stage.status(thing)) == (200, 409, "ACSP")


# -- options


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


def test_any_encrypted_password_is_accepted(habits: Client) -> None:
    password = {"psuData": {"encryptedPassword": "whatever"}}
    assert begun(habits, "oskar", password).json()["scaStatus"] == "scaMethodSelected"
    assert begun(habits, "petra", password).status == 401
    assert begun(habits, "oskar", {"psuData": {"additionalPassword": "x"}}).status == 400


def test_a_bank_with_oauth_returns_its_link(habits: Client) -> None:
    links = begun(habits, "oskar", **{"TPP-Redirect-Preferred": "true"}).json()["_links"]
    assert links.keys() == {"scaOAuth", "scaStatus"}
    assert links["scaOAuth"]["href"].endswith("/.well-known/oauth-authorization-server")
