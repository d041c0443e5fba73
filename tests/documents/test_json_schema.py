"""Schemas: the values they accept, the errors about other values, and how they fill answers."""

from pathlib import Path

import pytest

from tests.contract import bodies, facts
from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.documents import Schemas
from xs2a_sandbox.documents.json_schema import bundled_schema
from xs2a_sandbox.errors import Unreadable


@pytest.fixture(scope="module")
def schemas() -> Schemas:
    return Schemas([bundled("schemas")])


# -- unlisted members


def test_unlisted_members_are_found(schemas: Schemas) -> None:
    body = bodies.payment(bodies.SEPA, extra=1, more={"deep": {"er": 1}})
    body["debtorAccount"]["colour"] = "red"
    consent = bodies.consent(access={"balances": [{"iban": facts.covered()}, {"iban": facts.covered(), "size": 1}]})

    assert sorted(schemas[bodies.SEPA].unlisted(body)) == ["/debtorAccount/colour", "/extra", "/more"]
    assert schemas["consent-request"].unlisted(consent) == ["/access/balances/1/size"]
    assert schemas[bodies.SEPA].unlisted([1]) == []


# -- places


def test_a_place_has_names_of_digits_as_they_are_written() -> None:
    document = {"testdata": 2, "accounts": {"01319918": {"iban": "AT51"}}}

    places = {complaint.pointer[:2] for complaint in bundled_schema("testdata").complaints(document)}

    assert places == {("accounts", "01319918")}


# -- files


def test_schema_names_are_listed_in_order() -> None:
    names = Schemas([bundled("schemas")]).names()

    assert {*bodies.PRODUCTS, "consent-request", "error"} <= set(names)
    assert names == sorted(names)


def test_earlier_directories_win(tmp_path: Path) -> None:
    (tmp_path / "error.schema.json").write_text('{"$id": "https://x.invalid/schemas/error.schema.json", "const": 1}')
    schemas = Schemas([tmp_path, bundled("schemas")])

    assert schemas["error"].accepts(1)
    assert schemas["consent-request"].accepts(bodies.consent())
    assert "nope" not in schemas
    with pytest.raises(KeyError):
        schemas["nope"]


def test_a_file_without_json_is_unreadable(tmp_path: Path) -> None:
    (tmp_path / "broken.schema.json").write_text("{")

    with pytest.raises(Unreadable, match=r"broken\.schema\.json"):
        Schemas([tmp_path])["broken"]
