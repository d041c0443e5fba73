"""What is tried at a point, and what is left out."""

from collections import Counter

from tests.campaign.seeing import call
from xs2a_sandbox.bank.loading import interface_and_schemas
from xs2a_sandbox.config import Settings
from xs2a_sandbox.features.campaign.plan import ALIKE, IDLE, Plan, choose_faults, plan
from xs2a_sandbox.features.campaign.seen import Seen, SeenCall

INTERFACE, _ = interface_and_schemas(Settings(state="memory:"))
LIST = {"accounts": [{"iban": "AT1"}]}


def planned(*calls: SeenCall, approvals: int = 0, with_quirks: bool = False) -> Plan:
    return plan(INTERFACE, Seen(calls, Counter()), approvals, "2s", with_quirks=with_quirks)


def texts(made: Plan) -> list[str]:
    return [str(one.fault) for one in made.faults]


def test_a_read_has_every_error_of_the_operation_once() -> None:
    made = planned(call("account-list", answer=LIST))
    names = [one.fault.name for one in made.faults]

    assert len(set(names)) == len(names)
    assert {"consent-expired", "consent-unknown", "busy", "429 with Retry-After", "consent expires"} <= set(names)
    assert {"reset", "malformed", "truncate", "slow", "wrong-shape", "empty-lists", "extra-members"} <= set(names)
    assert "no-next-page" not in names
    assert "access-exceeded" not in names
    assert "period-invalid" not in names
    assert all(one.order and one.order["operation"] == "account-list" for one in made.faults)
    assert (made.left_out[IDLE], made.left_out[ALIKE] > 0) == (3, True)


def test_errors_that_look_alike_on_the_wire_are_tried_once() -> None:
    made = planned(call("account-transactions", answer=LIST))
    seen = [(one.fault.status, one.fault.code) for one in made.faults if one.order and "error" in one.order]

    assert len(set(seen)) == len(seen) - 1  # 429 with and without Retry-After
    assert (401, "CONSENT_INVALID") in seen


def test_what_has_an_effect_goes_wrong_before_and_after_it() -> None:
    made = planned(call("initiate-payment", method="POST", headers={}, answer={"paymentId": "1"}))

    first = made.faults[0]
    assert str(first.fault) == "initiate-payment 1: reset, after"
    assert first.order == {"operation": "initiate-payment", "skip": 0, "next": 1, "fault": "reset", "after": True}
    assert {"initiate-payment 1: busy, before", "initiate-payment 1: busy, after"} <= set(texts(made))


def test_what_banks_check_of_the_app_is_refused_where_the_call_shows_it() -> None:
    def names(**headers: str) -> set[str]:
        return {planned.fault.name for planned in planned_for(headers).faults}

    def planned_for(headers: dict[str, str]) -> Plan:
        return planned(call("account-list", headers=headers, answer=LIST))

    plain = names()
    assert names(Authorization="Bearer t") - plain == {
        "token-unknown",
        "token-invalid",
        "token-expired",
        "token expires",
    }
    assert names(Authorization="Basic c") - plain == {"token expires"}
    assert names(Signature="s") - plain == {"signature-missing", "signature-invalid"}
    shown = call("account-list", headers={}, answer=LIST)
    shown.whole["client"] = {"name": "TPP", "organisation": "PSDAT-FMA-1", "roles": ["PSP_AI"]}
    refused = {one.fault.name for one in planned(shown).faults} - plain
    assert {"certificate-expired", "certificate-revoked", "role-invalid"} <= refused
    made = planned(call("initiate-payment", method="POST", headers={"Authorization": "Bearer t"}, answer={}))
    assert {one.fault.phase for one in made.faults if one.fault.name == "token-expired"} == {"before"}


def test_the_how_many_th_call_it_is() -> None:
    made = planned(call("account-list", number=1, answer=LIST), call("account-list", number=2, status=401))

    assert {one.order["skip"] for one in made.faults if one.order and one.fault.call == 2} == {1}


def test_of_calls_that_are_alike_the_first_and_the_last_are_points() -> None:
    made = planned(*(call("consent-status", number=number) for number in range(5)))

    assert {one.fault.call for one in made.faults} == {1, 5}
    assert made.left_out[ALIKE] > 3 * 5


def test_endings_of_sca_and_quirks() -> None:
    made = planned(call("consent-status"), approvals=2, with_quirks=True)

    assert {"sca 1: decline, before", "sca 2: error, before"} <= set(texts(made))
    assert {"pending-refused", "ids-zero"} <= set(texts(made))
    assert {"sca": "timeout", "skip": 1, "next": 1} in [one.order for one in made.faults]
    assert [one.order for one in made.faults if one.fault.name == "ids-zero"] == [None]


def test_what_the_bank_has_no_operation_for_is_no_point() -> None:
    assert planned(call("nothing", status=404)).faults == []


def test_the_plan_is_the_same_again() -> None:
    calls = [call("account-list", answer=LIST), call("initiate-payment", number=2, method="POST", answer={})]

    assert texts(planned(*calls)) == texts(planned(*calls))


def test_some_are_chosen() -> None:
    made = planned(call("account-list", answer=LIST))

    assert [str(one.fault) for one in choose_faults(made.faults, ["reset"])] == ["account-list 1: reset, before"]
    assert len(choose_faults(made.faults, [])) == len(made.faults)
