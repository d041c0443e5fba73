"""Complete exchanges: no planted secret remains, and pseudonyms are consistent."""

import base64
import gzip
import json
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xs2a_sandbox.documents.formats import is_iban
from xs2a_sandbox.http import Headers, Request
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.redaction.redactor import Redactor
from xs2a_sandbox.redaction.rules import RedactionRules

KEY = b"k" * 32
IBAN, OTHER = "AT611904300234573201", "DE89370400440532013000"
UUID = "99391c7e-ad88-49ec-a2ad-99ddcb1f7721"
JSON = ("Content-Type", "application/json")


def entry(
    target: str = "/v1/accounts",
    headers: tuple[tuple[str, str], ...] = (),
    body: bytes = b"",
    answer_headers: tuple[tuple[str, str], ...] = (JSON,),
    answer_body: bytes = b"{}",
    bank: str = "https://api.bank.example/psd2",
) -> Exchange:
    started = datetime(2026, 11, 21, 8, 37, 14, tzinfo=UTC)
    return Exchange(
        started, 12.5, bank, "GET", target, Headers(headers), body, 200, Headers(answer_headers), answer_body
    )


def dump(value: Any) -> bytes:
    return json.dumps(value).encode()


class TestEntries:
    def test_a_harmless_exchange_is_not_changed(self) -> None:
        harmless = entry(
            f"/v1/consents/{UUID}/status?withBalance=true",
            (("X-Request-ID", UUID), ("Accept", "application/json"), ("Host", "api.bank.example")),
            dump({"validUntil": "2026-12-31", "recurringIndicator": True}),
            (JSON, ("Date", "Sat, 21 Nov 2026 08:37:14 GMT"), ("ASPSP-SCA-Approach", "REDIRECT")),
            dump({"consentStatus": "valid", "_links": {"self": {"href": f"/v1/consents/{UUID}"}}}),
        )
        redactor = Redactor(KEY)
        assert repr(redactor.entry(harmless)) == repr(harmless)

    def test_path_body_link_and_header_have_the_same_pseudonym(self) -> None:
        raw = entry(
            f"/v1/accounts/{IBAN}/transactions/TX-4711?entryReferenceFrom=TX-4711&iban={IBAN}",
            (("Consent-ID", "consent/7x"), ("PSU-ID", "gruenwald"), ("PSU-IP-Address", "10.1.2.3")),
            dump({"psuId": "gruenwald", "consentId": "consent/7x", "ip": "10.1.2.3"}),
            (JSON, ("Location", f"https://api.bank.example/psd2/v1/accounts/{IBAN}")),
            dump(
                {
                    "account": {"iban": IBAN, "spaced": "AT61 1904 3002 3457 3201"},
                    "transactionId": "TX-4711",
                    "_links": {
                        "account": {"href": f"/v1/accounts/{IBAN}"},
                        "consent": {"href": "/v1/consents/consent%2F7x"},
                    },
                }
            ),
        )
        made = Redactor(KEY).entry(raw)
        answer, sent = json.loads(made.answer_body), json.loads(made.body)
        iban, transaction = answer["account"]["iban"], answer["transactionId"]

        assert is_iban(iban)
        assert iban[:2] == "AT"
        assert iban != IBAN
        assert answer["account"]["spaced"].replace(" ", "") == iban
        assert (
            made.target
            == f"/v1/accounts/{iban}/transactions/{transaction}?entryReferenceFrom={transaction}&iban={iban}"
        )
        assert answer["_links"]["account"]["href"] == f"/v1/accounts/{iban}"
        assert made.answer_headers.get("location") == f"https://api.bank.example/psd2/v1/accounts/{iban}"
        assert answer["_links"]["consent"]["href"] == "/v1/consents/" + quote(sent["consentId"], safe="")
        assert made.headers.get("consent-id") == sent["consentId"]
        assert made.headers.get("psu-id") == sent["psuId"] != "gruenwald"
        assert made.headers.get("psu-ip-address") == sent["ip"]

    def test_a_key_of_letters_that_an_answer_has_told_has_the_same_pseudonym_in_the_path(self) -> None:
        key = "iczgokzeaixdmvygxk"
        redactor = Redactor(KEY)
        told = redactor.entry(entry("/v1/consents", answer_body=dump({"page": f"/sign/{key}"})))
        opened = redactor.entry(replace(entry(f"/sign/{key}"), method="POST"))
        pseudonym = json.loads(told.answer_body)["page"].rpartition("/")[2]
        assert pseudonym != key
        assert opened.target == f"/sign/{pseudonym}"

    def test_a_second_process_uses_the_same_pseudonyms(self) -> None:
        raw = entry(f"/v1/accounts/{IBAN}", answer_body=dump({"name": "Anna Grünwald", "n": 123456789}))
        assert repr(Redactor(KEY).entry(raw)) == repr(Redactor(KEY).entry(raw)) != repr(Redactor(b"other").entry(raw))

    @pytest.mark.parametrize(
        "name",
        """Authorization Proxy-Authorization Cookie Set-Cookie Signature Digest TPP-Signature-Certificate
        X-Forwarded-Client-Cert SSL-Client-Cert X-AB12-4711-77 X-JWS-Signature User-Agent""".split(),
    )
    def test_some_header_fields_are_dropped(self, name: str) -> None:
        made = Redactor(KEY).entry(entry(headers=((name, "Anna 12345678"),), answer_headers=((name, "x"), JSON)))
        assert (list(made.headers), list(made.answer_headers)) == ([], [JSON])

    @pytest.mark.parametrize("name", ["X-Customer-Name", "X-Api-Key", "Grid-Token"])
    def test_of_unknown_header_fields_the_name_is_kept(self, name: str) -> None:
        made = Redactor(KEY).entry(entry(headers=((name, "Anna 12345678"),), answer_headers=((name, "12345678"), JSON)))
        assert (list(made.headers), list(made.answer_headers)) == ([(name, "dropped")], [(name, "dropped"), JSON])

    def test_an_unknown_header_field_has_the_pseudonyms_of_earlier_answers_and_of_links(self) -> None:
        redactor = Redactor(KEY)
        made = redactor.entry(entry(answer_body=dump({"grantId": "G-4711-0815"})))
        sent = (("Grant", "G-4711-0815"), ("Come-Back", "https://tpp.example/back?token=4711abcd"))
        grant, back = (value for _, value in redactor.entry(entry(headers=sent)).headers)
        assert grant == json.loads(made.answer_body)["grantId"] != "G-4711-0815"
        assert re.fullmatch(r"https://[a-z]{3}\.example/back\?token=dropped", back)

    @pytest.mark.parametrize(("tag", "is_kept"), [('"v1"', True), ('"33a64df5"', False)])
    def test_the_tag_of_a_state_is_the_same_in_a_precondition(self, tag: str, is_kept: bool) -> None:
        made = Redactor(KEY).entry(entry(headers=(("If-Match", tag),), answer_headers=(("ETag", tag), JSON)))
        assert made.headers.get("if-match") == made.answer_headers.get("etag")
        assert (made.headers.get("if-match") == tag) is is_kept

    @pytest.mark.parametrize(
        ("media", "is_kept"),
        [("application/vnd.javor.v2+json", True), ("application/vnd.4711004711+json", False), ("anna/meier", False)],
    )
    def test_media_types_of_banks_are_kept(self, media: str, is_kept: bool) -> None:
        redacted = Redactor(KEY).entry(entry(answer_headers=(("Content-Type", media),)))
        assert (redacted.answer_headers.get("content-type") == media) is is_kept

    def test_a_release_in_a_path_is_a_version(self) -> None:
        made = Redactor(KEY).entry(entry("/open/qwrtz/r3/ais/accounts"))
        assert made.target == "/open/qwrtz/r3/ais/accounts"

    def test_only_the_scheme_of_a_challenge_is_kept(self) -> None:
        made = Redactor(KEY).entry(entry(answer_headers=(("WWW-Authenticate", 'Bearer realm="Anna"'),)))
        assert made.answer_headers.pairs == (("WWW-Authenticate", "Bearer"),)
        made = Redactor(KEY).entry(entry(answer_headers=(("WWW-Authenticate", "Anna"),)))
        assert made.answer_headers.pairs == (("WWW-Authenticate", "dropped"),)

    def test_headers_about_the_payment_user_are_replaced(self) -> None:
        sent = {
            "PSU-User-Agent": "Fone 12",
            "PSU-Device-ID": UUID,
            "PSU-Geo-Location": "GEO:48.208174;16.373819",
            "PSU-ID-Type": "ANNA 1",
            "Forwarded": "for=10.1.2.3",
        }
        made = Redactor(KEY).entry(entry(headers=tuple(sent.items())))
        assert [name for name, _ in made.headers] == list(sent)
        assert not set(sent.values()) & set(made.headers.first.values())
        assert (
            made.headers.get(
                "forwarded",
            )
            != "for=10.1.2.3"
        )

    def test_the_content_length_is_that_of_the_new_body(self) -> None:
        headers = (("Content-Type", "text/html"), ("Content-Length", "4"))
        made = Redactor(KEY).entry(entry(answer_headers=headers, answer_body=b"Anna"))
        assert made.answer_headers.get("content-length") == str(len(made.answer_body))

    def test_a_password_in_the_banks_url_is_removed(self) -> None:
        made = Redactor(KEY).entry(entry(bank="https://me:geheim@api.bank.example/psd2"))
        assert made.bank == "https://api.bank.example/psd2"

    def test_rules_for_header_fields_are_applied(self) -> None:
        rules = RedactionRules(headers={"authorization": "keep", "x-trace": "replace", "accept": "drop"})
        headers = (("Authorization", "Bearer 2fa81bc0"), ("X-Trace", "Anna-1"), ("Accept", "text/html"))
        made = Redactor(KEY, rules).entry(entry(headers=headers))
        assert made.headers.get("authorization") == "Bearer 2fa81bc0"
        assert re.fullmatch("[A-Z][a-z]{3}-[0-9]", made.headers.get("x-trace") or "")
        assert made.headers.get("accept") is None

    def test_redactions_are_counted(self) -> None:
        redactor = Redactor(KEY)
        taped = entry(f"/v1/accounts/{IBAN}", (("Authorization", "x"),), answer_body=dump({"name": "Anna", "n": 1}))
        assert [redactor.entry(taped).redactions for _ in range(2)] == [3, 3]

    def test_words_of_the_interface_are_kept(self) -> None:
        raw = entry("/v1/accounts/kuckuck-post/x1")
        assert Redactor(KEY, words=["kuckuck-post"]).entry(raw).target.startswith("/v1/accounts/kuckuck-post/")
        assert "kuckuck" not in Redactor(KEY).entry(raw).target


class TestLogLines:
    def test_the_target_has_no_query(self) -> None:
        redactor = Redactor(KEY)
        logged = redactor.target(f"/v1/accounts/{IBAN}?x=Anna")
        assert logged == redactor.entry(entry(f"/v1/accounts/{IBAN}")).target
        assert IBAN not in logged

    def test_hosts_of_the_bank_can_be_set_in_advance(self) -> None:
        link = "https://login.bank.example/v1/accounts"
        assert Redactor(KEY).target(link) != link
        assert Redactor(KEY, banks=["https://login.bank.example"]).target(link) == link

    def test_log_lines_and_exchanges_can_be_redacted_concurrently(self) -> None:
        redactor, alone = Redactor(KEY), Redactor(KEY)
        exchanges = [
            entry(
                f"/v1/accounts/x{n}y",
                answer_body=dump({"name": f"Anna {n}", "_links": {"self": {"href": f"/v1/consents/c{n}d"}}}),
            )
            for n in range(300)
        ]
        paths = [f"/v1/payments/p{n}q" for n in range(1000)]
        with ThreadPoolExecutor(2) as pool:
            written = pool.submit(lambda: [redactor.entry(one) for one in exchanges])
            logged = pool.submit(lambda: list(map(redactor.target, paths)))
        assert repr(written.result()) == repr([alone.entry(one) for one in exchanges])
        assert logged.result() == list(map(alone.target, paths))
        assert {one.redactions for one in written.result()} == {3}

    def test_reasons_of_errors_are_redacted(self) -> None:
        redactor = Redactor(KEY)
        redactor.entry(entry(answer_body=dump({"name": "Gruenwald"})))
        text = redactor.text(f"Bad status line 'HTTP Anna', {IBAN} of Gruenwald")
        assert text.startswith("Bad status line '")
        assert not [word for word in ("Anna", IBAN, "Gruenwald") if word in text]


def texts(request: Request) -> set[str]:
    """Return all texts that a rule for this request would contain."""
    path, _, query = request.target.partition("?")
    found = {unquote(part) for part in path.split("/")} | {value for _, value in request.headers}
    found |= {unquote(part.replace("+", " ")) for pair in query.split("&") for part in (pair, *pair.split("=", 1))}

    def walk(value: Any) -> None:
        match value:
            case dict():
                for name, inner in value.items():
                    found.add(name)
                    walk(inner)
            case list():
                for inner in value:
                    walk(inner)
            case _:
                found.add(value if isinstance(value, str) else json.dumps(value))

    try:
        walk(json.loads(request.body, parse_int=str, parse_float=str))
    except (ValueError, RecursionError):
        found |= {unquote(part.replace("+", " ")) for part in re.split("[=&]", request.body.decode("latin-1"))}
    return found


TEXT = st.text(min_size=1, max_size=20)
HEADER = st.tuples(
    st.sampled_from("PSU-ID Consent-ID Accept X-Request-ID PSU-IP-Address TPP-Redirect-URI Cookie Forwarded".split()),
    st.sampled_from([IBAN, UUID, "10.1.2.3", "https://x.example/a?b=c", "Bearer"]) | TEXT,
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.decimals(allow_nan=False, allow_infinity=False).map(float)
    | TEXT
    | st.sampled_from([IBAN, UUID, "/v1/accounts/x?y=z", "2026-11-21", "4111111111111111"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["iban", "status", "token", "accountId", "href", IBAN]) | TEXT, inner, max_size=4
        )
    ),
    max_leaves=12,
)


class TestReplay:
    def test_a_request_with_a_real_account_matches_the_recording(self) -> None:
        recorded = Redactor(KEY).entry(
            entry(f"/v1/accounts/{IBAN}", (("Consent-ID", "c-77"), JSON), dump({"iban": IBAN, "name": "Anna"}))
        )
        sent = Request(
            "GET", f"/v1/accounts/{IBAN}", Headers([("Consent-ID", "c-77"), JSON]), dump({"iban": IBAN, "name": "Anna"})
        )
        matched = Redactor(KEY).request(sent)
        assert (matched.target, matched.body) == (recorded.target, recorded.body)
        assert matched.headers.pairs == recorded.headers.pairs

    def test_a_request_with_a_pseudonym_from_an_answer_matches_the_recording(self) -> None:
        recorded = Redactor(KEY).entry(entry(answer_body=dump({"resourceId": "konto-88", "iban": IBAN})))
        given = json.loads(recorded.answer_body)
        replayed = Redactor(KEY, unchanged=set(given.values()))
        for target in (f"/v1/accounts/{given['resourceId']}", f"/v1/accounts/{given['iban']}?x={given['iban']}"):
            request = Request("GET", target, body=dump(given))
            assert replayed.request(request) is request
        assert replayed.request(Request("GET", "/v1/accounts/konto-88")).target == f"/v1/accounts/{given['resourceId']}"

    def test_framing_headers_are_kept(self) -> None:
        headers = Headers(
            [("Host", "10.1.2.3"), ("Content-Length", "15"), ("X-Sandbox-Session", "anna"), ("Cookie", "a=b")]
        )
        request = Redactor(KEY).request(Request("POST", "/v1/consents", headers, b'{"name":"Anna"}'))
        assert request.headers.pairs == headers.pairs[:3]

    @given(
        st.lists(
            TEXT.map(lambda text: quote(text, safe="")) | st.sampled_from(["v1", "accounts", IBAN, "77777"]), max_size=5
        ),
        st.lists(st.tuples(TEXT | st.just("iban"), TEXT), max_size=3),
        st.lists(HEADER, max_size=4),
        VALUES,
    )
    def test_redacting_twice_changes_nothing(
        self, path: list[str], query: list[tuple[str, str]], headers: list[Any], value: Any
    ) -> None:
        target = "/" + "/".join(path)
        if query:
            target += "?" + "&".join(f"{quote(name, safe='')}={quote(text, safe='')}" for name, text in query)
        sent = Request("POST", target, Headers([JSON, *headers]), dump(value))
        once = Redactor(KEY).request(sent)
        assert Redactor(KEY, unchanged=texts(once)).request(once) is once


def as_iban(number: int) -> str:
    bban = f"{number:018}"
    return f"DE{98 - int(f'{bban}131400') % 97:02}{bban}"


MARKED = st.one_of(
    st.integers(10**9, 10**17).map(as_iban),
    st.from_regex(r"[a-z]{4,9}\.[a-z]{4,9}@[a-z]{4,9}\.example", fullmatch=True),
    st.from_regex(r"[1-9][0-9]{11,15}", fullmatch=True),
)
"""Data that is recognised by its form, in any place."""
PLAIN = st.from_regex(r"[A-Z][a-z]{6,9}(-[a-z]{4,6}| [A-Z][a-z]{5,9})?[0-9]{0,3}", fullmatch=True).filter(
    lambda text: text.lower().split()[0] not in {"options", "private", "expired"}
)
"""Names, customer numbers, tokens."""

Plant = Callable[[Exchange, str], Exchange]


def member(build: Callable[[str], Any]) -> Plant:
    return lambda one, secret: replace(one, answer_body=dump(build(secret)))


def sent(build: Callable[[str], Any]) -> Plant:
    return lambda one, secret: replace(one, body=dump(build(secret)))


def header(name: str, text: str = "{}") -> Plant:
    return lambda one, secret: replace(
        one,
        headers=Headers([*one.headers, (name, text.format(secret))]),
        answer_headers=Headers([*one.answer_headers, (name, text.format(secret))]),
    )


def target(text: str) -> Plant:
    return lambda one, secret: replace(one, target=text.format(quote(secret, safe="")))


def content(media: str, build: Callable[[str], bytes]) -> Plant:
    return lambda one, secret: replace(
        one, answer_headers=Headers([("Content-Type", media)]), answer_body=build(secret)
    )


def base64_of(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


ANYWHERE: dict[str, Plant] = {
    "path": target("/v1/accounts/{}/balances"),
    "last segment": target("/v1/consents/{}"),
    "query": target("/v1/accounts?iban={}&withBalance=true"),
    "query without a name": target("/v1/accounts?{}"),
    "query of a link": target("/v1/accounts?next=%2Fv1%2Fx%3Fy%3D{}"),
    "authorization": header("Authorization", "Bearer {}"),
    "cookie": header("Set-Cookie", "SID={}; Path=/"),
    "unknown header": header("X-Customer"),
    "psu": header("PSU-ID"),
    "identifier": header("Consent-ID"),
    "redirect": header("TPP-Redirect-URI", "https://tpp.example/{0}?state={0}"),
    "host of a link": member(lambda s: {"homePage": f"https://{s}.example/"}),
    "location": header("Location", "/v1/consents/{}"),
    "forwarded": header("X-Forwarded-For"),
    "certificate": header("TPP-Signature-Certificate"),
    "nested": member(lambda s: {"a": [{"b": {"debtorTaxNumber": s}}]}),
    "text": member(lambda s: {"tppMessages": [{"category": "ERROR", "text": f"the account of {s} is blocked"}]}),
    "token": member(lambda s: {"access_token": s, "token_type": "Bearer"}),
    "link": member(lambda s: {"_links": {"self": {"href": f"https://api.bank.example/psd2/v1/accounts/{quote(s)}"}}}),
    "userinfo": member(lambda s: {"_links": {"self": {"href": f"https://{quote(s)}@api.bank.example/"}}}),
    "base64": member(lambda s: {"image": base64_of(s), "data": base64_of(base64_of(s))}),
    "hex": member(lambda s: {"blob": s.encode().hex()}),
    "escaped": member(lambda s: {"x": quote(s), "y": json.dumps({"z": s})}),
    "sent": sent(
        lambda s: {"psuData": {"password": s}, "creditorName": s, "remittanceInformationUnstructured": f"for {s}"}
    ),
    "page": content("text/html", lambda s: f"<h1>Sorry, {s}</h1>".encode()),
    "document": content("application/pdf", lambda s: s.encode()),
    "broken": content("application/json", lambda s: f'{{"name": "{s}"'.encode()),
    "twice": content("application/json", lambda s: f'{{"code": "{s}", "code": "ACSP"}}'.encode()),
    "wrong type": content("text/plain", lambda s: dump({"ownerName": s})),
    "compressed": content("application/json", lambda s: gzip.compress(dump({"ownerName": s}))),
    "form": content(
        "application/x-www-form-urlencoded", lambda s: f"grant_type=x&username={quote(s)}&{quote(s)}".encode()
    ),
}
ANYWHERE |= {
    "code": member(lambda s: {"transactionStatus": s, "product": s, "code": s, "bic": s}),
    "encoded code": member(lambda s: {"status": base64_of(s), "product": quote(s)}),
    "scope": member(lambda s: {"scope": f"AIS:{s} PIS"}),
    "allowed header": header("Accept", "text/html; x={}"),
    "method of the user": header("PSU-Http-Method"),
    "content type": lambda one, s: replace(one, answer_headers=Headers([("Content-Type", f"text/html; x={s}")])),
    "host": header("Origin", "https://{}.example"),
    "redirect to this machine": header("TPP-Redirect-URI", "http://localhost:3000/back/{}"),
}
MARKED_ONLY: dict[str, Plant] = {
    "name of a member": member(lambda s: {s: {"x": 1}, f"x_{s}": 1}),
    "name of a parameter": target("/v1/accounts?{}=1"),
}


def readable(one: Exchange) -> str:
    """Return all text that can be read from the entry, including decoded forms."""
    text = repr(one) + one.body.decode("utf-8", "replace") + one.answer_body.decode("utf-8", "replace")
    found = [text, unquote(text), unquote(unquote(text))]
    for encoded in re.findall(r"[A-Za-z0-9+/]{8,}=*", text):
        try:
            once = base64.b64decode(encoded + "=" * (-len(encoded) % 4)).decode("latin-1")
            found += [once, base64.b64decode(once).decode("latin-1")]
        except ValueError:
            continue
    found += [bytes.fromhex(one).decode("latin-1") for one in re.findall(r"(?:[0-9a-f]{2}){6,}", text)]
    return "\n".join(found).lower()


@given(st.data())
def test_no_planted_secret_survives(data: st.DataObject) -> None:
    redactor = Redactor(KEY)
    planted: list[str] = []
    for _ in range(data.draw(st.integers(1, 5))):
        secret = data.draw(MARKED | PLAIN)
        plain = secret[0].isupper() and not is_iban(secret)
        place = data.draw(st.sampled_from([*ANYWHERE, *(() if plain else MARKED_ONLY)]))
        planted.append(secret)
        body = readable(redactor.entry({**ANYWHERE, **MARKED_ONLY}[place](entry(), secret)))
        assert not [one for one in planted if one.lower() in body], place


@pytest.mark.parametrize("place", [*ANYWHERE, *MARKED_ONLY])
@pytest.mark.parametrize("secret", [IBAN, OTHER, "anna.gruenwald@mail.example", "4111111111111111", "06641234567"])
def test_recognisable_secrets_are_replaced_in_every_place(place: str, secret: str) -> None:
    planted = {**ANYWHERE, **MARKED_ONLY}[place](entry(), secret)
    assert secret.lower() in readable(planted) or place == "compressed"
    assert secret.lower() not in readable(Redactor(KEY).entry(planted))


READ: dict[str, tuple[Plant, Callable[[Exchange], str]]] = {
    "path": (target("/v1/accounts/{}/balances"), lambda one: unquote(one.target.split("/")[3])),
    "query": (target("/v1/accounts?x={}"), lambda one: unquote(one.target.partition("=")[2])),
    "header": (header("Consent-ID"), lambda one: one.answer_headers.get("consent-id") or ""),
    "link": (
        header("Location", "https://api.bank.example/psd2/v1/consents/{}"),
        lambda one: unquote((one.answer_headers.get("location") or "").rpartition("/")[2]),
    ),
    "member": (member(lambda s: {"x": [{"y": s}]}), lambda one: json.loads(one.answer_body)["x"][0]["y"]),
    "code": (member(lambda s: {"status": s}), lambda one: json.loads(one.answer_body)["status"]),
    "name": (member(lambda s: {"creditorName": s}), lambda one: json.loads(one.answer_body)["creditorName"]),
    "text of an error": (
        member(lambda s: {"text": f"The account of {s} is blocked"}),
        lambda one: json.loads(one.answer_body)["text"].removeprefix("The account of ").removesuffix(" is blocked"),
    ),
}
"""Places, with functions that read their value."""


@given(MARKED | PLAIN, st.permutations(sorted(READ)))
def test_a_value_has_one_pseudonym_in_every_place(secret: str, order: list[str]) -> None:
    redactor = Redactor(KEY)
    found = {place: READ[place][1](redactor.entry(READ[place][0](entry(), secret))) for place in order}
    assert len(set(found.values())) == 1, found
    assert secret not in found.values()


def shape(value: Any) -> Any:
    """Return types and lengths, which redaction keeps."""
    match value:
        case dict():
            return [shape(inner) for inner in value.values()]
        case list():
            return [shape(inner) for inner in value]
        case str():
            return re.sub(r"[^\W_]", "x", value)
        case bool() | None:
            return value
    return type(value)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(10**12), 10**12) | PLAIN | MARKED | st.text("abcäß 12-", max_size=12),
        lambda inner: (
            st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("a name status text iban".split()), inner)
        ),
        max_leaves=12,
    )
)
def test_the_shape_is_kept(value: Any) -> None:
    made = json.loads(Redactor(KEY).entry(entry(answer_body=dump({"value": value}))).answer_body)
    assert shape(made) == shape({"value": value})


@given(
    st.text(max_size=30),
    st.lists(st.tuples(st.text(max_size=12), st.text(max_size=30)), max_size=3),
    st.binary(max_size=60),
    st.sampled_from(["Content-Type", "Forwarded", "Location", "Consent-ID", "PSU-ID", "WWW-Authenticate", "Host"]),
)
def test_any_exchange_can_be_redacted(text: str, headers: list[tuple[str, str]], body: bytes, name: str) -> None:
    odd = entry(text, (*headers, (name, text)), body, ((name, text), *headers), body, bank=text)
    redactor = Redactor(KEY)
    assert isinstance(redactor.entry(odd), Exchange)
    assert isinstance(redactor.request(Request(text, text, Headers(headers), body)), Request)
    assert isinstance(redactor.target(text) + redactor.text(text), str)


@pytest.mark.parametrize(
    "media",
    [
        "application/x-www-form-urlencoded",
        "application/x-www-form-urlencoded;charset=UTF-8",
        "application/json; charset=utf-8",
        "application/problem+json",
        "application/hal+json",
        "application/xml",
        "application/octet-stream",
        "application/x-ndjson",
        "text/plain",
        "text/csv",
        "image/png",
    ],
)
def test_media_types_are_kept(media: str) -> None:
    entry = Exchange(
        *(datetime(2026, 11, 21, tzinfo=UTC), 1.0, "https://bank.example", "POST", "/token"),
        *(Headers([("Content-Type", media)]), b"", 200, Headers([("Content-Type", media)]), b""),
    )
    new = Redactor(KEY).entry(entry)
    assert (new.headers.get("content-type"), new.answer_headers.get("content-type")) == (media, media)


def test_the_boundary_is_the_same_in_header_and_body() -> None:
    kind = 'multipart/mixed; boundary="--Anna4711"; type=anna'
    body = b"----Anna4711\r\n\r\n{}\r\n----Anna4711--\r\n"
    entry = Exchange(
        *(datetime(2026, 11, 21, tzinfo=UTC), 1.0, "https://bank.example", "POST", "/v1/x"),
        *(Headers([("Content-Type", kind)]), body, 200, Headers([("Content-Type", kind)]), body),
    )
    new = Redactor(KEY).entry(entry)
    for headers, content in ((new.headers, new.body), (new.answer_headers, new.answer_body)):
        written = str(headers.get("content-type"))
        assert "nna" not in written
        assert content.startswith(f"--{written.partition('boundary=')[2]}\r\n".encode())


@pytest.mark.parametrize("name", ["token_endpoint", "authorization_endpoint", "tokenEndpoint"])
def test_an_endpoint_is_not_a_secret(name: str) -> None:
    server = entry(answer_body=dump({name: "https://api.bank.example/psd2/oauth2/token", "token": "a"}))
    answer = json.loads(Redactor(KEY).entry(server).answer_body)
    assert answer == {name: "https://api.bank.example/psd2/oauth2/token", "token": "dropped"}


def test_a_prefix_is_the_same_in_paths_and_links_with_any_key() -> None:
    for prefix, path in (
        ("hydrogen", "v1/accounts"),
        ("psd2-ie", ".well-known/openid-configuration"),
        ("x", "consents"),
    ):
        links = [f"/{prefix}/{path}", f"https://other.bank.example/{prefix}/{path}", f"https://bank.example/{prefix}"]
        body = dump({"_links": [{"href": link} for link in links]})
        for key in (b"k" * 32, b"l" * 32):
            redacted = Redactor(key).entry(entry(f"/{prefix}/{path}", answer_body=body))
            assert redacted.target == f"/{prefix}/{path}"
            assert all(f"/{prefix}" in link["href"] for link in json.loads(redacted.answer_body)["_links"])


def test_a_name_before_a_resource_is_not_a_prefix() -> None:
    for path in ("/customers/anna/accounts", "/users/huber/v1/accounts", "/x/y/anna/accounts", "/4711-0815/accounts"):
        assert Redactor(KEY).entry(entry(path)).target != path


def test_words_of_the_interface_and_its_errors_are_kept() -> None:
    body = {"code": "A-401-02", "title": "Agreement lookup mismatch", "status": 401, "type": "https://bank.example/errors",
            "errorCode": "E4711", "A-401-02": "x", "@type": "valid", "größe": 1}  # fmt: skip
    redacted = Redactor(KEY).entry(entry("/api/agreements", answer_body=dump(body)))
    assert redacted.target == "/api/agreements"
    kept = json.loads(redacted.answer_body)
    assert kept.keys() == body.keys()
    assert {name: kept[name] for name in ("code", "title", "errorCode", "@type")} == {
        name: body[name] for name in ("code", "title", "errorCode", "@type")
    }


def test_a_title_belongs_to_a_problem_only_next_to_its_type_and_status() -> None:
    body = {"title": "Anna Huber", "status": "active"}
    assert b"Anna" not in Redactor(KEY).entry(entry(answer_body=dump(body))).answer_body
    problem = {"title": "Account AT611904300234573201 mismatch", "status": 404, "type": "x"}
    assert b"AT61190" not in Redactor(KEY).entry(entry(answer_body=dump(problem))).answer_body


def test_the_type_of_a_problem_is_kept_except_for_data() -> None:
    body = {"title": "Too late", "status": 409, "type": f"urn:anna-bank:problem:too-late:{IBAN}"}
    made = json.loads(Redactor(KEY).entry(entry(answer_body=dump(body))).answer_body)
    assert made["type"].startswith("urn:anna-bank:problem:too-late:")
    assert IBAN not in made["type"]


def test_only_a_text_is_the_code_of_an_authorisation() -> None:
    made = [
        json.loads(Redactor(KEY).entry(entry(answer_body=dump({"code": code, "state": 10}))).answer_body)["code"]
        for code in (2002, "2002", 48219930177)
    ]
    assert made[:2] == [2002, "dropped"]
    assert made[2] not in (0, 48219930177)
