"""Members of forms, multipart bodies and XML, found by their places."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xs2a_sandbox.http.body_members import Member, at, kind_of, leaves, members

FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data; boundary=b"
PAIN = b"""<?xml version="1.0" encoding="UTF-8"?>
<p:Document xmlns:p="urn:iso:std:iso:20022:tech:xsd:pain.001.001.03"><!-- two --><p:CstmrCdtTrfInitn><p:PmtInf>
<p:CdtTrfTxInf><p:Amt><p:InstdAmt Ccy="EUR"> 10.00 </p:InstdAmt></p:Amt></p:CdtTrfTxInf>
<p:CdtTrfTxInf><p:Amt><p:InstdAmt Ccy="CHF">20.00</p:InstdAmt></p:Amt></p:CdtTrfTxInf>
</p:PmtInf></p:CstmrCdtTrfInitn></p:Document>"""


def values(body: bytes, media: str, *steps: str) -> list[Any]:
    whole = members(body, media)
    assert whole is not None
    return list(at(whole, steps))


def test_fields_of_forms_are_members() -> None:
    body = b"grant_type=authorization_code&scope=AIS%3A1+PIS&scope=b&empty="

    assert values(body, FORM, "grant_type") == ["authorization_code"]
    assert values(body, FORM, "scope") == ["AIS:1 PIS", "b"]
    assert values(body, FORM, "scope", "1") == ["b"]
    assert values(body, FORM, "empty") == [""]
    assert values(body, FORM, "code") == []
    assert values(body, f"{FORM}; charset=utf-8", "grant_type") == ["authorization_code"]


def test_elements_have_local_names_and_attributes_start_with_an_at_sign() -> None:
    amount = ("Document", "CstmrCdtTrfInitn", "PmtInf", "CdtTrfTxInf", "Amt", "InstdAmt")

    assert values(PAIN, "application/xml", *amount) == ["10.00", "20.00"]
    assert values(PAIN, "text/xml; charset=utf-8", *amount[:4], "1", *amount[4:], "@Ccy") == ["CHF"]
    assert values(PAIN, "application/pain.001+xml", *amount[:4], "2", *amount[4:]) == []
    assert values(PAIN, "application/xml", *amount[:3]) == [""]


def test_parts_of_multipart_bodies_are_read_by_their_own_type() -> None:
    pieces = (
        ("xml_sct", "Content-Type: application/xml\r\n", PAIN.decode()),
        ("json_standingorderType", "Content-Type: application/json\r\n", '{"frequency": "MNTH", "days": [1, 15]}'),
        ("note", "", "a\r\nb"),
    )
    body = "".join(f'--b\r\nContent-Disposition: form-data; name="{n}"\r\n{k}\r\n{c}\r\n' for n, k, c in pieces)
    content = f"{body}--b--\r\n".encode()

    assert values(content, MULTIPART, "xml_sct", "Document", "CstmrCdtTrfInitn", "PmtInf") == [""]
    assert values(content, MULTIPART, "json_standingorderType", "days", "1") == [15]
    assert values(content, MULTIPART, "note") == ["a\r\nb"]
    assert values(content.replace(b"--b\r", b"--c d\r").replace(b"--b--", b"--c d--"), MULTIPART, "note") == ["a\r\nb"]


@pytest.mark.parametrize(
    "media", [None, "", "application/json", "application/vnd.bank+json", "text/plain", "image/png"]
)
def test_other_bodies_have_no_members_of_this_kind(media: str | None) -> None:
    assert members(b"a=b", media) is None


def test_json_is_recognised_regardless_of_its_media_type() -> None:
    # `curl -d` labels every body as a form.
    assert members(b' {"a": 1}', FORM) is None


@pytest.mark.parametrize(
    ("body", "media", "reason"),
    [
        (b"<a>", "application/xml", "must be XML"),
        (b"", "application/xml", "must be XML"),
        (b"<a>" * 10_000, "application/xml", "must be XML"),
        (b'<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>', "application/xml", "document type"),
        (b"<!DOCTYPE a><a/>", "text/xml", "document type"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'.encode("utf-16"), "text/xml", "document type"),
        (b"a=b", MULTIPART, "multipart"),
        (b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\nx', MULTIPART, "multipart"),
        (b"--b\r\n\r\n\r\n" * 1001 + b"--b--", MULTIPART, "1000 parts"),
    ],
)
def test_an_unreadable_body_is_an_error_with_its_reason(body: bytes, media: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        members(body, media)


def test_the_kind_of_a_body_follows_its_media_type() -> None:
    types = [FORM, "multipart/mixed", "text/xml", "application/soap+xml", "application/json", "", "text/plain"]

    assert [kind_of(one) for one in types] == ["form", "multipart", "xml", "xml", "json", "json", "other"]
    assert kind_of("application/xhtml+xml") == "other"


names = st.sampled_from(["a", "b", "Ntry", "@Ccy"])
trees = st.recursive(
    st.text("xyz", max_size=2).map(Member),
    lambda inner: st.dictionaries(names, st.lists(inner, min_size=1, max_size=3), max_size=3).map(
        lambda below: Member(below=below)
    ),
)


@given(trees)
def test_every_value_has_a_unique_place(tree: Member) -> None:
    places = list(leaves(tree))

    assert len({place for place, _ in places}) == len(places)
    for place, value in places:
        assert list(at(tree, place)) == [value]


@given(st.binary(max_size=200), st.sampled_from([FORM, MULTIPART, "application/xml"]))
def test_any_bytes_are_read_or_refused(body: bytes, media: str) -> None:
    # Any other exception would fail the test.
    with suppress(ValueError):
        whole = members(body, media)
        assert whole is None or all(list(at(whole, place)) == [value] for place, value in leaves(whole))
