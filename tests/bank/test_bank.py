import json

from tests.support.doors import limits
from tests.support.writing import ask, engine, rules
from xs2a_sandbox.bank import Bank, Banks
from xs2a_sandbox.cassette.index import Index, Lookup
from xs2a_sandbox.engine import Engine
from xs2a_sandbox.http import Headers


def body(answer):
    return json.loads(answer.body)


def test_the_first_rule_that_fits_answers(tmp_path):
    weak = {"id": "weak", "match": {"operation": "one"}, "respond": {"body": "weak"}}
    strong = {"id": "strong", "match": {"operation": "one", "query": {"a": "1"}}, "respond": {"body": "strong"}}
    bank = engine(tmp_path, rules(weak, strong))
    assert [body(ask(bank, "/v1/things/x" + query)) for query in ("?a=1", "?a=2")] == ["strong", "weak"]


def test_without_a_rule_the_operation_answers(tmp_path):
    assert body(ask(engine(tmp_path), "/v1/things/x")) == "one"


def test_a_rule_can_answer_with_an_error_of_the_table(tmp_path):
    spec = {"error": "internal", "values": {"reason": "for {{ path.thing }}"}}
    answer = ask(engine(tmp_path, rules({"id": "r", "match": {"operation": "one"}, "respond": spec})), "/v1/things/x")
    assert (answer.status, body(answer)) == (500, {"error": "internal", "text": "for x"})


def test_only_a_diagnosing_bank_says_what_came_nearest(tmp_path):
    sandbox = engine(tmp_path)
    assert "sandbox" in body(ask(sandbox, "/v1/thing"))
    silent = Bank(sandbox.interface, sandbox.schemas, diagnose=False)
    silenced = Engine(Banks(silent), sandbox.store, sandbox.testdata, limits=limits())
    assert "sandbox" not in body(ask(silenced, "/v1/thing"))


def test_what_is_offered_instead_is_said(tmp_path):
    answer = ask(engine(tmp_path), "/v1/things/x", "PATCH")
    assert body(answer)["error"] == "method-not-offered"
    assert Headers(answer.headers).get("Allow") == "GET"


def test_nothing_found_is_an_unknown_path(tmp_path):
    sandbox = engine(tmp_path)
    lookup = Index(sandbox.interface).find("GET", ("nowhere",))
    assert isinstance(lookup, Lookup)
    assert body(ask(sandbox, "/nowhere"))["error"] == "path-unknown"
