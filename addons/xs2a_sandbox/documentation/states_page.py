"""Generate docs/states.md from the state machines of the domain."""

from collections.abc import Iterator

from xs2a_sandbox.bank.domain.lifecycle import MACHINES, NONE, REMOVED, Machine
from xs2a_sandbox.documentation.openapi import writer
from xs2a_sandbox.documentation.operations_page import DIALECTS


def page() -> str:
    """Return the text of docs/states.md."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    yield "# States"
    yield ""
    yield "<!-- Made from `bank/domain/lifecycle.py`; change it there. -->"
    yield ""
    yield "This page shows the states of authorisations, consents, payments, mandates and signing baskets, and the"
    yield "events that change them. The sandbox itself works with these tables. Its state, its test data and its"
    yield "control interface use these names; a [dialect](dialect-sections.md#states) maps them to its own"
    yield "words. The states"
    yield "of payments and signing baskets are the codes of ISO 20022. Where the Berlin Group leaves choices open, [our"
    yield "readings](readings.md) describe our choice. If a state machine differs from the Berlin Group's, the end of"
    yield "its section lists the differences with their reasons, and the arrows that it lacks (*without*) or adds"
    yield "(*also*)."
    for machine in MACHINES:
        yield from _section(machine)
    yield ""


def _section(machine: Machine) -> Iterator[str]:
    yield from ("", f"## {machine.title}", "", "```mermaid", "stateDiagram-v2")
    for t in machine.transitions:
        for state in t.states:
            yield f"    {_ends(state)} --> {_ends(t.to)}: {t.event}"
    yield from (f"    {state} --> [*]" for state in sorted(machine.final))
    yield from ("```", "", "| from | event | to |", "|---|---|---|")
    for t in machine.transitions:
        states = ", ".join(_code(state) for state in t.states)
        yield f"| {states} | {t.event} | {_code(t.to)} |"
    finals = ", ".join(f"`{state}`" for state in sorted(machine.final))
    yield from _words(machine)
    yield from ("", f"Final states: {finals}.")
    if machine.deviations:
        yield from ("", f"### {machine.title}: deviations from the Berlin Group's state machine", "")
    for deviation in machine.deviations:
        less = ", ".join(f"{_code(a)} → {_code(b)}" for a, b in sorted(deviation.less))
        more = ", ".join(f"{_code(a)} → {_code(b)}" for a, b in sorted(deviation.more))
        arrows = "; ".join([*([f"without {less}"] if less else []), *([f"also {more}"] if more else [])])
        yield f"- {deviation.reason}" + (f" ({arrows})" if arrows else "")


def _words(machine: Machine) -> Iterator[str]:
    """List the names of the states in the bundled dialects, if any of them has names of its own."""
    words = {dialect: writer(dialect).bank.states.words.get(machine.name, {}) for dialect in DIALECTS}
    if any(words.values()):
        yield from ("", f"| state | {' | '.join(words)} |", f"|---|{'---|' * len(words)}")
        for state in machine.states:
            yield f"| `{state}` | {' | '.join(f'`{own.get(state, state)}`' for own in words.values())} |"


def _ends(state: str) -> str:
    return "[*]" if state in (NONE, REMOVED) else state


def _code(state: str) -> str:
    return {NONE: "(new)", REMOVED: "(removed)"}.get(state, f"`{state}`")
