import base64
import gzip
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xs2a_sandbox.http.multipart import parts
from xs2a_sandbox.redaction import body as module
from xs2a_sandbox.redaction.body import notes, redact_body
from xs2a_sandbox.redaction.rules import DEFAULT, PathRule, RedactionRules
from xs2a_sandbox.redaction.values import ValueRedactor

KEY = b"k" * 32
JSON = "application/json"
IBAN = "AT611904300234573201"


def redacted(body: bytes, media: str = JSON, rules: RedactionRules = DEFAULT) -> bytes:
    return redact_body(body, media, ValueRedactor(KEY, rules), rules)


def members(value: Any, rules: RedactionRules = DEFAULT) -> Any:
    return json.loads(redacted(json.dumps(value).encode(), rules=rules))


class TestJson:
    @pytest.mark.parametrize(
        "body",
        [
            b'{"transactionStatus" : "ACSP"}\n',
            b'{"amount": 1.10, "n": [1, 2.50, null, true], "day": "2026-11-21"}',
            b"[]",
            b"\xef\xbb\xbf{}",
            b"12",
        ],
    )
    def test_a_body_without_replacements_stays_identical(self, body: bytes) -> None:
        assert redacted(body) is body

    def test_members_with_unknown_names_are_replaced(self) -> None:
        value = {
            "debtorTaxNumber": "12-345/6789",
            "phone": ["+43 664 1234567", {"alt": "06641234567"}],
            "x_customer": {"n": 123456789, "small": 7},
        }
        new = members(value)

        assert list(new) == list(value)
        assert new["debtorTaxNumber"][2] == "-"
        assert not {"+43 664 1234567", "06641234567"} & {new["phone"][0], new["phone"][1]["alt"]}
        assert new["x_customer"]["n"] != 123456789
        assert len(str(new["x_customer"]["n"])) == 9
        assert new["x_customer"]["small"] == 7

    def test_numbers_keep_their_digits(self) -> None:
        digits = "1" * 5000
        body = f'{{"name":"Anna","amount":1.10,"rate":0.000001,"n":{digits}}}'.encode()
        new = redacted(body)
        assert b'"amount":1.10,"rate":0.000001,' in new
        assert len(new) == len(body)
        assert digits.encode() not in new

    def test_secrets_are_dropped_with_all_nested_values(self) -> None:
        value = {
            "access_token": "x1",
            "psuData": {"password": "p", "more": [{"n": 5, "b": True, "s": "q"}]},
            "otp": None,
        }
        assert members(value) == {
            "access_token": "dropped",
            "psuData": {"password": "dropped", "more": [{"n": 0, "b": True, "s": "dropped"}]},
            "otp": None,
        }

    def test_a_link_with_a_secret_name_is_a_link(self) -> None:
        made = members({"_links": {"signature": {"href": "/v1/pages/k7m2x9q4w8?token=alpenrose7"}}})
        href = made["_links"]["signature"]["href"]
        assert re.fullmatch(r"/v1/pages/\w{10}\?token=dropped", href)
        assert "k7m2x9q4w8" not in href

    @pytest.mark.parametrize("other", [{"href": "alpenrose"}, {"href": "/v1/pages/7", "value": "alpenrose"}])
    def test_an_object_with_a_secret_name_is_no_link_if_it_can_have_a_secret(self, other: dict[str, str]) -> None:
        assert members({"signature": other}) == {"signature": dict.fromkeys(other, "dropped")}

    def test_an_authorisation_code_is_dropped(self) -> None:
        assert members({"code": "FORMAT_ERROR"}) == {"code": "FORMAT_ERROR"}
        assert members({"code": "FORMAT_ERROR", "state": "x"})["code"] == "dropped"

    def test_accounts_in_names_values_and_links_have_the_same_pseudonym(self) -> None:
        value = {IBAN: {"self": {"href": f"/v1/accounts/{IBAN}"}}, "iban": IBAN, "text": f"{IBAN[:4]} {IBAN[4:]}"}
        new = members(value)
        made = new["iban"]
        assert next(iter(new)) == made != IBAN
        assert new[made]["self"]["href"] == f"/v1/accounts/{made}"
        assert new["text"] == f"{made[:4]} {made[4:]}"

    @pytest.mark.parametrize("media", ["application/json", "application/problem+json", "text/plain", "", "text/html"])
    def test_every_media_type_of_json_is_read_as_json(self, media: str) -> None:
        assert json.loads(redacted(b' {"name": "Anna"}', media)).keys() == {"name"}

    @pytest.mark.parametrize(
        "body",
        [
            b'{"name": "Anna"',
            b'{"a": "Anna", "a": "ACSP"}',
            b'{"a": NaN}',
            b"\xff\xfe\x00Anna",
            b"[" * 100_000,
            b'{"a":' * 2000 + b"1" + b"}" * 2000,
            b'"\\ud800" Anna',
        ],
    )
    def test_a_body_that_cannot_be_read_becomes_a_note(self, body: bytes) -> None:
        assert json.loads(redacted(body)) == {
            "notRecorded": f"application/json, {len(body)} bytes: it cannot be read as JSON"
        }

    def test_a_lone_surrogate_is_handled(self) -> None:
        assert "\\ud800" not in redacted(b'{"a": "\\ud800"}').decode()


VALUE = {"a": [{"iban": IBAN, "name": "Anna", "password": "geheim"}], "status": "ACSP", "amount": "12.50", "n": 7}


class TestRules:
    def test_rules_apply_to_members(self) -> None:
        rules = RedactionRules(
            members={"name": "keep", "password": "keep", "status": "replace", "amount": "replace", "n": "drop"}
        )
        new = members(VALUE, rules)
        assert new["a"][0]["name"] == "Anna"
        assert new["a"][0]["password"] == "dropped"
        assert new["status"] != "ACSP"
        assert new["amount"][2] == "."
        assert new["amount"] != "12.50"
        assert new["n"] == 0

    def test_rules_apply_to_paths(self) -> None:
        rules = RedactionRules(
            members={"iban": "drop"},
            paths=(PathRule(("a", "*", "password"), "keep"), PathRule(("a", "0", "iban"), "keep")),
        )
        new = members(VALUE, rules)
        assert (new["a"][0]["password"], new["a"][0]["iban"]) == ("geheim", IBAN)

    def test_a_star_at_the_end_of_a_path_does_not_keep_secrets(self) -> None:
        new = members(VALUE, RedactionRules(paths=(PathRule(("a", "0", "*"), "keep"),)))
        assert new["a"][0] == {"iban": IBAN, "name": "Anna", "password": "dropped"}

    def test_a_rule_applies_to_everything_below_its_path(self) -> None:
        new = members(VALUE, RedactionRules(paths=(PathRule(("a",), "keep"),), members={"name": "drop"}))
        assert new["a"][0] == {"iban": IBAN, "name": "dropped", "password": "dropped"}

    def test_rules_apply_to_media_types(self) -> None:
        page = f"<h1>Hello Anna</h1> {IBAN} &amp; <a href='/x'>caf\u00e9</a>".encode("latin-1")
        kept = redacted(page, "text/html", RedactionRules(media={"text/html": "keep"}))
        assert b"<h1>Hello Anna</h1>" in kept
        assert IBAN.encode() not in kept
        assert "caf\u00e9".encode("latin-1") in kept
        assert (
            redacted(b"{}", JSON, RedactionRules(media={JSON: "drop"}))
            == b'{"notRecorded":"application/json, 2 bytes: a rule drops it"}'
        )
        assert b"geheim" not in redacted(b'{"password": "geheim"}', JSON, RedactionRules(media={JSON: "keep"}))


class TestOthers:
    @pytest.mark.parametrize(
        ("media", "note"),
        [
            ("text/html", b"<!-- text/html, 4 bytes, not recorded: its form is not known -->"),
            ("application/xml", b"<!-- application/xml, 4 bytes, not recorded: it cannot be read as XML -->"),
            ("application/pdf", b"application/pdf, 4 bytes, not recorded: its form is not known"),
            ("multipart/form-data", b"multipart/form-data, 4 bytes, not recorded: it cannot be read as multipart"),
            ("", b"body, 4 bytes, not recorded: its form is not known"),
            ("text/anna@example.com", b"body, 4 bytes, not recorded: its form is not known"),
            ("text/at611904300234573201", b"body, 4 bytes, not recorded: its form is not known"),
        ],
    )
    def test_a_note_has_type_size_and_reason(self, media: str, note: bytes) -> None:
        assert redacted(b"Anna", media) == note
        assert redacted(note, media) is note

    def test_a_note_of_another_release_is_recognised(self) -> None:
        for note in (b"<!-- text/html, 4 bytes, not recorded -->", b'{"notRecorded": "application/json, 7 bytes"}'):
            assert redacted(note, "text/html") is note

    def test_a_text_that_resembles_a_note_is_not_one(self) -> None:
        for body in (b"text/html, 4 bytes, not recorded: anna huber", b"text/html, 4 bytes: Anna"):
            assert b"nna" not in redacted(body, "text/html")

    def test_an_empty_body_stays_empty(self) -> None:
        assert redacted(b"", "text/html") == b""

    def test_forms_are_redacted(self) -> None:
        form = (
            b"grant_type=authorization_code&code=x1&username=Anna+G&redirect_uri=https%3A%2F%2Ftpp.example%2Fcb%3Fa%3D1"
        )
        new = redacted(form, "application/x-www-form-urlencoded").decode()
        assert new.startswith("grant_type=authorization_code&code=dropped&username=")
        assert "Anna" not in new
        assert re.search(r"redirect_uri=https%3A%2F%2F(?!tpp)[a-z]{3}\.example%2F", new)
        assert redacted(b"scope=AIS", "application/x-www-form-urlencoded") == b"scope=AIS"
        assert b"Anna" not in redacted(b'{"name": "Anna"}', "application/x-www-form-urlencoded")

    def test_compressed_bodies_are_unpacked(self) -> None:
        assert redacted(gzip.compress(b'{"transactionStatus": "ACSP"}')) == b'{"transactionStatus": "ACSP"}'
        assert (
            redacted(gzip.compress(b"Anna"), "text/html")
            == b"<!-- text/html, 4 bytes, not recorded: its form is not known -->"
        )

    def test_a_body_that_cannot_be_unpacked_becomes_a_note(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "MAX_INFLATED", 1000)
        whole = gzip.compress(b'{"name": "Anna"}')
        for body in (
            whole[:-3],
            b"\x1f\x8bAnna",
            gzip.compress(whole),
            gzip.compress(b"[" + b" " * 5000 + b"]"),
            whole + b"Anna",
        ):
            noted = json.loads(redacted(body))["notRecorded"]
            assert noted == f"application/json, {len(body)} bytes: it could not be decoded"

    def test_encoded_data_in_harmless_values_are_replaced(self) -> None:
        for code in (
            base64.b64encode(IBAN.encode()),
            base64.urlsafe_b64encode(b"anna@example.com"),
            IBAN.encode().hex().encode(),
        ):
            assert code not in redacted(b'{"product": "%s", "status": "%s"}' % (code, code[:35]))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=1),
    max_leaves=15,
)


class TestProperties:
    @given(st.binary(max_size=200), st.sampled_from([JSON, "text/html", "application/x-www-form-urlencoded", "x", ""]))
    def test_any_bytes_can_be_redacted(self, body: bytes, media: str) -> None:
        assert isinstance(redacted(body, media), bytes)
        assert isinstance(redacted(b"\x1f\x8b" + body, media), bytes)
        assert isinstance(redacted(gzip.compress(body), media), bytes)

    @given(VALUES)
    def test_the_form_is_kept_and_the_result_is_deterministic(self, value: Any) -> None:
        body = json.dumps(value).encode()
        new = redacted(body)
        assert redacted(body) == new
        assert form(json.loads(new)) == form(value)


def form(value: Any) -> Any:
    match value:
        case dict():
            return {len(name): form(inner) for name, inner in value.items()}
        case list():
            return [form(inner) for inner in value]
        case str():
            return len(value)
        case bool() | None:
            return value
    return "number"


MULTIPART = b"""--Xy7anna\r
Content-Disposition: form-data; name="xml_sct"; filename="anna.xml"\r
Content-Type: application/xml\r
\r
<Document><Dbtr><Nm>Anna</Nm></Dbtr><IBAN>AT611904300234573201</IBAN></Document>\r
--Xy7anna\r
Content-Disposition: form-data; name="json_standingorderType"\r
Content-Type: application/json\r
\r
{"iban": "AT611904300234573201", "frequency": "Monthly"}\r
--Xy7anna\r
Content-Disposition: form-data; name="iban"\r
\r
AT611904300234573201\r
--Xy7anna\r
Content-Disposition: form-data; name="password"\r
\r
AnnasGeheimnis\r
--Xy7anna--\r
"""


class TestMultipart:
    def test_each_part_is_redacted_by_its_media_type(self) -> None:
        new = redacted(MULTIPART, "multipart/form-data")
        xml, value, field, secret = parts(new)
        (iban,) = members({"a": IBAN}).values()
        assert re.fullmatch(rb"<Document><Dbtr><Nm>[A-Z][a-z]{3}</Nm></Dbtr><IBAN>(.+)</IBAN></Document>", xml.content)
        assert xml.content.partition(b"<IBAN>")[2].startswith(iban.encode())
        assert json.loads(value.content) == {"iban": iban, "frequency": "Monthly"}
        assert field.content.decode() == iban
        assert (secret.name, secret.content) == ("password", b"dropped")
        assert b"nna" not in new

    def test_names_and_types_of_parts_are_kept(self) -> None:
        every = parts(redacted(MULTIPART, "multipart/form-data"))
        assert [one.name for one in every] == ["xml_sct", "json_standingorderType", "iban", "password"]
        assert [one.media for one in every] == ["application/xml", "application/json", "", ""]

    def test_the_boundary_of_recordings_is_always_the_same(self) -> None:
        other = MULTIPART.replace(b"Xy7anna", b"----another")
        assert redacted(MULTIPART, "multipart/form-data") == redacted(other, "multipart/form-data")

    def test_redacting_twice_changes_nothing(self) -> None:
        once = redacted(b"--x\r\n\r\n{}\r\n--x--\r\n", "multipart/mixed")
        assert redacted(once, "multipart/mixed") == once

    def test_a_part_of_unknown_form_is_noted_with_the_reason(self) -> None:
        body = b"--x\r\nContent-Type: image/png\r\n\r\n\x89PNG Anna\r\n--x\r\n\r\n{}\r\n--x--\r\n"
        new = redacted(body, "multipart/mixed")
        assert b"Anna" not in new
        assert [str(note) for note in notes(new, "multipart/mixed")] == ["image/png, 9 bytes: its form is not known"]

    def test_a_part_that_contains_the_boundary_of_recordings_becomes_a_note(self) -> None:
        body = b"--x\r\nContent-Type: application/json\r\n\r\n%s\r\n--x--\r\n"
        assert redacted(body % b'{"status": "boundary"}', "multipart/mixed").startswith(b"--boundary-of-the-recording")
        new = redacted(body % b'{"status": "--boundary-of-the-recording"}', "multipart/mixed")
        assert new.endswith(b"not recorded: it cannot be read as multipart")

    def test_nested_multipart_bodies_become_notes(self) -> None:
        inner = b"--y\r\n\r\nAnna\r\n--y--\r\n"
        body = b"--x\r\nContent-Type: multipart/mixed; boundary=y\r\n\r\n" + inner + b"\r\n--x--\r\n"
        new = redacted(body, "multipart/mixed")
        assert b"Anna" not in new
        assert b"not recorded: it is nested" in new
