"""Redacts XML element by element and attribute by attribute, and keeps the document's structure.

Names in ISO 20022 messages are abbreviated names of JSON members, and are expanded to these: see iso20022.txt, next to
this module.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xs2a_sandbox.http.xml import local_name, parse_xml
from xs2a_sandbox.redaction.rules import Action, RedactionRules
from xs2a_sandbox.redaction.values import ValueRedactor
from xs2a_sandbox.redaction.vocabulary import humps, word_lists

if TYPE_CHECKING:
    from lxml import etree

_DECLARATION = re.compile(rb"(?:\xef\xbb\xbf)?<\?xml[^>]*\?>\s*")
_NAMESPACE = re.compile(
    r"urn:iso:std:iso:20022:tech:xsd:[a-z]{4}\.\d{3}\.\d{3}\.\d{2}(?:\.xsd)?|[a-z]{4}\.\d{3}\.\d{3}\.\d{2}\.xsd"
    r"|http://www\.w3\.org/[A-Za-z0-9/#.-]{1,60}"
)
_SCHEMA_LOCATION = "{http://www.w3.org/2001/XMLSchema-instance}schemaLocation"
_AROUND = re.compile(r"(\s*)(.*?)(\s*)", re.DOTALL)


def redact_xml(body: bytes, censor: ValueRedactor, rules: RedactionRules) -> bytes:
    """Redact XML. If nothing is replaced, the bytes are unchanged. Raises ValueError if it is not XML."""
    from lxml import etree

    document = parse_xml(body)
    new = _Elements(censor, rules).document(document)
    encoding = document.docinfo.encoding or "UTF-8"
    before, after = (_write(each, encoding) for each in (document, new))
    if before == after:
        return body
    if declaration := _DECLARATION.match(body):
        return declaration[0] + after + body[len(body.rstrip()) :]
    # UTF-16 has to be encoded again.
    made: Any = etree.tostring(new, encoding=encoding)
    return bytes(made)


def _write(document: "etree._ElementTree", encoding: str) -> bytes:
    from lxml import etree

    text: Any = etree.tostring(document, encoding=encoding, xml_declaration=False)
    return bytes(text)


@lru_cache(4096)
def spell_out(name: str) -> str:
    """Return the name of an element as a JSON member: `debitCreditIndicator`. Names that are not abbreviated stay."""
    whole, parts = _abbreviations()
    if name in whole:
        return whole[name]
    words = [parts.get(part, part) for part in humps(name)]
    return "".join([words[0], *(word[:1].upper() + word[1:] for word in words[1:])]) if words else name


@cache
def _abbreviations() -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Return the expansions of whole names, and of parts of names."""
    lists = word_lists(Path(__file__).with_name("iso20022.txt"))
    whole, parts = (dict(pair.split("=", 1) for pair in lists[section]) for section in ("names", "parts"))
    return whole, parts


def _is_spelled_out(name: str) -> bool:
    """Return whether the name is that of an ISO 20022 element."""
    whole, parts = _abbreviations()
    return name in whole or all(part in parts for part in humps(name))


class _Elements:
    """Builds a second document from the first, so that nothing unredacted can get into it."""

    def __init__(self, censor: ValueRedactor, rules: RedactionRules) -> None:
        self._censor = censor
        self._rules = rules

    def document(self, document: "etree._ElementTree") -> "etree._ElementTree":
        from lxml import etree

        root = document.getroot()
        new = self._element(root, None, (local_name(root.tag),), None, False)
        for before in reversed(list(root.itersiblings(preceding=True))):
            new.addprevious(self._aside(before))
        for after in reversed(list(root.itersiblings())):
            new.addnext(self._aside(after))
        return etree.ElementTree(new)

    def _element(
        self,
        element: "etree._Element",
        parent: "etree._Element | None",
        place: tuple[str, ...],
        action: Action | None,
        secret: bool,
    ) -> "etree._Element":
        from lxml import etree

        name = local_name(element.tag)
        meaning = spell_out(name)
        secret = secret or self._censor.is_secret(meaning)
        action = self._rules.members.get(name.lower(), action) or self._censor.traits(meaning).action_below
        names: Any = {prefix and self._censor.name(prefix): self._namespace(u) for prefix, u in element.nsmap.items()}
        tag = self._tag(element.tag)
        new = etree.Element(tag, nsmap=names) if parent is None else etree.SubElement(parent, tag, nsmap=names)
        for attribute, text in element.attrib.items():
            new.set(self._tag(str(attribute)), self._attribute(str(attribute), str(text), place, action, secret))
        new.text = self._text(meaning, element.text, place, action, secret)
        for child, step in _with_steps(element):
            if isinstance(child.tag, str):
                made = self._element(child, new, (*place, *step), action, secret)
            else:
                made = self._aside(child)
                new.append(made)
            made.tail = self._text(meaning, child.tail, place, action, secret)
        return new

    def _text(
        self, name: str, text: str | None, place: tuple[str, ...], action: Action | None, secret: bool
    ) -> str | None:
        """Redact the text like a member of this name. Surrounding blanks stay."""
        around = _AROUND.fullmatch(text or "")
        if not around or not around[2]:
            return text
        rule = self._rules.path(place)
        action, exact = (rule.action, rule.exact) if rule else (action, False)
        return around[1] + self._censor.member(name, around[2], action, secret=secret, exact=exact) + around[3]

    def _attribute(self, attribute: str, text: str, place: tuple[str, ...], action: Action | None, secret: bool) -> str:
        if attribute == _SCHEMA_LOCATION and not secret:
            return " ".join(map(self._namespace, text.split()))
        name = local_name(attribute)
        action = self._rules.members.get(name.lower(), action)
        meaning = spell_out(name)
        secret = secret or self._censor.is_secret(meaning)
        return self._text(meaning, text, (*place, f"@{name}"), action, secret) or ""

    def _aside(self, aside: "etree._Element") -> "etree._Element":
        """Redact a comment or a processing instruction."""
        from lxml import etree

        text = self._censor.value(aside.text or "")
        if isinstance(aside, etree._Comment):
            return etree.Comment(text)
        if isinstance(aside, etree._ProcessingInstruction):
            return etree.ProcessingInstruction(self._censor.name(str(aside.target)), text)
        raise ValueError("the body must be XML that does not define entities")

    def _tag(self, tag: str) -> str:
        name = local_name(tag)
        new = name if _is_spelled_out(name) else self._censor.name(name)
        return f"{{{self._namespace(tag[1:].partition('}')[0])}}}{new}" if tag.startswith("{") else new

    def _namespace(self, uri: str) -> str:
        return uri if _NAMESPACE.fullmatch(uri) else self._censor.value(uri)


def _with_steps(element: "etree._Element") -> Iterator[tuple["etree._Element", tuple[str, ...]]]:
    """Yield the children and the steps to them as in matchers: with a number if a name is repeated."""
    counts = Counter(local_name(child.tag) for child in element if isinstance(child.tag, str))
    numbers: Counter[str] = Counter()
    for child in element:
        name = local_name(child.tag) if isinstance(child.tag, str) else ""
        yield child, (name,) if counts[name] == 1 else (name, str(numbers[name]))
        numbers[name] += 1
