"""Bodies that are not JSON, full of secrets: statements in XML, MT940 and MT942, forms, multipart."""

import json
from collections.abc import Callable
from urllib.parse import urlencode

from tests.support.recorded_bank.planted import at

type Planter = Callable[[str, str], str]

BOUNDARY = "7MA4YWxkTrZu0gW-of-the-bank"
_ENTRIES = 5


def camt(place: str) -> str:
    p = at(place)
    entries = "\n".join(_camt_entry(p, number) for number in range(_ENTRIES))
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt>
<GrpHdr><MsgId>{p("customer number", "MsgId")}</MsgId><CreDtTm>2026-11-20T22:05:03+01:00</CreDtTm>
<MsgRcpt><Nm>{p("name", "MsgRcpt")}</Nm>
<Id><OrgId><Othr><Id>{p("tax number", "OrgId")}</Id></Othr></OrgId></Id></MsgRcpt></GrpHdr>
<Stmt><Id>{p("id of letters and digits", "Stmt")}</Id><!-- {p("name", "comment")} -->
<Acct><Id><IBAN>{p("iban", "Acct")}</IBAN></Id><Ccy>EUR</Ccy><Nm>{p("name", "Acct")}</Nm></Acct>
<Bal><Tp><CdOrPrtry><Cd>CLBD</Cd></CdOrPrtry></Tp><Amt Ccy="EUR">1310.25</Amt><CdtDbtInd>CRDT</CdtDbtInd>
<Dt><Dt>2026-11-20</Dt></Dt></Bal>
{entries}
<AddtlStmtInf>{p("remittance", "AddtlStmtInf")}</AddtlStmtInf>
</Stmt></BkToCstmrStmt></Document>
"""


def _camt_entry(p: Planter, number: int) -> str:
    def n(kind: str, where: str) -> str:
        return p(kind, f"entry {number}, {where}")

    return f"""<Ntry><Amt Ccy="EUR">{number + 1}.50</Amt><CdtDbtInd>DBIT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts>
<BookgDt><Dt>2026-11-2{number}</Dt></BookgDt><AcctSvcrRef>{n("customer number", "AcctSvcrRef")}</AcctSvcrRef>
<NtryDtls><TxDtls><Refs><EndToEndId>{n("id of letters and digits", "EndToEndId")}</EndToEndId></Refs>
<RltdPties><Dbtr><Pty><Nm>{n("name", "Dbtr")}</Nm>
<CtctDtls><EmailAdr>{n("e-mail", "EmailAdr")}</EmailAdr></CtctDtls></Pty></Dbtr>
<Cdtr><Pty><Nm>{n("name", "Cdtr")}</Nm><PstlAdr><StrtNm>{n("address", "StrtNm")}</StrtNm>
<TwnNm>{n("town", "TwnNm")}</TwnNm>
</PstlAdr></Pty></Cdtr><CdtrAcct><Id><IBAN>{n("iban", "CdtrAcct")}</IBAN></Id></CdtrAcct></RltdPties>
<RmtInf><Ustrd>{n("remittance", "Ustrd")}</Ustrd></RmtInf></TxDtls></NtryDtls></Ntry>"""


def mt940(place: str) -> str:
    p = at(place)
    entries = "\n".join(
        f":61:26112{number}112{number}D{number + 1},50NTRF{p('customer number', f':61: {number}')}"
        f"//{p('id of letters and digits', f':61: {number}')}\n:86:{_purpose(p, number)}"
        for number in range(_ENTRIES)
    )
    return f""":20:{p("customer number", ":20:")}
:25:{p("iban", ":25:")}EUR
:28C:12/1
:60F:C261119EUR1045,56
{entries}
:62F:C261120EUR1033,06
:86:{p("remittance", ":86: at the end")}
-
"""


def _purpose(p: Planter, number: int) -> str:
    def n(kind: str, where: str) -> str:
        return p(kind, f":86: {number}, {where}")

    if number % 2:
        coded = {"EREF": "customer number", "NAME": "name", "IBAN": "iban", "REMI": "remittance"}
        return "".join(f"/{code}/{n(kind, code)}" for code, kind in coded.items())
    name, iban = n("name", "?32"), n("iban", "?31")
    return (
        f"177?00SEPA-UEBERWEISUNG?20EREF+{n('customer number', 'EREF')}?21SVWZ+{n('remittance', 'SVWZ')}"
        f"?30BKAUATWW?31{iban[:12]}\n{iban[12:]}?32{name}?33"
    )


def form(place: str) -> bytes:
    p = at(place)
    people = {kind[0]: p(kind, kind[0]) for kind in ("name", "iban", "e-mail", "phone", "address", "remittance")}
    people |= {
        "holder": p("name", "holder"),
        "id_token": p("token", "id_token"),
        "client": p("customer number", "client"),
    }
    return urlencode({"grant_type": "client_credentials", "state": p("token", "state"), **people}).encode()


def multipart(place: str, boundary: str) -> bytes:
    p = at(place)
    document = (
        f"<Document><PmtInf><Dbtr><Nm>{p('name', 'Nm')}</Nm></Dbtr><Amt Ccy='EUR'>12.50</Amt>"
        f"<CdtrAcct><Id><IBAN>{p('iban', 'IBAN')}</IBAN></Id></CdtrAcct>"
        f"<RmtInf><Ustrd>{p('remittance', 'Ustrd')}</Ustrd></RmtInf></PmtInf></Document>"
    )
    order = {
        "frequency": "Monthly",
        "holder": p("name", "JSON"),
        "iban": p("iban", "JSON"),
        "pin": p("password", "JSON"),
    }
    heads_and_contents = [
        ('Content-Disposition: form-data; name="xml_sct"\r\nContent-Type: application/xml', document),
        (
            'Content-Disposition: form-data; name="json_standingorderType"\r\nContent-Type: application/json',
            json.dumps(order),
        ),
        ('Content-Disposition: form-data; name="phone"', p("phone", "field")),
        ('Content-Disposition: form-data; name="password"', p("password", "field")),
        (
            f'Content-Disposition: form-data; name="scan"; filename="{p("customer number", "file name")}.txt"\r\n'
            "Content-Type: text/plain",
            p("remittance", "file"),
        ),
    ]
    parts = "".join(f"--{boundary}\r\n{head}\r\n\r\n{content}\r\n" for head, content in heads_and_contents)
    return f"{parts}--{boundary}--\r\n".encode()
