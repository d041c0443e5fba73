"""Effects replace a handler that would refuse the request; the answer does not use the handler's values."""

import pytest

from tests.recording.learning.test_changes import ID
from tests.support.taping import taped
from tests.support.writing import SCHEMAS
from xs2a_sandbox.bank.handlers.table import NAMED
from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.cassette.dialect import layers
from xs2a_sandbox.documents.yaml_writer import write_exactly
from xs2a_sandbox.features.derive.learning.by_effects import by_effects
from xs2a_sandbox.features.derive.learning.recognised_exchange import recognise_exchanges


@pytest.mark.parametrize("base", ["xs2a-1.84", "berlin-group-1.3"])
@pytest.mark.parametrize(
    ("id", "target", "state"),
    [
        ("create-consent", "/v1/consents", "consents"),
        ("initiate-payment", "/v1/payments/sepa-credit-transfers", "payments"),
        ("initiate-bulk-payment", "/v1/bulk-payments/sepa-credit-transfers", "payments"),
        ("initiate-periodic-payment", "/v1/periodic-payments/sepa-credit-transfers", "payments"),
    ],
)
def test_nothing_of_the_handler_remains(base: str, id: str, target: str, state: str) -> None:
    interface = layers.read([[bundled("cassettes") / base]], SCHEMAS, NAMED)
    operations = interface.operations
    entry = taped(target, {}, "POST", headers=ID, body={"access": {}, "validUntil": "2020-01-01"})
    exchanges = recognise_exchanges(["tape, exchange 1"], [entry], interface)
    made = by_effects(operations[id], {}, exchanges, ids=None)
    assert "result." not in write_exactly(made)
    assert (made["handler"], made["with"]) == (None, None)
    assert made["effects"][0]["set"] == f"state.{state}[let.id]"
    assert made["effects"][1]["do"] == "begin-authorisation"


def test_a_past_date_is_accepted_only_if_the_bank_has_accepted_one() -> None:
    interface = layers.read([[bundled("cassettes") / "xs2a-1.84"]], SCHEMAS, NAMED)
    own = interface.operations["create-consent"]
    until = {}
    for day in ("2020-01-01", "2999-01-01"):
        entry = taped("/v1/consents", {}, "POST", headers=ID, body={"access": {}, "validUntil": day})
        made = by_effects(own, {}, recognise_exchanges(["tape, exchange 1"], [entry], interface), ids=None)
        until[day] = made["effects"][0]["to"]["valid_until"]
    assert until["2020-01-01"] != until["2999-01-01"] == "{{ body.validUntil or today(90) }}"


@pytest.mark.parametrize(("ids", "id"), [(None, "{{ uuid() }}"), ("C-{digits:6}", "{{ new_id('C-{digits:6}') }}")])
def test_ids_have_the_form_of_the_bank(ids: str | None, id: str) -> None:
    interface = layers.read([[bundled("cassettes") / "xs2a-1.84"]], SCHEMAS, NAMED)
    own = interface.operations["create-consent"]
    entry = taped("/v1/consents", {}, "POST", headers=ID, body={"access": {}})
    exchanges = recognise_exchanges(["tape, exchange 1"], [entry], interface)
    assert by_effects(own, {}, exchanges, ids)["let"]["id"] == id
