"""docs/handlers.md, made of what handlers declare."""

import json
from collections.abc import Iterator

from xs2a_sandbox.bank.handlers.table import ACTIONS, HANDLERS
from xs2a_sandbox.cassette.handler import Handler, Option, Parts, ReadsAndRaises
from xs2a_sandbox.cassette.requirements import header_name


def page() -> str:
    """docs/handlers.md."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    yield "# Handlers"
    yield ""
    yield "<!-- Made by `documentation/handlers_page.py` from what handlers declare; change it there. -->"
    yield ""
    yield "The domain logic that [cassettes](define-operations.md#keys-of-an-operation) name: what each is told under"
    yield "`with`, which [inputs](define-operations.md#requests) it takes (with a question mark, where there are"
    yield "any), what else it reads of the request, what an operation"
    yield "[does](define-operations.md#what-an-operation-does) that has it, which members its `result` has, and which"
    yield "[errors](errors.md) it raises beside those that any operation can end in. `lint` refuses what a handler"
    yield "cannot work with. Options in *italics* may be left out; of those with an asterisk the section"
    yield "[`authorisation`](dialect-sections.md#authorisation) counts then."
    for name in sorted(HANDLERS):
        yield from _section(HANDLERS[name])
    yield from ("", "# Actions", "")
    yield "What [effects](answers.md#effects) name with `do`: parts of what handlers do. Their options may hold"
    yield "expressions."
    for name in sorted(ACTIONS):
        yield from _section(ACTIONS[name])
    yield from ("", "# Inputs", "")
    yield "What handlers take of a request. A dialect says under [`request`](define-operations.md#requests) where its"
    yield "requests have it, an operation under `input`."
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
        choices = f" {', '.join(f'`{value}`' for value in values)}." if values else ""
        has_default = option.default is not None and not option.section
        default = f" Left out: `{json.dumps(option.default)}`." if has_default else ""
        alone = " Only in rules, for their own calls." if option.in_rules else ""
        yield f"| {mark} | {option.doc}{choices}{default}{alone}{_besides(option)} |"
    takes = (f"`{input.name}`{'' if input.is_needed else '?'}" for input in handler.takes)
    rows = (
        ("takes", ", ".join(takes)),
        *((("does", f"`{handler.does}`"),) if handler.does else ()),
        ("result", ", ".join(f"`{name}`" for name in handler.returns)),
        ("reads", _list(handler.deeds.reads)),
        ("raises", ", ".join(f"`{name}`" for name in sorted(handler.deeds.raises))),
    )
    yield from ("", "| | |", "|---|---|")
    yield from (f"| {what} | {text or 'nothing'} |" for what, text in rows)


def _besides(option: Option) -> str:
    """Says what comes with an option, and with each of its values, in a cell of a table."""
    texts = [f"Then it takes {', '.join(f'`{input.name}`' for input in option.takes)}."] if option.takes else []
    texts += [_effect("Then it", option.deeds)] if option.deeds != ReadsAndRaises() else []
    texts += [_effect(f"With `{value}` it", effect) for value, effect in option.choices.items()]
    return "".join(f" {text}" for text in texts)


def _effect(subject: str, effect: ReadsAndRaises) -> str:
    raises = ", ".join(f"`{name}`" for name in sorted(effect.raises))
    reads = [f"reads {_list(effect.reads)}"] if effect.reads else []
    return f"{subject} {' and '.join([*reads, *([f'raises {raises}'] if raises else [])])}."


def _list(places: Parts) -> str:
    kinds = {"headers": "the headers", "query": "of the query", "where": "of the path", "body": "of the body"}
    texts = []
    for part, kind in kinds.items():
        names = sorted(place.name.removeprefix("/") for place in places if place.part == part)
        spans = ", ".join(f"`{header_name(name) if part == 'headers' else name}`" for name in names)
        texts += [f"{kind} {spans}"] if names else []
    return "; ".join(texts)
