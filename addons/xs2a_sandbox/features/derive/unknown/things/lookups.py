"""How operations find the things that a request names."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from xs2a_sandbox.features.derive.expression_text import expression, literal
from xs2a_sandbox.features.derive.unknown.recorded.places import Place
from xs2a_sandbox.features.derive.unknown.things.operations import LearnedOperation
from xs2a_sandbox.features.derive.unknown.things.things import Rows, ThingKind, World, separator


@dataclass(frozen=True)
class ThingLookup:
    """A value `let.NAME` of an operation: the thing that a place of the request names.

    With `owned`, the place names another thing, such as a token, which belongs to this one.
    """

    name: str
    place: Place
    word: int | None
    kinds: tuple[tuple[ThingKind, str], ...] = ()
    rows: Rows | None = None
    owned: str = ""

    @property
    def is_code(self) -> bool:
        """Whether the place names things that a page gives to the app, in the link back."""
        return any(kind.is_code for kind, _ in self.kinds)

    @property
    def source(self) -> str:
        """The id in the request, or of the thing that is named, as an expression."""
        if self.owned:
            return f"({expression('let', (self.owned, 'of', self.name, 'id'))} ~ '')"
        text = expression(str(self.place[0]), self.place[1:])
        if self.word is not None:
            return f"({text} | split({literal(separator(self.place))}))[{self.word}]"
        return f"({text} ~ '')" if self.place[0] == "body" else text


def find_lookups(world: World, operation: LearnedOperation, tokens: Collection[ThingKind]) -> Iterator[ThingLookup]:
    taken: set[str] = set()
    groups: dict[tuple[Place, int | None], list[tuple[ThingKind, str]]] = {}
    for use in world.uses.get(operation, ()):
        if use.key == use.kind.id or use.place[0] == "path":
            groups.setdefault((use.place, use.word), []).append((use.kind, use.key))
    known = {kind for kinds in groups.values() for kind, _ in kinds}
    for use in world.uses.get(operation, ()):
        # A code can be the only name of a thing that a request has.
        if (
            use.key != use.kind.id
            and use.kind not in known
            and (use.place[0] == "form" or use.kind.made_by is not operation or use.kind in tokens)
        ):
            groups.setdefault((use.place, use.word), []).append((use.kind, use.key))
    ordered = sorted(groups.items(), key=lambda group: group[0][0][0] != "path")
    for (place, word), kinds in ordered:
        name = kinds[0][0].name if len(kinds) == 1 else str(place[-1])
        if name in taken:
            name = f"{name}_in_{place[0]}"
        taken.add(name)
        yield ThingLookup(name.replace("-", "_"), place, word, tuple(kinds))
    for place, one in world.row_uses.get(operation, ()):
        if one.name not in taken:
            taken.add(one.name)
            yield ThingLookup(one.name, place, None, rows=one)


def find_secondary(world: World, operation: LearnedOperation) -> Iterator[tuple[Place, str]]:
    """Yield the places where a request must repeat a secret of the thing, and the name of the secret."""
    for use in world.uses.get(operation, ()):
        if use.key != use.kind.id and use.place[0] != "path":
            yield use.place, use.key
