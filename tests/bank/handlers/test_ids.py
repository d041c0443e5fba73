"""Formats of ids: as an option for new ids, and learned from a bank's ids."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.doors import limits
from tests.support.engine_client import Client, bundled_engine
from xs2a_sandbox.bank import Bank, Banks, testdata
from xs2a_sandbox.bank.handlers.ids import form_of
from xs2a_sandbox.bank.handlers.table import NAMED
from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.cassette.dialect import layers
from xs2a_sandbox.engine import Engine, Parts
from xs2a_sandbox.state import MemoryStore

FORMS = [
    ("{uuid}", "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"),
    ("{digits:12}", "[0-9]{12}"),
    ("{hex:32}", "[0-9a-f]{32}"),
    ("C-{capitals:10}", "C-[0-9A-Z]{10}"),
    ("{base64url:22}", "[A-Za-z0-9_-]{22}"),
    ("{base64url:64}.x", r"[A-Za-z0-9_-]{64}\.x"),
]
CONSENT = {
    "access": {"allPsd2": "allAccounts"},
    "recurringIndicator": True,
    "validUntil": "9999-12-31",
    "frequencyPerDay": 4,
    "combinedServiceIndicator": False,
}
PAYMENT = {
    "debtorAccount": {"iban": "DE47999888770000200002"},
    "instructedAmount": {"currency": "EUR", "amount": "1.00"},
    "creditorAccount": {"iban": "DE65999777660000001000"},
    "creditorName": "Berta",
}
CREATORS = ("consents.create", "payments.initiate", "baskets.create")


def bank(folder: Path, form: str) -> Client:
    """Return a bank whose ids all have this format."""
    dialect = folder / "cassettes" / "formed"
    dialect.mkdir(parents=True, exist_ok=True)
    options = "".join(f"    {name}: {{ids: '{form}'}}\n" for name in CREATORS)
    (dialect / "ids.yaml").write_text(
        f"cassette: 1\nextends: berlin-group-1.3\nauthorisation: {{authorisation_ids: '{form}'}}\n"
        f"changes:\n  options:\n{options}"
    )
    data = testdata.load([bundled("cassettes") / "berlin-group-1.3" / "testdata.yaml"])
    schemas = bundled_engine().schemas
    interface = layers.read([[dialect]], schemas, NAMED)
    return Client(Engine(Parts(Banks(Bank(interface, schemas)), MemoryStore(), data, limits=limits())))


@pytest.mark.parametrize(("form", "pattern"), FORMS)
def test_ids_have_the_format_and_are_recognised_by_it(form: str, pattern: str, tmp_path: Path) -> None:
    client = bank(tmp_path, form)
    headers = {"PSU-ID": "oskar", "TPP-Redirect-Preferred": "false"}
    consent = client.post("/v1/consents", json=CONSENT, headers=headers)
    payment = client.post("/v1/payments/sepa-credit-transfers", json=PAYMENT)
    basket = client.post("/v1/signing-baskets", json={"paymentIds": [payment.json()["paymentId"]]})
    made: list[tuple[Any, str]] = [(consent, "consentId"), (payment, "paymentId"), (basket, "basketId")]
    for answer, name in made:
        assert answer.status == 201, answer.body
        assert re.fullmatch(pattern, answer.json()[name])
        assert client.get(answer.json()["_links"]["self"]["href"]).status == 200
    own = consent.json()["_links"]["scaStatus"]["href"]
    assert re.fullmatch(pattern, own.rpartition("/")[2])
    password = {"psuData": {"password": "ostwind"}}
    assert client.request("PUT", own, json=password, headers=headers).status == 200
    ended = client.request("PUT", own, json={"scaAuthenticationData": "222222"}, headers=headers)
    assert ended.json()["scaStatus"] == "finalised"


def test_uuids_are_case_insensitive_and_other_ids_are_not(tmp_path: Path) -> None:
    client = bank(tmp_path, "{uuid}")
    path, _, id = client.post("/v1/consents", json=CONSENT).headers["location"].rpartition("/")
    assert client.get(f"{path}/{id.upper()}").status == 200
    client = bank(tmp_path, "X-{capitals:10}")
    path, _, id = client.post("/v1/consents", json=CONSENT).headers["location"].rpartition("/")
    assert (client.get(f"{path}/{id}").status, client.get(f"{path}/{id.lower()}").status) == (200, 403)


def test_no_id_is_used_twice(tmp_path: Path) -> None:
    client = bank(tmp_path, "{digits:4}")
    ids = [client.post("/v1/consents", json=CONSENT).json()["consentId"] for _ in range(300)]
    assert len(set(ids)) == 300


@pytest.mark.parametrize(
    ("ids", "form"),
    [
        (["3d9a81b3-a47d-4130-8765-a9c0ff861b01"], "{uuid}"),
        (["PAY-3d9a81b3-a47d-4130-8765-a9c0ff861b01"], "PAY-{uuid}"),
        (["300123456", "300123457"], "{digits:9}"),
        (["CON-0017", "CON-0018"], "CON-{digits:4}"),
        (["0f" * 16], "{hex:32}"),
        (["9A7F3K", "1B2C3D"], "{capitals:6}"),
        (["Ab_dEfGh12-4567890xyzQ", "Zb_dEfGh12-4567890xyzQ"], "{base64url:22}"),
        (["123", "456"], None),
        (["1234", "12345"], None),
        (["some/thing"], None),
    ],
)
def test_the_format_is_learned(ids: list[str], form: str | None) -> None:
    assert form_of(ids) == form
