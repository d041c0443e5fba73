"""What an app shows, compared with what has happened at the bank."""

from dataclasses import replace

import pytest

from tests.campaign.seeing import call, observed
from xs2a_sandbox.features.campaign.case import Case, Learned
from xs2a_sandbox.features.campaign.run import Observed
from xs2a_sandbox.features.campaign.shown import Shown, ShownText
from xs2a_sandbox.features.campaign.shown_rightly import find_wrong_texts
from xs2a_sandbox.features.pytest.injected_fault import InjectedFault

LIST, PAY, STATUS, CONSENT = (
    call("account-list", "/v1/accounts", number=3),
    call("initiate-payment", "/v1/payments/sepa-credit-transfers", number=1, method="POST", status=201),
    call("payment-status", "/v1/payments/sepa-credit-transfers/7/status", number=4),
    call("create-consent", "/v1/consents", number=5, method="POST", status=201),
)
MADE, FRESH = "The payment RENT is made.", "Your accounts are up to date."
USUAL = observed(PAY, LIST, payments={"RENT": 1}, shown=f"{MADE}\n{FRESH}")
LATER, RENEW, TROUBLE = "Try again later.", "Please connect your bank again.", "The bank has trouble."
FAULTS = {
    "ended": InjectedFault("consent expires", "account-list", 1),
    "revoked": InjectedFault("consent-invalid", "account-list", 1, status=401),
    "limited": InjectedFault("429 without Retry-After", "account-list", 1, status=429),
    "failed": InjectedFault("busy", "account-list", 1, status=503),
    "refused": InjectedFault("format-error", "initiate-payment", 1, status=400),
    "lost": InjectedFault("reset", "initiate-payment", 1, "after"),
    "declined": InjectedFault("decline", "sca", 1),
    "late": InjectedFault("slow", "account-list", 1, "after"),
    "quirk": InjectedFault("ids-null"),
}


def found(fault: str, run: Observed, usual: Observed = USUAL) -> list[str]:
    return list(find_wrong_texts(Case(Learned(usual, usual), FAULTS[fault], run)))


@pytest.mark.parametrize(
    ("fault", "right", "wrong", "why"),
    [
        ("ended", RENEW, LATER, "the consent has ended"),
        ("revoked", RENEW, TROUBLE, "the consent has ended"),
        ("limited", LATER, RENEW, "the bank limits the number of calls"),
        ("limited", LATER, FRESH, "the bank limits the number of calls"),
        ("failed", TROUBLE, "Wrong password.", "the bank has failed"),
        ("failed", TROUBLE, "You have declined.", "the bank has failed"),
        ("refused", "The payment was refused.", LATER, "the bank has refused the payment"),
        ("lost", "We do not know whether it is made.", "The payment has failed.", "the app cannot know"),
        ("lost", "We do not know whether it is made.", MADE, "the app cannot know"),
        ("declined", "You have declined.", "A technical error has occurred.", "the customer has declined"),
    ],
)
def test_a_wrong_text_is_found_and_the_right_one_is_not(fault: str, right: str, wrong: str, why: str) -> None:
    payments = {"RENT": 1} if fault in ("ended", "revoked", "limited", "failed", "lost") else {}

    def shown(text: str) -> Observed:
        return observed(PAY, LIST, payments=payments, shown=text)

    (text,) = found(fault, shown(wrong))
    assert text.startswith(f"The app shows {wrong!r} (")
    assert f", although {why}" in text
    for other in (right, f"{wrong}\n{right}" if wrong not in (MADE, FRESH) else right, "", "Es hat nicht geklappt."):
        assert found(fault, shown(other)) == []


@pytest.mark.parametrize("fault", ["refused", "declined", "quirk"])
def test_a_payment_that_the_bank_has_not_accepted_is_not_shown_as_made(fault: str) -> None:
    assert found(fault, observed(PAY, payments={}, shown=MADE)) == [
        "The app shows 'The payment RENT is made.' (paid), although the bank has accepted 0 of 1 payments. "
        "It should say that the payment is not made or that it is not known whether the payment is made."
    ]


def test_without_any_declaration_a_line_of_the_output_with_the_payment_counts() -> None:
    usual = observed(PAY, payments={"RENT": 1}, output="paying RENT\nRENT: paid\n1 passed in 1.1s")

    assert len(found("refused", observed(PAY, output="paying RENT\nRENT: paid"), usual)) == 1
    for output in ("paying RENT", '> assert pay("RENT") == "RENT: paid"', "RENT: refused", ""):
        assert found("refused", observed(PAY, output=output), usual) == []


def test_nothing_is_found_if_the_output_says_nothing_about_payments() -> None:
    usual = observed(PAY, payments={"RENT": 1}, output="1 passed\nall paid")

    assert found("refused", observed(PAY, output="1 passed\nall paid"), usual) == []


def test_nothing_is_wrong_if_the_same_call_succeeds_later() -> None:
    again = call("account-list", "/v1/accounts", number=9)

    assert found("limited", observed(LIST, again, shown=FRESH)) == []
    assert found("failed", observed(LIST, again, shown="Wrong password.")) == []


def test_an_app_may_say_what_has_become_of_a_payment_if_it_reads_its_status() -> None:
    assert found("lost", observed(PAY, STATUS, payments={"RENT": 1}, shown=MADE)) == []


def test_an_app_that_renews_an_ended_consent_at_once_may_say_that_all_is_well() -> None:
    assert found("ended", observed(LIST, CONSENT, shown=f"{FRESH}\n{LATER}")) == []


def test_texts_that_are_also_there_without_the_fault_are_not_judged() -> None:
    usual = observed(LIST, shown=f"{LATER}\n{FRESH}")

    assert found("ended", observed(LIST, shown=LATER), usual) == []


def test_a_late_answer_and_a_quirk_need_no_text() -> None:
    for fault in ("late", "quirk"):
        assert found(fault, observed(PAY, LIST, payments={"RENT": 1}, shown="Wrong password.")) == []


def test_a_misspelled_kind_is_a_finding() -> None:
    shown = Shown((ShownText("Bitte warten", frozenset({"latter"})),))
    (text,) = found("limited", replace(observed(PAY, LIST, payments={"RENT": 1}), shown=shown))
    assert text.startswith(
        "The app shows 'Bitte warten' with the unknown kind 'latter'; did you mean later? Use one of"
    )
