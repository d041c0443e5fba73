"""Explains an answer: which entry answers the request, which others are near, and why they do not answer."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from xs2a_sandbox.cassette import Call, Interface, Operation, Rule
from xs2a_sandbox.cassette.decide import Decision, Kind
from xs2a_sandbox.cassette.handler import options_of
from xs2a_sandbox.cassette.index import Lookup
from xs2a_sandbox.cassette.model import Requirement
from xs2a_sandbox.documents import Schemas
from xs2a_sandbox.explain.candidates import (
    Candidate,
    check_of_condition,
    find_nearest,
    hold,
    lacks,
    owner,
    place_of,
    requirements_of,
)
from xs2a_sandbox.explain.distance import PathAlignment
from xs2a_sandbox.explain.hints import Hint, RuleSuggestion, hints, suggest
from xs2a_sandbox.http import to_json
from xs2a_sandbox.http.target import Target, split_target

_NEAREST = 3
_LOSERS = 10
_FAR = 0.4
"""A rule at this distance from a request that something else answers was not meant for it."""
_UNLIKE = 0.5
_MAX_BYTES = 8 * 1024


@dataclass(frozen=True, slots=True)
class Contender:
    """A candidate, the requirements that the request lacks, and why the candidate lost although it matches."""

    candidate: Candidate
    lacks: tuple[str, ...] = ()
    lost: str | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer that would be given: the status and, for an error, its name and text."""

    status: int
    error: str | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """`by` answers, or has the requirement or condition that failed; `nearest` are other candidates, best first.

    `options` are those that `by` gives its `handler`, if it has one. `amended` are the rules that change the answer, in
    order; `quirks` are the quirks of the bank. `signature` describes the mistake in the request's signature;
    `objections` are the errors of checks that only warn; `client` describes the client certificate. `consent` is
    the id of the consent that the request leads to.
    """

    method: str
    path: str
    session: str
    decision: Kind | Literal["sandbox"]
    message: str
    by: Contender | None = None
    nearest: tuple[Contender, ...] = ()
    hints: tuple[Hint, ...] = ()
    suggestion: RuleSuggestion | None = None
    reply: Reply | None = None
    handler: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    amended: tuple[Rule, ...] = ()
    quirks: tuple[str, ...] = ()
    signature: Mapping[str, Any] | None = None
    objections: tuple[str, ...] = ()
    client: Mapping[str, Any] | None = None
    consent: str | None = None


def explain(interface: Interface, schemas: Schemas, lookup: Lookup, call: Call, decision: Decision) -> Explanation:
    """Explain the decision of the bank. `lookup` is the index's result for the path. Nothing is written."""
    call = _aside(call)
    entry = decision.rule or decision.operation
    if entry is None:
        return _explain_unmatched(interface, schemas, call, lookup)
    by = _decider(entry, interface, lookup, decision)
    if decision.kind == "requirement":
        steps = (entry.require or Requirement()).steps
        by = replace(by, lacks=tuple(t for step in steps for t in _lacks(step, decision.parameters, call, schemas)))
    amending = [rule for rule, _ in decision.amendments]
    others = [rule for rule in interface.rules if rule is not by.candidate.entry and rule not in amending]
    near = [
        candidate
        for candidate in find_nearest(others, interface, call, _LOSERS, lookup)
        if candidate.distance < _FAR or all(check.what != "path" for check in candidate.missed)
    ]
    return Explanation(
        call.request.method,
        call.self_path,
        call.session.id,
        decision.kind,
        _MESSAGES[decision.kind].format(f"{'rule' if decision.rule else 'operation'} {entry.id}"),
        by,
        tuple(Contender(candidate, lost=_explain_outranked(candidate, by.candidate, interface)) for candidate in near),
        tuple(hints(call, interface, by.candidate)),
        handler=entry.behaviour.handler,
        options=options_of(entry, owner(entry, interface)),
        amended=tuple(reversed(amending)),
        quirks=interface.quirks,
        client=_client(call),
    )


def explain_miss(explanation: Explanation, id: str) -> str | None:
    """Return the first reason why that rule or operation does not answer, if it is known."""
    by = explanation.by
    contender = next((entry for entry in (by, *explanation.nearest) if entry and entry.candidate.entry.id == id), None)
    if contender is None:
        return None
    if contender.lost and by and by.lacks:
        return f"{contender.lost}: {by.lacks[0]}"
    reasons = (*(check.text for check in contender.candidate.missed), *contender.lacks, contender.lost)
    return next((reason for reason in reasons if reason), None)


def diagnosis(interface: Interface, schemas: Schemas, call: Call, refusal: str | None = None) -> dict[str, Any]:
    """Return the part about the request in the answer to an unmatched one, as JSON of at most 8 KiB.

    `refusal` is why it was rejected before rules were looked up.
    """
    if refusal:
        return describe(own(call, refusal))
    return _limit(describe(_explain_unmatched(interface, schemas, _aside(call))))


def own(call: Call, message: str, reply: Reply | None = None) -> Explanation:
    """Return the explanation of a request that the sandbox itself answers."""
    request, client = call.request, _client(call)
    return Explanation(request.method, call.self_path, call.session.id, "sandbox", message, reply=reply, client=client)


def describe(explanation: Explanation) -> dict[str, Any]:
    """Return the explanation as JSON."""
    one = explanation
    return {
        "request": {"method": one.method, "path": one.path, "session": one.session},
        "decision": one.decision,
        "message": one.message,
        "answer": one.reply and {"status": one.reply.status, "error": one.reply.error, "text": one.reply.text},
        "by": one.by and _describe(one.by),
        "handler": one.handler and {"name": one.handler, "with": one.options},
        "amended": [{"rule": rule.id, "place": place_of(rule)} for rule in one.amended],
        "quirks": list(one.quirks),
        "client": one.client,
        "consent": one.consent,
        "signature": one.signature,
        "objections": list(one.objections),
        "hints": [{"code": hint.code, "text": hint.text} for hint in one.hints],
        "nearest": [_describe(contender) for contender in one.nearest],
        "suggestion": one.suggestion and {"file": one.suggestion.file, "yaml": one.suggestion.yaml},
    }


def _aside(call: Call) -> Call:
    """Return a copy of the call, so that explaining it does not change it or add warnings."""
    target = Target(call.segments, split_target(call.request.target).query)
    aside = Call(call.request, target, call.session, call.clock, call.state, things=call.things)
    aside.lets, aside.shapes = call.lets, call.shapes
    return aside


_MESSAGES: Mapping[Kind, str] = {
    "rule": "the {} answers",
    "operation": "the {} answers, because no rule matches",
    "requirement": "the request does not meet all requirements of the {}",
    "failure": "the condition of the {} is false",
}


def _decider(entry: Rule | Operation, interface: Interface, lookup: Lookup, decision: Decision) -> Contender:
    """Compare the request with the entry that answers, or that has the failed requirement or condition."""
    rule, condition = decision.rule, None
    if rule and rule.when:
        condition = check_of_condition(rule, True, decision.error if decision.kind == "failure" else None)
    # A recorded rule is found by the path in the recording, which may lead elsewhere.
    leads = None if rule and rule.tape else lookup
    alignment = PathAlignment(0.0, decision.parameters)
    return Contender(hold(entry, interface, _aside(decision.seen), alignment, leads, condition))


def _explain_unmatched(interface: Interface, schemas: Schemas, call: Call, lookup: Lookup | None = None) -> Explanation:
    every: list[Operation | Rule] = [*interface.rules, *interface.operations.values()]
    entries = [entry for entry in every if entry.id not in interface.silent]
    near = find_nearest(entries, interface, call, _NEAREST, lookup)
    contenders = [Contender(candidate, _lacks_of(candidate, interface, call, schemas)) for candidate in near]
    # A rule may answer that a path is unknown; if there is a `lookup`, it has been decided that nothing answers.
    by = contenders.pop(0) if lookup is None and near and near[0].fits else None
    closest = near[0] if near and near[0].distance < _UNLIKE else None
    return Explanation(
        call.request.method,
        call.self_path,
        call.session.id,
        ("rule" if isinstance(by.candidate.entry, Rule) else "operation") if by else "nothing",
        f"{by.candidate.entry.id} gives this response itself" if by else _nobody(near[0] if near else None, interface),
        by,
        tuple(contenders),
        tuple(hints(call, interface, closest)),
        None if by else suggest(interface, call),
        quirks=interface.quirks,
        client=_client(call),
    )


def _client(call: Call) -> Mapping[str, Any] | None:
    return call.client.identity if call.client else None


def _nobody(best: Candidate | None, interface: Interface) -> str:
    if interface.silent:
        dialect = f"the bank does not use the dialect {interface.dialect}"
        return f"this was not recorded, and {dialect}; the nearest matches follow"
    missed = {check.what for check in best.missed} if best else {"path"}
    if "path" in missed:
        return "no operation and no rule has this path; the nearest matches follow"
    if "method" in missed:
        return "no operation and no rule has this path with this method; the nearest matches follow"
    if isinstance(best and best.entry, Operation):
        return "an operation has this path, but not with these parameters; the nearest matches follow"
    return "rules have this path, but none of them matches; the nearest follow"


def _lacks_of(candidate: Candidate, interface: Interface, call: Call, schemas: Schemas) -> tuple[str, ...]:
    # Schema names contain path parameters; only correct ones count.
    wrong = {check.what for check in candidate.missed}
    fitting = {name: value for name, value in candidate.parameters.items() if f"where.{name}" not in wrong}
    required = requirements_of(candidate.entry, interface)
    return tuple(text for requirement in required for text in _lacks(requirement, fitting, call, schemas))


def _lacks(required: Requirement, parameters: Mapping[str, str], call: Call, schemas: Schemas) -> tuple[str, ...]:
    # After matchers have read the body, a call no longer reports mistakes in it.
    call = _aside(call)
    call.path = dict(parameters)
    return tuple(lacks(required, call, schemas))


def _explain_outranked(loser: Candidate, winner: Candidate, interface: Interface) -> str | None:
    """Return why a matching candidate lost. For others this is None: their failed checks are the reason."""
    mine, theirs = winner.entry, loser.entry
    if not loser.fits or not isinstance(theirs, Rule):
        return None
    if not isinstance(mine, Rule):
        return f"the request lacks what {mine.id} requires"
    # The order of comparison is that of `Layered.rank`.
    if interface.layers.get(mine.id) != interface.layers.get(theirs.id):
        return f"{mine.id} is in a later layer"
    if mine.priority != theirs.priority:
        return f"{mine.id} has the higher priority: {mine.priority}, not {theirs.priority}"
    if winner.pattern.rank != loser.pattern.rank:
        return f"{mine.id} has the more literal path"
    return f"{mine.id} is more specific: strength {mine.strength}, not {theirs.strength}"


def _describe(contender: Contender) -> dict[str, Any]:
    candidate = contender.candidate
    return {
        "rule" if isinstance(candidate.entry, Rule) else "operation": candidate.entry.id,
        "method": ", ".join(sorted(candidate.methods)) or "any",
        "path": candidate.pattern.text,
        "place": candidate.place,
        "distance": candidate.distance,
        "fitted": [check.text for check in candidate.checks if not check.distance],
        "missed": [
            {"what": check.what, "distance": round(min(1.0, check.distance), 3), "text": check.text}
            for check in candidate.missed
        ],
        "lacks": list(contender.lacks),
        "lost": contender.lost,
    }


def _limit(value: dict[str, Any]) -> dict[str, Any]:
    """Shorten texts and lists until the JSON is small enough. The suggestion is complete or left out."""
    suggestion = value["suggestion"]
    for longest, several in ((400, 10), (150, 6), (80, 3)):
        cut = {**_cut(value, longest, several), "suggestion": suggestion}
        if len(to_json(cut)) <= _MAX_BYTES:
            return cut
    return {**_cut(value, longest, several), "suggestion": None}


def _cut(value: Any, longest: int, several: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= longest else value[: longest - 1] + "…"
    if isinstance(value, list):
        return [_cut(member, longest, several) for member in value[:several]]
    if isinstance(value, dict):
        return {name: _cut(member, longest, several) for name, member in value.items()}
    return value
