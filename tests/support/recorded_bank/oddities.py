"""Answers that are not JSON, or whose content differs from the announced type: path → (status, headers, body)."""

import gzip
import json
import zlib
from collections.abc import Callable, Mapping, Sequence

import brotli
import zstandard

from tests.support.recorded_bank import forms
from tests.support.recorded_bank.holdings import HOLDER, OWN, PSU_ID
from tests.support.recorded_bank.planted import at

type Answer = tuple[int, Sequence[tuple[str, str]], bytes]


type Planter = Callable[[str, str], str]


def _of(path: str) -> Planter:
    return at(f"answer body, GET {path}")


def _page(p: Planter) -> str:
    return f"""<!DOCTYPE html>
<html lang="de"><head><title>Störung – {p("name", "title")}</title>
<meta name="csrf-token" content="{p("token", "meta")}">
<script>var session = "{p("token", "script")}";
window.user = {{id: '{p("psu id", "script")}', mail: '{p("e-mail", "script")}'}};</script>
</head><body>
<!-- {p("ipv4", "comment")} {p("name", "comment")} -->
<h1>Sehr geehrte/r {p("name", "text")},</h1>
<p>das Konto <b>{p("iban", "text")}</b> in der {p("address", "text")} ist gesperrt.
Wir rufen {p("phone", "text")} an.</p>
<form action="/login?state={p("token", "query of an action")}">
<input type="hidden" name="account" value="{p("iban", "hidden input")}"><input name="otp" value="{p("otp", "input")}">
<a href="/back?iban={p("iban", "query of a link")}&amp;user={p("psu id", "query of a link")}">zur&uuml;ck</a>
<p>{p("name", "entities").replace("'", "&#39;").encode("ascii", "xmlcharrefreplace").decode()}</p>
</form></body></html>
"""


def _xml(p: Planter) -> str:
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.02"><BkToCstmrStmt><Stmt>
<Acct><Id><IBAN>{p("iban", "IBAN")}</IBAN></Id><Ownr><Nm>{p("name", "Nm")}</Nm></Ownr></Acct>
<Ntry><Amt Ccy="EUR">1310.25</Amt><NtryDtls><TxDtls><RltdPties><Dbtr><Nm>{p("name", "Dbtr")}</Nm>
<PstlAdr><StrtNm>{p("address", "StrtNm")}</StrtNm><TwnNm>{p("town", "TwnNm")}</TwnNm></PstlAdr></Dbtr></RltdPties>
<RmtInf><Ustrd>{p("remittance", "Ustrd")}</Ustrd></RmtInf></TxDtls></NtryDtls></Ntry>
</Stmt></BkToCstmrStmt></Document>
"""


def _person(p: Planter) -> dict[str, object]:
    return {
        "name": p("name", "name"),
        "iban": p("iban", "iban"),
        "access_token": p("token", "access_token"),
        "weiteres": [p("e-mail", "array"), p("phone", "array")],
    }


def _json(p: Planter, *, ascii_only: bool = False) -> bytes:
    return json.dumps(_person(p), ensure_ascii=ascii_only).encode()


def _made() -> Mapping[str, Answer]:
    html, text, xml, js = "text/html; charset=utf-8", "text/plain; charset=utf-8", "application/xml", "application/json"
    plain = _of("/odd/text")
    latin = _of("/odd/latin-1")
    rows = _of("/odd/csv")
    answers: dict[str, tuple[int, str, bytes]] = {
        "html": (503, html, _page(_of("/odd/html")).encode()),
        "text": (
            500,
            text,
            f"Fehler: {plain('name', 'text')} / {plain('iban', 'text')} von {plain('ipv4', 'text')}"
            f" Token={plain('token', 'text')} password={plain('password', 'text')}"
            f" Tel. {plain('phone', 'text')}\n".encode(),
        ),
        "latin-1": (
            500,
            "text/html; charset=iso-8859-1",
            f"<p>{latin('address', 'text')} {latin('iban', 'text')} {latin('name', 'text')}</p>".encode(
                "latin-1", "xmlcharrefreplace"
            ),
        ),
        "xml": (200, xml, _xml(_of("/odd/xml")).encode()),
        "csv": (
            200,
            "text/csv",
            "\n".join(
                ["name;iban;betrag", *(f"{rows('name', str(n))};{rows('iban', str(n))};{n}.50" for n in range(4))]
            ).encode(),
        ),
        "as-text": (200, text, _json(_of("/odd/as-text"))),
        "as-html": (200, html, _json(_of("/odd/as-html"))),
        "as-bytes": (200, "application/octet-stream", _json(_of("/odd/as-bytes"))),
        "escaped": (200, js, _json(_of("/odd/escaped"), ascii_only=True)),
        "utf-16": (200, "application/json; charset=utf-16", _json(_of("/odd/utf-16")).decode().encode("utf-16")),
        "broken-json": (200, js, _json(_of("/odd/broken-json"))[:-1]),
        "lines": (200, "application/x-ndjson", b"\n".join(_json(_of(f"/odd/lines, {n}")) for n in range(2))),
        "hal": (200, "application/hal+json", _json(_of("/odd/hal"))),
        "camt": (200, xml, forms.camt("answer body, GET /odd/camt").encode()),
        "camt-as-text": (200, text, forms.camt("answer body, GET /odd/camt-as-text").encode()),
        "mt940": (200, text, forms.mt940("answer body, GET /odd/mt940").encode()),
        "mt940-as-bytes": (
            200,
            "application/octet-stream",
            forms.mt940("answer body, GET /odd/mt940-as-bytes").encode(),
        ),
        "form": (200, "application/x-www-form-urlencoded", forms.form("answer body, GET /odd/form")),
        "multipart": (
            200,
            f"multipart/mixed; boundary={forms.BOUNDARY}",
            forms.multipart("answer body, GET /odd/multipart", forms.BOUNDARY),
        ),
        "text-in-json": (200, js, json.dumps(_json(_of("/odd/text-in-json")).decode()).encode()),
    }
    made: dict[str, Answer] = {
        f"/odd/{name}": (status, (("Content-Type", media),), body) for name, (status, media, body) in answers.items()
    }
    gzipped = (("Content-Type", js), ("Content-Encoding", "gzip"))
    made["/odd/gzip"] = (200, gzipped, gzip.compress(_json(_of("/odd/gzip")), mtime=0))
    made["/odd/gzip-html"] = (
        502,
        (("Content-Type", html), ("Content-Encoding", "gzip")),
        gzip.compress(_page(_of("/odd/gzip-html")).encode(), mtime=0),
    )
    made["/odd/deflate"] = (
        200,
        (("Content-Type", js), ("Content-Encoding", "deflate")),
        zlib.compress(_json(_of("/odd/deflate"))),
    )
    for name, encode in (("br", brotli.compress), ("zstd", zstandard.compress)):
        encoded = (("Content-Type", js), ("Content-Encoding", name))
        made[f"/odd/{name}"] = (200, encoded, encode(_json(_of(f"/odd/{name}"))))
    made["/odd/not-gzip"] = (200, gzipped, _json(_of("/odd/not-gzip")))
    made["/odd/gzip-unsaid"] = (
        200,
        (("Content-Type", "application/octet-stream"),),
        gzip.compress(_json(_of("/odd/gzip-unsaid")), mtime=0),
    )
    return made


ANSWERS = _made()

_error = at("answer body, an error's text")
_account, _holder, _address = _error("iban", "not found"), _error("name", "not found"), _error("ipv6", "not found")
ERRORS = {
    "unknown-account": {
        "category": "ERROR",
        "code": "RESOURCE_UNKNOWN",
        "text": f"Account {_account} of {_holder} not found for PSU {PSU_ID} at {_address}",
        "path": f"/v1/accounts/{OWN}",
    },
    "wrong-otp": {
        "category": "ERROR",
        "code": "PSU_CREDENTIALS_INVALID",
        "text": f"TAN {_error('otp', 'wrong')} sent to {_error('phone', 'wrong')} of {HOLDER} is wrong",
    },
}
