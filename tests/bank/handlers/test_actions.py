"""Effects that do what handlers do: start and finish authorisations, and change states. Errors name their place."""

from pathlib import Path
from typing import Any

import pytest

from tests.contract import facts
from tests.support.engine_client import DIALECT, Client, an_engine, bundled_engine, cassette
from xs2a_sandbox.bank.domain.lifecycle import CONSENT, PAYMENT
from xs2a_sandbox.bank.handlers.table import NAMED
from xs2a_sandbox.cassette.dialect import layers
from xs2a_sandbox.clock import REAL

CASES = """
    operations:
      - id: our-consent
        method: POST
        path: /v1/our/consents
        let: {id: "{{ body.id }}"}
        effects:
          - set: "state.consents[let.id]"
            to:
              status: awaiting
              accounts: ["{{ body.iban }}"]
              recurring: false
              valid_until: "{{ today(90) }}"
              frequency: 4
              last_action_on: "{{ today() }}"
          - do: begin-authorisation
            when: body.authorised is none
            with: {family: consent, id: "{{ let.id }}", implicit: "{{ body.implicit }}"}
            as: authorisation
        respond: {status: 201, body: "{{ let.authorisation }}"}
      - id: decided
        method: POST
        path: /v1/our/{what}/{id}
        where: {what: [succeed, fail]}
        effects:
          - {when: path.what == 'succeed', do: succeed-authorisation, with: {id: "{{ path.id }}"}, as: yes}
          - {when: path.what == 'fail', do: fail-authorisation, with: {id: "{{ path.id }}"}, as: no}
        respond: {body: ["{{ let.yes.status }}", "{{ let.no.status }}"]}
      - id: moved
        method: POST
        path: /v1/our/moved/{kind}/{id}
        effects:
          - when: path.kind == 'consent'
            do: move-consent
            with: {id: "{{ path.id }}", event: "{{ body.event }}"}
            as: a
          - when: path.kind == 'payment'
            do: move-payment
            with: {id: "{{ path.id }}", event: "{{ body.event }}"}
            as: b
        respond: {body: ["{{ let.a.status }}", "{{ let.b.status }}"]}
"""


@pytest.fixture
def client(tmp_path: Path) -> Client:
    return Client(an_engine(layers=cassette(tmp_path, CASES)))


def consent(client: Client, **body: Any) -> Any:
    made = client.post("/v1/our/consents", json={"id": "c1", "iban": facts.covered(), **body})
    assert made.status == 201
    return made.json()


def status(client: Client) -> str:
    return str(client.get("/v1/consents/c1/status").json()["consentStatus"])


def test_an_authorisation_starts_and_succeeds(client: Client) -> None:
    begun = consent(client)
    assert (begun["status"], begun["approach"], begun["page"]) == ("begun", "redirect", "consents?consent_id=c1")
    place = f"/v1/consents/c1/authorisations/{begun['id']}"
    assert client.get(place).json()["scaStatus"] == "received"

    assert client.post(f"/v1/our/succeed/{begun['id']}").json() == ["done", None]
    assert (status(client), client.get(place).json()["scaStatus"]) == ("valid", "finalised")
    assert client.get("/v1/accounts", consent="c1").status == 200


def test_an_authorisation_fails(client: Client) -> None:
    begun = consent(client)
    assert client.post(f"/v1/our/fail/{begun['id']}").json() == [None, "failed"]
    assert status(client) == "rejected"
    again = client.post(f"/v1/our/fail/{begun['id']}")
    assert (again.status, again.error["code"]) == (409, "STATUS_INVALID")


def test_a_condition_that_is_false_skips_the_action(client: Client) -> None:
    assert consent(client, authorised=True) is None
    assert client.get("/v1/consents/c1/authorisations").json() == {"authorisationIds": []}


def test_an_implicit_authorisation_follows_the_preference_for_an_explicit_start(client: Client) -> None:
    body = {"id": "c1", "iban": facts.covered(), "implicit": True}
    made = client.post("/v1/our/consents", json=body, headers={"TPP-Explicit-Authorisation-Preferred": "true"})
    assert made.json() is None
    assert consent(client, implicit=True)["status"] == "begun"


def test_states_follow_their_tables(client: Client) -> None:
    consent(client)
    moved = client.post("/v1/our/moved/consent/c1", json={"event": "authorised by all"})
    assert moved.json() == [CONSENT.after("awaiting", "authorised by all"), None]
    assert status(client) == "valid"
    refused = client.post("/v1/our/moved/consent/c1", json={"event": "refused"})
    assert (refused.status, refused.error["code"], status(client)) == (409, "STATUS_INVALID", "valid")


def test_the_state_of_a_payment_changes(client: Client) -> None:
    payments = bundled_engine().parts.testdata.at(REAL.today())["payments"]
    id, state = next((id, p["status"]) for id, p in payments.items() if p["status"] == "ACTC")
    moved = client.post(f"/v1/our/moved/payment/{id}", json={"event": "cancellation authorised"})
    assert moved.json() == [None, PAYMENT.after(state, "cancellation authorised")]


@pytest.mark.parametrize("path", ["succeed/nobody", "moved/consent/nobody", "moved/payment/nobody"])
def test_unknown_resources_are_reported(client: Client, path: str) -> None:
    answer = client.post(f"/v1/our/{path}", json={"event": "refused"})
    assert (answer.status, answer.error["code"]) in [(404, "RESOURCE_UNKNOWN"), (403, "CONSENT_UNKNOWN")]


@pytest.mark.parametrize(
    ("effect", "expected"),
    [
        ("{do: begin-authorization}", "unknown-action: unknown action 'begin-authorization'; did you mean begin-"),
        ("{do: consents.create}", "unknown-action: unknown action 'consents.create'"),
        ("{do: move-payment, with: {id: a}}", "missing-key: the action move-payment needs the key event in `with`"),
        ("{do: move-payment, with: {id: a, event: cancle}}", "did you mean cancel?"),
        ("{do: fail-authorisation, with: {idd: a}}", "unknown-key: unknown key idd; did you mean id?"),
        ("{do: begin-authorisation, with: {id: a, family: consents}}", "did you mean consent?"),
        ("{do: begin-authorisation, with: {id: a, family: basket, page: x}}", "unknown-key: unknown key page"),
        ("{do: fail-authorisation, with: {id: '{{ x }}'}}", "unknown name 'x'"),
        ("{do: fail-authorisation, set: \"state.a['b']\", to: {}}", "only one of"),
        ("{set: \"state.a['b']\", to: {}, as: c}", "as also needs the key do"),
    ],
)
def test_mistakes_in_actions_are_reported(tmp_path: Path, effect: str, expected: str) -> None:
    text = f"""
        rules:
          - id: a
            match: {{path: /a}}
            respond: {{text: a}}
            effects:
              - {effect}
    """
    _, problems = layers.check([[DIALECT], *cassette(tmp_path, text)], bundled_engine().schemas, NAMED)
    assert {p.line for p in problems} == {9}, [str(p) for p in problems]
    assert any(expected in f"{p.code}: {p.text}" for p in problems), [str(p) for p in problems]


def test_an_action_is_not_a_handler(tmp_path: Path) -> None:
    text = "rules:\n  - {id: a, match: {path: /a}, handler: move-payment, respond: {body: a}}\n"
    _, problems = layers.check([[DIALECT], *cassette(tmp_path, text)], bundled_engine().schemas, NAMED)
    assert [p.code for p in problems] == ["unknown-handler"]
