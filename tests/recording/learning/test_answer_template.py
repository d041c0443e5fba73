"""Templates learned from answers produce other answers of the same operation, with other ids and states."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from xs2a_sandbox.cassette.dialect.things import default_things
from xs2a_sandbox.cassette.evaluation.expressions import RESULT_ROOTS, compile_value, render
from xs2a_sandbox.features.derive.learning.answer_template import Sample, Template, Usual

USUAL = Usual(
    {
        "consentStatus": "{{ wire('consent', result.status) }}",
        "scaMethods": "{{ result.scaMethods }}",
        "psuMessage": "{{ 'Confirm.' if result.scaMethods }}",
        "_links": {
            "scaRedirect": {"href": "{{ session.url }}/sca/consents?consent_id={{ result.consentId }}"},
            "confirmation": "{{ {'href': result.self} if 'confirmation' in result.next }}",
        },
    },
    {},
    things=default_things(),
)
NEXT: dict[str, Any] = {"next": []}


def value_of(template: Any, **result: Any) -> Any:
    """Return the value of the template for a result."""
    wrong: list[str] = []
    value = compile_value(template, RESULT_ROOTS, lambda _, text: wrong.append(text))
    assert not wrong
    roots = {
        "result": {**NEXT, **result},
        "session": {"url": "http://s"},
        "path": {"product": "giro"},
        "body": {"a": 7},
        "wire": lambda thing, state: state,
    }
    return render(value, roots)


def sample(value: Any, id: str = "c-000001", state: str | None = None, **echoes: str) -> Sample:
    named = {(f"/{name}", '"x"'): expression for name, expression in echoes.items()}
    return Sample("tape, exchange 1", value, {id: "result.consentId"}, named, state)


def learned(*samples: Sample, usual: Usual = USUAL) -> Template:
    return Template(samples, usual)


LEAVES = some.none() | some.booleans() | some.integers() | some.text(max_size=8)
WORDS = some.text("abcXYZ{}'\"\\/: ", min_size=1, max_size=8)
BODIES = some.recursive(
    LEAVES,
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.sampled_from("bcdef"), inner, max_size=4),
    max_leaves=12,
)


@given(BODIES, WORDS, WORDS)
def test_a_template_works_with_another_id(body: Any, before: str, after: str) -> None:
    def of(id: str) -> Any:
        return {"consentId": id, "self": f"/v1/consents/{id}/x", "more": body, before: after}

    template = learned(sample(of("c-000001")))
    assert value_of(template.value, consentId="c-000002") == of("c-000002")


@given(some.lists(some.sampled_from(["received", "valid", "expired"]), min_size=1, max_size=6))
def test_members_that_depend_on_a_state_are_shown_in_that_state(states: list[str]) -> None:
    def of(state: str) -> dict[str, Any]:
        own = {"expired": {"note": {"text": "gone"}}, "valid": {"until": "soon"}}
        return {"consentStatus": state, **own.get(state, {})}

    template = learned(*(sample(of(state), state=state) for state in states))
    assert not template.unknown
    for state in states:
        assert value_of(template.value, status=state) == of(state)


def test_a_text_that_depends_on_a_state_changes_with_it() -> None:
    bodies = {state: {"consentStatus": state, "text": f"it is {state}"} for state in ("received", "valid")}
    template = learned(*(sample(body, state=state) for state, body in bodies.items()))
    assert value_of(template.value, status="valid") == bodies["valid"]


def test_states_have_the_words_of_the_bank() -> None:
    usual = Usual(USUAL.body, {}, {"received": "pending"}, default_things())
    template = learned(sample({"consentStatus": "pending"}, state="received"), usual=usual)
    assert value_of(template.value, status="received") == {"consentStatus": "pending"}
    assert value_of(template.value, status="rejected") == {"consentStatus": "rejected"}


def test_values_of_the_handler_are_kept() -> None:
    template = learned(sample({"scaMethods": [{"name": "SMS"}]}))
    assert value_of(template.value, scaMethods=["x"]) == {"scaMethods": ["x"]}
    assert value_of(template.value, scaMethods=None) == {}  # the bank shows no null


def test_a_bank_that_shows_nulls_shows_them_in_the_template() -> None:
    template = learned(sample({"scaMethods": None, "psuMessage": None}))
    assert value_of(template.value, scaMethods=None) == {"scaMethods": None, "psuMessage": None}


def test_conditional_texts_keep_their_condition_and_use_the_words_of_the_bank() -> None:
    template = learned(sample({"psuMessage": "Bitte bestätigen", "other": 1}))
    assert value_of(template.value, scaMethods=["x"]) == {"psuMessage": "Bitte bestätigen", "other": 1}
    assert value_of(template.value, scaMethods=None) == {"other": 1}


@pytest.mark.parametrize(
    ("page", "shown"),
    [({"href": "https://bank/sca/9"}, {"href": "http://s/sca/consents?consent_id=c-2"}), ("https://bank/sca/9",) * 2],
)
def test_the_link_to_the_page_has_the_sandboxs_url_in_the_banks_form(page: Any, shown: Any) -> None:
    template = learned(sample({"_links": {"scaRedirect": page}}))
    shown = shown if isinstance(page, dict) else "http://s/sca/consents?consent_id=c-2"
    assert value_of(template.value, consentId="c-2")["_links"] == {"scaRedirect": shown}


def test_links_to_unrecorded_steps_are_the_documented_ones() -> None:
    template = learned(sample({"_links": {"self": "/v1/consents/c-000001"}}))
    assert value_of(template.value, consentId="c", self="/x", next=["confirmation"])["_links"] == {
        "self": "/v1/consents/c",
        "confirmation": {"href": "/x"},
    }


def test_an_echoed_value_comes_from_the_request() -> None:
    template = learned(sample({"a": "x", "b": "x"}, a="body.a"))
    assert value_of(template.value) == {"a": 7, "b": "x"}


def test_an_unexplained_difference_is_reported() -> None:
    template = learned(sample({"a": 1}), sample({"a": 2}), sample({"a": 2}))
    assert (template.value, len(template.unknown)) == ({"a": 2}, 1)
    assert "/a differs" in template.unknown[0]
    template = learned(sample({"a": 1, "b": 1}), sample({"a": 1}))
    assert "/b is in 1 of 2 answers" in template.unknown[0]
