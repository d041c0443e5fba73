"""Which texts of a recording are ids: by their look, or because others at the same place are ids."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from xs2a_sandbox.features.derive.unknown.recorded.names import is_id
from xs2a_sandbox.features.derive.unknown.recorded.places import Place, anywhere
from xs2a_sandbox.features.derive.unknown.recorded.seen import SeenExchange, answer_values, are_redacted, parts
from xs2a_sandbox.redaction.values import LETTERS_OF_AN_ID
from xs2a_sandbox.redaction.vocabulary import is_words

_LEAST = 6


@dataclass(frozen=True)
class RecordedIds:
    """`alike` are ids that look like words: random letters without a digit."""

    is_redacted: bool
    alike: frozenset[str] = frozenset()

    def has(self, text: str) -> bool:
        return text in self.alike or is_id(text, is_redacted=self.is_redacted)


def find_ids(seen: Sequence[SeenExchange]) -> RecordedIds:
    ids = RecordedIds(are_redacted(seen))
    columns: defaultdict[tuple[Place, int, str, int], set[str]] = defaultdict(set)
    for one in seen:
        for place, value in answer_values(one):
            before = ""
            for position, text in enumerate(parts(value)):
                if len(text) >= _LEAST:
                    columns[anywhere(place), position, before, len(text)].add(text)
                before = "" if ids.has(text) else text
    most = [column for column in columns.values() if sum(map(ids.has, column)) * 2 >= len(column) > 1]
    used = {segment for one in seen for segment in one.path}
    random = [column for column in columns.values() if len(column) > 1 and all(map(_is_random, column))]
    most += [column for column in random if len(column & used) > (0 if min(column).isupper() else 1)]
    # Different texts of one member that are all in paths, such as `aprmrafhmt`, are shorter ids.
    named = (column for (_, position, *_), column in columns.items() if position == 0 and len(column & used) > 1)
    most += [column for column in named if not any(is_words(text.lower()) for text in column)]
    return RecordedIds(ids.is_redacted, frozenset(text for column in most for text in column if not ids.has(text)))


def _is_random(text: str) -> bool:
    """Return whether a text is long, has only small or only capital letters, and does not consist of words."""
    is_of_one_case = text.islower() or text.isupper()
    return len(text) >= LETTERS_OF_AN_ID and text.isalpha() and is_of_one_case and not is_words(text.lower())
