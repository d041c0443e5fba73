"""Redacts MT940 and MT942 field by field: amounts, dates and codes stay; accounts, names, purposes, references do not.

Values split by a line break or a subfield are joined, redacted, and split again at the same place.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import accumulate, pairwise

from xs2a_sandbox.redaction.pseudonyms import compact_iban
from xs2a_sandbox.redaction.rules import RedactionRules
from xs2a_sandbox.redaction.values import ValueRedactor

_STATEMENT = (re.compile(r"^:20:", re.MULTILINE), re.compile(r"^:(?:25P?|60[FM]|61|34F):", re.MULTILINE))
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_TAG = re.compile(r":(\d\d[A-Z]?|NS):")
_FRAME = re.compile(r"-\}?\s*|\s+")
_BLOCK = re.compile(r"[{}\s]+|(?<=\{)(?:1:F\d\d|2:[IO]94[02]|\d:)|-\}")
_AROUND = re.compile(r"(\s*)(.*?)(\s*)", re.DOTALL)

_AMOUNT = r"\d{1,12}[,.]\d{0,3}"
_KEPT: Mapping[str, re.Pattern[str]] = {
    **dict.fromkeys(("13", "13D"), re.compile(r"(?P<minute>\d{10})(?:[+-]\d{4})?")),
    **dict.fromkeys(("28", "28C"), re.compile(r"\d{1,5}(?:/\d{1,5})?")),
    **dict.fromkeys(("60F", "60M", "62F", "62M", "64", "65"), re.compile(rf"[CD](?P<day>\d{{6}})[A-Z]{{3}}{_AMOUNT}")),
    "34F": re.compile(rf"[A-Z]{{3}}[CD]?{_AMOUNT}"),
    **dict.fromkeys(("90C", "90D"), re.compile(rf"\d{{1,5}}[A-Z]{{3}}{_AMOUNT}")),
}
"""Fields without personal data, and the form that they must have."""

_ENTRY = re.compile(
    rf"(?P<head>(?P<day>\d{{6}})(?:\d{{4}})?(?:R?[CD]|E[CD])[A-Z]?{_AMOUNT}[NSF][A-Z0-9]{{3}})"
    r"(?P<reference>(?:(?!//)[^\r\n])*)(?P<slashes>(?://)?)(?P<own>[^\r\n]*)(?P<more>.*)",
    re.DOTALL,
)
_WITH_CURRENCY = re.compile(r"(?:[A-Z]{2}\d{2})?[A-Z0-9]*\d[A-Z]{3}")
_STRUCTURED = re.compile(r"\d{3}([^\sA-Za-z0-9])(?=\d\d)")

_REMITTANCE = "remittance"
_MEANINGS = {
    "reference": "BREF CREF CRED CSID DEBT EREF KREF MARF MREF PREF RREF VREF",
    "name": "ABWA ABWE ADDR ANAM BENM NAME ORDP ULTB ULTC ULTD",
    "iban": "IBAN",
    "bic": "BIC",
    "amount": "COAM OAMT",
    "title": "BUSP TRTP",
    "code": "PURP RTRN SQTP SVCL TRCD",
    _REMITTANCE: "CNTP NRTX OCMT REMI SVWZ",
}
"""Codes within purposes, such as `SVWZ+` and `/REMI/`, and the name of the JSON member with the same content."""

_BY_CODE = {code: meaning for meaning, codes in _MEANINGS.items() for code in codes.split()}
_CODE = re.compile(rf"({'|'.join(_BY_CODE)})\+|/({'|'.join(_BY_CODE)})/")
_SUBFIELDS = {
    "00": "title",
    "10": "reference",
    "30": "bic",
    "31": "iban",
    "32": "name",
    "33": "name",
    "34": "reference",
}
"""The other subfields are parts of the purpose."""

_CONTINUED = ("name", _REMITTANCE)
"""Subfields that continue in the next one."""


def is_statement(text: str) -> bool:
    return all(tag.search(text) for tag in _STATEMENT)


def redact_statement(text: str, censor: ValueRedactor, rules: RedactionRules) -> str:
    return "".join(_redact(tag, value, censor, rules) for tag, value in _fields(text))


def _fields(text: str) -> Iterator[tuple[str, str]]:
    """Yield each field with its tag, and the text between fields with an empty tag."""
    tag, value = "", ""
    for line in _LINE.findall(text):
        begins = _TAG.match(line)
        if begins or line.startswith(("{", "-}")) or _FRAME.fullmatch(line):
            yield tag, value
            tag, value = (begins[1], line[begins.end() :]) if begins else ("", line)
        else:
            value += line
    yield tag, value


def _redact(tag: str, value: str, censor: ValueRedactor, rules: RedactionRules) -> str:
    if not tag:
        return _between(_BLOCK, value, lambda text: _as_member("", text, censor))
    around = _AROUND.fullmatch(value)
    before, text, after = around.groups() if around else ("", value, "")
    if action := rules.members.get(tag.lower()):
        new = censor.member(tag, text, action)
    elif tag in _KEPT:
        form = _KEPT[tag].fullmatch(text)
        new = text if form and _is_moment(form.groupdict()) else _as_member(_REMITTANCE, text, censor)
    else:
        new = _FIELDS.get(tag, _redact_unknown)(text, censor)
    return f":{tag}:{before}{new}{after}"


def _is_moment(parts: Mapping[str, str | None]) -> bool:
    """Return whether the day or minute in a field is a valid one."""
    try:
        for name, form in (("day", "%y%m%d"), ("minute", "%y%m%d%H%M")):
            if parts.get(name):
                datetime.strptime(str(parts[name]), form)
    except ValueError:
        return False
    return True


def _as_member(meaning: str, text: str, censor: ValueRedactor) -> str:
    """Redact the text like a member of this name. Surrounding blanks stay, and line breaks in it are ignored."""
    around = _AROUND.fullmatch(text)
    before, inner, after = around.groups() if around else ("", text, "")
    lines = re.split(r"(\r?\n)", inner)
    new = _cut_alike(lines[::2], lambda whole: censor.member(meaning, whole) if whole else whole)
    return before + "".join(line + ending for line, ending in zip(new, [*lines[1::2], ""], strict=True)) + after


def _cut_alike(pieces: Sequence[str], redact: Callable[[str], str]) -> list[str]:
    """Redact the pieces as one text, and split it into pieces of the same lengths; the last one takes the rest."""
    new = redact("".join(pieces))
    places = [0, *accumulate(map(len, pieces[:-1])), len(new)]
    return [new[start:end] for start, end in pairwise(places)]


def _between(marks: re.Pattern[str], text: str, redact: Callable[[str], str]) -> str:
    """Redact the text between the marks, and keep the marks."""
    made, done = "", 0
    for mark in marks.finditer(text):
        made += redact(text[done : mark.start()]) + mark[0]
        done = mark.end()
    return made + redact(text[done:])


def _redact_unknown(text: str, censor: ValueRedactor) -> str:
    return _as_member(_REMITTANCE, text, censor)


def _reference(text: str, censor: ValueRedactor) -> str:
    return _as_member("reference", text, censor)


def _account(text: str, censor: ValueRedactor) -> str:
    """Redact bank code and number, or an IBAN, and keep the currency after it."""

    def part(piece: str) -> str:
        has_currency = _WITH_CURRENCY.fullmatch(piece) and not compact_iban(piece)
        number, currency = (piece[:-3], piece[-3:]) if has_currency else (piece, "")
        return _as_member("iban", number, censor) + currency

    return "/".join(map(part, text.split("/")))


def _entry(text: str, censor: ValueRedactor) -> str:
    form = _ENTRY.fullmatch(text)
    if form is None or not _is_moment(form.groupdict()):
        return _redact_unknown(text, censor)
    return "".join(
        (
            form["head"],
            _redact_code(form["reference"], censor, "reference"),
            form["slashes"],
            _as_member("reference", form["own"], censor),
            _as_member(_REMITTANCE, form["more"], censor),
        )
    )


def _purpose(text: str, censor: ValueRedactor) -> str:
    structured = _STRUCTURED.match(text)
    if structured is None:
        # The lines of a string without subfields are one text.
        lines = re.split(r"(\r?\n)", text)
        new = _cut_alike(lines[::2], lambda whole: _redact_code(whole, censor))
        return "".join(line + ending for line, ending in zip(new, [*lines[1::2], ""], strict=True))
    mark = re.escape(structured[1])
    # A line break may also split the code of a subfield.
    pieces = re.split(rf"({mark}(?:\r?\n)?\d(?:\r?\n)?\d|\r?\n)", text[3:])
    code = ""
    runs: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for place, piece in enumerate(pieces):
        if place % 2 and piece.startswith(structured[1]):
            code = "".join(filter(str.isdigit, piece))
        elif not place % 2:
            meaning = _SUBFIELDS.get(code, _REMITTANCE)
            runs[meaning, "" if meaning in _CONTINUED else code].append(place)
    for (meaning, _), places in runs.items():

        def redact(whole: str, meaning: str = meaning) -> str:
            return _redact_code(whole, censor) if meaning == _REMITTANCE else _as_member(meaning, whole, censor)

        for place, piece in zip(places, _cut_alike([pieces[place] for place in places], redact), strict=True):
            pieces[place] = piece
    return text[:3] + "".join(pieces)


def _redact_code(text: str, censor: ValueRedactor, meaning: str = _REMITTANCE) -> str:
    """Redact the parts of a string by the codes before them."""
    made, done = "", 0
    for code in _CODE.finditer(text):
        made += _as_member(meaning, text[done : code.start()], censor) + code[0]
        done, meaning = code.end(), _BY_CODE[code[1] or code[2]]
    return made + _as_member(meaning, text[done:], censor)


_FIELDS: Mapping[str, Callable[[str, ValueRedactor], str]] = {
    "20": _reference,
    "21": _reference,
    "25": _account,
    "25P": _account,
    "61": _entry,
    "86": _purpose,
}
