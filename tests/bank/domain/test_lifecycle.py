"""The state machines: transitions that the contract tests do not cover, and deviations from the Berlin Group."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.contract import facts
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
from tests.support.state_words import default_states
from xs2a_sandbox.bank.domain import lifecycle
from xs2a_sandbox.bank.domain.lifecycle import LOGIN, MACHINES, MANDATE, REMOVED, SCA, Machine
from xs2a_sandbox.cassette.evaluation.state_words import STATES

BERLIN_GROUP = SHARED / "spec" / "berlin-group" / "states.yaml"


def arrows(machine: Machine) -> list[Any]:
    return [
        pytest.param(t.event, state, t.to, id=f"{state}-{t.event}-{t.to}")
        for t in machine.transitions
        for state in t.states
    ]


Way = Callable[[Stage, str], tuple[str, str]]
"""How to trigger an event in a state, and what the sandbox reports before and after."""


# -- authorisations


def authorisation(stage: Stage, state: str) -> tuple[Thing, str]:
    """Create a consent whose redirect authorisation is in this state. Return it with the path of the authorisation."""
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
    method = PSUS[SEVERAL]["methods"][1]["id"]
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
    "start, customer known": start_with_psu_id,
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
def test_transitions_of_authorisations(event: str, state: str, to: str, tmp_path: Path) -> None:
    confirmed = event in ("succeed, to be confirmed", "confirm") or state == "unconfirmed"
    stage = starting(tmp_path, confirmation=True) if confirmed else a_stage()

    before, after = (str(default_states().word("authorisation", name)) for name in (state, to))
    assert SCA_WAYS[event](stage, before) == (before, after)


# -- consents; tests/contract covers their other transitions, and those of payments and baskets


def unsigned(stage: Stage, status: str, **changes: Any) -> Thing:
    """Return a consent with this status. If the status needs two signatories, one has signed."""
    thing = stage.consent(*([JOINT] if status == "partiallyAuthorised" else OWN[ONE]), **changes)
    if status == "partiallyAuthorised":
        stage.sign(thing, SIGNATORIES[0])
    assert stage.status(thing) == status
    return thing


def test_a_consent_signed_by_one_of_two_expires() -> None:
    stage = a_stage()
    consent = unsigned(stage, "partiallyAuthorised", validUntil=facts.today(300))
    stage.move(days=400)

    assert stage.status(consent) == "expired"


@pytest.mark.parametrize("status", ["received", "partiallyAuthorised"])
def test_a_deleted_unsigned_consent_that_is_kept_is_terminated(status: str, tmp_path: Path) -> None:
    stage = a_stage(layers=with_options(tmp_path, {"delete-consent": {"keeps": True}}))
    consent = unsigned(stage, status)
    assert stage.client.delete(consent.path).status == 204

    assert stage.status(consent) == "terminatedByTpp"


# -- the tables themselves


@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: m.name)
def test_final_states_can_only_be_removed(machine: Machine) -> None:
    assert {to for state, to in machine.arrows if state in machine.final} <= {REMOVED}
    assert {to for _, to in machine.arrows} >= machine.final


def test_every_state_can_have_a_word() -> None:
    assert {machine.name: {*machine.states} for machine in (*MACHINES, LOGIN)} == {
        name: {*states} for name, states in STATES.items()
    }


@pytest.mark.parametrize("machine", [*MACHINES, LOGIN], ids=lambda m: m.name)
def test_every_state_has_a_description(machine: Machine) -> None:
    assert machine.meanings.keys() == {*machine.states}
    assert all(machine.meanings.values())


@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: m.name)
def test_an_event_has_one_target_state(machine: Machine) -> None:
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
    """The states of a machine of the Berlin Group, and its transitions as pairs."""
    names = {
        "authorisation": "scaStatus",
        "consent": "consentStatus",
        "payment": "transactionStatus",
        "basket": "basketStatus",
    }
    states = yaml.safe_load(BERLIN_GROUP.read_text())[names[machine.name]]
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
@pytest.mark.parametrize("machine", [machine for machine in MACHINES if machine is not MANDATE], ids=lambda m: m.name)
def test_every_difference_from_the_berlin_group_is_a_listed_deviation(machine: Machine) -> None:
    def ours(word: str) -> str:
        return default_states().state(machine.name, word)

    known, theirs = berlin_group(machine)
    known = {default_states().state(machine.name, state) for state in known}
    theirs = {
        (default_states().state(machine.name, before), default_states().state(machine.name, to))
        for before, to in theirs
    }
    arrows = machine.arrows
    less = {pair for deviation in machine.deviations for pair in deviation.less}
    more = {pair for deviation in machine.deviations for pair in deviation.more}

    assert theirs & arrows
    assert theirs - arrows == less
    assert arrows - theirs == more
    assert {state for pair in arrows for state in pair} <= known | {REMOVED}
