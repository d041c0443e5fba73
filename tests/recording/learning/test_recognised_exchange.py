"""Recorded requests are assigned to their operation, whatever the bank's prefix."""

import pytest

from tests.support.taping import taped
from tests.support.writing import SCHEMAS
from xs2a_sandbox.bank.handlers.table import NAMED
from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.cassette.dialect import layers
from xs2a_sandbox.features.derive.learning.recognised_exchange import RecognisedExchange, recognise_exchanges
from xs2a_sandbox.http.exchange import Exchange

INTERFACE = layers.read([[bundled("cassettes") / "xs2a-1.84"]], SCHEMAS, NAMED)
OPERATIONS = INTERFACE.operations.values()


def one(entry: Exchange) -> RecognisedExchange:
    (only,) = recognise_exchanges(["a.har.jsonl, exchange 1"], [entry], INTERFACE)
    return only


@pytest.mark.parametrize(
    ("target", "operation", "path"),
    [
        ("/v1/accounts", "account-list", "/v1/accounts"),
        ("/psd2/v1/accounts?withBalance=true", "account-list", "/v1/accounts"),
        ("/v1/berlin-group/v1/accounts/1/balances", "account-balances", "/v1/accounts/{account-id}/balances"),
        ("/bank/v3/accounts/a/balances", "account-balances", "/v3/accounts/{account-id}/balances"),
        ("/bank/v1.3.4/consents/c/status", "consent-status", "/v1.3.4/consents/{consentId}/status"),
        ("/open/consents/c/status", "consent-status", "/open/consents/{consentId}/status"),
        ("/v2/payments/giro/p/status", "payment-status", "/v2/{service}/{product}/{paymentId}/status"),
        ("/v1/payments/giro/p", "payment-record", "/v1/{service}/{product}/{paymentId}"),
    ],
)
def test_an_operation_is_recognised_by_the_end_of_its_path(target: str, operation: str, path: str) -> None:
    recognised = one(taped(target))
    assert recognised.operation is not None
    assert (recognised.operation.id, recognised.path) == (operation, path)


@pytest.mark.parametrize("target", ["/v1/konten", "/branches", "/v1/loans/giro/p", "/v1/accounts/a/b/c"])
def test_an_unknown_path_has_no_operation(target: str) -> None:
    assert one(taped(target)).operation is None


def test_an_answer_that_contains_a_new_id_has_created_the_resource() -> None:
    assert one(taped("/v1/consents", {"consentId": "c-1"}, "POST", status=201)).made == {"consent": "c-1"}
    assert one(taped("/v1/consents/c-1", {"consentId": "c-1"}, "PUT")).made == {}
    assert one(taped("/v1/consents", {"consentId": "c-1"}, "POST", status=400)).made == {}
    assert one(taped("/v1/consents/c-1/authorisations", {"consentId": "c-1", "authorisationId": "a"}, "POST")).made == {
        "authorisation": "a"
    }
