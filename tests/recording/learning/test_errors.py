"""Errors of a bank, learned under the names that the sandbox uses to raise them."""

from typing import Any

from tests.recording.learning.test_recognised_exchange import one
from tests.support.taping import taped
from tests.support.writing import SCHEMAS
from xs2a_sandbox.bank.handlers.table import NAMED
from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.cassette.dialect import layers
from xs2a_sandbox.features.derive.learning.errors import LearnedErrors, learn_errors
from xs2a_sandbox.features.derive.learning.recognised_exchange import RecognisedExchange

INTERFACE = layers.read([[bundled("cassettes") / "xs2a-1.84"]], SCHEMAS, NAMED)
MESSAGE = {"category": "ERROR", "code": "{{ error.code }}", "path": "{{ error.path }}"}
EVERY = {"tppMessages": [{**MESSAGE, "text": "{sensitive} {{ error.number }}: {{ error.text }}"}], "_links": None}
UNKNOWN = "/v1/consents/c-90000/status"


def learned(*raised: tuple[str, RecognisedExchange]) -> LearnedErrors:
    return learn_errors(raised, INTERFACE.errors, EVERY)


def error(target: str, status: int, answer: Any) -> RecognisedExchange:
    return one(taped(target, answer, status=status))


def documented(code: str, text: str) -> dict[str, Any]:
    return {"tppMessages": [{"category": "ERROR", "code": code, "path": None, "text": text}], "_links": None}


def test_an_error_in_the_documented_form_has_its_number_and_text() -> None:
    answer = documented("CONSENT_UNKNOWN", "{sensitive} B017: no consent c-90000 here")
    made = learned(("consent-unknown", error(UNKNOWN, 404, answer)))
    assert made.every is None
    assert made.errors["consent-unknown"][0] == {
        "status": 404,
        "code": "CONSENT_UNKNOWN",
        "number": "B017",
        "text": "no consent {{ id }} here",
    }


def test_another_form_is_learned_with_its_constants_and_nulls() -> None:
    answer = {"title": "Unbekannt", "status": 403, "code": "X_1", "trace": None, "tags": ["a"]}
    made = learned(("consent-unknown", error(UNKNOWN, 403, answer)))
    assert made.every == {
        "title": "{{ error.text }}",
        "status": "{{ error.status }}",
        "code": "{{ error.code }}",
        "trace": None,
        "tags": ["a"],
    }
    assert made.errors["consent-unknown"] == (
        {"status": 403, "code": "X_1", "text": "Unbekannt"},
        ["a.har.jsonl, exchange 1"],
    )


def test_messages_without_numbers_keep_their_list() -> None:
    answer = {"tppMessages": [{"category": "ERROR", "code": "CONSENT_UNKNOWN", "text": "weg"}]}
    made = learned(("consent-unknown", error(UNKNOWN, 403, answer)))
    assert made.every == {
        "tppMessages": [{"category": "ERROR", "code": "{{ error.code }}", "text": "{{ error.text }}"}]
    }


def test_statuses_are_distinguished_by_operation() -> None:
    body = {"code": "CONSENT_UNKNOWN", "text": "weg"}
    exchanges = [error(UNKNOWN, 403, body), error("/v1/consents/c-90000", 403, body), error("/v1/accounts", 400, body)]
    made = learned(*(("consent-unknown", exchange) for exchange in exchanges))
    assert made.errors["consent-unknown"][0]["status"] == {"default": 403, "account-list": 400}


def test_different_texts_are_reported_and_the_most_frequent_is_used() -> None:
    exchanges = [error(UNKNOWN, 403, {"code": "A", "text": text}) for text in ("weg", "fort", "weg")]
    made = learned(*(("consent-unknown", exchange) for exchange in exchanges))
    assert made.errors["consent-unknown"][0]["text"] == "weg"
    assert made.unknown[0].startswith("consent-unknown has 2 different texts")


def test_texts_about_wrong_requests_are_not_learned_if_they_differ() -> None:
    exchanges = [error(UNKNOWN, 400, {"code": "FORMAT_ERROR", "text": text}) for text in ("no date", "no IBAN")]
    made = learned(*(("format-error", exchange) for exchange in exchanges))
    assert "text" not in made.errors["format-error"][0]


def test_an_error_without_a_body_has_only_a_status() -> None:
    assert learned(("consent-unknown", error(UNKNOWN, 410, None))).errors["consent-unknown"][0] == {"status": 410}


def test_text_that_looks_like_an_expression_is_escaped() -> None:
    made = learned(("payment-unknown", error("/v1/payments/a/p/status", 404, {"code": "A", "text": "{{ 7 * 7 }}"})))
    assert made.errors["payment-unknown"][0]["text"] == "{{ '{{' }} 7 * 7 }}"
