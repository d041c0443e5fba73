"""A guess: in a state that the recording does not show, an answer has only what it has in every state."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from xs2a_sandbox.features.derive.expression_text import literal
from xs2a_sandbox.features.derive.unknown.checks import Successes
from xs2a_sandbox.features.derive.unknown.classes import AnswerClass, is_link
from xs2a_sandbox.features.derive.unknown.conditions import Condition
from xs2a_sandbox.features.derive.unknown.operations import LearnedOperation
from xs2a_sandbox.features.derive.unknown.scopes import ExchangeScopes

_REASON = "what the answers in all recorded states have"


def add_unseen_state(scopes: ExchangeScopes, operation: LearnedOperation, oks: Successes) -> Successes:
    """Return the successes of an operation that reads, with one for other states than the recorded ones.

    There is one only if states tell the recorded answers apart.
    """
    condition = next((one for one, _ in oks if one and one.kind == "in state"), None)
    changes = any(scopes.changes_by(operation, machine) for machine in scopes.machines.values())
    if condition is None or changes or scopes.world.made_by(operation):
        return oks
    source = f"let.{condition.name}.state"
    shown = [one for _, answer in oks for one in answer.seen if isinstance(one.document, Mapping)]
    states = list(dict.fromkeys(scopes.value(source, one) for one in shown))
    things = [thing for one in shown for lookup, thing in scopes.found(one) if lookup.name == condition.name]
    sent = [member for thing in things for member in _members(thing.created.body)]
    like = []
    for one, document in zip(shown, _keep_common([one.document for one in shown], sent), strict=True):
        like.append(replace(one, document=document))
        scopes.world.operation_of[like[-1]] = operation
        scopes.extra[like[-1]] = scopes.extra.get(one, {})
    if not like or [one.document for one in like] == [one.document for one in shown]:
        return oks
    unseen = replace(condition, source=f"{source} not in {literal(states)}")
    return [(unseen, AnswerClass(operation, True, like, "unseen-state", _REASON)), *oks]


def _members(document: Any) -> Iterator[tuple[str, Any]]:
    for name, value in document.items() if isinstance(document, Mapping) else ():
        yield name, value
        yield from _members(value)


def _keep_common(documents: Sequence[Any], sent: Sequence[tuple[str, Any]]) -> list[Any]:
    """Return documents with the members that all of them have, or that repeat what the app has `sent`."""
    if all(isinstance(document, Mapping) for document in documents):
        kept: list[Any] = [{} for _ in documents]
        for name in dict.fromkeys(name for document in documents for name in document):
            having = [at for at, document in enumerate(documents) if name in document]
            if len(having) == len(documents) or (name, documents[having[0]][name]) in sent:
                inner = _keep_common([documents[at][name] for at in having], sent)
                for at, value in zip(having, inner, strict=True):
                    kept[at][name] = value
        return kept
    words = [_words(document) for document in documents]
    if all(words):
        common = set.intersection(*(set(own) for own in words))
        return [[own[word] for word in own if word in common] for own in words]
    return list(documents)


def _words(entries: Any) -> dict[str, Any]:
    """Return the entries of a list of links by their words."""
    found = {}
    for entry in entries if isinstance(entries, list) else ():
        texts = [text for text in entry.values() if isinstance(text, str)] if isinstance(entry, Mapping) else []
        word = next((text for text in texts if not is_link(text)), None)
        if word is None or not any(map(is_link, texts)):
            return {}
        found[word] = entry
    return found
