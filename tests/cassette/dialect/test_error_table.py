import json

from tests.support.writing import BANK, ask, engine, problems
from xs2a_sandbox.cassette.dialect.error_table import CHECK_ERRORS, ENGINE_ERRORS, default_errors


def test_the_bundled_dialect_defines_all_errors_of_the_sandbox():
    assert default_errors().keys() >= ENGINE_ERRORS | CHECK_ERRORS


def test_errors_of_the_sandbox_are_optional(tmp_path):
    bank = {key: value for key, value in BANK.items() if key != "errors"}
    answer = ask(engine(tmp_path, bank=bank), "/nowhere")
    assert answer.status == 404
    assert json.loads(answer.body)["error"] == "path-unknown"


def test_a_dialect_must_define_the_errors_of_its_handlers(tmp_path):
    operation = {"id": "c", "method": "GET", "path": "/v1/consents/{consentId}", "handler": "consents.status"}
    operation["input"] = {"consent": "{{ path.consentId }}"}
    bank = {**BANK, "errors": {}, "operations": [{**operation, "respond": {"body": "{{ result }}"}}]}
    (problem,) = problems(tmp_path, bank=bank)
    assert problem.code == "incomplete"
    assert problem.text == "the cassettes do not define the errors that consents.status raises: consent-unknown"


def test_an_unused_error_is_reported_if_its_name_resembles_a_raised_one(tmp_path):
    operation = {"id": "c", "method": "GET", "path": "/v1/consents/{consentId}", "handler": "consents.status"}
    errors = {
        "consent-unknwon": {"status": 404, "code": "C", "text": "t"},
        "mine": {"status": 404, "code": "C", "text": "t"},
    }
    bank = {**BANK, "errors": errors, "operations": [{**operation, "respond": {"body": "{{ result }}"}}]}
    texts = [problem.text for problem in problems(tmp_path, bank=bank)]
    assert "nothing raises the error 'consent-unknwon'; did you mean consent-unknown?" in texts
    assert not [text for text in texts if "mine" in text]
