"""Test data that no request reaches."""

from pathlib import Path

from tests.support.engine_client import bundled_engine
from xs2a_sandbox.bank import loading
from xs2a_sandbox.bank.testdata import overlay
from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.config import Settings
from xs2a_sandbox.features.authoring.lint import check, find_unused

BUNDLED = bundled("cassettes") / "testdata.yaml"
ACCOUNT = """\
  AT051988000099000011:
    currency: EUR
    name: Greta Moser
    product: Girokonto
    bic: SANDATWWXXX
    psuId: anna
    balances:
      - {amount: {amount: "1.00", currency: EUR}, type: FWAV, reference_date: "2026-01-31"}
"""
ENTRY = '{id: T-1, amount: {amount: "-1.00", currency: EUR}, code: X, booked_on: "2026-01-01", value_on: "2026-01-01", creditor_name: a, creditor_account: {iban: AT051988000099000011}, debtor_name: b, debtor_account: {iban: AT051988000099000011}, creditor_id: "", remittance: c}'  # noqa: E501
PAYMENT = '{kind: single, service: SERVICE, product: instant-sepa-credit-transfers, status: ACSP, debtor: {account: AT459880000010204711}, amount: &amount {amount: "1.00", currency: EUR}, parts: [{amount: *amount, creditor: {name: a, account: {iban: AT459880000010204711}}}]}'  # noqa: E501


def unused_in(tmp_path: Path, text: str) -> list[str]:
    file = tmp_path / "mine.yaml"
    file.write_text("testdata: 2\n" + text)
    over = overlay([BUNDLED, file])
    assert [str(p) for p in over.problems] == []
    problems = find_unused(over, bundled_engine().interface)
    assert {p.code for p in problems} <= {"unused-testdata"}
    return [f"{p.line}:{p.column} {p.text}" for p in problems]


def test_the_bundled_test_data_has_no_unused_parts() -> None:
    assert find_unused(overlay([BUNDLED]), bundled_engine().interface) == []


def test_a_null_that_removes_nothing_is_reported(tmp_path: Path) -> None:
    said = "this removes nothing: there is no AT051988000099000011 in accounts"
    assert unused_in(tmp_path, "accounts: {AT051988000099000011: null}\n") == [f"2:12 {said}"]
    assert unused_in(tmp_path, "payments: {0B6E4D1A-73C8-4F52-9A0E-18D5C7B2F301: null}\n") == []


def test_a_customer_without_an_account_is_reported(tmp_path: Path) -> None:
    customer = 'psus: {greta: {name: Greta, password: a, otp: "1", methods: []}}\n'
    assert unused_in(tmp_path, customer) == ["2:8 the customer greta has no account and cannot sign for one"]
    assert unused_in(tmp_path, customer + "accounts:\n" + ACCOUNT.replace("anna", "greta")) == []
    assert unused_in(tmp_path, customer + "accounts:\n" + ACCOUNT + "    signatories: [anna, greta]\n") == []


def test_a_duplicate_entry_id_is_reported(tmp_path: Path) -> None:
    entries = f"    entries:\n      booked:\n        - {ENTRY}\n      pending:\n        - {ENTRY}\n"
    assert unused_in(tmp_path, "accounts:\n" + ACCOUNT + entries) == [
        "15:16 another entry of this account also has the id T-1; change one of them"
    ]
    other = entries.replace("T-1", "T-2", 1)
    assert unused_in(tmp_path, "accounts:\n" + ACCOUNT + other) == []


def test_a_payment_that_no_operation_reads_is_reported(tmp_path: Path) -> None:
    text = f"payments: {{0b6e4d1a-73c8-4f52-9a0e-18d5c7b2f399: {PAYMENT}}}\n"
    (said,) = unused_in(tmp_path, text.replace("SERVICE", "periodic-payments"))
    assert said.endswith("no operation reads periodic-payments of the product instant-sepa-credit-transfers")
    assert unused_in(tmp_path, text.replace("SERVICE", "payments")) == []


def test_configured_test_data_that_are_named_too_are_read_once(tmp_path: Path) -> None:
    """Otherwise a null in them would remove something in the first reading, and nothing in the second."""
    file = tmp_path / "mine.yaml"
    file.write_text("testdata: 2\nconsents: {9d3c41b2-5f0e-4c6a-8b1d-2e7f60a4c911: null}\n")
    settings = Settings(testdata=file)
    assert check(settings, [file]) == check(settings)
    assert loading.data_files(settings, [file]) == loading.data_files(settings)
