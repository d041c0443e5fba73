"""Decides which rule or operation answers a request. The bank carries the decision out, and `explain` shows it."""

from collections.abc import Callable, Iterable
from typing import Literal

import msgspec

from xs2a_sandbox.cassette import requirements
from xs2a_sandbox.cassette.call import Call
from xs2a_sandbox.cassette.evaluation.expressions import Scope
from xs2a_sandbox.cassette.index import Lookup, Parameters
from xs2a_sandbox.cassette.model import Operation, Requirement, Rule
from xs2a_sandbox.documents import Schemas
from xs2a_sandbox.errors import BankError, SandboxError
from xs2a_sandbox.http import own_path

Kind = Literal["rule", "operation", "requirement", "failure", "nothing"]
"""The outcome for the request: a rule or the operation answers it, a requirement is not met, a condition cannot be
computed, or nothing matches.
"""


Candidate = tuple[Rule, Parameters, Call]
"""A rule that may match, with its path parameters, and the call as the rule sees it."""


type Amendments = tuple[tuple[Rule, Parameters], ...]
"""Rules that change a response, strongest first, each with its path parameters."""

type Admission = Callable[[Call, Operation], None]


class Decision(msgspec.Struct, frozen=True):
    """The answer comes from the rule, or from the operation if there is no rule; `error` says why neither answers.

    `amendments` are stronger rules that change the answer.

    A msgspec struct, because every request makes one.
    """

    kind: Kind
    rule: Rule | None
    operation: Operation | None
    parameters: Parameters
    seen: Call
    error: SandboxError | None
    amendments: Amendments = ()

    @property
    def is_left_to_bank(self) -> bool:
        """Return whether to forward the request to a real bank, if any: nothing matches, or a rule forwards it."""
        return self.kind == "nothing" or (self.kind == "rule" and self.rule is not None and self.rule.behaviour.bank)


def decide(
    lookup: Lookup,
    candidates: Iterable[Candidate],
    call: Call,
    schemas: Schemas,
    silent: frozenset[str] = frozenset(),
    admit: Admission | None = None,
) -> Decision:
    """Return the strongest candidate that matches, or the operation. Candidates in `silent` are skipped.

    `admit` raises BankError for requests without access, before the requirements of the operation are checked. The
    function sets operation and path parameters of the call to those of the rule or operation that answers.
    """
    operation = lookup.operation
    is_silent = operation is not None and operation.id in silent
    if operation:
        call.operation, call.path = operation.id, lookup.parameters
        call.inputs = operation.behaviour.inputs or call.inputs
    checked, refusal = operation is None, None
    amendments: Amendments = ()
    scope: Scope = {}
    for rule, parameters, seen in candidates:
        if rule.id in silent:
            continue
        if rule.methods and call.request.method not in rule.methods:
            continue
        owner = None if is_silent and not rule.operation else operation
        if owner and not rule.skips_requirements:
            if not checked:
                checked, refusal = True, _no_access(admit, owner, call) or _refusal(owner.require, call, schemas)
            if refusal:
                continue
        if not all(c.fits(seen.values(c.place, parameters)) for c in rule.constraints):
            continue
        if rule.when:
            scope = scope or call.scope()
            try:
                if not rule.when(call.with_path(scope, parameters)):
                    continue
            except SandboxError as error:
                return Decision("failure", rule, owner, parameters, seen, error, amendments)
        if rule.behaviour.amend:
            amendments = (*amendments, (rule, parameters))
            continue
        call.path = parameters
        refusal = _refusal(rule.require, call, schemas) if rule.require else None
        kind: Kind = "requirement" if refusal else "rule"
        return Decision(kind, rule, owner, parameters, seen, refusal, amendments)
    if operation is None or is_silent:
        call.operation, call.path = None, {}
        return Decision("nothing", None, None, {}, call, _choose_error(lookup, call, bool(silent)))
    if not checked:
        refusal = _no_access(admit, operation, call) or _refusal(operation.require, call, schemas)
    kind = "requirement" if refusal else "operation"
    return Decision(kind, None, operation, lookup.parameters, call, refusal, amendments)


def _no_access(admit: Admission | None, operation: Operation, call: Call) -> BankError | None:
    if admit is None:
        return None
    try:
        admit(call, operation)
    except BankError as error:
        return error
    return None


def _refusal(requirement: Requirement, call: Call, schemas: Schemas) -> BankError | None:
    if requirement.is_met(call, schemas):
        return None
    try:
        requirements.check(requirement, call, schemas)
    except BankError as error:
        return error
    return None


def _choose_error(lookup: Lookup, call: Call, is_recorded: bool) -> BankError:
    if is_recorded:
        return BankError("not-recorded", method=call.request.method, id=call.self_path)
    if lookup.unfit:
        return BankError(lookup.unfit, id=call.self_path)
    if lookup.methods:
        offered = ", ".join(sorted(set(lookup.methods)))
        return BankError("method-not-offered", method=call.request.method, allow=offered)
    if call.segments[:1] == (own_path.ROOT,):
        return BankError("path-unknown", id=call.self_path, hint=own_path.hint(call.request))
    return BankError("path-unknown", id=call.self_path)
