"""MT940 and MT942 are redacted field by field, and a program for them can read the result."""

import mt940
import pytest

from xs2a_sandbox.redaction.account_statement import is_statement, redact_statement
from xs2a_sandbox.redaction.rules import DEFAULT, RedactionRules
from xs2a_sandbox.redaction.values import ValueRedactor

KEY = b"k" * 32
IBAN = "AT611904300234573201"
MT940 = """{1:F01BKAUATWWAXXX4711081547}{2:I940BKAUATWWXXXXN}{4:
:20:AUSZUG4711-0815
:21:NONREF
:25:AT611904300234573201EUR
:28C:00012/001
:60F:C261119EUR1045,56
:61:2611201120D12,50NTRFNONREF//2026112010583450
ANNA GRUENWALD
:86:177?00SEPA-UEBERWEISUNG?109310?20EREF+NOTPROVIDED?21MREF+MANDAT-4
711-0815?22SVWZ+Miete November fuer An?23na Gruenwald?24IBAN+AT6119043002
34573201?30BKAUATWW?31AT611904300234573201?32Anna Gruen?33wald?34997
:61:2611211121CR1000,00NMSCKREF+4711081547
:86:/EREF/E2E-4711-0815/NAME/Anna Gruenwald/IBAN/AT611904300234573201/RE
MI/Spende fuer Anna
:62F:C261121EUR2033,06
:64:C261121EUR2033,06
:65:C261122EUR2033,06
:86:Schlusstext fuer Anna Gruenwald, Konto AT6119043002
34573201
-}
"""
MT942 = """:20:UMSATZ4711-0815
:25:12000/00234573201
:28C:3/1
:34F:EURD0,01
:34F:EURC0,02
:13D:2611201205+0100
:61:2611201120D12,50NTRFNONREF
:86:Anna Gruenwald
:90D:1EUR12,50
:90C:0EUR0,00
-
"""


def redacted(text: str, rules: RedactionRules = DEFAULT) -> str:
    return redact_statement(text, ValueRedactor(KEY, rules), rules)


def pseudonym(name: str, text: str) -> str:
    return ValueRedactor(KEY, DEFAULT).member(name, text)


@pytest.mark.parametrize("text", [MT940, MT942, MT940.replace("\n", "\r\n")])
def test_amounts_dates_balances_and_structure_are_kept(text: str) -> None:
    new = redacted(text)
    for field in (
        *(":21:NONREF", ":28C:00012/001", ":60F:C261119EUR1045,56", ":62F:C261121EUR2033,06", ":64:C261121EUR2033,06"),
        *(":61:2611201120D12,50NTRFNONREF", ":61:2611211121CR1000,00NMSCKREF+", ":65:C261122EUR2033,06"),
        *(":28C:3/1", ":34F:EURD0,01", ":34F:EURC0,02", ":13D:2611201205+0100", ":90D:1EUR12,50", ":90C:0EUR0,00"),
        *(":86:177?00SEPA-UEBERWEISUNG?10", "?20EREF+NOTPROVIDED?21MREF+", "?22SVWZ+", "?24IBAN+", "?30BKAUATWW?31"),
        *("?32", "?33", "?34997", "/EREF/", "/NAME/", "/IBAN/", "{1:F01", "{2:I940", "{4:", "-}"),
    ):
        assert (field in new) == (field in text), field
    assert [len(line) for line in new.split("\n")] == [len(line) for line in text.split("\n")]


@pytest.mark.parametrize("text", [MT940, MT942, MT940.replace("\n", "\r\n")])
def test_accounts_names_purposes_and_references_are_replaced(text: str) -> None:
    new = redacted(text)
    joined = new.replace("\r", "").replace("\n", "")
    for secret in (
        *("Anna", "ANNA", "Gruen", "GRUENWALD", "Miete", "Spende", IBAN, "00234573201", "4711", "0815", "10583450"),
        *("BKAUATWWAXXX", "Schlusstext"),
    ):
        assert secret not in joined.replace("?30BKAUATWW?31", ""), secret


def test_a_value_has_the_same_pseudonym_as_in_json() -> None:
    new = redacted(MT940).replace("\n", "")
    iban = pseudonym("iban", IBAN)
    assert f":25:{iban}EUR" in new
    assert f"?31{iban}?32" in new
    assert f"?24IBAN+{iban}?30" in new
    name = pseudonym("name", "Anna Gruenwald")
    assert f"?32{name[:10]}?33{name[10:]}?34" in new
    assert f"/NAME/{name}/IBAN/{iban}/REMI/{pseudonym('remittance', 'Spende fuer Anna')}" in new
    purpose = pseudonym("remittance", "Miete November fuer Anna Gruenwald")
    assert f"SVWZ+{purpose[:22]}?23{purpose[22:]}?24" in new


@pytest.mark.parametrize("text", [MT940, MT942])
def test_a_program_for_statements_can_read_it(text: str) -> None:
    before, after = (mt940.parse(one) for one in (text, redacted(text)))
    assert len(after) == len(before) > 0
    for one, two in zip(before, after, strict=True):
        for name in ("amount", "date", "entry_date", "id", "currency", "status"):
            assert two.data.get(name) == one.data.get(name), name
    assert {str(after.data[name]) for name in after.data if "balance" in name} == {
        str(before.data[name]) for name in before.data if "balance" in name
    }
    if text == MT940:
        assert pseudonym("name", "Anna Gruenwald") in after[0].data["applicant_name"]
        assert len(after[0].data["purpose"]) == len(before[0].data["purpose"]) > 0


@pytest.mark.parametrize(
    "field",
    [
        ":60F:C264719EUR1045,56",
        ":60F:C261119EUR4711081547110,5610",
        ":28C:4711081547",
        ":13D:9347081547+0100",
        ":61:9347081547D12,50NTRFNONREF",
        ":34F:EURD4711081547110815,00",
        ":99:4711081547",
        ":NS:4711081547",
    ],
)
def test_an_invalid_field_is_replaced(field: str) -> None:
    new = redacted(f":20:X\n:25:1\n{field}\n:61:2611201120D12,50NTRFNONREF\n-\n")
    assert "4711081547" not in new
    assert "9347081547" not in new
    assert field not in new
    assert ":61:2611201120D12,50NTRFNONREF" in new


def test_text_between_the_fields_is_replaced() -> None:
    new = redacted(f"Anna Gruenwald\n{MT942}{{5:{{MAC:47110815}}}}\n")
    assert "Anna" not in new
    assert "47110815" not in new
    assert redacted(f"{MT942}{MT942}") == redacted(MT942) * 2


def test_a_statement_is_recognised() -> None:
    assert is_statement(MT940)
    assert is_statement(MT942)
    assert not is_statement("20: Anna\n25: x")
    assert not is_statement('{"a": ":20:"}')


def test_rules_name_fields_by_their_tags() -> None:
    new = redacted(MT942, RedactionRules(members={"86": "keep", "25": "drop"}))
    assert ":86:Anna Gruenwald\n" in new
    assert ":25:dropped\n" in new
