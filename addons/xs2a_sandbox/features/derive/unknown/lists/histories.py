"""Lists in answers that tell which states a thing has had, such as `history`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xs2a_sandbox.features.derive.expression_text import braced, literal
from xs2a_sandbox.features.derive.unknown.recorded.forms import date_form
from xs2a_sandbox.features.derive.unknown.recorded.seen import SeenExchange
from xs2a_sandbox.features.derive.unknown.scopes import AFTER, ExchangeScopes


@dataclass(frozen=True)
class History:
    """The list of the thing `let.NAME`: its entries have a state in `member`, and times in `times`, in their order.

    `rows` has the entries by the present state.
    """

    name: str
    member: str
    times: Sequence[str]
    rows: Mapping[str, Sequence[Mapping[str, Any]]]

    def write(self, example: Mapping[str, Any]) -> dict[str, Any]:
        """Return the template. A state that was not recorded comes alone. The first entry is as old as the thing."""
        thing = f"let.{self.name}"
        known = {
            state: [{name: value for name, value in row.items() if name not in self.times} for row in rows]
            for state, rows in self.rows.items()
        }
        rows = f"{literal(known)}[{thing}.state] or [{{{literal(self.member)}: {thing}.state}}]"
        at = f"({thing}.since if index else {thing}.made)"
        times = {name: braced(form.write(at)) for name in self.times if (form := date_form(example[name]))}
        return {"each": braced(rows), "give": {"merge": ["{{ entry }}", times]}}


def find_history(scopes: ExchangeScopes, ones: Sequence[SeenExchange], values: Sequence[Any]) -> History | None:
    """Return the history of a thing if the lists in these answers are one: each ends with the present state."""
    are_rows = all(isinstance(rows, list) and rows and all(isinstance(row, Mapping) for row in rows) for rows in values)
    if not are_rows or max(map(len, values)) < 2:
        return None
    lookups = scopes.lookups[scopes.world.operation_of[ones[0]]]
    own = [f"{lookup.name}{AFTER}" for lookup in lookups if lookup.place[0] == "path" and not lookup.owned]
    for name in ["new", *own]:
        states = [scopes.value(f"let.{name}.state", one) for one in ones]
        for member in values[0][0] if all(isinstance(state, str) for state in states) else ():
            if all(rows[-1].get(member) == state for rows, state in zip(values, states, strict=True)):
                every = [row for rows in values for row in rows]
                times = [other for other in values[0][0] if all(date_form(row.get(other)) for row in every)]
                # A state that no answer shows as the present one can be an earlier one.
                earlier = {str(row.get(member)): rows[: at + 1] for rows in values for at, row in enumerate(rows)}
                return History(name, member, times, earlier | dict(zip(states, values, strict=True)))
    return None
