"""The faults that are tried at a point, and the faults that are skipped."""

from collections import Counter

import pytest

from tests.campaign.seeing import call
from xs2a_sandbox.bank.loading import interface_and_schemas, read_quirks
from xs2a_sandbox.config import Settings
from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.features.campaign.left_out import ALIKE, IDLE
from xs2a_sandbox.features.campaign.plan import Plan, choose_faults, plan
from xs2a_sandbox.features.campaign.seen import Seen, SeenCall

INTERFACE, _ = interface_and_schemas(Settings(state="memory:"))
LIST = {"accounts": [{"iban": "AT1"}]}


def planned(*calls: SeenCall, approvals: int = 0, with_quirks: bool = False) -> Plan:
    return plan(INTERFACE, Seen(calls, Counter()), approvals, "2s", read_quirks() if with_quirks else {})


def count(made: Plan, why: str) -> int:
    return sum(one.why == why for one in made.left_out)


def texts(made: Plan) -> list[str]:
    return [str(one.fault) for one in made.faults]


def test_a_read_gets_every_error_of_the_operation_once() -> None:
    made = planned(call("account-list", answer=LIST))
    names = [one.fault.name for one in made.faults]

    assert len(set(names)) == len(names)
    assert {"consent-expired", "consent-unknown", "busy", "429 with Retry-After", "consent expires"} <= set(names)
    assert {"reset", "malformed", "truncate", "slow", "wrong-shape", "empty-lists", "extra-members"} <= set(names)
    assert "no-next-page" not in names
    assert "access-exceeded" not in names
    assert "period-invalid" not in names
    assert all(one.order and one.order["operation"] == "account-list" for one in made.faults)
    assert (count(made, IDLE), count(made, ALIKE) > 0) == (3, True)


def test_errors_with_equal_answers_are_tried_once() -> None:
    made = planned(call("account-transactions", answer=LIST))
    seen = [(one.fault.status, one.fault.code) for one in made.faults if one.order and "error" in one.order]

    assert len(set(seen)) == len(seen) - 1  # 429 with and without Retry-After
    assert (401, "CONSENT_INVALID") in seen


def test_operations_with_effects_fail_after_the_effect() -> None:
    made = planned(call("initiate-payment", method="POST", headers={}, answer={"paymentId": "1"}))

    first = made.faults[0]
    assert str(first.fault) == "initiate-payment 1: reset, after"
    assert first.order == {"operation": "initiate-payment", "skip": 0, "next": 1, "fault": "reset", "after": True}
    phases = {(one.fault.name, one.fault.phase) for one in made.faults}
    assert {("reset", "before"), ("reset", "after"), ("busy", "after"), ("malformed", "after")} <= phases
    # The app sees the same, so the harder case is enough. A bank that refuses a request has not acted on it.
    assert not {("busy", "before"), ("malformed", "before"), ("format-error", "after")} & phases
    assert {("format-error", "before"), ("429 with Retry-After", "before")} <= phases


def test_errors_about_credentials_are_tried_if_the_call_sends_credentials() -> None:
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
    assert names(**{"x-jws-signature": "s"}) == names(Signature="s")
    shown = call("account-list", headers={}, answer=LIST)
    shown.whole["client"] = {"name": "TPP", "organisation": "PSDAT-FMA-1", "roles": ["PSP_AI"]}
    refused = {one.fault.name for one in planned(shown).faults} - plain
    assert {"certificate-expired", "certificate-revoked", "role-invalid"} <= refused
    made = planned(call("initiate-payment", method="POST", headers={"Authorization": "Bearer t"}, answer={}))
    assert {one.fault.phase for one in made.faults if one.fault.name == "token-expired"} == {"before"}


def test_faults_refer_to_the_number_of_the_call() -> None:
    made = planned(call("account-list", number=1, answer=LIST), call("account-list", number=2, status=401))

    assert {one.order["skip"] for one in made.faults if one.order and one.fault.call == 2} == {1}


def test_only_the_first_and_the_last_of_equal_calls_are_points() -> None:
    made = planned(*(call("consent-status", number=number) for number in range(5)))

    assert {one.fault.call for one in made.faults} == {1, 5}
    assert count(made, ALIKE) > 3 * 5


def test_outcomes_of_sca_and_quirks_are_tried() -> None:
    made = planned(call("consent-status"), call("account-transactions"), approvals=2, with_quirks=True)

    assert {"sca 1: decline, before", "sca 2: error, before"} <= set(texts(made))
    assert {"pending-refused", "ids-zero"} <= set(texts(made))
    assert {"sca": "timeout", "skip": 1, "next": 1} in [one.order for one in made.faults]
    assert [one.order for one in made.faults if one.fault.name == "ids-zero"] == [{"quirks": ["ids-zero"]}]


def test_an_app_that_stores_dates_is_tried_in_other_time_zones() -> None:
    seen = Seen((call("account-transactions"),), Counter())
    days = ["2026-11-17", "2026-11-20", "2026-12-31"]
    zones = {
        one.fault.name: one.order["environment"]["TZ"]
        for one in plan(INTERFACE, seen, 0, "2s", {}, days).faults
        if "environment" in one.order
    }

    assert zones == {"zone-west": "Etc/GMT+12", "zone-east": "Etc/GMT-14", "clock-change": "XST0XDT,J324/0,J140/0"}
    assert not [one for one in planned(*seen.calls).faults if "environment" in one.order]


def test_quirks_that_change_nothing_for_the_app_are_left_out() -> None:
    made = planned(call("consent-status"), with_quirks=True)

    assert "ids-zero" in [one.fault.name for one in made.left_out if one.why == IDLE]
    assert [name for name in texts(made) if name.startswith(("ids-", "dates-"))] == []
    assert "decoupled-only" in texts(made)


def test_quirks_without_effect_in_the_dialect_are_left_out() -> None:
    """A sandbox does not start with such a quirk."""
    interface, _ = interface_and_schemas(Settings(dialect="enable-banking", state="memory:"))
    calls = tuple(call(id, consent=None, answer={}) for id in interface.operations)
    made = plan(interface, Seen(calls, Counter()), 0, "2s", read_quirks())

    assert "closed-account-fails-list" in [one.fault.name for one in made.left_out if one.why == IDLE]
    assert {"dates-null", "pending-refused"} <= set(texts(made))


def test_unknown_operations_are_skipped() -> None:
    assert planned(call("nothing", status=404)).faults == []


def test_the_plan_is_reproducible() -> None:
    calls = [call("account-list", answer=LIST), call("initiate-payment", number=2, method="POST", answer={})]

    assert texts(planned(*calls)) == texts(planned(*calls))


def test_faults_can_be_chosen() -> None:
    made = planned(call("account-list", answer=LIST))

    assert [str(one.fault) for one in choose_faults(made.faults, ["reset"])] == ["account-list 1: reset, before"]
    assert len(choose_faults(made.faults, [])) == len(made.faults)
    assert len(choose_faults(made.faults, ["reset", "slow"])) == 2


def test_a_word_that_no_fault_has_is_told_with_all_that_exist() -> None:
    made = planned(call("account-list", answer=LIST), approvals=1)
    with pytest.raises(UserMistake) as mistake:
        choose_faults(made.faults, ["reset", "acount-list"])

    first, calls, faults = str(mistake.value).splitlines()
    assert first.startswith(f"--choose: none of the {len(made.faults)} faults of this campaign contains 'acount-list'")
    assert "did you mean account-list? Use a part of one of these calls or faults" in first
    assert calls == "calls: account-list 1, sca 1"
    assert {"reset", "slow", "decline"} <= set(faults.removeprefix("faults: ").split(", "))


def test_what_is_left_out_has_a_name() -> None:
    made = planned(call("account-list", consent=None, headers={}, answer=LIST))
    idle = [f"{one.fault.name} {one.fault.phase}" for one in made.left_out if one.why == IDLE]

    both = [f"{what} expires {phase}" for what in ("consent", "token") for phase in ("before", "after")]
    assert idle == [*both, "no-next-page after"]
