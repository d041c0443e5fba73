"""Differences of an operation from the documented one, and unexplained differences."""

from typing import Any

from tests.recording.learning.test_courses import learned as courses_of
from tests.recording.learning.test_recognised_exchange import INTERFACE, OPERATIONS
from tests.support.taping import taped
from tests.support.writing import SCHEMAS
from xs2a_sandbox.bank.handlers.table import NAMED
from xs2a_sandbox.features.derive.learning.changes import OperationChange, change
from xs2a_sandbox.features.derive.learning.recognised_exchange import recognise_exchanges
from xs2a_sandbox.http.exchange import Exchange

ID = [("X-Request-ID", "99391c7e-ad88-49ec-a2ad-99ddcb1f7721"), ("PSU-IP-Address", "192.0.2.1")]


def learned(operation: str, *entries: Exchange) -> OperationChange:
    """Return the change of an operation, learned from all of its recorded exchanges."""
    places = [f"tape, exchange {number}" for number in range(1, len(entries) + 1)]
    exchanges = recognise_exchanges(places, entries, INTERFACE)
    makers = {id: one for one in exchanges for id in one.made.values()}
    (own,) = (one for one in OPERATIONS if one.id == operation)
    of_it = [one for one in exchanges if one.operation is own]
    return change(own, of_it, makers, NAMED, courses_of(*entries), SCHEMAS)


def status(target: str = "/v1/consents/c-000001/status", **changes: Any) -> Exchange:
    return taped(target, {"consentStatus": "valid"}, **{"headers": ID, **changes})


def test_another_version_is_a_different_path() -> None:
    assert learned("consent-status", status("/b/v3/consents/c-000001/status")).value["path"] == (
        "/v3/consents/{consentId}/status"
    )
    assert "path" not in learned("consent-status", status("/b/v1/consents/c-000001/status")).value


def test_two_versions_of_one_operation_are_reported() -> None:
    made = learned("consent-status", status(), status(), status("/v3/consents/c-000001/status"))
    assert "path" not in made.value
    assert made.unknown == [
        "consent-status also has the path /v3/consents/{consentId}/status; "
        "the dialect answers only /v1/consents/{consentId}/status"
    ]


def test_a_product_of_the_bank_is_added_to_the_documented_ones() -> None:
    entry = taped("/v1/payments/giro/p-000001/status", {"transactionStatus": "RCVD"}, headers=ID)
    payments, others = learned("payment-status", entry).value["where"]
    assert payments["product"][-1] == "giro"
    assert "giro" not in str(others)


def test_a_header_missing_from_an_answered_request_is_not_required() -> None:
    assert learned("consent-status", status(headers=[])).value["require"] == {"headers": {"X-Request-ID": None}}
    assert "require" not in learned("consent-status", status()).value
    refused = status(headers=[], status=400)
    assert "require" not in learned("consent-status", refused, status()).value


def test_a_general_requirement_is_removed_for_one_operation() -> None:
    entry = status(headers=[ID[0], ("PSU-IP-Address", "unknown")])
    lifted = learned("consent-status", entry).value["require"]["headers"]["psu-ip-address"]
    assert lifted == {"any": [{"absent": True}, {"exists": True}]}


def test_a_body_that_fits_no_schema_is_not_required() -> None:
    entry = taped("/v1/consents", {"consentId": "c", "consentStatus": "received"}, "POST", headers=ID, body={"a": 1})
    assert learned("create-consent", entry).value["require"]["body"] is None


def test_status_headers_and_links_are_taken_from_the_bank() -> None:
    answer = {"consentId": "c-000001", "consentStatus": "received", "_links": {"self": "/b/v1/consents/c-000001"}}
    headers = [
        ("Content-Type", "application/json"),
        ("Location", "https://xs2a.bank.example/psd2/v1/consents/c-000001"),
    ]
    entry = taped("/v1/consents", answer, "POST", status=201, headers=ID, body={"a": 1}, answer_headers=headers)
    (respond,) = learned("create-consent", entry).value["respond"]
    assert respond["status"] == 201
    assert respond["headers"] == {"Location": "{{ session.url }}/psd2/v1/consents/{{ result.id }}"}
    assert respond["body"]["_links"] == {"self": "/b/v1/consents/{{ result.id }}"}


def test_data_keep_the_documented_shape_but_show_nulls_like_the_bank() -> None:
    (bare,) = learned("account-list", taped("/v1/accounts", {"accounts": [{"iban": "x"}]}, headers=ID)).value["respond"]
    assert bare == {"nulls": "drop", "body": {"accounts": {"each": "{{ result.accounts }}", "shape": "account"}}}
    document = learned("account-list", taped("/v1/accounts", {"accounts": [{"bic": None}]}, headers=ID))
    assert "respond" not in document.value


def test_an_unexplained_second_status_is_reported() -> None:
    made = learned("consent-status", status(), status(), status(status=203))
    assert made.value["respond"][0]["status"] == 200
    assert made.unknown == ["consent-status also answered 203 (tape, exchange 3), for unknown reasons"]
