"""Reading XML never fetches anything, expands no entities, and limits the depth."""

import pytest

from xs2a_sandbox.http.xml import is_xml, local_name, parse_xml


def test_elements_are_read_without_their_namespaces() -> None:
    root = parse_xml(b'<p:a xmlns:p="urn:x"><p:b Ccy="EUR">1.10</p:b></p:a>').getroot()
    assert [local_name(str(one.tag)) for one in root.iter()] == ["a", "b"]
    assert root[0].text == "1.10"


@pytest.mark.parametrize(
    "body",
    [
        b'<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/hostname">]><a>&b;</a>',
        b'<!DOCTYPE a [<!ENTITY b "x"><!ENTITY c "&b;&b;">]><a>&c;</a>',
        b'<!DOCTYPE a SYSTEM "http://127.0.0.1:9/a.dtd"><a/>',
    ],
)
def test_a_document_type_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError, match="must be XML without a document type"):
        parse_xml(body)


@pytest.mark.parametrize("body", [b"", b"<a>", b"{}", b"<a></b>", b"<a>" * 300 + b"</a>" * 300, b"<a>\xff</a>"])
def test_an_invalid_xml_body_is_an_error(body: bytes) -> None:
    with pytest.raises(ValueError, match="the body must be XML: "):
        parse_xml(body)


@pytest.mark.parametrize(
    ("media", "expected"),
    [("application/xml", True), ("application/soap+xml", True), ("application/xhtml+xml", False), ("text/html", False)],
)
def test_media_types_of_xml_are_recognised(media: str, expected: bool) -> None:
    assert is_xml(media) is expected
