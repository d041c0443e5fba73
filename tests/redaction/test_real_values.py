"""Real values become pseudonyms and can be restored. Credentials cannot."""

import json
import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.redaction.planting import planted
from tests.support.taping import URL, taped
from xs2a_sandbox.http import Request, Response
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.http.har import from_har, to_har
from xs2a_sandbox.redaction.real_values import Depseudonymizer, VaultWriter, WithoutSecrets
from xs2a_sandbox.redaction.redactor import Redactor
from xs2a_sandbox.redaction.rules import DEFAULT, RedactionRules
from xs2a_sandbox.redaction.vault import RealRequest, digest

KEY = b"k" * 32
IBAN = "AT459880000010204711"
JSON = ("Content-Type", "application/json")


class MemoryVault:
    """A vault in memory."""

    def __init__(self) -> None:
        self.requests: dict[str, RealRequest] = {}
        self.values: dict[str, str] = {}
        self.fails = False

    def add_key(self, key: bytes) -> None:
        assert key == KEY

    def add(self, key: str, recorded: str, real: RealRequest, values: Mapping[str, str]) -> None:
        if self.fails:
            raise OSError(28, "No space left on device")
        self.requests[recorded] = real
        self.values |= values

    @property
    def text(self) -> str:
        return f"{self.requests} {self.values}"


def keeper(kept: Any, rules: RedactionRules = DEFAULT) -> VaultWriter:
    return VaultWriter(Redactor(KEY, rules, banks=[URL]), rules, kept, KEY)


def there_and_back(was: Exchange) -> tuple[Exchange, Exchange]:
    """Return the exchange as it is recorded, and as the vault restores it."""
    kept = MemoryVault()
    recorded = from_har(json.loads(json.dumps(to_har(keeper(kept).entry(was)))))
    real = kept.requests[digest(recorded)]
    return recorded, Depseudonymizer(b"-", banks=[URL]).knowing(kept.values).recorded(recorded, real)


TEXT = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=30)
SOMEBODY = st.sampled_from(["Anna Grünwald", IBAN, "AT45 9880 0000 1020 4711", "4999991234567893", "anna@mail.example"])
VALUE = st.one_of(TEXT, SOMEBODY, st.integers(0, 10**18), st.booleans(), st.none())
NAME = st.sampled_from("iban ownerName creditorName x remittanceInformationUnstructured amount status note".split())
MEMBERS = st.dictionaries(NAME, st.one_of(VALUE, st.lists(VALUE, max_size=3), st.dictionaries(NAME, VALUE)), max_size=4)
FIELDS = st.dictionaries(NAME, st.one_of(TEXT, SOMEBODY), max_size=4)
FORMS = (
    (JSON, lambda fields: json.dumps(fields, ensure_ascii=False).encode()),
    (("Content-Type", "application/x-www-form-urlencoded"), lambda fields: urlencode(fields).encode()),
    (
        ("Content-Type", "application/xml"),
        lambda fields: (
            b"<a>%s</a>" % b"".join(f"<{name}>{quote(value)}</{name}>".encode() for name, value in fields.items())
        ),
    ),
)


@st.composite
def requests(draw: st.DrawFn) -> Exchange:
    kind, write = draw(st.sampled_from(FORMS))
    fields: Any = draw(MEMBERS if kind is JSON else FIELDS)
    segments = [quote(one, safe="") for one in draw(st.lists(st.one_of(TEXT, SOMEBODY), max_size=3))]
    query = urlencode(draw(FIELDS))
    headers = [kind, ("PSU-ID", quote(draw(st.one_of(TEXT, SOMEBODY)))), ("Consent-ID", draw(st.uuids().map(str)))]
    target = "/v1/accounts" + "".join(f"/{one}" for one in segments) + (f"?{query}" if query else "")
    return taped(target, {}, "POST", headers=headers, body=write(fields))


@given(requests())
def test_a_request_is_restored(was: Exchange) -> None:
    _, again = there_and_back(was)
    assert (again.method, again.target, again.body) == (was.method, was.target, was.body)
    assert again.headers.pairs == was.headers.pairs


def test_an_answer_is_restored() -> None:
    answer = {"accounts": [{"resourceId": "K-4711-0815", "iban": IBAN, "ownerName": "Anna Grünwald", "x": 4711081512}]}
    was = taped("/v1/accounts", answer, answer_headers=[JSON, ("Location", f"{URL}/v1/accounts/{IBAN}")])
    recorded, again = there_and_back(was)
    assert IBAN not in str(recorded)
    assert json.loads(again.answer_body) == answer
    assert again.answer_headers.pairs == was.answer_headers.pairs


def test_another_request_and_answer_with_the_same_values_are_restored() -> None:
    kept = MemoryVault()
    keep = keeper(kept)
    recorded = keep.entry(taped(f"/v1/accounts/{IBAN}", {"ownerName": "Anna Grünwald"}, headers=[("PSU-ID", "anna7")]))
    restorer = Depseudonymizer(b"-", banks=[URL]).knowing(kept.values)
    request = Request("GET", recorded.target + "/balances", recorded.headers)
    assert restorer.request(request).target == f"/v1/accounts/{IBAN}/balances"
    assert restorer.request(request).headers.get("psu-id") == "anna7"
    body = json.dumps({"owner": {"name": json.loads(recorded.answer_body)["ownerName"]}}).encode()
    assert "Grünwald" in restorer.answer(Response(200, (JSON,), body)).body.decode()


def test_credentials_are_left_to_the_client() -> None:
    restorer = Depseudonymizer(b"-").knowing({"Bbrl": "Anna"})
    sent = taped("/v1/x?code=2fa81bc0", headers=[("Authorization", "Bearer 1"), ("X-Unknown", "2"), JSON], method="PUT")
    request = Request("PUT", sent.target, sent.headers, b'{"psuData": {"password": "alpenrose"}, "pin": 1234}')
    assert restorer.request(request) == request


@pytest.mark.parametrize(
    ("place", "kind"),
    [
        ("Authorization", "token"),
        ("Authorization", "token of letters"),
        ("cookie", "cookie"),
        ("unknown header", "signature"),
        ("unknown header", "api key"),
        ("user of a link", "password"),
    ],
)
def test_no_vault_contains_planted_credentials(place: str, kind: str) -> None:
    (one,) = [one for one in planted() if (one.secret.place, one.secret.kind) == (place, kind)]
    kept = MemoryVault()
    keeper(kept).entry(one.entry)
    assert one.secret.value not in kept.text


@pytest.mark.parametrize(
    ("target", "headers", "body"),
    [
        ("/token", [], "grant_type=password&username=anna&password=alpenrose7"),
        ("/token", [], "grant_type=client_credentials&client_secret=alpenrose7"),
        ("/token?access_token=alpenrose7", [], ""),
        ("/back?code=alpenrose7&state=x", [], ""),
        ("/v1/x", [("Authorization", "Bearer alpenrose7")], ""),
        ("/v1/x", [("Cookie", "SID=alpenrose7")], ""),
        ("/v1/x", [("Signature", 'keyId="1",signature="alpenrose7"')], ""),
        ("/v1/x", [("X-API-Key", "alpenrose7")], ""),
        ("/v1/x", [JSON], {"psuData": {"password": "alpenrose7"}}),
        ("/v1/x", [JSON], {"scaAuthenticationData": "alpenrose7"}),
        ("/v1/x", [JSON], {"client_secret": "alpenrose7", "apiKey": "alpenrose7"}),
        # Found under a neutral name after it is known to be a credential.
        ("/v1/x/alpenrose7", [("Authorization", "Bearer alpenrose7")], ""),
        ("/v1/x", [JSON, ("Authorization", "Bearer alpenrose7")], {"reference": "alpenrose7"}),
        ("/v1/x", [JSON], {"ticket": "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhbHBlbnJvc2U3In0.c2lnbmF0dXJl"}),
    ],
)
def test_credentials_in_requests_are_not_stored(target: str, headers: list[tuple[str, str]], body: Any) -> None:
    kept = MemoryVault()
    form = ("Content-Type", "application/x-www-form-urlencoded")
    content = body.encode() if isinstance(body, str) else body
    keep = keeper(kept)
    keep.entry(taped(target, {}, "POST", headers=headers or [form], body=content))
    (real,) = kept.requests.values()
    assert "alpenrose7" not in kept.text
    assert "eyJhbGci" not in kept.text
    only_headers = target == "/v1/x" and not body
    assert real.is_whole == only_headers


def test_credentials_in_answers_are_not_stored() -> None:
    kept = MemoryVault()
    keep = keeper(kept)
    link = f"{URL}/authorize/YYZokT4mnuh91ob1s752zqeNfNNKNKDl?next=1"
    keep.entry(taped("/v1/consents", {"_links": {"scaRedirect": {"href": link}}, "consentId": "K-4711-08"}, "POST"))
    keep.entry(taped("/authorize/YYZokT4mnuh91ob1s752zqeNfNNKNKDl?next=1"))
    keep.entry(taped("/v1/consents", {"_liens": {"signature": {"href": f"{URL}/parcours/t5yvnuvxbww99mdvre"}}}, "POST"))
    keep.entry(taped("/v1/x", {"challengeData": {"data": ["369137"], "otpMaxLength": 6}}))
    keep.entry(taped("/v1/x", {"tppMessages": [{"code": "PSU_CREDENTIALS_INVALID", "text": "TAN 911080 ist falsch"}]}))
    keep.entry(taped("/token", {"access_token": "2fa81bc02fa8", "refresh_token": "9bc02fa8aa11"}))
    assert not {
        s for s in ("YYZokT4mn", "t5yvnuvxbww99", "369137", "911080", "2fa81bc02fa8", "9bc02fa8aa11") if s in kept.text
    }
    assert "K-4711-08" in kept.text
    assert [real.is_whole for real in kept.requests.values()].count(False) == 1


def test_a_rule_that_keeps_a_token_in_the_recording_does_not_keep_it_in_the_vault() -> None:
    kept = MemoryVault()
    rules = RedactionRules(headers={"x-api-key": "keep"}, members={"ownername": "drop"})
    was = taped("/v1/x", {"ownerName": "Anna Grünwald"}, headers=[("X-API-Key", "alpenrose7"), ("PSU-ID", "anna7")])
    recorded = keeper(kept, rules).entry(was)
    assert recorded.headers.get("x-api-key") == "alpenrose7"
    assert "alpenrose7" not in kept.text
    assert "Grünwald" not in kept.text
    (real,) = kept.requests.values()
    # It is sent again, because the recording contains it.
    assert Depseudonymizer(b"-", rules).recorded(recorded, real).headers.get("x-api-key") == "alpenrose7"


def test_a_vault_that_cannot_be_written_does_not_stop_the_recording(caplog: pytest.LogCaptureFixture) -> None:
    kept = MemoryVault()
    keep = keeper(kept)
    kept.fails = True
    with caplog.at_level(logging.WARNING):
        first, second = (keep.entry(taped(f"/v1/accounts/{IBAN}/{n}")) for n in range(2))
    assert first.target != second.target
    assert [record.getMessage() for record in caplog.records] == [
        "cannot write the vault: No space left on device. "
        "Until this is fixed, new recordings cannot be compared with the bank"
    ]
    assert IBAN not in caplog.text


def test_values_redacted_by_other_threads_are_not_stored() -> None:
    kept = MemoryVault()
    redactor = Redactor(KEY, banks=[URL])
    keep = VaultWriter(redactor, DEFAULT, kept, KEY)  # type: ignore[arg-type]
    redactor.target(f"/v1/accounts/{IBAN}")
    keep.entry(taped("/v1/x"))
    assert kept.values == {}


def test_only_secrets_are_dropped() -> None:
    was = taped(
        f"/v1/accounts/{IBAN}", headers=[("PSU-ID", "anna"), ("TPP-Redirect-URI", "https://a.example/?state=s1")]
    )
    real = WithoutSecrets().real_request(replace(was, body=b"{}"))
    assert real.target == was.target
    assert dict(real.headers.pairs)["PSU-ID"] == "anna"
    # It can be sent without values that only its app knows.
    assert dict(real.headers.pairs)["TPP-Redirect-URI"] == "https://a.example/?state=dropped"
    assert real.is_whole
