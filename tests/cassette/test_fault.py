"""Faults on demand: what can be wished for, and what is wrong with a wish."""

import pytest

from xs2a_sandbox.cassette.fault import compile_fault, prefer


def test_a_header_says_several_things() -> None:
    fault = prefer(" status=503 ; delay=2s,fault = truncate ")

    assert fault.answering
    assert fault.answering.behaviour.respond[0].status == 503
    assert fault.amending
    amend = fault.amending.behaviour.amend
    assert amend
    assert (amend.fault, amend.delay and amend.delay.seconds()) == ("truncate", 2.0)


@pytest.mark.parametrize("text", ["status=503, after=true", "error=busy, after=true, retry_after=2"])
def test_an_answer_may_stand_in_place_of_that_of_what_was_done(text: str) -> None:
    fault = prefer(text)

    assert fault.answering is None
    assert fault.amending
    assert fault.amending.behaviour.amend
    assert fault.amending.behaviour.amend.instead


@pytest.mark.parametrize(("text", "header"), [("retry_after=2", "2"), ("error=busy, retry_after=none", None)])
def test_it_says_how_long_to_wait(text: str, header: str | None) -> None:
    fault = prefer(text)

    assert fault.amending
    assert fault.amending.behaviour.amend
    assert fault.amending.behaviour.amend.headers == (("Retry-After", header),)


def test_what_a_request_relies_on_expires() -> None:
    assert prefer("expires=token").expires == "token"
    assert prefer("expires=consent, after=true").after


@pytest.mark.parametrize(
    "text", ["delay=2s", "fault=reset, after=true", "fault=truncate", "delay=1s,fault=drop,after=true"]
)
def test_what_needs_the_banks_own_answer_amends_it(text: str) -> None:
    fault = prefer(text)

    assert fault.answering is None
    assert fault.amending
    assert fault.amending.behaviour.amend


def test_a_rule_of_the_bank_may_come_late() -> None:
    fault = prefer("rule=outage, delay=1s")

    assert (fault.rule, fault.answering) == ("outage", None)
    assert fault.amending
    assert fault.amending.behaviour.amend


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "it must be like status=503"),
        ("status", "it must be like status=503"),
        ("status=503,", "it must be like status=503"),
        ("status=503, status=504", "status is given twice"),
        ("stauts=503", "there is no 'stauts'; did you mean status?"),
        ("colour=blue", "it knows status, error, rule, retry_after, delay, fault, expires, after"),
        ("status=503, error=busy", "status and error exclude each other"),
        ("status=abc", "'abc' is not a status"),
        ("status=99", "must be at least 200, not 99"),
        ("status=600", "600"),
        ("delay=1y", "a duration such as 250ms"),
        ("delay=100h", "duration such as"),
        ("fault=resett", "did you mean reset?"),
        ("after=true", "it names no fault"),
        ("delay=2s, after=true", "after needs a status, an error, a fault or expires"),
        ("rule=outage, after=true", "after needs a status"),
        ("expires=card", "expires must be one of consent, token"),
        ("retry_after=soon", "retry_after must be whole seconds"),
        ("status=429, retry_after=999999", "retry_after must be whole seconds"),
        ("fault=reset, after=yes", "after must be true or false"),
        ("error=" + "x" * 600, "it must be like"),
    ],
)
def test_a_mistake_is_told(text: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        prefer(text)


@pytest.mark.parametrize("wish", [{"error": 1}, {"rule": []}, {"status": "503"}, {"delay": 5}, {"fault": None}, {}])
def test_what_is_of_the_wrong_kind_is_told(wish: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"must be|not a status|names no fault"):
        compile_fault("fault-1", wish)
