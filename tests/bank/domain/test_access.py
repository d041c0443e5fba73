"""Access given by a consent: permissions on accounts, and the accounts that follow from them."""

from typing import Any

import pytest

from xs2a_sandbox.bank.domain.access import as_sent, gives, lets_choose, limit, may, of_signers, refers

ONE, OTHER, JOINT, CARD = "AT459880000010204711", "AT449880000010204729", "AT669880000010263115", "card-1"
ACCOUNTS: dict[str, dict[str, Any]] = {
    ONE: {"currency": "EUR", "psuId": "anna", "type": "CACC", "msisdn": "+43 1"},
    OTHER: {"currency": "CHF", "psuId": "anna", "type": "SVGS"},
    JOINT: {"currency": "EUR", "psuId": "ilse", "signatories": ["ilse", "anna"]},
}
REFERENCES = [{"iban": ONE, "currency": "EUR"}]


def grant(permissions: str, *accounts: str, at: list[str] | None = None) -> dict[str, Any]:
    made = {"permissions": permissions.split(), "accounts": list(accounts) or None}
    return made if at is None else {**made, "at": at}


def consent(*grants: dict[str, Any], accounts: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
    return {"accounts": list(accounts), "grants": list(grants), **more}


def test_a_reference_matches_an_account_by_any_of_its_numbers() -> None:
    account = {"iban": ONE, **ACCOUNTS[ONE]}

    assert refers({"iban": ONE}, account)
    assert refers({"msisdn": "+43 1", "currency": "EUR"}, account)
    assert not refers({"currency": "EUR"}, account)
    assert not refers({"iban": OTHER}, account)


def test_permissions_apply_to_their_accounts_and_cards() -> None:
    given = consent(grant("list details"), grant("balances", ONE, CARD), grant("entries", OTHER))
    names = "list details balances entries owner".split()

    assert [name for name in names if may(given, name, {"id": ONE})] == ["list", "details", "balances"]
    assert [name for name in names if may(given, name, {"id": OTHER})] == ["list", "details", "entries"]
    assert may(given, "balances", {"id": CARD})
    assert all(may({"accounts": [ONE]}, name, {"id": ONE}) for name in names)


def test_kinds_of_access_are_known_before_any_account_is_chosen() -> None:
    assert gives(consent(grant("balances owner")), "owner")
    assert not gives(consent(grant("balances", ONE)), "entries")
    assert gives({"accounts": []}, "entries")
    assert not gives({"accounts": []}, "owner")


@pytest.mark.parametrize(
    ("signers", "more", "ids"),
    [
        (["anna"], {}, [ONE, OTHER]),
        (["anna", "ilse"], {}, [ONE, OTHER, JOINT]),
        (["ilse", None], {}, []),
        (["anna"], {"account_types": ["SVGS"]}, [OTHER]),
    ],
)
def test_accounts_of_all_signatories(signers: list[str | None], more: dict[str, Any], ids: list[str]) -> None:
    assert of_signers(consent(grant("list"), **more), ACCOUNTS, signers) == ids


def test_customers_limit_a_consent_to_some_accounts() -> None:
    everything = consent(grant("list"))
    offered = consent(grant("list details"), customer_chooses=True)
    named = consent(grant("balances", ONE, OTHER, CARD), grant("entries", OTHER), accounts=(ONE, OTHER))

    assert [lets_choose(each) for each in (everything, offered, named)] == [False, True, False]
    assert limit(everything, [ONE], {}) == {**everything, "accounts": [ONE]}
    settled = limit(named, [ONE], {CARD: OTHER})
    assert (settled["accounts"], settled["grants"][0]["accounts"]) == ([ONE], [ONE])
    assert not gives(settled, "entries")
    assert limit({"accounts": [ONE, OTHER]}, [OTHER], {}) == {"accounts": [OTHER]}


def test_the_access_in_the_answer_contains_only_covered_accounts() -> None:
    sent = {"balances": [{"msisdn": "+43 1"}, {"iban": OTHER}], "more": {"owner": []}, "note": "x"}
    given = consent(
        grant("balances", ONE, OTHER, at=["balances"]), grant("owner", at=["more", "owner"]), accounts=(ONE,), sent=sent
    )

    answered = as_sent(given, REFERENCES, lambda reference: reference.get("iban") != OTHER)

    assert answered == {"balances": [{"msisdn": "+43 1"}], "more": {"owner": REFERENCES}, "note": "x"}
    assert as_sent({"accounts": [ONE]}, REFERENCES, lambda _: True) is None
