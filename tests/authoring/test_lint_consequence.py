"""A new case and its effect on other cases."""

from pathlib import Path

import pytest

from tests.support.linting import settings
from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.features.authoring.lint import check
from xs2a_sandbox.features.authoring.new_case import write


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


TAX = """\
cassette: 1
rules:
  - {id: other, match: {path: /other}, respond: {status: 404, text: a}}
  - id: tax
    match: {operation: initiate-payment, body: {/creditorName: {prefix: Tax}}}
    respond: {status: 403, text: call the desk}
    examples:
      - request:
          where: {product: sepa-credit-transfers}
          body:
            debtorAccount: {iban: AT459880000010204711}
            instructedAmount: {amount: "1.00", currency: EUR}
            creditorAccount: {iban: AT459880000010204711}
            creditorName: Tax Office
        expect: {status: 403}
"""


def test_a_new_case_must_not_answer_the_example_of_another_case(tmp_path: Path, here: Path) -> None:
    file = here / "cassettes/cases/tax.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(TAX)

    with pytest.raises(UserMistake) as refused:
        write(settings(tmp_path), "POST", "/v1/payments/sepa-credit-transfers", 401)

    first, second, third = str(refused.value).splitlines()
    assert first == "nothing written:"
    assert second.startswith(f"  {file}:8:9: this example of tax would fail: the status is 401, not 403")
    assert third.endswith("or give those rules a higher priority")
    assert list(here.rglob("*.yaml")) == [file]
    file.write_text(TAX.replace("- id: tax", "- id: tax\n    priority: 1"))
    write(settings(tmp_path), "POST", "/v1/payments/sepa-credit-transfers", 401)
    assert check(settings(tmp_path), []) == []


def test_an_existing_problem_does_not_prevent_a_new_case(tmp_path: Path, here: Path) -> None:
    file = here / "cassettes/cases/tax.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(TAX.replace("expect: {status: 403}", "expect: {status: 409}"))
    write(settings(tmp_path), "POST", "/v1/payments/sepa-credit-transfers", 401)
    assert [p.file for p in check(settings(tmp_path), [])] == [file]
