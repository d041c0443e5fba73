"""Parses XML safely: nothing is fetched, entities are not expanded, and nesting is limited."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lxml import etree


def is_xml(media: str) -> bool:
    """Return whether a media type is XML, except for XHTML pages."""
    return media.endswith(("/xml", "+xml")) and media != "application/xhtml+xml"


def parse_xml(body: bytes) -> "etree._ElementTree":
    """Parse XML. Raises ValueError with the mistake, also for a document type, where entities are declared."""
    # Imported only for XML, because most banks do not use it and the import is slow and takes 6 MiB.
    from lxml import etree

    # libxml2 limits nesting to 256 levels, and the growth by entities.
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        tree = etree.ElementTree(etree.fromstring(body, parser))
    except etree.XMLSyntaxError as error:
        raise ValueError(f"the body must be XML: {error.msg}") from None
    if tree.docinfo.internalDTD is not None:
        raise ValueError("the body must be XML without a document type (DOCTYPE)")
    return tree


def local_name(tag: str) -> str:
    """Return the name of an element or an attribute without its namespace."""
    return tag.rpartition("}")[2]
