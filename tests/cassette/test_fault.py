"""Faults on demand, and mistakes in requests for them."""

import pytest

from xs2a_sandbox.cassette.fault import compile_fault, prefer


def test_a_header_can_contain_several_members() -> None:
    fault = prefer(" status=503 ; delay=2s,fault = truncate ")

    assert fault.answering
    assert fault.answering.behaviour.respond[0].status == 503
    assert fault.amending
    amend = fault.amending.behaviour.amend
    assert amend
    assert (amend.fault, amend.delay and amend.delay.seconds()) == ("truncate", 2.0)


@pytest.mark.parametrize("text", ["status=503, after=true", "error=busy, after=true, retry_after=2"])
def test_an_answer_can_replace_that_of_an_executed_request(text: str) -> None:
    fault = prefer(text)

    assert fault.answering is None
    assert fault.amending
    assert fault.amending.behaviour.amend
    assert fault.amending.behaviour.amend.instead


@pytest.mark.parametrize(("text", "header"), [("retry_after=2", "2"), ("error=busy, retry_after=none", None)])
def test_the_waiting_time_is_set(text: str, header: str | None) -> None:
    fault = prefer(text)

    assert fault.amending
    assert fault.amending.behaviour.amend
    assert fault.amending.behaviour.amend.headers == (("Retry-After", header),)


def test_a_fault_can_expire_a_consent_or_token() -> None:
    assert prefer("expires=token").expires == "token"
    assert prefer("expires=consent, after=true").after


@pytest.mark.parametrize(
    "text", ["delay=2s", "fault=reset, after=true", "fault=truncate", "delay=1s,fault=drop,after=true"]
)
def test_faults_that_need_the_banks_answer_amend_it(text: str) -> None:
    fault = prefer(text)

    assert fault.answering is None
    assert fault.amending
    assert fault.amending.behaviour.amend


def test_a_rule_of_the_bank_can_be_delayed() -> None:
    fault = prefer("rule=outage, delay=1s")

    assert (fault.rule, fault.answering) == ("outage", None)
    assert fault.amending
    assert fault.amending.behaviour.amend


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "it must look like status=503"),
        ("status", "it must look like status=503"),
        ("status=503,", "it must look like status=503"),
        ("status=503, status=504", "status can be given only once"),
        ("stauts=503", "unknown member 'stauts' in the fault; did you mean status?"),
        ("colour=blue", "the members are status, error, rule, retry_after, delay, fault, expires, callback, after"),
        ("status=503, error=busy", "status and error cannot be combined"),
        ("status=abc", "'abc' is not a status"),
        ("status=99", "must be at least 200, not 99"),
        ("status=600", "600"),
        ("delay=1y", "a duration such as 250ms"),
        ("delay=100h", "duration such as"),
        ("fault=resett", "did you mean reset?"),
        ("after=true", "it contains no fault"),
        ("delay=2s, after=true", "after needs a status, an error, a fault or expires"),
        ("rule=outage, after=true", "after needs a status"),
        ("expires=card", "expires must be one of consent, token"),
        ("retry_after=soon", "retry_after must be a whole number of seconds"),
        ("status=429, retry_after=999999", "retry_after must be a whole number of seconds"),
        ("fault=reset, after=yes", "after must be true or false"),
        ("error=" + "x" * 600, "it must look like"),
    ],
)
def test_mistakes_are_reported(text: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        prefer(text)


@pytest.mark.parametrize("wish", [{"error": 1}, {"rule": []}, {"status": "503"}, {"delay": 5}, {"fault": None}, {}])
def test_values_of_the_wrong_type_are_reported(wish: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"must be|not a status|contains no fault"):
        compile_fault("fault-1", wish)
