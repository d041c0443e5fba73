"""Which schema an answer has to satisfy, and whether it does."""

import json
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

from xs2a_sandbox.answer import write
from xs2a_sandbox.cassette import Operation, Rule, answers
from xs2a_sandbox.errors import Problem
from xs2a_sandbox.interface import Interface
from xs2a_sandbox.matching import parse_pointer
from xs2a_sandbox.messages import Headers, Response
from xs2a_sandbox.schema import Schemas

CODE = "answer-schema"


def check_fixed(by: Operation | Rule, interface: Interface, schemas: Schemas) -> Iterator[Problem]:
    """The bodies that hold no expressions: these need no request to be looked at."""
    names = _names(by, interface)
    for below, answer in answers(by):
        name = answer.schema or names.get(str(answer.status))
        if name and answer.is_fixed and not _is_raw(by, below):
            response = write(replace(answer, headers=()), (), {}, names, schemas)
            if wrong := _complaint(response, name, schemas):
                pointer, text = wrong
                tokens = _steps(by.origin.written, (*below, "body"), pointer)
                yield by.origin.problem(CODE, text, (*below, "body", *tokens))


def complaint(response: Response, by: Operation | Rule, interface: Interface, schemas: Schemas) -> str | None:
    """What is wrong with an answer that `by` gave; JSON is looked at, other media types are nobody's business."""
    media = (Headers(response.headers).get("content-type") or "").partition(";")[0]
    if not response.body or response.fault or not media.endswith("json"):
        return None
    possible = _possible(by, interface, response.status)
    names = [name for name in sorted(possible, key=str) if name]
    if len(names) < len(possible):
        return None
    wrong = [found for name in names if (found := _complaint(response, name, schemas))]
    return wrong[0][1] if len(wrong) == len(names) else None


def _possible(by: Operation | Rule, interface: Interface, status: int) -> set[str | None]:
    """What an answer of that status can have for a schema; None if it may have any form."""
    names = _names(by, interface)
    operation = _operation(by, interface)
    shaping = operation if operation and by.behaviour.handler and not by.behaviour.respond else by
    found = {
        None if not answer.has_json or _is_raw(shaping, below) else answer.schema or names.get(str(status))
        for below, answer in answers(shaping)
        if not answer.error and (callable(answer.status) or answer.status == status)
    }
    return found or {names.get(str(status))}


def _names(by: Operation | Rule, interface: Interface) -> dict[str, str]:
    operation = _operation(by, interface)
    return dict(by.behaviour.answers or (operation.behaviour.answers if operation else None) or {})


def _operation(by: Operation | Rule, interface: Interface) -> Operation | None:
    return interface.operations.get(by.operation or "") if isinstance(by, Rule) else by


def _is_raw(by: Operation | Rule, below: tuple[str | int, ...]) -> bool:
    """What was recorded is what a bank says, whether or not its documentation has it like that."""
    written: Any = by.origin.written
    for step in below:
        written = written[step]
    return written.get("raw") is True


def _complaint(response: Response, name: str, schemas: Schemas) -> tuple[str, str] | None:
    value = json.loads(response.body, parse_float=Decimal)
    if schemas[name].accepts(value):
        return None
    pointer, text = schemas[name].complaint(value) or ("", "is not what it takes")
    return pointer, f"{pointer or 'the body'} {text}, says the schema {name}"


def _steps(written: Any, below: tuple[str | int, ...], pointer: str) -> list[str | int]:
    """A JSON Pointer as steps through what is written there, where lists are counted."""
    for step in below:
        written = written[step]
    steps: list[str | int] = []
    for token in parse_pointer(pointer):
        step = int(token) if isinstance(written, list) else token
        steps.append(step)
        try:
            written = written[step]
        except (LookupError, TypeError):
            break
    return steps
