"""Recognises words that are not personal in any context: see vocabulary.txt, next to this module."""

import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import Enum
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

FILE = Path(__file__).with_name("vocabulary.txt")

_SIGNS = re.escape(":;,|/\\=+()[]{}<>\"'`´’‘“”„?!&%*#$§…·•^")
_PIECE = re.compile(rf"[^\s{_SIGNS}]+(?:['’][^\s{_SIGNS}]+)*")
_SHORTENED = re.compile(r"^(?:[cdjlmnst]|qu)['’]|n['’]t$|['’](?:d|ll|m|re|s|t|ve)$", re.IGNORECASE)
"""`didn't`, `l'opération`."""
_JOINER = re.compile(r"[-_.]+")
_COUNTED = re.compile(r"([^\W\d_]{4,})\d", re.ASCII)
_BLANK = re.compile(r"[ \u00a0]{1,2}")
_IN_NUMBER = re.compile(r"[\s\-./,:;+()']{1,3}")
_VERSION = re.compile(
    r"[vV]?\d+(?:\.\d+){0,3}|[vV]\d+_\d+(?:\.\d+)?|[vV]\d{1,2}(?:-\d{1,2}){1,3}|[rR]\d{1,2}(?:\.\d{1,2})?", re.ASCII
)
_PREFIXED = re.compile(r"(?:D[aeiu]|Del|Della|L[ae]|Ma?c|San|St|V[ao]n)(?=[A-Z])")
"""`McGovern` and `LaBelle` are single words."""
_LOCALE = re.compile(r"[a-z]{2}[-_][A-Z]{2}", re.ASCII)
_LONGEST = 100
"""The longest pieces. Longer ones are not words. Longer texts are not cached."""
_SINGULAR = 8
"""The least length of a singular."""
_DIGITS = 4
"""The most digits of a piece: enough for years, counts and versions, but not for accounts."""


class PieceKind(Enum):
    """The kinds of pieces of text. Only a `WORD` is harmless on its own.

    A `NAME` is a word that is also a personal name, in lower case; a `PARTICLE` is a part of names: `van`, `de`. `BARE`
    is a short number or a letter.
    """

    WORD = "word"
    NAME = "name"
    PARTICLE = "particle"
    BARE = "bare"
    OTHER = "other"


class Piece(NamedTuple):
    text: str
    start: int
    end: int
    kind: PieceKind


def pieces(text: str) -> tuple[Piece, ...]:
    """Return the pieces between blanks and signs: `payment-accounts`, `{id}` without its brackets."""
    return _pieces(text) if len(text) <= _LONGEST else _pieces.__wrapped__(text)


@lru_cache(4096)
def _pieces(text: str) -> tuple[Piece, ...]:
    parts = [Piece(match[0], match.start(), match.end(), kind(match[0])) for match in _PIECE.finditer(text)]
    if len(parts) > 1:
        for first, last in _long_numbers(text, parts):
            parts[first:last] = [piece._replace(kind=PieceKind.OTHER) for piece in parts[first:last]]
    return tuple(parts)


def _long_numbers(text: str, parts: list[Piece]) -> Iterator[tuple[int, int]]:
    """Yield the spans of adjacent short numbers that together are a long one: `0664 123 456`."""
    first = 0
    for place in range(1, len(parts) + 1):
        if place < len(parts) and _is_one_number(text, parts[place - 1], parts[place]):
            continue
        if place - first > 1 and sum(sum(map(str.isdecimal, piece.text)) for piece in parts[first:place]) > _DIGITS:
            yield first, place
        first = place


def _is_one_number(text: str, one: Piece, two: Piece) -> bool:
    if not (one.text[-1].isdecimal() and two.text[0].isdecimal()) or PieceKind.WORD in (one.kind, two.kind):
        return False
    return _IN_NUMBER.fullmatch(text, one.end, two.start) is not None


def is_words(text: str) -> bool:
    """Return whether the text consists of words, at least one, and contains nothing personal."""
    kinds = {piece.kind for piece in pieces(text)}
    return PieceKind.WORD in kinds and kinds.isdisjoint((PieceKind.OTHER, PieceKind.NAME))


def has_words(text: str) -> bool:
    return any(piece.kind is PieceKind.WORD for piece in pieces(text))


def is_bare(text: str) -> bool:
    """Return whether the text has only short numbers, letters and languages: `*/*`, `q=0.8`, `31`, `de,en`."""
    return all(
        piece.kind is PieceKind.BARE or (piece.kind is PieceKind.PARTICLE and piece.text.islower())
        for piece in pieces(text)
    )


def find_strange(text: str, *, running: bool = False) -> list[tuple[int, int]]:
    """Return the spans that are not words; names and numbers as a whole: `Anna van der Berg`, `43 664 1234567`.

    With `running`, the text consists of sentences: there `grant` is a verb, elsewhere it may be a name.
    """
    spans: list[tuple[int, int]] = []
    parts = pieces(text)
    if not running:
        parts = tuple(
            piece._replace(kind=PieceKind.OTHER) if piece.kind is PieceKind.NAME else piece for piece in parts
        )
    place = 0
    while place < len(parts):
        if parts[place].kind is not PieceKind.OTHER:
            place += 1
            continue
        first = last = place
        while first > 0 and _belongs(text, parts[first - 1], parts[first]):
            first -= 1
        while (after := _next(text, parts, last)) > last:
            last = after
        start = parts[first].start
        if spans and spans[-1][1] > start:
            start = spans.pop()[0]
        spans.append((start, parts[last].end))
        place = last + 1
    return spans


def _next(text: str, parts: Sequence[Piece], last: int) -> int:
    """Return the last piece that belongs to the one at `last`. Particles belong to it only if a name follows."""
    place = last
    while place + 1 < len(parts):
        one, two = parts[place], parts[place + 1]
        if _belongs(text, one, two):
            return place + 1
        follows = two.kind is not PieceKind.WORD and _BLANK.fullmatch(text, one.end, two.start)
        if follows and place > last and (two.kind in (PieceKind.OTHER, PieceKind.NAME) or two.text[0].isupper()):
            return place + 1
        if not (follows and two.kind is PieceKind.PARTICLE and two.text.islower()):
            return last
        place += 1
    return last


def _belongs(text: str, one: Piece, two: Piece) -> bool:
    """Return whether two neighbours are parts of the same name or number."""
    kinds = {one.kind, two.kind}
    if PieceKind.WORD in kinds:
        return False
    if one.text[-1].isdecimal() and two.text[0].isdecimal():
        return _is_one_number(text, one, two)
    if not _BLANK.fullmatch(text, one.end, two.start):
        return False
    if PieceKind.OTHER in kinds and PieceKind.NAME in kinds:
        return True
    return all(each.text[0].isupper() or each.text[0].isdecimal() for each in (one, two)) or (
        one.kind is PieceKind.OTHER and two.text[0].isupper()
    )


def kind(piece: str) -> PieceKind:
    return _kind(piece) if len(piece) <= _LONGEST else PieceKind.OTHER


@lru_cache(8192)
def _kind(piece: str) -> PieceKind:
    piece = _SHORTENED.sub("", piece).strip("-_.")
    if not piece:
        return PieceKind.BARE
    if kind := _look_up(piece):
        return PieceKind.OTHER if kind is PieceKind.NAME and not piece.islower() else kind
    if _VERSION.fullmatch(piece):
        return PieceKind.BARE if sum(map(str.isdecimal, piece)) <= _DIGITS else PieceKind.OTHER
    chunks = _JOINER.split(piece)
    if any(map(_PREFIXED.match, chunks)) or sum(len(chunk) for chunk in chunks if chunk.isdecimal()) > _DIGITS:
        return PieceKind.OTHER
    parts = [part for chunk in chunks for part in ([chunk] if _look_up(chunk) else humps(chunk))]
    kinds = [_part(part) for part in parts]
    if len(parts) == 1 or PieceKind.OTHER in kinds:
        return kinds[0] if len(parts) == 1 else PieceKind.OTHER
    return PieceKind.WORD if PieceKind.WORD in kinds or _LOCALE.fullmatch(piece) else PieceKind.OTHER


def _look_up(piece: str) -> PieceKind | None:
    codes, kinds = _vocabulary()
    if piece in codes:
        return PieceKind.WORD
    word = piece.lower()
    return kinds.get(word) or _plural(word, kinds) or (PieceKind.BARE if len(piece) == 1 else None)


def _plural(word: str, kinds: Mapping[str, PieceKind]) -> PieceKind | None:
    """Recognise the plural of a word: `agreements` is as harmless as `agreement`.

    Short words with an `s` are often names.
    """
    is_one = len(word) > _SINGULAR and word.endswith("s") and kinds.get(word[:-1]) is PieceKind.WORD
    return PieceKind.WORD if is_one else None


def _part(part: str) -> PieceKind:
    """Return the kind of a part. Pairs of letters and digits are more often ids than words: `AT4711`, `isTo`."""
    if part.isdecimal():
        return PieceKind.BARE
    counted = _COUNTED.fullmatch(part)
    kind = _look_up(counted[1] if counted else part)
    if kind:
        return PieceKind.BARE if len(part) <= 2 else kind
    return PieceKind.WORD if _is_joined(part.lower()) else PieceKind.OTHER


def _is_joined(part: str) -> bool:
    """Return whether words are joined, one of them a root: `accountid`, `xs2aapi`, `paymentinitiationrequest`."""
    roots = (root for root in word_roots() if len(root) < len(part))
    rests = (part.removeprefix(root) if part.startswith(root) else part.removesuffix(root) for root in roots)
    return any(len(rest) < len(part) and (_look_up(rest) is PieceKind.WORD or _is_joined(rest)) for rest in rests)


def humps(chunk: str) -> list[str]:
    """Split at capital letters: `scaOauthLinks` is three words, `PSUId` two."""
    cuts = [
        n
        for n in range(1, len(chunk))
        if chunk[n].isupper() and (chunk[n - 1].islower() or (n + 1 < len(chunk) and chunk[n + 1].islower()))
    ]
    return [chunk[start:end] for start, end in pairwise([0, *cuts, len(chunk)])]


_LETTERS = str.maketrans(
    {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "ł": "l", "ı": "i", "ħ": "h"}
)
"""Letters that Unicode does not decompose."""
_SECTIONS = {"words": PieceKind.WORD, "also-names": PieceKind.NAME, "particles": PieceKind.PARTICLE}


@cache
def _vocabulary() -> tuple[Collection[str], Mapping[str, PieceKind]]:
    """Return the codes, and the kinds of words in lower case, also without their accents."""
    lists = word_lists(FILE)
    kinds = {word: kind for section, kind in _SECTIONS.items() for word in lists[section]}
    plain = {_without_accents(word): PieceKind.WORD for word in lists["words"] if not word.isascii()}
    return lists["codes"], plain | kinds


def _without_accents(word: str) -> str:
    return unicodedata.normalize("NFKD", word.translate(_LETTERS)).encode("ascii", "ignore").decode()


@cache
def word_roots() -> Collection[str]:
    return word_lists(FILE)["roots"]


def word_lists(file: Path) -> dict[str, set[str]]:
    """Return the words of each section of a file."""
    lists: dict[str, set[str]] = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            words = lists[line.strip("[]")] = set()
        elif not line.startswith("#") and line:
            words.update(line.split())
    return lists
