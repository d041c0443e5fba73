"""Rules added to a session while the sandbox is running. They are layered over the rules of the bank."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from xs2a_sandbox.bank.bank import Bank
from xs2a_sandbox.bank.handlers.table import collect_handlers
from xs2a_sandbox.cassette import Interface
from xs2a_sandbox.cassette.dialect import layers
from xs2a_sandbox.cassette.model import Cassette
from xs2a_sandbox.cassette.rule_text import read_rules
from xs2a_sandbox.documents import Schemas
from xs2a_sandbox.errors import Problem, Unreadable
from xs2a_sandbox.state.attempts import in_thread

_OF_RULES = frozenset({"cassette", "title", "doc", "rules"})

type Addition = tuple[str, tuple[str, ...]]
"""The name for rules without an id, and the rules as YAML texts."""


def read(addition: Addition, schemas: Schemas) -> list[Cassette]:
    """Parse the rules of one addition. Raises Unreadable with every mistake."""
    name, texts = addition
    problems: list[Problem] = []
    cassettes = []
    for number, text in enumerate(texts, 1):
        own_name = name if len(texts) == 1 else f"{name}.{number}"
        try:
            cassette = read_rules(text, Path(f"<rule {number}>"), schemas, own_name, has_folder=False)
        except Unreadable as error:
            problems += error.problems
            continue
        for key in cassette.place.written.keys() - _OF_RULES:
            text = f"only rules can be added to a running sandbox: write {key} into a file"
            problems.append(cassette.place.problem("behaviour", text, (key,), key=True))
        cassettes.append(cassette)
    if problems:
        raise Unreadable(problems)
    return cassettes


@in_thread
def check(bank: Bank, addition: Addition) -> list[str]:
    """Return the ids of the rules. Raises Unreadable if they do not match the bank."""
    cassettes = read(addition, bank.schemas)
    _lay_over(bank, [cassettes])
    return [rule.id for cassette in cassettes for rule in cassette.rules]


@in_thread
def bank_with(bank: Bank, additions: tuple[Addition, ...]) -> Bank:
    """Return the bank with the added rules that fit it. Rules for another bank are left out."""
    fitting: list[list[Cassette]] = []
    for addition in additions:
        with suppress(Unreadable):
            cassettes = read(addition, bank.schemas)
            _lay_over(bank, [cassettes])
            fitting.append(cassettes)
    return bank.with_interface(_lay_over(bank, fitting)) if fitting else bank


def addition(kept: Mapping[str, Any]) -> Addition:
    """Return the addition from its document in the session."""
    return f"added-{kept['id'].rpartition('-')[2]}", tuple(kept["rules"])


def _lay_over(bank: Bank, added: Sequence[Sequence[Cassette]]) -> Interface:
    return layers.with_rules(bank.interface, added, bank.schemas, collect_handlers(), bank=bank.real.can_be_asked)
