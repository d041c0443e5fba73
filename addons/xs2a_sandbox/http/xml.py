"""XML read so that it can do no harm: nothing is fetched, no entity is put in, and it is not nested without end."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lxml import etree


def is_xml(media: str) -> bool:
    """True for types of XML, without pages of the web."""
    return media.endswith(("/xml", "+xml")) and media != "application/xhtml+xml"


def parse_xml(body: bytes) -> "etree._ElementTree":
    """Raises ValueError that says what is wrong. A document with a type, where entities are declared, is refused."""
    # Read when there is XML: most banks have none, and it takes a while and 6 MiB.
    from lxml import etree

    # libxml2 itself refuses what is nested deeper than 256, and what grows by its entities.
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        tree = etree.ElementTree(etree.fromstring(body, parser))
    except etree.XMLSyntaxError as error:
        raise ValueError(f"the body must be XML: {error.msg}") from None
    if tree.docinfo.internalDTD is not None:
        raise ValueError("the body must be XML without a document type (DOCTYPE)")
    return tree


def local_name(tag: str) -> str:
    """The name of an element or an attribute without its namespace."""
    return tag.rpartition("}")[2]
