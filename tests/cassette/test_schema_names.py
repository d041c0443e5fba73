from tests.support.engine_client import bundled_engine
from xs2a_sandbox.cassette.schema_names import answer_schemas, fill_name, names_by_status, possible_names


def test_a_name_with_the_paths_parameters():
    assert fill_name("payments/{product}", {"product": "sepa", "id": "7"}) == "payments/sepa"
    assert fill_name("consent", {"product": "sepa"}) == "consent"


def test_all_that_a_name_can_become():
    operation = bundled_engine().interface.operations["initiate-payment"]
    names = possible_names("payments/{product}", operation)
    assert "payments/sepa-credit-transfers" in names
    assert names == sorted(names)
    assert possible_names("consent", operation) == ["consent"]
    assert possible_names("payments/{product}", None) == ["payments/{product}"]
    assert possible_names(None, operation) == []


def test_an_answer_has_the_schema_of_its_status_else_that_of_errors():
    operation = bundled_engine().interface.operations["consent-status"]
    names = names_by_status(operation, None)
    assert answer_schemas(operation, 200, "error") == [names["200"]]
    assert answer_schemas(operation, 404, "error") == ["error"]
    assert answer_schemas(operation, 404, None) == []
    assert answer_schemas(None, 200, "error") == []


def test_a_rule_has_the_names_of_its_operation_unless_it_says_some():
    interface = bundled_engine().interface
    operation, other = interface.operations["consent-status"], interface.operations["payment-status"]
    assert names_by_status(operation, other) == operation.behaviour.answers
    rule = next(rule for rule in interface.rules if rule.behaviour.answers is None)
    assert names_by_status(rule, operation) == operation.behaviour.answers
    assert names_by_status(rule, None) == {}
