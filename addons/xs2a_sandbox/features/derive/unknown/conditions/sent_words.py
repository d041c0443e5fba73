"""Words in the requests for things, such as the kind of a payment, on which later answers may depend."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from xs2a_sandbox.features.derive.unknown.recorded.places import Place, leaves, value_at
from xs2a_sandbox.redaction.vocabulary import is_words

_WORD = re.compile(r"[A-Z][A-Z_-]{1,19}|[a-z][a-z_-]{1,19}|[A-Z]?[a-z]+([A-Z][a-z]+){1,3}")
_CAPITALISED = re.compile("[A-Z][a-z]{1,19}")
"""A word only next to another one that cannot be a name: `Immediate` next to `FutureDated`."""


def telling_words(mine: Sequence[Any], theirs: Sequence[Any], *, is_redacted: bool) -> Iterator[tuple[Place, str]]:
    """Yield the places where some documents have one word, and all others another word, with the first word."""
    for place, word in leaves(mine[0]) if mine and theirs else ():
        if any(isinstance(step, int) for step in place):
            continue
        own, others = ([value_at(document, place) for document in ones] for ones in (mine, theirs))
        texts = [text for text in (*own, *others) if isinstance(text, str)]
        are_words = len(texts) == len(own) + len(others) and any(map(_WORD.fullmatch, texts))
        are_words &= all(_WORD.fullmatch(text) or _CAPITALISED.fullmatch(text) for text in texts)
        # A pseudonym is not the bank's word.
        if are_words and set(own) == {word} and word not in others and (not is_redacted or is_words(word)):
            yield place, word
