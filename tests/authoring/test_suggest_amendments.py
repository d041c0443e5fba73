"""The amendments can be loaded and remove the differences. Differences that they cannot fix are reported."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.contract import facts
from tests.support.engine_client import an_engine, bundled_engine
from xs2a_sandbox.cassette.amend import compile_amendment
from xs2a_sandbox.compare.comparison import Comparison, Step
from xs2a_sandbox.compare.reports.report import Report, report
from xs2a_sandbox.config import Settings
from xs2a_sandbox.documents import yaml_reader
from xs2a_sandbox.engine import Engine, build
from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.features.compare import suggest_amendments
from xs2a_sandbox.features.compare.suggest_amendments import Suggestion
from xs2a_sandbox.http import Headers, Request, Response, body

CONSENT = "9d3c41b2-5f0e-4c6a-8b1d-2e7f60a4c911"
HEADERS = (("X-Request-ID", "99391c7e-ad88-49ec-a2ad-99ddcb1f7721"), ("PSU-IP-Address", "192.0.2.7"))
ACCESS = ("Consent-ID", CONSENT)
IBAN = "AT459880000010204711"
ACCOUNTS = "/v1/accounts?withBalance=true"


def step(target: str, method: str = "GET", *headers: tuple[str, str]) -> Step:
    return Step(target, Request(method, target, Headers((*HEADERS, *headers))))


def own_answer(one: Step) -> Any:
    return json.loads(asyncio.run(an_engine().answer(one.request)).body)


def compared(sandbox: Engine, answers: dict[str, Response], steps: list[Step]) -> Report:
    async def bank(request: Request) -> Response:
        return answers[request.target]

    engine = bundled_engine()
    comparison = Comparison(engine.interface, engine.schemas, sandbox.answer, bank, noise_reads=0, allow_writes=True)
    return report(asyncio.run(comparison.play(steps)), "https://bank.example", None)


def suggested(made: Report) -> Suggestion:
    return suggest_amendments.suggest(made, bundled_engine().interface)


def amended(made: Report, directory: Path) -> Engine:
    suggest_amendments.write(suggested(made).cassettes, directory / "amend")
    return build.build(Settings(state="memory:", confdir=directory, cassettes=(directory / "amend",)))


def json_answer(value: Any, status: int = 200, **headers: str) -> Response:
    return Response(status, (("Content-Type", "application/json"), *headers.items()), json.dumps(value).encode())


def agrees(answers: dict[str, Response], steps: list[Step], directory: Path) -> str:
    """Return the amendments, and check that they remove all differences."""
    before = compared(an_engine(), answers, steps)
    assert before.groups
    after = compared(amended(before, directory), answers, steps)
    assert suggest_amendments.find_remaining(before, after) == {}
    return "".join(file.read_text() for file in sorted((directory / "amend").iterdir()))


def test_the_same_change_of_each_entry_is_one_step(tmp_path: Path) -> None:
    one = step(ACCOUNTS, "GET", ACCESS)
    value = own_answer(one)
    for account in value["accounts"]:
        account["ownerName"] = "{{ x }} {% y"
        account["_links"]["card"] = {"href": f"https://bank.example/v1/cards/{account['iban']}"}
        del account["bic"]
    text = agrees({ACCOUNTS: json_answer(value)}, [one], tmp_path)

    assert text.count("path: /accounts/*/") == 3
    assert "/v1/cards/{{ entry." in text, "each entry has its own link"
    assert "/accounts/0" not in text


def test_changes_of_single_entries_are_written_for_their_positions(tmp_path: Path) -> None:
    one = step(f"/v1/accounts/{IBAN}/balances", "GET", ACCESS)
    value = own_answer(one)
    first, second = value["balances"]
    value["balances"] = [{**second, "balanceType": "expected"}, first]
    text = agrees({one.request.target: json_answer(value)}, [one], tmp_path)

    assert "amend-account-balances-1" in text


def test_a_reversed_list_is_reversed_and_an_answer_without_it_is_left_unchanged(tmp_path: Path) -> None:
    target = f"/v1/accounts/{IBAN}/transactions?bookingStatus="
    one = step(f"{target}booked", "GET", ACCESS)
    value = own_answer(one)
    value["transactions"]["booked"].reverse()
    made = compared(an_engine(), {one.request.target: json_answer(value)}, [one])
    engine = amended(made, tmp_path)
    (rule,) = list(suggested(made).cassettes.values())
    answers = [asyncio.run(engine.answer(step(target + kind, "GET", ACCESS).request)) for kind in ("booked", "pending")]

    assert "| reverse | list" in rule
    assert json.loads(answers[0].body) == value
    assert answers[1].status == 200


def test_requests_that_need_different_changes_get_separate_rules(tmp_path: Path) -> None:
    steps = [step(target, "GET", ACCESS) for target in ("/v1/accounts", ACCOUNTS)]
    consents = facts.testdata()["consents"]
    for id, consent in list(consents.items()):
        if consent["role"] == "authorised" and len(steps) < 4:
            steps.append(step(f"/v1/accounts/{consent['accounts'][0]}", "GET", ("Consent-ID", id)))
    answers = {}
    for number, one in enumerate(steps):
        value = own_answer(one)
        for account in value.get("accounts", [value]):
            account["product"] = f"P{number}"
        answers[one.request.target] = json_answer(value)
    text = agrees(answers, steps, tmp_path)

    assert "withBalance: {absent: true}" in text
    assert 'query: {withBalance: "true"}' in text
    assert text.count("where: {account-id: ") == 2


def test_statuses_headers_and_errors_are_amended(tmp_path: Path) -> None:
    nobody = step("/v1/consents/nobody/status")
    refused = json_answer({"tppMessages": [{"category": "ERROR", "code": "CONSENT_UNKNOWN", "text": "?"}]}, 401)
    bare = step("/v1/accounts")
    answers = {
        nobody.request.target: refused,
        bare.request.target: json_answer(own_answer(bare), 418, **{"Retry-After": "5"}),
    }
    text = agrees(answers, [nobody, bare], tmp_path)

    assert "require: none" in text
    assert "{{ 401 if answer.status == 403 else answer.status }}" in text
    assert 'Retry-After: "5"' in text


def test_differences_that_no_amendment_fixes_are_reported() -> None:
    made = compared(
        an_engine(),
        {
            "/x": json_answer({}),
            "/v1/accounts": json_answer({"accounts": []}),
            f"/v1/consents/{CONSENT}": Response(200, (("Content-Type", "text/html"),), b"<h1>?"),
        },
        [step("/x"), step("/v1/accounts"), step(f"/v1/consents/{CONSENT}")],
    )
    suggestion = suggested(made)

    assert "(none): the interface has no such operation, so there is nothing to amend" in suggestion.left
    assert "account-list: status: the sandbox refuses what the bank answers" in suggestion.left
    assert "consent-content: the body: only JSON can be amended" in suggestion.left


def test_the_same_request_with_two_answers_is_reported(tmp_path: Path) -> None:
    one = step(f"/v1/consents/{CONSENT}/status")
    known, values = bundled_engine(), ["a", "b"]

    async def bank(request: Request) -> Response:
        return json_answer({"consentStatus": "valid", "note": values.pop()})

    comparison = Comparison(known.interface, known.schemas, an_engine().answer, bank, noise_reads=0)
    made = report(asyncio.run(comparison.play([one, one])), "bank", None)

    assert suggested(made).left == (
        "consent-status: /note: other requests are the same, but their answers need a different change",
    )


def test_a_state_is_amended_based_on_the_state_of_the_sandbox(tmp_path: Path) -> None:
    one = step(f"/v1/consents/{CONSENT}/status")
    text = agrees({one.request.target: json_answer({"consentStatus": "terminatedByTpp"})}, [one], tmp_path)

    assert "{op: test, path: /consentStatus, value: valid}" in text


def test_equal_answers_need_no_amendments() -> None:
    one = step(f"/v1/consents/{CONSENT}/status")
    made = compared(an_engine(), {one.request.target: json_answer(own_answer(one))}, [one])
    assert suggested(made) == Suggestion({}, ())


def test_a_folder_that_cannot_be_written_is_a_user_mistake(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot write"):
        suggest_amendments.write({"x": "cassette: 1\n"}, tmp_path / "file" / "below")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text()
    | st.sampled_from(["NO", "1e5", "0123", "2026-11-21", "~", "- x", "a: b", "{{ x }}", "{{", "}}", "#", "\u2028"])
    | st.sampled_from([{"a?": None}, {"a?": 1}, {"merge": [{}]}, {"each": "x", "give": 1}]),
    lambda v: st.lists(v, max_size=4) | st.dictionaries(st.text(), v, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(VALUES)
def test_any_value_is_amended_exactly_or_reported(value: Any) -> None:
    one = step(f"/v1/consents/{CONSENT}/status")
    answer = json_answer({"consentStatus": "valid", "new": value})
    suggestion = suggested(compared(an_engine(), {one.request.target: answer}, [one]))
    if not suggestion.cassettes:
        assert "a cassette cannot contain the value" in suggestion.left[0]
        return
    (text,) = suggestion.cassettes.values()
    (rule,) = yaml_reader.parse(text, Path("x.yaml")).value["rules"]
    problems: list[str] = []
    amendment = compile_amendment(rule["amend"], lambda place, text: problems.append(text))
    assert problems == []
    ours = json_answer({"consentStatus": "valid"})
    made = amendment.apply(ours, {}, problems.append)
    assert problems == []
    assert body.read(made.body).value == body.read(answer.body).value


def test_a_sentence_in_a_redacted_answer_is_written_unchanged() -> None:
    """The sentence is a pseudonym as a whole, so the sandbox's real account name would match no part of it."""
    target = f"/v1/accounts/{IBAN}/balances"
    one = step(target, "GET", ACCESS)
    bank = own_answer(one) | {"note": f"Konto {IBAN} von Waltraud"}
    made = compared(an_engine(), {target: json_answer(bank)}, [one])
    (plain,), (redacted,) = (suggested(replace(made, redacted=is_so)).cassettes.values() for is_so in (False, True))
    assert "{{ path['account-id'] }}" in plain
    assert "{{" not in redacted.partition("/note")[2].splitlines()[0]
    assert f"Konto {IBAN} von Waltraud" in redacted.partition("/note")[2]
