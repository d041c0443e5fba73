"""Compares the names of a payee and of an account holder. docs/verification-of-payee.md has the rule in words."""

import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

type Match = Literal["match", "close-match", "no-match"]

_MOST_WRONG = 2
"""The number of wrong letters in a whole name that still make a close match."""
_MOST_DIFFERENT = 4
"""The number of words of either name that may differ. More would be another name, and slow to compare."""
_LETTERS = str.maketrans(
    {"ß": "ss", "æ": "a", "œ": "o", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i", "’": "'", "ʼ": "'"}
)
"""Letters that Unicode does not decompose."""
_IGNORED = frozenset(
    "and und et mr mrs ms miss herr frau familie dr ddr prof professor mag magister ing dipl dkfm bsc msc mba "
    "phd".split()
)
"""Titles, and the words for `&`, folded."""
_LEGAL_FORMS = {
    "gesellschaft mit beschrankter haftung": "gmbh",
    "gesellschaft m b h": "gmbh",
    "ges m b h": "gmbh",
    "gesmbh": "gmbh",
    "g m b h": "gmbh",
    "aktiengesellschaft": "ag",
    "kommanditgesellschaft": "kg",
    "offene gesellschaft": "og",
    "offene handelsgesellschaft": "ohg",
    "eingetragener verein": "ev",
    "e v": "ev",
    "e u": "eu",
    "eingetragener unternehmer": "eu",
    "eingetragene genossenschaft": "eg",
    "e g": "eg",
    "limited": "ltd",
    "incorporated": "inc",
    "public limited company": "plc",
    "societe anonyme": "sa",
    "s a": "sa",
    "s a r l": "sarl",
    "s a s": "sas",
    "s l": "sl",
    "s p a": "spa",
    "s r l": "srl",
    "b v": "bv",
    "n v": "nv",
    "s r o": "sro",
    "spol s r o": "sro",
    "a s": "as",
    "s e": "se",
} | {
    form: form
    for form in "gmbh ag kg og ohg ev eu eg ltd inc plc sa sarl sas sl spa srl bv nv sro oy ab aps se".split()
}
_FORMS = {tuple(written.split()): form for written, form in _LEGAL_FORMS.items()}
_LONGEST_FORM = max(map(len, _FORMS))


@lru_cache
def compare_names(given: str, known: str) -> Match:
    """Return how well a given name matches the known name. The order of the two does not matter."""
    (words, forms), (others, other_forms) = _read(given), _read(known)
    if not words or not others or (forms and other_forms and forms != other_forms):
        return "no-match"
    is_same = sorted(words) == sorted(others) or "".join(words) == "".join(others)
    if is_same and forms == other_forms:
        return "match"
    return "close-match" if is_same or _is_close(words, others) else "no-match"


def _read(name: str) -> tuple[list[str], set[str]]:
    """Return the words of a name, without titles, and its legal forms."""
    words = _fold(name).split()
    names: list[str] = []
    forms: set[str] = set()
    while words:
        lengths = range(min(_LONGEST_FORM, len(words)), 0, -1)
        # A name does not start with its legal form.
        length = next((length for length in lengths if names and tuple(words[:length]) in _FORMS), 0)
        if length:
            forms.add(_FORMS[tuple(words[:length])])
        else:
            names.append(words[0])
        words = words[length or 1 :]
    significant = [word for word in names if word not in _IGNORED]
    return significant or names, forms


def _fold(name: str) -> str:
    """Return the name in lower case without accents and punctuation. Treats `ä`, `ae` and `a` as equal."""
    folded = unicodedata.normalize("NFKD", name).casefold().translate(_LETTERS)
    decomposed = unicodedata.normalize("NFKD", folded)
    letters = "".join(sign for sign in decomposed if not unicodedata.combining(sign))
    kept = "".join(sign if sign.isalnum() else "" if sign == "'" else " " for sign in letters)
    for vowel in "aou":
        kept = kept.replace(f"{vowel}e", vowel)
    return kept


def _is_close(words: Sequence[str], others: Sequence[str]) -> bool:
    shorter, longer = sorted((words, others), key=len)
    both = Counter(shorter) & Counter(longer)
    left, right = list((Counter(shorter) - both).elements()), list((Counter(longer) - both).elements())
    if len(right) > _MOST_DIFFERENT or len(longer) > 2 * len(shorter) or len(shorter) == 1 < len(longer):
        return False
    in_full = any(len(word) > 1 for word in both)
    return _pair(left, right, _MOST_WRONG, in_full=in_full)


def _pair(left: Sequence[str], right: Sequence[str], letters: int, *, in_full: bool) -> bool:
    """Return whether each word on the left can be paired with its own word on the right.

    All pairs together may have at most `letters` wrong letters. At least one pair must not be an initial, unless
    `in_full` says that there is such a pair already.
    """
    if not left:
        return in_full
    word, *rest = left
    for place, other in enumerate(right):
        others = [*right[:place], *right[place + 1 :]]
        if _is_initial(word, other) and _pair(rest, others, letters, in_full=in_full):
            return True
        wrong = _count_wrong(word, other)
        if wrong <= letters and _pair(rest, others, letters - wrong, in_full=True):
            return True
    return False


def _is_initial(word: str, other: str) -> bool:
    short, long = sorted((word, other), key=len)
    return len(short) == 1 < len(long) and long.startswith(short)


def _count_wrong(word: str, other: str) -> int:
    """Return the number of wrong letters, or more than are allowed if these are two different words."""
    if abs(len(word) - len(other)) > _MOST_WRONG:
        return _MOST_WRONG + 1  # without counting, which would take long for a word of a thousand letters
    wrong = count_typos(word, other)
    allowed = 2 if min(len(word), len(other)) >= 7 else 1 if min(len(word), len(other)) >= 3 else 0
    return wrong if wrong <= allowed else _MOST_WRONG + 1


def count_typos(word: str, other: str) -> int:
    """Return the number of letters that are missing, added or wrong, or swapped with the next one."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(word, 1):
        following = [i]
        for j, sign in enumerate(other, 1):
            cost = min(row[j] + 1, following[j - 1] + 1, row[j - 1] + (letter != sign))
            if i > 1 and j > 1 and letter == other[j - 2] and word[i - 2] == sign:
                cost = min(cost, before[j - 2] + 1)
            following.append(cost)
        before, row = row, following
    return row[-1]
