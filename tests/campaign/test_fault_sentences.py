"""What went wrong at the bank, as sentences."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.campaign.seeing import call
from xs2a_sandbox.bank.loading import interface_and_schemas, read_quirks
from xs2a_sandbox.config import Settings
from xs2a_sandbox.features.campaign.fault_sentences import describe, describe_point
from xs2a_sandbox.features.campaign.plan import plan
from xs2a_sandbox.features.campaign.seen import Seen
from xs2a_sandbox.features.pytest.injected_fault import InjectedFault

PAY = "initiate-payment"


@pytest.mark.parametrize(
    ("fault", "order", "sentence"),
    [
        (
            InjectedFault("reset", PAY, 1, "after"),
            {"fault": "reset"},
            "The connection is reset, after the bank has acted on the request.",
        ),
        (
            InjectedFault("busy", PAY, 2, status=503, code="SERVICE_BLOCKED"),
            {"error": "busy"},
            "The bank answers 503 SERVICE_BLOCKED (busy), before the bank acts on the request.",
        ),
        (
            InjectedFault("429 with Retry-After", PAY, 1, status=429, code="ACCESS_EXCEEDED"),
            {"error": "access-exceeded", "retry_after": 1},
            "The bank answers 429 ACCESS_EXCEEDED and asks to wait 1 second, before the bank acts on the request.",
        ),
        (
            InjectedFault("429 without Retry-After", PAY, 1, "after", status=429),
            {"status": 429, "retry_after": "none"},
            "The bank answers 429 without Retry-After, after the bank has acted on the request.",
        ),
        (
            InjectedFault("slow", PAY, 1, "after"),
            {"delay": "2s"},
            "The answer is 2s late, after the bank has acted on the request.",
        ),
        (
            InjectedFault("consent expires", "account-list", 1),
            {"expires": "consent"},
            "The consent expires before this call, and stays expired.",
        ),
        (InjectedFault("decline", "sca", 2), {"sca": "decline"}, "Approval 2 by the customer is declined."),
        (InjectedFault("ids-zero"), {"quirks": ["ids-zero"]}, "The bank has the quirk ids-zero during the whole run."),
        (
            InjectedFault("zone-west"),
            {"environment": {"TZ": "Etc/GMT+12"}},
            "The app runs in the time zone Etc/GMT+12 during the whole run.",
        ),
        (
            InjectedFault("n26"),
            {"quirks": ["ids-zero", "ids-null"]},
            "The bank is like n26, with the quirks ids-zero, ids-null, during the whole run.",
        ),
    ],
)
def test_a_fault_is_a_sentence(fault: InjectedFault, order: Mapping[str, Any], sentence: str) -> None:
    assert describe(fault, order) == sentence


def test_every_planned_fault_has_words_of_its_own() -> None:
    interface, _ = interface_and_schemas(Settings(state="memory:"))
    pay = call(PAY, method="POST", headers={"Authorization": "Bearer t"}, answer={"paymentId": ["1"]})
    made = plan(interface, Seen((pay,)), 1, "2s", read_quirks())

    sentences = [describe(one.fault, one.order) for one in made.faults]
    assert len(set(sentences)) == len(sentences)
    assert not [sentence for sentence in sentences if "The fault " in sentence]


def test_the_points() -> None:
    points = [InjectedFault("reset", PAY, 3), InjectedFault("decline", "sca", 1), InjectedFault("ids-zero")]
    assert [describe_point(fault) for fault in points] == ["call 3 of initiate-payment", "approval 1", "the whole run"]
