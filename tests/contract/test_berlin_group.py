"""The validation with the Berlin Group's OpenAPI file finds mistakes."""

import pytest

from tests.support.berlin_group import needs_openapi, validate, validate_answer

pytestmark = needs_openapi


def test_valid_answers_pass_and_null_counts_as_missing() -> None:
    validate("/v1/funds-confirmations", "POST", 200, {"fundsAvailable": True, "more": None})


@pytest.mark.parametrize("body", [{}, {"fundsAvailable": None}, {"fundsAvailable": "true"}])
def test_invalid_answers_are_refused(body: object) -> None:
    with pytest.raises(AssertionError, match="fundsAvailable"):
        validate("/v1/funds-confirmations", "POST", 200, body)


def test_references_are_resolved_at_all_levels() -> None:
    amount = {"currency": "EUR", "amount": 1}
    with pytest.raises(AssertionError, match="amount"):
        validate(
            "/v1/card-accounts",
            "GET",
            200,
            {"cardAccounts": [{"maskedPan": "1", "currency": "EUR", "creditLimit": amount}]},
        )


def test_an_answer_is_validated_unchanged() -> None:
    kind = {"Content-Type": "application/json"}
    validate_answer("POST", "/v1/funds-confirmations", 200, kind, b'{"fundsAvailable": true}')
    validate_answer("DELETE", "/v1/consents/one", 204, {}, b"")
    for method, target, status, headers, body in (
        ("POST", "/v1/funds-confirmations", 200, kind, b'{"fundsAvailable": null}'),
        ("POST", "/v1/funds-confirmations", 200, kind, b""),
        ("POST", "/v1/funds-confirmations", 200, {"Content-Type": "text/plain"}, b"yes"),
        ("POST", "/v1/funds-confirmations", 202, kind, b"{}"),
        ("GET", "/v1/pigeons", 200, kind, b"{}"),
    ):
        with pytest.raises(AssertionError):
            validate_answer(method, target, status, headers, body)
