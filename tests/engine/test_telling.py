"""What is told of an exchange: why it failed, and nothing that may not be shown."""

from collections.abc import Callable

import pytest

from tests.support.engine_client import bundled_engine
from xs2a_sandbox.bank import Outcome
from xs2a_sandbox.engine.telling import displayed_text, log_entry, reason_of
from xs2a_sandbox.http import Headers, Request, Response, to_json
from xs2a_sandbox.http.messages import refusal

REQUEST = Request("GET", "/v1/accounts?secret=1")


@pytest.fixture
def outcome() -> Outcome:
    return Outcome(bundled_engine().banks.default)


def test_what_did_not_fail_has_no_reason(outcome: Outcome) -> None:
    assert reason_of(REQUEST, Response(399), outcome, None) is None


@pytest.mark.parametrize(
    ("source", "reason"),
    [("bank", "does not say why"), ("rule", "the rule answers so"), ("sandbox", "the answer does not say why")],
)
def test_an_answer_that_says_nothing(outcome: Outcome, source: str, reason: str) -> None:
    outcome.source = source
    assert reason in str(reason_of(REQUEST, Response(500, body=b"{}"), outcome, None))


def test_the_answers_own_words_come_before_that(outcome: Outcome) -> None:
    answer = refusal(403, "CONSENT_UNKNOWN", "XS2A4711E", "there is none")
    assert "there is none" in str(reason_of(REQUEST, answer, outcome, None))
    outcome.reason = "known better"
    assert reason_of(REQUEST, answer, outcome, None) == "known better"


def test_the_line_has_the_path_without_the_query(outcome: Outcome) -> None:
    outcome.warnings, outcome.rule, outcome.source = ["careful"], "r", "rule"
    line = log_entry(REQUEST, Response(200, body=to_json({})), outcome, 0.25, None, None)

    assert (line.path, line.milliseconds, line.warnings) == ("/v1/accounts", 250.0, ("careful",))
    assert (line.rule, line.source, line.session) == ("r", "rule", "default")


def test_texts_are_shown_as_the_display_shows_them() -> None:
    display = bundled_engine().display
    assert display
    shown: Callable[[bool], str] = lambda personal: displayed_text("for AT611904300234573201", personal, display)  # noqa: E731

    assert "AT611904300234573201" not in shown(True)
    assert displayed_text("as it is", True, None) == "as it is"


def test_the_id_of_a_request_is_told_where_it_is_one(outcome: Outcome) -> None:
    uuid = "99391C7E-ad88-49ec-a2ad-99ddcb1f7721"
    ids = []
    for text in (uuid, "Anna Muster", f"{uuid}\n", None):
        request = Request("GET", "/v1/accounts", Headers([] if text is None else [("X-Request-ID", text)]))
        ids.append(log_entry(request, Response(200), outcome, 0.25, None, None).request_id)

    assert ids == [uuid, None, None, None]
