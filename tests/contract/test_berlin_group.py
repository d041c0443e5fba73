"""The check against the Berlin Group's OpenAPI file finds what is wrong."""

import pytest

from tests.support.berlin_group import needs_openapi, validate

pytestmark = needs_openapi


def test_what_is_right_passes_and_null_is_absent() -> None:
    validate("/v1/funds-confirmations", "POST", 200, {"fundsAvailable": True, "more": None})


@pytest.mark.parametrize("body", [{}, {"fundsAvailable": None}, {"fundsAvailable": "true"}])
def test_what_is_wrong_is_refused(body: object) -> None:
    with pytest.raises(AssertionError, match="fundsAvailable"):
        validate("/v1/funds-confirmations", "POST", 200, body)


def test_references_are_followed_all_the_way_down() -> None:
    amount = {"currency": "EUR", "amount": 1}
    with pytest.raises(AssertionError, match="amount"):
        validate(
            "/v1/card-accounts",
            "GET",
            200,
            {"cardAccounts": [{"maskedPan": "1", "currency": "EUR", "creditLimit": amount}]},
        )
