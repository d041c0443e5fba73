"""XML is redacted element by element, and programs for account statements can read the result."""

import re

import pytest
from lxml import etree
from pycamt.parser import Camt053Parser

from xs2a_sandbox.http.xml import parse_xml
from xs2a_sandbox.redaction.rules import DEFAULT, PathRule, RedactionRules
from xs2a_sandbox.redaction.values import ValueRedactor
from xs2a_sandbox.redaction.xml_document import redact_xml, spell_out

KEY = b"k" * 32
IBAN = "AT611904300234573201"
CAMT = """<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.02"
 xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
 xsi:schemaLocation="urn:iso:std:iso:20022:tech:xsd:camt.053.001.02 camt.053.001.02.xsd">
  <!-- for Anna Grünwald -->
  <BkToCstmrStmt>
    <GrpHdr><MsgId>053D4711-ANNA</MsgId><CreDtTm>2026-11-20T22:05:03.0+01:00</CreDtTm>
      <MsgPgntn><PgNb>1</PgNb><LastPgInd>true</LastPgInd></MsgPgntn></GrpHdr>
    <Stmt>
      <Id>STMT-081547110815</Id><ElctrncSeqNb>42</ElctrncSeqNb><LglSeqNb>12</LglSeqNb>
      <CreDtTm>2026-11-20T22:05:03.0+01:00</CreDtTm>
      <FrToDt><FrDtTm>2026-11-19T00:00:00</FrDtTm><ToDtTm>2026-11-20T00:00:00</ToDtTm></FrToDt>
      <Acct><Id><IBAN>AT611904300234573201</IBAN></Id><Ccy>EUR</Ccy><Ownr><Nm>Anna Grünwald</Nm></Ownr>
        <Svcr><FinInstnId><BIC>BKAUATWW</BIC></FinInstnId></Svcr></Acct>
      <Bal><Tp><CdOrPrtry><Cd>CLBD</Cd></CdOrPrtry></Tp><Amt Ccy="EUR">1033.06</Amt><CdtDbtInd>CRDT</CdtDbtInd>
        <Dt><Dt>2026-11-20</Dt></Dt></Bal>
      <TxsSummry><TtlNtries><NbOfNtries>1</NbOfNtries><Sum>12.50</Sum></TtlNtries></TxsSummry>
      <Ntry>
        <Amt Ccy="EUR">12.50</Amt><CdtDbtInd>DBIT</CdtDbtInd><RvslInd>false</RvslInd><Sts>BOOK</Sts>
        <BookgDt><Dt>2026-11-20</Dt></BookgDt><ValDt><Dt>2026-11-21</Dt></ValDt>
        <AcctSvcrRef>2026112010583450000</AcctSvcrRef>
        <BkTxCd><Domn><Cd>PMNT</Cd><Fmly><Cd>ICDT</Cd><SubFmlyCd>ESCT</SubFmlyCd></Fmly></Domn>
          <Prtry><Cd>NTRF+177+9310+997</Cd><Issr>DK</Issr></Prtry></BkTxCd>
        <NtryDtls><TxDtls>
          <Refs><EndToEndId>NOTPROVIDED</EndToEndId><MndtId>MANDAT-4711-0815</MndtId></Refs>
          <RltdPties>
            <Dbtr><Nm>Anna Grünwald</Nm><PstlAdr><StrtNm>Würfelmachergasse</StrtNm><BldgNb>12</BldgNb>
              <PstCd>1010</PstCd><TwnNm>Kleinpöchtal</TwnNm><Ctry>AT</Ctry><AdrLine>Stiege 3</AdrLine></PstlAdr></Dbtr>
            <Cdtr><Nm>Jörg O&#39;Brady &amp; Söhne</Nm>
              <Id><PrvtId><DtAndPlcOfBirth><BirthDt>1968-04-17</BirthDt></DtAndPlcOfBirth></PrvtId></Id></Cdtr>
            <CdtrAcct><Id><Othr><Id>00234573201</Id></Othr></Id></CdtrAcct>
          </RltdPties>
          <Purp><Cd>SALA</Cd></Purp>
          <RmtInf><Ustrd>Miete November für Anna</Ustrd><Ustrd>Konto AT611904300234573201</Ustrd></RmtInf>
        </TxDtls></NtryDtls>
        <AddtlNtryInf>Überweisung an Anna</AddtlNtryInf>
      </Ntry>
    </Stmt>
  </BkToCstmrStmt>
</Document>
"""
"""An account statement."""


def redacted(text: str | bytes, rules: RedactionRules = DEFAULT) -> str:
    body = text.encode() if isinstance(text, str) else text
    return redact_xml(body, ValueRedactor(KEY, rules), rules).decode()


def values(text: str, name: str) -> list[str]:
    return [str(one.text) for one in etree.fromstring(text.encode()).iter(f"{{*}}{name}")]


def test_amounts_dates_and_codes_are_kept() -> None:
    new = redacted(CAMT)
    for name in (
        *("Amt", "Sum", "NbOfNtries", "CdtDbtInd", "RvslInd", "Sts", "Dt", "CreDtTm", "FrDtTm", "Ccy", "BIC", "PgNb"),
        *("Cd", "SubFmlyCd", "Issr", "LastPgInd", "ElctrncSeqNb", "LglSeqNb", "Ctry", "EndToEndId"),
    ):
        assert values(CAMT, name), name
        assert values(new, name) == values(CAMT, name), name


def test_accounts_names_purposes_and_ids_are_replaced() -> None:
    new = redacted(CAMT)
    for name in (
        *("MsgId", "IBAN", "Nm", "StrtNm", "BldgNb", "PstCd", "TwnNm", "AdrLine", "BirthDt", "Ustrd", "AddtlNtryInf"),
        *("AcctSvcrRef", "MndtId"),
    ):
        pairs = list(zip(values(CAMT, name), values(new, name), strict=True))
        assert pairs, name
        assert all(one != two for one, two in pairs), name
    for text in ("Anna", "ANNA", "Grünwald", "Brady", IBAN, "00234573201", "Miete", "081547110815", "4711"):
        assert text not in new


def test_a_value_has_the_same_pseudonym_as_in_json() -> None:
    new, censor = redacted(CAMT), ValueRedactor(KEY, DEFAULT)
    assert values(new, "IBAN") == [censor.member("iban", IBAN)]
    assert values(new, "Nm")[0] == censor.member("creditorName", "Anna Grünwald")
    assert values(new, "Ustrd")[0] == censor.member("remittanceInformationUnstructured", "Miete November für Anna")


def test_a_program_for_statements_can_read_it() -> None:
    before, after = (Camt053Parser(text.partition("?>")[2].strip()) for text in (CAMT, redacted(CAMT)))
    (one,), (two,) = before.get_transactions(), after.get_transactions()
    same = ("Amount", "Currency", "CreditDebitIndicator", "BookingDate", "ValueDate", "BankTransactionCode")
    assert {name: two[name] for name in same if name in one} == {name: one[name] for name in same if name in one}
    assert one["Amount"]
    assert after.get_statement_info()[0]["IBAN"] == redacted_iban()


def redacted_iban() -> str:
    return ValueRedactor(KEY, DEFAULT).member("iban", IBAN)


def test_the_form_of_the_document_is_kept() -> None:
    new = redacted(CAMT)
    assert new.startswith('<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n<Document xmlns="urn:iso:')
    shapes = [re.sub(r">[^<]+<", lambda text: f">{text[0].count(chr(10))}<", one) for one in (CAMT, new)]
    assert shapes[0].partition("<BkToCstmrStmt>")[2] == shapes[1].partition("<BkToCstmrStmt>")[2]
    assert [one.tag for one in etree.fromstring(new.encode()).iter()] == [
        one.tag for one in etree.fromstring(CAMT.encode()).iter()
    ]


def test_a_document_without_replacements_stays_identical() -> None:
    body = b"<?xml version='1.0'?>\n<a  x='true'><status>ACSP</status ></a>\n"
    assert redact_xml(body, ValueRedactor(KEY, DEFAULT), DEFAULT) is body


@pytest.mark.parametrize("encoding", ["iso-8859-1", "utf-16", "utf-8"])
def test_other_encodings_are_kept(encoding: str) -> None:
    text = CAMT.replace("UTF-8", encoding)
    new = redact_xml(text.encode(encoding), ValueRedactor(KEY, DEFAULT), DEFAULT)
    assert parse_xml(new).docinfo.encoding.lower() == encoding
    assert values(new.decode(encoding).partition("?>")[2], "IBAN") == [redacted_iban()]


@pytest.mark.parametrize(
    "text",
    [
        '<a xmlns="urn:anna:gruenwald"/>',
        '<a xmlns:anna="urn:x"><anna:b/></a>',
        "<?x4711anna0815gruenwald y?><a/>",
        "<a><?x anna?></a>",
        "<a/><!-- anna gruenwald -->",
        '<a owner="anna gruenwald"/>',
        '<a name="annagruenwald"/>',
        "<a><![CDATA[<b>anna</b>]]></a>",
        "<a>anna<b/>gruenwald</a>",
        "<a><b/>anna</a>",
        "<password>anna<x>gruenwald</x></password>",
        '<a xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="anna gruenwald"/>',
        "<x4711anna0815gruenwald/>",
    ],
)
def test_no_data_remain_anywhere_in_a_document(text: str) -> None:
    if "xmlns:anna" in text:
        text = text.replace("anna", "a4711n0815na")
    new = redacted(text)
    assert not {"anna", "gruenwald", "a4711n0815na", "x4711anna0815gruenwald"} & set(re.findall(r"[a-z0-9]+", new))


@pytest.mark.parametrize(
    "text",
    [
        '<!DOCTYPE a [<!ENTITY e "anna">]><a>&e;</a>',
        '<!DOCTYPE a SYSTEM "http://127.0.0.1:1/x"><a/>',
        "<a>&unknown;</a>",
        "<a>",
        "<a/><b/>",
        "<a>" * 300 + "</a>" * 300,
    ],
)
def test_invalid_or_hostile_xml_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be XML"):
        redacted(text)


class TestRules:
    def test_rules_apply_to_elements_by_name(self) -> None:
        rules = RedactionRules(members={"nm": "keep", "amt": "replace", "ustrd": "drop"})
        new = redacted(CAMT, rules)
        assert values(new, "Nm")[0] == "Anna Grünwald"
        assert set(values(new, "Ustrd")) == {"dropped"}
        assert values(new, "Amt") != values(CAMT, "Amt")

    def test_rules_apply_to_elements_by_place(self) -> None:
        place = "Document BkToCstmrStmt Stmt Ntry NtryDtls TxDtls RmtInf Ustrd 1".split()
        new = redacted(CAMT, RedactionRules(paths=(PathRule(tuple(place), "keep"),)))
        assert values(new, "Ustrd")[1] == values(CAMT, "Ustrd")[1]
        assert values(new, "Ustrd")[0] != values(CAMT, "Ustrd")[0]

    def test_rules_apply_to_attributes(self) -> None:
        assert redacted('<a owner="Anna"/>', RedactionRules(paths=(PathRule(("a", "@owner"), "keep"),))) == (
            '<a owner="Anna"/>'
        )


@pytest.mark.parametrize(
    ("name", "meaning"),
    [
        ("Nm", "name"),
        ("IBAN", "iban"),
        ("EndToEndId", "endToEndId"),
        ("CdtDbtInd", "creditDebitIndicator"),
        ("InstdAmt", "instructedAmount"),
        ("ReqdExctnDt", "requestedExecutionDate"),
        ("PstCd", "postalCode"),
        ("creditorName", "creditorName"),
        ("Weiteres", "Weiteres"),
    ],
)
def test_names_are_expanded(name: str, meaning: str) -> None:
    assert spell_out(name) == meaning
