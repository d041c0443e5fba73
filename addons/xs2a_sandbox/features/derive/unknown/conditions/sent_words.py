"""Words in the requests for things, such as the kind of a payment, on which later answers may depend."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from xs2a_sandbox.features.derive.unknown.recorded.places import Place, leaves, value_at
from xs2a_sandbox.redaction.vocabulary import is_words

_WORD = re.compile(r"[A-Z][A-Z_-]{1,19}|[a-z][a-z_-]{1,19}")


def telling_words(mine: Sequence[Any], theirs: Sequence[Any], *, is_redacted: bool) -> Iterator[tuple[Place, str]]:
    """Yield the places where some documents have one word, and all others another word, with the first word."""
    for place, word in leaves(mine[0]) if mine and theirs else ():
        own, others = ([value_at(document, place) for document in ones] for ones in (mine, theirs))
        are_words = all(isinstance(text, str) and _WORD.fullmatch(text) for text in (*own, *others))
        # A pseudonym is not the bank's word.
        if are_words and set(own) == {word} and word not in others and (not is_redacted or is_words(word)):
            yield place, word
