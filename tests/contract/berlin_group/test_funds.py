"""Confirmation of funds in NextGenPSD2 1.3."""

from typing import Any

import pytest

from tests.contract.berlin_group.conftest import OSKAR, Tpp, error


def confirmed(tpp: Tpp, account: dict[str, Any], amount: str, consent: str = "") -> Any:
    body = {"account": account, "instructedAmount": {"currency": "EUR", "amount": amount}}
    return tpp.request("POST", "/v1/funds-confirmations", json=body, consent=consent)


@pytest.mark.parametrize("account", [{"iban": OSKAR}, {"msisdn": "+49 170 0002002"}, {"maskedPan": "499999******2002"}])
@pytest.mark.berlin_group("funds")
def test_an_account_is_identified_by_any_of_its_numbers(tpp: Tpp, account: dict[str, str]) -> None:
    assert confirmed(tpp, account, "5283.32").json() == {"fundsAvailable": True}
    assert confirmed(tpp, account, "5283.33").json() == {"fundsAvailable": False}


@pytest.mark.berlin_group("funds-refused")
def test_unknown_accounts_are_refused(tpp: Tpp) -> None:
    assert error(confirmed(tpp, {"iban": "DE89370400440532013000"}, "1.00")) == (400, "RESOURCE_UNKNOWN")
    assert error(confirmed(tpp, {}, "1.00")) == (400, "FORMAT_ERROR")
    unknown = "0cae8c3e-1111-4222-8333-444455556666"
    assert error(confirmed(tpp, {"iban": OSKAR}, "1.00", consent=unknown)) == (400, "CONSENT_UNKNOWN")
