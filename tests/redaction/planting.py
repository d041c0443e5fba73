"""Exchanges that each contain one secret, for every place in a request or an answer."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, NamedTuple
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from tests.support.recorded_bank.planted import KINDS, Secret, secret
from xs2a_sandbox.http import Headers
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.http.har import from_har, to_har

type Plant = Callable[[str], Exchange]

BANK = "https://api.bank.example/psd2"
_JSON = ("Content-Type", "application/json")
_FORM = ("Content-Type", "application/x-www-form-urlencoded")
_PLAIN = Exchange(
    datetime(2026, 11, 21, tzinfo=UTC), 1.0, BANK, "GET", "/v1/accounts", Headers(), b"", 200, Headers([_JSON]), b"{}"
)


def _in_header(name: str, form: str = "{}") -> Plant:
    return lambda s: replace(_PLAIN, headers=Headers([(name, form.format(s))]))


def _answered(name: str, form: str = "{}") -> Plant:
    return lambda s: replace(_PLAIN, answer_headers=Headers([_JSON, (name, form.format(s))]))


def _target(form: str) -> Plant:
    return lambda s: replace(_PLAIN, target=form.format(quote(s, safe="")))


def _link(name: str, form: str) -> Plant:
    return lambda s: replace(_PLAIN, status=302, answer_headers=Headers([(name, form.format(quote(s, safe="")))]))


def _json(build: Callable[[str], Any]) -> Plant:
    return lambda s: replace(_PLAIN, answer_body=json.dumps(build(s)).encode())


def _form(form: str) -> Plant:
    return lambda s: replace(
        _PLAIN, method="POST", headers=Headers([_FORM]), body=form.format(quote(s, safe="")).encode()
    )


def _xml(form: str, media: str = "application/xml") -> Plant:
    headers = Headers([("Content-Type", media)])
    return lambda s: replace(_PLAIN, answer_headers=headers, answer_body=form.replace("{}", escape(s)).encode())


def _camt(form: str) -> Plant:
    document = "<?xml version='1.0' encoding='UTF-8'?><Document xmlns='urn:iso:std:iso:20022:tech:xsd:camt.053.001.02'>"
    return _xml(f"{document}<BkToCstmrStmt><Stmt>{form}</Stmt></BkToCstmrStmt></Document>")


def _statement(field: str) -> Plant:
    text = f":20:STARTUMS\n:25:1/1\n:60F:C261119EUR1,00\n{field}\n:62F:C261120EUR1,00\n-\n"
    headers = Headers([("Content-Type", "text/plain")])
    return lambda s: replace(_PLAIN, answer_headers=headers, answer_body=text.replace("{}", s).encode())


def _multipart(part: str, boundary: str = "x") -> Plant:
    def plant(s: str) -> Exchange:
        line = boundary.format(quote(s, safe=""))[:60]
        headers = Headers([("Content-Type", f"multipart/form-data; boundary={line}")])
        body = f"--{line}\r\n{part.replace('{}', s.replace(chr(34), chr(39)))}\r\n--{line}--\r\n"
        return replace(_PLAIN, method="POST", headers=headers, body=body.encode())

    return plant


def _imported(spoil: Callable[[dict[str, Any], str], None]) -> Plant:
    """Return the exchange from a HAR file written by another program."""

    def plant(s: str) -> Exchange:
        har = to_har(_PLAIN)
        spoil(har, s)
        return from_har(json.loads(json.dumps(har)))

    return plant


def _timings(har: dict[str, Any], s: str) -> None:
    har["timings"] = {"send": 0, "wait": 0, "receive": 0, "_via": s, "comment": s}
    har["cache"] = {"beforeRequest": {"eTag": s}}
    har["serverIPAddress"] = har["connection"] = har["comment"] = s


def _cookies(har: dict[str, Any], s: str) -> None:
    har["request"]["cookies"] = [{"name": "sid", "value": s}, {"name": s, "value": "x"}]
    har["request"]["queryString"] = [{"name": s, "value": s}]
    har["response"]["statusText"] = har["response"]["httpVersion"] = har["response"]["redirectURL"] = s


PLACES: Mapping[str, Plant] = {
    "parameter of Accept": _in_header("Accept", "application/json;user={}"),
    "Accept-Language": _in_header("Accept-Language", "de;x={},en"),
    "parameter of Content-Type": _answered("Content-Type", "application/json; session={}"),
    "Allow": _answered("Allow", "GET, {}"),
    "Cache-Control": _answered("Cache-Control", "private, x={}"),
    "ASPSP-SCA-Approach": _answered("ASPSP-SCA-Approach"),
    "X-Request-ID": _in_header("X-Request-ID"),
    "Authorization": _in_header("Authorization", "Bearer {}"),
    "unknown header": _in_header("X-Whatever"),
    "cookie": _answered("Set-Cookie", "SID={}; Path=/"),
    "PSU-User-Agent": _in_header("PSU-User-Agent", "App/1.0 ({})"),
    "Forwarded": _in_header("Forwarded", "for={};proto=https"),
    "path": _target("/v1/accounts/{}/balances"),
    "parameter of a path": _target("/v1/accounts;user={}/balances"),
    "query": _target("/v1/accounts?x={}"),
    "name of a query parameter": _target("/v1/accounts?{}=1"),
    "query alone": _target("/v1/accounts?{}"),
    "scope": _target("/oauth2/authorize?scope=AIS:{}%20PIS"),
    "Location": _link("Location", "https://tpp.example/back/{}"),
    "path of a redirect to this machine": _link("Location", "http://localhost:3000/back/{}"),
    "query of a link": _link("Location", BANK + "/v1/x?next=%2Fy%3Fz%3D{}"),
    "fragment": _link("Location", BANK + "/v1/x#a={}"),
    "user of a link": _link("Location", "https://{}@api.bank.example/v1"),
    "form": _form("grant_type=client_credentials&x={}"),
    "name of a form field": _form("grant_type=client_credentials&{}=1"),
    "member": _json(lambda s: {"a": [{"b": {"c": s}}]}),
    "name of a member": _json(lambda s: {"a": [{s: {"c": 1}}]}),
    "status": _json(lambda s: {"transactionStatus": s, "cashAccountType": s}),
    "code": _json(lambda s: {"tppMessages": [{"category": "ERROR", "code": s}]}),
    "scopes of a token": _json(lambda s: {"token_type": "Bearer", "scope": f"AIS:{s} PIS"}),
    "text of an error": _json(lambda s: {"tppMessages": [{"code": "FORMAT_ERROR", "text": f"Consent of {s} expired"}]}),
    "device": _json(lambda s: {"deviceId": s, "device": {"id": s}}),
    "amount": _json(lambda s: {"total": s, "balanceAmount": {"amount": s}}),
    "currency": _json(lambda s: {"currency": s, "bic": s}),
    "element of XML": _xml("<a><b>{}</b></a>"),
    "element of XML beside another": _xml("<a>{}<b/>{}</a>"),
    "element of XML that says it is text": _xml("<?xml version='1.0'?><a><b>{}</b></a>", "text/plain"),
    "attribute of XML": lambda s: replace(
        _PLAIN,
        answer_headers=Headers([("Content-Type", "application/xml")]),
        answer_body=f"<a x={quoteattr(s)}><status code={quoteattr(s)}/></a>".encode(),
    ),
    "CDATA": _xml("<a><![CDATA[<b>{}</b>]]></a>"),
    "text of an error in XML": _xml("<error><message>Consent of {} expired</message></error>"),
    "broken XML": _xml("<a>{}"),
    "camt: name": _camt("<Ntry><NtryDtls><Dbtr><Nm>{}</Nm></Dbtr></NtryDtls></Ntry>"),
    "camt: account": _camt("<Acct><Id><Othr><Id>{}</Id></Othr></Id></Acct>"),
    "camt: purpose": _camt("<RmtInf><Ustrd>{}</Ustrd></RmtInf><AddtlNtryInf>{}</AddtlNtryInf>"),
    "camt: reference": _camt("<Refs><EndToEndId>{}</EndToEndId><AcctSvcrRef>{}</AcctSvcrRef></Refs>"),
    "camt: code": _camt("<Purp><Cd>{}</Cd><Prtry>{}</Prtry></Purp><Sts>{}</Sts><Issr>{}</Issr>"),
    "camt: currency and bank": _camt("<Ccy>{}</Ccy><FinInstnId><BIC>{}</BIC></FinInstnId><Dt>{}</Dt>"),
    "MT940: reference": _statement(":20:{}\n:21:{}"),
    "MT940: account": _statement(":25:1/{}"),
    "MT940: reference of an entry": _statement(":61:2611201120D12,50NTRF{}//{}\n{}"),
    "MT940: balance": _statement(":64:{}\n:34F:{}\n:13D:{}\n:28C:{}"),
    "MT940: purpose": _statement(":86:{}"),
    "MT940: purpose after a code": _statement(":86:/REMI/{}/NAME/{}"),
    "MT940: subfields": _statement(":86:177?00{}?10{}?20SVWZ+{}?21EREF+{}?30{}?31{}?32{}?34{}?60{}"),
    "MT940: unknown field": _statement(":99:{}\n:NS:{}"),
    "MT940: between fields": _statement("-}\n{}\n:20:X"),
    "multipart: field": _multipart('Content-Disposition: form-data; name="x"\r\n\r\n{}'),
    "multipart: name of a field": _multipart('Content-Disposition: form-data; name="{}"\r\n\r\nx'),
    "multipart: file name": _multipart('Content-Disposition: form-data; name="x"; filename="{}"\r\n\r\n1'),
    "multipart: other fields of a head": _multipart(
        'Content-ID: {}\r\nX-Customer: {}\r\nContent-Disposition: form-data; name="x"; creator="{}"\r\n\r\n1'
    ),
    "multipart: type": _multipart("Content-Type: text/plain; user={}\r\n\r\nx"),
    "multipart: JSON": _multipart('Content-Type: application/json\r\n\r\n{"x": "{}"}'),
    "multipart: XML": _multipart("Content-Type: application/xml\r\n\r\n<a><![CDATA[{}]]></a>"),
    "multipart: bytes": _multipart("Content-Type: image/png\r\n\r\n\x00{}"),
    "multipart: boundary": _multipart('Content-Disposition: form-data; name="x"\r\n\r\n1', "b{}"),
    "HAR beside an exchange": _imported(_timings),
    "HAR cookies and status": _imported(_cookies),
}


BIRTHS = """
born bday b_day bdate yob year_of_birth bornOn dateofbirth DateOfBirth placeAndDateOfBirth dob geburtsdatum geborenAm
GEBDAT geb_datum date_naissance dateNaissance néLe fecha_nacimiento fechaNacimiento fecnac nacidoEl data_nascita
dataDiNascita data_nascimento nascidoEm geboortedatum gebdatum fødselsdato foedselsdato födelsedatum född fodelsear
syntymäaika syntymaaika sünniaeg dzimšanasDatums gimimoData data_urodzenia dataUrodzenia datum_narození
datumNarodenia datumRojstva datumRođenja születésiDátum szuletesi_datum data_nașterii dataNasterii nascut dátaBreithe
"""
"""Names of dates of birth, in the languages of the Union's banks."""


class Planted(NamedTuple):
    secret: Secret
    entry: Exchange


_HEEDED = frozenset(
    {"device", "Authorization", "unknown header", "cookie", "PSU-User-Agent", "user of a link", "Accept-Language"}
    | {"HAR beside an exchange", "HAR cookies and status"}
)


def is_documented(kind: str, place: str) -> bool:
    """Return whether docs/redaction.md excludes this secret: UUIDs are kept, and so are six digits under `amount`."""
    return (kind == "device" and place not in _HEEDED) or (kind, place) == ("otp", "amount")


def planted() -> Iterator[Planted]:
    """Yield a secret of every kind in every place."""
    for place, plant in PLACES.items():
        for kind in KINDS:
            if not is_documented(kind, place):
                value = secret(kind, place)
                yield Planted(Secret(kind, value, place), plant(value))
    yield from _numbers()


def _numbers() -> Iterator[Planted]:
    """Yield secrets that are only recognised as numbers, or by the names around them."""
    of_json: Mapping[str, tuple[str, Any]] = {
        "an account under total": ("48219930177", {"total": 48219930177}),
        "a customer under count": ("7731902465", {"page": {"count": 7731902465}}),
        "the year of a birth": ("1968", {"birthDate": {"year": 1968}}),
        "the year of a birth, as text": ("1968", {"dateOfBirth": {"year": "1968"}}),
        "the year of a birth, in one name": ("1968", {"birthYear": 1968}),
        "a birth date": ("1968-04-17", {"person": {"birthday": "1968-04-17"}}),
        "a birth date in words": ("17.04.1968", {"geburtsdatum": "17.04.1968"}),
        **{
            f"a birth date under {name}": (f"{1950 + n}-04-1{n % 10}", {name: f"{1950 + n}-04-1{n % 10}"})
            for n, name in enumerate(("born", "bday", "person", "type", "value", "x"))
        },
        **{
            f"the year of a birth under {name}": (f"{1930 + n}", {name: {"year": 1930 + n}})
            for n, name in enumerate(BIRTHS.split())
        },
        "a latitude": ("48.218", {"geo": {"lat": 48.218, "lon": 16.391}}),
        "a longitude": ("16.391", {"longitude": "16.391"}),
        "coordinates": ("48.218", {"coordinates": [16.391, 48.218]}),
        "an age": ("58", {"age": 58}),
        "a postcode": ("4973", {"address": {"postcode": 4973}}),
    }
    for place, (value, body) in of_json.items():
        yield Planted(Secret("number", value, place), replace(_PLAIN, answer_body=json.dumps(body).encode()))
