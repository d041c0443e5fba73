"""The tables of states: every arrow is walked, and what differs from the Berlin Group's machines is listed."""

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.contract import bodies, facts
from tests.support.rehearsal import (
    EMBEDDED,
    JOINT,
    NONE,
    ONE,
    OWN,
    PSUS,
    REDIRECT,
    SEVERAL,
    SIGNATORIES,
    Stage,
    Thing,
    a_stage,
    starting,
    with_options,
)
from tests.support.shared import SHARED, needs_shared
from xs2a_sandbox.bank.domain import lifecycle
from xs2a_sandbox.bank.domain.lifecycle import BASKET, CONSENT, MACHINES, PAYMENT, REMOVED, SCA, Machine
from xs2a_sandbox.compare.states import ReportedState
from xs2a_sandbox.http import Request

ROOT = Path(__file__).resolve().parents[3]
BERLIN_GROUP = SHARED / "spec" / "berlin-group" / "states.yaml"


def arrows(machine: Machine) -> list[Any]:
    return [
        pytest.param(t.event, state, t.to, id=f"{state}-{t.event}-{t.to}")
        for t in machine.transitions
        for state in t.states
    ]


Way = Callable[[Stage, str], tuple[str, str]]
"""How an event is brought about in a state; what the sandbox says before and after."""


# -- authorisations


def authorisation(stage: Stage, state: str) -> tuple[Thing, str]:
    """A consent and the path of its authorisation by redirect, in that state."""
    psu = SEVERAL if state == "psuAuthenticated" else ONE
    thing = stage.consent(*OWN[psu])
    own = stage.begin(thing, psu if state == "psuIdentified" else None, REDIRECT)
    if state in ("started", "psuAuthenticated", "scaMethodSelected"):
        assert stage.open(thing.page or "").status == 200
    if state in ("psuAuthenticated", "scaMethodSelected"):
        stage.submit(thing.page or "", customer=psu)
    if state == "unconfirmed":
        stage.decide(own, "approve")
    return thing, own


def start(stage: Stage, state: str) -> tuple[str, str]:
    return state, stage.start(stage.make("consent")).json()["scaStatus"]


def start_with_psu_id(stage: Stage, state: str) -> tuple[str, str]:
    return state, stage.start(stage.make("consent"), ONE).json()["scaStatus"]


def identify(stage: Stage, state: str) -> tuple[str, str]:
    _, own = authorisation(stage, state)
    return stage.sca(own), stage.put(own, ONE).json()["scaStatus"]


def authenticate(psu: str) -> Way:
    def way(stage: Stage, state: str) -> tuple[str, str]:
        thing = stage.consent(*OWN[psu])
        if state == "started":
            own = stage.begin(thing)
            stage.open(thing.page or "")
            before = stage.sca(own)
            stage.submit(thing.page or "", customer=psu)
            if psu == NONE:
                stage.submit(thing.page or "")
            return before, stage.sca(own)
        own = stage.begin(thing, psu if state == "psuIdentified" else None, EMBEDDED)
        return stage.sca(own), stage.log_in(own, psu).json()["scaStatus"]

    return way


def choose_method(stage: Stage, state: str) -> tuple[str, str]:
    own = stage.begin(stage.make("consent", SEVERAL), SEVERAL, EMBEDDED)
    stage.log_in(own, SEVERAL)
    method = PSUS[SEVERAL]["methods"][1]["authenticationMethodId"]
    return stage.sca(own), stage.put(own, authenticationMethodId=method).json()["scaStatus"]


def begin(stage: Stage, state: str) -> tuple[str, str]:
    thing, own = authorisation(stage, state)
    before = stage.sca(own)
    stage.open(thing.page or "")
    return before, stage.sca(own)


def decide(decision: str) -> Way:
    def way(stage: Stage, state: str) -> tuple[str, str]:
        _, own = authorisation(stage, state)
        before = stage.sca(own)
        assert stage.decide(own, decision).status == 200
        return before, stage.sca(own)

    return way


def confirm(stage: Stage, state: str) -> tuple[str, str]:
    _, own = authorisation(stage, state)
    return stage.sca(own), stage.put(own, confirmationCode=stage.code(own)).json()["scaStatus"]


SCA_WAYS: dict[str, Way] = {
    "start": start,
    "start with PSU-ID": start_with_psu_id,
    "identify": identify,
    "authenticate, several methods": authenticate(SEVERAL),
    "authenticate, one method": authenticate(ONE),
    "authenticate, no method": authenticate(NONE),
    "choose method": choose_method,
    "begin": begin,
    "succeed": decide("approve"),
    "succeed, to be confirmed": decide("approve"),
    "confirm": confirm,
    "fail": decide("decline"),
}


@pytest.mark.parametrize(("event", "state", "to"), arrows(SCA))
def test_an_authorisation_moves(event: str, state: str, to: str, tmp_path: Path) -> None:
    confirmed = event in ("succeed, to be confirmed", "confirm") or state == "unconfirmed"
    stage = starting(tmp_path, confirmation=True) if confirmed else a_stage()

    assert SCA_WAYS[event](stage, state) == (state, to)


# -- consents, payments, baskets


def in_state(stage: Stage, family: str, state: str, **changes: Any) -> Thing:
    """One that is in that state; signed by one of two where that takes two."""
    if family == "consent":
        thing = stage.consent(*([JOINT] if state == "partiallyAuthorised" else OWN[ONE]), **changes)
    elif family == "payment":
        if state == "PDNG":
            ((id, payment),) = facts.payments("PDNG")
            return Thing("payment", f"/v1/{payment['service']}/{payment['product']}/{id}")
        later = {"requestedExecutionDate": stage.day(5)} if state == "ACTC" else {}
        thing = stage.payment(debtor=JOINT if state == "PATC" else OWN[ONE][0], **later, **changes)
    else:
        debtor = JOINT if state == "PATC" else OWN[ONE][0]
        thing = stage.basket(stage.payment(debtor=debtor), stage.payment(debtor=debtor))
    if state in ("partiallyAuthorised", "PATC"):
        stage.sign(thing, SIGNATORIES[0])
    elif state in ("valid", "ACTC", "ACSP"):
        stage.sign(thing)
    elif state == "rejected":
        stage.decide(stage.begin(thing), "decline")
    elif state == "expired":
        stage.sign(thing)
        stage.move(days=400)
    return thing


def created(family: str, **changes: Any) -> Way:
    return lambda stage, state: (state, stage.status(in_state(stage, family, "created", **changes)))


def moved(family: str, event: Callable[[Stage, Thing], object], joint: bool = False, **changes: Any) -> Way:
    """`joint`: where the state does not say that two have to sign, they have to."""

    def way(stage: Stage, state: str) -> tuple[str, str]:
        thing = stage.make(family, joint=True) if joint else in_state(stage, family, state, **changes)
        before = stage.status(thing)
        event(stage, thing)
        after = stage.client.get(f"{thing.path}/status")
        return before, stage.status(thing) if after.status == 200 else REMOVED

    return way


def by_all(stage: Stage, thing: Thing) -> None:
    if stage.status(thing) in ("partiallyAuthorised", "PATC"):
        stage.sign(thing, SIGNATORIES[1])
    else:
        stage.sign(thing)


def refuse(stage: Stage, thing: Thing) -> None:
    stage.decide(stage.begin(thing), "decline")


def delete(stage: Stage, thing: Thing) -> None:
    assert stage.client.delete(thing.path).status == 204


def newer(stage: Stage, thing: Thing) -> None:
    stage.sign(stage.consent(*OWN[ONE]))


def use_twice(stage: Stage, thing: Thing) -> None:
    assert stage.client.get("/v1/accounts", consent=thing.id).status == 200
    assert stage.client.get("/v1/accounts", consent=thing.id).status == 401


def cancel(stage: Stage, thing: Thing) -> None:
    psu = ONE if stage.status(thing) == "ACTC" else SEVERAL
    assert stage.client.delete(thing.path).status == 202
    stage.sign_cancellation(thing, psu)


def follows(state: str) -> Callable[[Stage, Thing], object]:
    """By a real bank, whose states the sandbox follows."""
    request = Request("GET", "/v1/x")
    return lambda stage, thing: asyncio.run(
        stage.client.engine.follow(request, ReportedState("payment", thing.id, state))
    )


def funds(stage: Stage, state: str) -> tuple[str, str]:
    body = {"debtor": OWN[NONE][0], "amount": "9999.00"}
    answer = stage.client.post(f"/v1/{bodies.SEPA}", json=bodies.payment(bodies.SEPA, **body))
    made = answer.json()
    return made["transactionStatus"], stage.status(Thing("payment", made["_Left"]["self"]["href"]))


WAYS: dict[str, dict[str, Way]] = {
    "consentStatus": {
        "create": created("consent"),
        "create for all accounts": lambda stage, state: (state, stage.status(stage.consent())),
        "authorised by all": moved("consent", by_all),
        "authorised by some": moved("consent", lambda s, t: s.sign(t, SIGNATORIES[0]), joint=True),
        "refused": moved("consent", refuse),
        "validUntil passes": moved("consent", lambda s, t: s.move(days=400), validUntil=facts.today(300)),
        "newer recurring consent": moved("consent", newer),
        "used, not recurring": moved("consent", use_twice, recurringIndicator=False),
        "delete, kept": moved("consent", delete),
        "delete": moved("consent", delete, validUntil=facts.today(300)),
    },
    "transactionStatus": {
        "initiate": created("payment"),
        "funds do not cover it": funds,
        "authorised by all": moved("payment", by_all),
        "authorised by all, for later": moved("payment", by_all, requestedExecutionDate=facts.today(5)),
        "authorised by some": moved("payment", lambda s, t: s.sign(t, SIGNATORIES[0]), joint=True),
        "refused": moved("payment", refuse),
        "its day comes": moved("payment", lambda s, t: s.move(days=5)),
        "settled": moved("payment", follows("ACSC")),
        "credited": moved("payment", follows("ACCC")),
        "cancel": moved("payment", delete),
        "cancellation authorised": moved("payment", cancel),
    },
    "basketStatus": {
        "create": created("basket"),
        "authorised by some": moved("basket", lambda s, t: s.sign(t, SIGNATORIES[0]), joint=True),
        "authorised by all": moved("basket", by_all),
        "refused": moved("basket", refuse),
        "delete": moved("basket", delete),
    },
}


OPTIONS = {
    "used, not recurring": {"account-list": {"one_off": True}},
    "delete, kept": {"delete-consent": {"keeps": True}},
}
"""The options of operations that let an event happen."""


@pytest.mark.parametrize(("event", "state", "to"), arrows(CONSENT))
def test_a_consent_moves(event: str, state: str, to: str, tmp_path: Path) -> None:
    stage = a_stage(layers=with_options(tmp_path, OPTIONS[event])) if event in OPTIONS else a_stage()
    assert WAYS["consentStatus"][event](stage, state) == (state, to)


@pytest.mark.parametrize(("event", "state", "to"), arrows(PAYMENT))
def test_a_payment_moves(event: str, state: str, to: str) -> None:
    assert WAYS["transactionStatus"][event](a_stage(), state) == (state, to)


@pytest.mark.parametrize(("event", "state", "to"), arrows(BASKET))
def test_a_basket_moves(event: str, state: str, to: str) -> None:
    assert WAYS["basketStatus"][event](a_stage(), state) == (state, to)


# -- the tables themselves


@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: m.name)
def test_nothing_leads_out_of_a_final_state_but_removal(machine: Machine) -> None:
    assert {to for state, to in machine.arrows if state in machine.final} <= {REMOVED}
    assert {to for _, to in machine.arrows} >= machine.final


@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: m.name)
def test_an_event_leads_to_one_state(machine: Machine) -> None:
    seen = [(t.event, state) for t in machine.transitions for state in t.states]
    assert len(seen) == len(set(seen))
    for t in machine.transitions:
        for state in t.states:
            assert machine.after(state, t.event) == t.to
    assert machine.after("no such state", machine.transitions[0].event) is None


# -- the Berlin Group's machines


def words(text: Any, known: list[str]) -> list[str]:
    texts = text if isinstance(text, list) else [text]
    return [word for one in texts for word in re.findall(r"\w+", str(one)) if word in known]


def berlin_group(machine: Machine) -> tuple[set[str], set[tuple[str, str]]]:
    """Its states, and its arrows as pairs."""
    states = yaml.safe_load(BERLIN_GROUP.read_text())[machine.name]
    values = states.get("values") or states["values_1_3_11"]
    known, final = [lifecycle.NONE, *values], states.get("final", [])
    pairs: set[tuple[str, str]] = set()
    before: list[str] = []
    for transition in states["transitions"]:
        source = transition["from"]
        if source == "above":
            origins = before
        elif source == "any non final":
            origins = [value for value in values if value not in final]
        elif source == "final":
            origins = final
        else:
            origins = words(source, known)
        before = origins
        pairs |= {(origin, to) for origin in origins for to in words(transition["to"], known)}
    return {*known}, {(a, b) for a, b in pairs if a != b}


@needs_shared("spec/berlin-group/states.yaml")
@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: m.name)
def test_all_that_differs_from_the_berlin_group_is_a_listed_deviation(machine: Machine) -> None:
    known, theirs = berlin_group(machine)
    ours = machine.arrows
    less = {pair for deviation in machine.deviations for pair in deviation.less}
    more = {pair for deviation in machine.deviations for pair in deviation.more}

    assert theirs & ours
    assert theirs - ours == less
    assert ours - theirs == more
    assert {state for pair in ours for state in pair} <= known | {REMOVED}
