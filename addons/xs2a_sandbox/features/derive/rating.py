"""How much of a second journey a derived dialect is likely to answer like the bank."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xs2a_sandbox.features.derive.rehearsal import Rehearsed
from xs2a_sandbox.wording import say_count

_ENOUGH = 0.8


@dataclass(frozen=True, slots=True)
class Rating:
    """`right` of `count` requests of the recording are answered like the bank after their values were replaced."""

    right: int
    count: int

    @staticmethod
    def of(rated: Sequence[Rehearsed]) -> "Rating":
        return Rating(sum(not outcome.unlike for outcome in rated), len(rated))

    @property
    def share(self) -> float:
        return self.right / self.count

    def lines(self, name: str) -> Iterator[str]:
        """Yield the rating in words, and what to do if it is low."""
        yield (
            f"A second journey, with other customers, amounts, texts and ids, would get the right answer to about "
            f"{self.right} of {say_count(self.count, 'request')}"
        )
        if self.share < _ENOUGH:
            yield (
                "This is low: one wrong rule can spoil a whole journey. Record a second journey with other data, and "
                f"check the dialect with it: xs2a-sandbox derive --dialect {name} --check SECOND. To learn from both "
                "recordings, derive another dialect: xs2a-sandbox derive --dialect OTHER FIRST SECOND"
            )
