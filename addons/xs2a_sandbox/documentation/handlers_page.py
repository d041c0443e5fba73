"""Generate docs/handlers.md from the declarations of the handlers."""

import json
from collections.abc import Iterator

from xs2a_sandbox.bank.handlers.table import ACTIONS, HANDLERS
from xs2a_sandbox.cassette.handler import Handler, Option, Parts, ReadsAndRaises
from xs2a_sandbox.cassette.requirements import header_name


def page() -> str:
    """Return the text of docs/handlers.md."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    yield "# Handlers"
    yield ""
    yield "<!-- Made by `documentation/handlers_page.py` from what handlers declare; change it there. -->"
    yield ""
    yield "Handlers are the domain logic that [cassettes](define-operations.md#keys-of-an-operation) name. The"
    yield "tables have these rows:"
    yield ""
    yield "- `with`: its options. Options in *italics* are optional. For those with an asterisk the section"
    yield "  [`authorisation`](dialect-sections.md#authorisation) of the dialect is the default."
    yield "- inputs: the [inputs](define-operations.md#requests) that it takes from a request; a question mark"
    yield "  means optional."
    yield "- does: the value of [`does`](define-operations.md#what-an-operation-does) for an operation that has"
    yield "  this handler."
    yield "- result: the members of its `result`."
    yield "- reads: the other parts of the request that it reads."
    yield "- errors: the [errors](errors.md) that it raises, in addition to the errors of every operation."
    yield ""
    yield "`lint` reports options and inputs that a handler cannot use."
    for name in sorted(HANDLERS):
        yield from _section(HANDLERS[name])
    yield from ("", "# Actions", "")
    yield "Actions are parts of handlers that [effects](answers.md#effects) name with `do`. Their options may contain"
    yield "expressions."
    for name in sorted(ACTIONS):
        yield from _section(ACTIONS[name])
    yield from ("", "# Inputs", "")
    yield "Inputs are the values that handlers take from a request. A dialect sets their places for all requests under"
    yield "[`request`](define-operations.md#requests), and for one operation under `input`."
    yield from ("", "| input | |", "|---|---|")
    taken = {input.name: input.doc for handler in {**HANDLERS, **ACTIONS}.values() for input in handler.inputs.values()}
    yield from (f"| `{name}` | {taken[name]} |" for name in sorted(taken))
    yield ""


def _section(handler: Handler) -> Iterator[str]:
    yield from ("", f"## {handler.name}", "", handler.doc)
    if handler.options:
        yield from ("", "| `with` | |", "|---|---|")
    for name, option in handler.options.items():
        mark = f"`{name}`" if option.required else f"*`{name}`* \\*" if option.section else f"*`{name}`*"
        values = () if option.choices else option.schema.get("enum", ())
        choices = f" Values: {', '.join(f'`{value}`' for value in values)}." if values else ""
        has_default = option.default is not None and not option.section
        default = f" Default: `{json.dumps(option.default)}`." if has_default else ""
        alone = " Only a rule can set it, for its own requests." if option.in_rules else ""
        yield f"| {mark} | {option.doc}{choices}{default}{alone}{_besides(option)} |"
    takes = (f"`{input.name}`{'' if input.is_needed else '?'}" for input in handler.takes)
    rows = (
        ("inputs", ", ".join(takes)),
        *((("does", f"`{handler.does}`"),) if handler.does else ()),
        ("result", ", ".join(f"`{name}`" for name in handler.returns)),
        ("reads", _list(handler.deeds.reads)),
        ("errors", ", ".join(f"`{name}`" for name in sorted(handler.deeds.raises))),
    )
    yield from ("", "| | |", "|---|---|")
    yield from (f"| {what} | {text or 'none'} |" for what, text in rows)


def _besides(option: Option) -> str:
    """Describe the inputs, reads and errors that an option, or one of its values, adds to the handler."""
    texts = (
        [f"If set, the handler takes {', '.join(f'`{input.name}`' for input in option.takes)}."] if option.takes else []
    )
    texts += [_effect("If set, the handler", option.deeds)] if option.deeds != ReadsAndRaises() else []
    texts += [_effect(f"With `{value}` the handler", effect) for value, effect in option.choices.items()]
    return "".join(f" {text}" for text in texts)


def _effect(subject: str, effect: ReadsAndRaises) -> str:
    raises = ", ".join(f"`{name}`" for name in sorted(effect.raises))
    reads = [f"reads {_list(effect.reads)}"] if effect.reads else []
    return f"{subject} {' and '.join([*reads, *([f'raises {raises}'] if raises else [])])}."


def _list(places: Parts) -> str:
    kinds = {"headers": "in the headers", "query": "in the query", "where": "in the path", "body": "in the body"}
    texts = []
    for part, kind in kinds.items():
        names = sorted(place.name.removeprefix("/") for place in places if place.part == part)
        spans = ", ".join(f"`{header_name(name) if part == 'headers' else name}`" for name in names)
        texts += [f"{spans} {kind}"] if names else []
    return "; ".join(texts)
