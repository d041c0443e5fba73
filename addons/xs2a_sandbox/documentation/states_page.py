"""docs/states.md, drawn from the states of the domain."""

from collections.abc import Iterator

from xs2a_sandbox.bank.domain.lifecycle import MACHINES, NONE, REMOVED, Machine


def page() -> str:
    """docs/states.md."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    yield "# States"
    yield ""
    yield "<!-- Made from `bank/domain/lifecycle.py`; change it there. -->"
    yield ""
    yield "This page draws the states of authorisations, consents, payments and signing baskets, and lists the events"
    yield "that change them. The sandbox itself works with these tables. The Berlin Group's state machines leave some"
    yield "choices open: [our readings](readings.md) say which we made. If a machine of ours differs, the end of its"
    yield "section lists every difference with its reason, and the arrows that ours lacks (*without*) or has in"
    yield "addition (*also*)."
    for machine in MACHINES:
        yield from _section(machine)
    yield ""


def _section(machine: Machine) -> Iterator[str]:
    yield from ("", f"## {machine.title}", "", f"`{machine.name}`", "", "```mermaid", "stateDiagram-v2")
    for t in machine.transitions:
        for state in t.states:
            yield f"    {_ends(state)} --> {_ends(t.to)}: {t.event}"
    yield from (f"    {state} --> [*]" for state in sorted(machine.final))
    yield from ("```", "", "| from | what happens | to |", "|---|---|---|")
    for t in machine.transitions:
        states = ", ".join(_code(state) for state in t.states)
        yield f"| {states} | {t.event} | {_code(t.to)} |"
    finals = ", ".join(f"`{state}`" for state in sorted(machine.final))
    yield from (
        "",
        f"Final: {finals}.",
        "",
        f"### {machine.title}: deviations from the Berlin Group's state machine",
        "",
    )
    for deviation in machine.deviations:
        less = ", ".join(f"{_code(a)} → {_code(b)}" for a, b in sorted(deviation.less))
        more = ", ".join(f"{_code(a)} → {_code(b)}" for a, b in sorted(deviation.more))
        arrows = "; ".join([*([f"without {less}"] if less else []), *([f"also {more}"] if more else [])])
        yield f"- {deviation.reason}" + (f" ({arrows})" if arrows else "")


def _ends(state: str) -> str:
    return "[*]" if state in (NONE, REMOVED) else state


def _code(state: str) -> str:
    return {NONE: "(new)", REMOVED: "(removed)"}.get(state, f"`{state}`")
