"""docs/openapi.yaml: valid, and complete."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator, validate
from tools.generate.openapi import bundled_document, text

from xs2a_sandbox.documents import yaml_reader


@pytest.fixture(scope="module")
def written() -> dict[str, Any]:
    return bundled_document()


def operations(written: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in written["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def test_the_document_is_valid(written: dict[str, Any]) -> None:
    validate(written, cls=OpenAPIV31SpecValidator)


def test_all_yaml_readers_read_the_same_document(written: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "openapi.yaml"
    file.write_text(text())
    assert yaml_reader.read(file).value == written


def test_every_documented_operation_is_in_the_document(written: dict[str, Any]) -> None:
    found = {(method, path) for method, path, _ in operations(written)}
    payments = [
        "/v1/payments/{product}/{paymentId}",
        "/v1/bulk-payments/sepa-credit-transfers/{paymentId}",
        "/v1/periodic-payments/sepa-credit-transfers/{paymentId}",
    ]
    documented = {
        ("POST", "/v1/consents"),
        ("GET", "/v1/consents/{consentId}"),
        ("GET", "/v1/consents/{consentId}/status"),
        ("DELETE", "/v1/consents/{consentId}"),
        ("GET", "/v1/accounts"),
        ("GET", "/v1/accounts/{account-id}"),
        ("GET", "/v1/accounts/{account-id}/balances"),
        ("GET", "/v1/accounts/{account-id}/transactions"),
        ("POST", "/v1/payments/sepa-credit-transfers"),
        ("POST", "/v1/payments/instant-sepa-credit-transfers"),
        ("POST", "/v1/payments/cross-border-credit-transfers"),
        ("POST", "/v1/bulk-payments/sepa-credit-transfers"),
        ("POST", "/v1/periodic-payments/sepa-credit-transfers"),
        *((method, path) for path in payments for method in ("GET", "DELETE")),
        *(("GET", f"{path}/status") for path in payments),
    }

    assert documented <= found
    assert len({operation["operationId"] for _, _, operation in operations(written)}) == len(found)


def test_an_operation_has_its_parameters_and_answers(written: dict[str, Any]) -> None:
    operation = written["paths"]["/v1/accounts/{account-id}/transactions"]["get"]
    parts = written["components"]
    named = [entry["$ref"].rpartition("/")[2] for entry in operation["parameters"] if "$ref" in entry]
    required = {name for name in named if parts["parameters"][name]["required"]}
    answer = parts["responses"][operation["responses"]["200"]["$ref"].rpartition("/")[2]]

    everywhere = ["PSU-IP-Address", "TPP-Redirect-URI", "TPP-Nok-Redirect-URI"]
    assert named == ["X-Request-ID", "Consent-ID", "bookingStatus", "dateFrom", "dateTo", *everywhere]
    assert required == {"X-Request-ID", "Consent-ID", "bookingStatus"}
    assert parts["parameters"]["bookingStatus"]["schema"]["enum"] == ["both", "booked", "pending", "information"]
    assert answer["content"]["application/json"]["schema"] == {
        "anyOf": [{"$ref": f"#/components/schemas/{name}"} for name in ("transactions", "transactions-both")]
    }
    assert sorted(operation["responses"]) == ["200", "400", "401", "403", "404", "413", "429", "500", "503", "504"]


def test_bodies_depend_on_the_product(written: dict[str, Any]) -> None:
    body = written["paths"]["/v1/bulk-payments/sepa-credit-transfers"]["post"]["requestBody"]

    assert body["content"]["application/json"]["schema"] == {
        "$ref": "#/components/schemas/bulk-payments.sepa-credit-transfers"
    }


def test_a_product_without_a_separate_path_is_an_enum(written: dict[str, Any]) -> None:
    operation = written["paths"]["/v1/payments/{product}/{paymentId}"]["get"]

    assert operation["parameters"][0]["schema"]["enum"] == [
        "sepa-credit-transfers",
        "instant-sepa-credit-transfers",
        "cross-border-credit-transfers",
    ]
    assert operation["responses"]["404"]["$ref"].endswith(".payment-unknown.product-unknown")
