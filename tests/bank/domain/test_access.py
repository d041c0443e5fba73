"""What a consent lets be seen: kinds of access, rights on accounts, and the accounts that come of them."""

from typing import Any

import pytest

from xs2a_sandbox.bank.domain.access import gives, is_bank_offered, kind_of, limit_consent, may, of_signers, refers
from xs2a_sandbox.errors import BankError

ONE, OTHER, JOINT = "AT459880000010204711", "AT449880000010204729", "AT669880000010263115"
ACCOUNTS: dict[str, dict[str, Any]] = {
    ONE: {"currency": "EUR", "psuId": "anna", "cashAccountType": "CACC", "msisdn": "+43 1"},
    OTHER: {"currency": "CHF", "psuId": "anna", "cashAccountType": "SVGS"},
    JOINT: {"currency": "EUR", "psuId": "ilse", "signatories": ["ilse", "anna"]},
}


def consent(access: dict[str, Any], *ibans: str) -> dict[str, Any]:
    return {"accounts": list(ibans), "access": access}


@pytest.mark.parametrize(
    ("access", "kind"),
    [
        ({"balances": [{"iban": ONE}]}, "named"),
        ({"accounts": [], "transactions": None}, "bankOffered"),
        ({"additionalInformation": {"ownerName": [{"iban": ONE}]}}, "named"),
        ({"accounts": [], "allPsd2": "allAccounts"}, "allPsd2"),
        ({"availableAccountsWithBalance": "allAccountsWithOwnerName"}, "availableAccountsWithBalance"),
    ],
)
def test_the_kind_of_access(access: dict[str, Any], kind: str) -> None:
    assert kind_of(access) == kind


@pytest.mark.parametrize(
    "access", [{}, {"balances": None}, {"allPsd2": "allAccounts", "availableAccounts": "allAccounts"}]
)
def test_no_kind_and_several_kinds_are_refused(access: dict[str, Any]) -> None:
    with pytest.raises(BankError) as refused:
        kind_of(access)
    assert (refused.value.name, refused.value.path) == ("format-error", "/access")


def test_a_reference_means_an_account_by_any_of_its_numbers() -> None:
    account = {"iban": ONE, **ACCOUNTS[ONE]}

    assert refers({"iban": ONE}, account)
    assert refers({"msisdn": "+43 1", "currency": "EUR"}, account)
    assert not refers({"currency": "EUR"}, account)
    assert not refers({"iban": OTHER}, account)


@pytest.mark.parametrize(
    ("access", "rights"),
    [
        (None, "list details balances transactions ownerName"),
        ({"allPsd2": "allAccounts"}, "list details balances transactions"),
        ({"allPsd2": "allAccountsWithOwnerName"}, "list details balances transactions ownerName"),
        ({"availableAccounts": "allAccountsWithOwnerName"}, "list ownerName"),
        ({"availableAccountsWithBalance": "allAccounts"}, "list balances"),
        ({"balances": [{"iban": ONE}]}, "list details balances"),
        ({"balances": [{"iban": OTHER}]}, ""),
    ],
)
def test_the_rights_on_an_account(access: dict[str, Any] | None, rights: str) -> None:
    given = {"accounts": [ONE], **({} if access is None else {"access": access})}
    names = "list details balances transactions ownerName".split()
    assert [right for right in names if may(given, right, {"iban": ONE, **ACCOUNTS[ONE]})] == rights.split()


@pytest.mark.parametrize(
    ("access", "rights"),
    [
        (None, "details balances transactions"),
        ({"balances": [], "transactions": [{"iban": ONE}]}, "details transactions"),
        ({"accounts": [], "balances": [], "additionalInformation": {"ownerName": []}}, "details balances ownerName"),
        ({"availableAccountsWithBalance": "allAccounts"}, "balances"),
    ],
)
def test_what_it_is_for_before_there_are_accounts(access: dict[str, Any] | None, rights: str) -> None:
    names = "details balances transactions ownerName".split()
    assert [right for right in names if gives(access, right)] == rights.split()


@pytest.mark.parametrize(
    ("signers", "more", "ibans"),
    [
        (["anna"], {}, [ONE, OTHER]),
        (["anna", "ilse"], {}, [ONE, OTHER, JOINT]),
        (["ilse", None], {}, []),
        (["anna"], {"restrictedTo": ["SVGS"]}, [OTHER]),
    ],
)
def test_the_accounts_of_who_signs(signers: list[str | None], more: dict[str, Any], ibans: list[str]) -> None:
    assert of_signers(consent({"allPsd2": "allAccounts", **more}), ACCOUNTS, signers) == ibans


def test_a_consent_is_settled_for_some_accounts() -> None:
    everything = consent({"allPsd2": "allAccounts"})
    offered = consent({"accounts": [], "additionalInformation": {"ownerName": []}})
    named = consent({"balances": [{"msisdn": "+43 1"}, {"iban": OTHER}, {"maskedPan": "4***"}]}, ONE, OTHER)
    one = [{"iban": ONE, "currency": "EUR"}]

    assert [is_bank_offered(each) for each in (everything, offered, named)] == [False, True, False]
    assert limit_consent(everything, ACCOUNTS, [ONE]) == {**everything, "accounts": [ONE]}
    assert limit_consent(offered, ACCOUNTS, [ONE])["access"] == {
        "accounts": one,
        "additionalInformation": {"ownerName": one},
    }
    assert limit_consent(named, ACCOUNTS, [ONE])["access"] == {"balances": [{"msisdn": "+43 1"}, {"maskedPan": "4***"}]}
