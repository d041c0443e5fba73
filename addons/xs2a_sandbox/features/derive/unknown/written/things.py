"""Writes what an operation does with things: how it finds and makes them."""

from typing import Any

from xs2a_sandbox.features.derive.expression_text import braced, literal
from xs2a_sandbox.features.derive.unknown.conditions.checks import Successes
from xs2a_sandbox.features.derive.unknown.recorded.places import Place, source_of
from xs2a_sandbox.features.derive.unknown.scopes import ExchangeScopes
from xs2a_sandbox.features.derive.unknown.things.lookups import ThingLookup
from xs2a_sandbox.features.derive.unknown.things.operations import LearnedOperation
from xs2a_sandbox.features.derive.unknown.things.things import ThingKind
from xs2a_sandbox.features.derive.unknown.written.new_ids import new_value
from xs2a_sandbox.features.derive.unknown.written.thing_states import write_first_state, write_uncovered

NAMES = "our_names"
"""The collection that finds things by their other keys, such as the code of the customer's page."""
LATEST = "our_latest"
"""The collection with the id of the last thing of a kind that got the state in which there is only one."""


def collection(kind: ThingKind) -> str:
    return f"our_{kind.name}"


def write_lookup(lookup: ThingLookup) -> dict[str, Any]:
    """Return the named values that find the thing that a request names."""
    if lookup.rows:
        return {lookup.name: braced(f"let.{lookup.rows.name}_rows[{lookup.source}]")}
    made: dict[str, Any] = {}
    for kind, key in lookup.kinds:
        id = lookup.source if key == kind.id else f"(state.{NAMES}[{lookup.source}].{kind.name} ~ '')"
        name = lookup.name if len(lookup.kinds) == 1 else f"{lookup.name}_{kind.name}"
        found = {"shape": f"{kind.name}-now", "of": braced(f"state.{collection(kind)}[{id}]")}
        if found not in made.values():
            made[f"{name}_{key}" if name in made else name] = found
    if lookup.name not in made:
        made[lookup.name] = braced(" or ".join(f"let.{name}" for name in made))
    return made


def write_new(scopes: ExchangeScopes, operation: LearnedOperation, kind: ThingKind, oks: Successes) -> dict[str, Any]:
    """Return the thing that the operation makes."""
    first, machine = kind.example, scopes.machines.get(kind)
    keys: dict[str, Any] = {}
    for key in dict.fromkeys(key for thing in reversed(kind.things) for key in thing.keys):
        having = [thing for thing in kind.things if key in thing.keys]
        values = [thing.keys[key][0] for thing in having]
        in_path = next((name for name, text in first.parameters.items() if text == str(values[0])), None)
        made = [thing.created.time for thing in having]
        keys[key] = braced(f"path.{in_path}") if in_path else new_value(values, made, scopes.offset)
    id = keys.pop(kind.id)
    return {
        "id": id,
        "kind": kind.name,
        **keys,
        "number": braced(f"state.{collection(kind)} | length"),
        "made": "{{ clock.seconds }}",
        "since": "{{ clock.seconds }}",
        **({"lifetime": _write_lifetime(scopes, oks)} if scopes.have_lifetimes(kind) else {}),
        **({"ended": False} if kind in scopes.endings else {}),
        "version": 1,
        "state": write_first_state(scopes, machine, oks) if machine else "there",
        "reads": 0,
        **({"uncovered": write_uncovered(scopes, operation, machine)} if machine and machine.uncovered else {}),
        **({"paid": 0} if machine and machine.by_payments else {}),
        "wrong": 0,
        "sent": "{{ body }}" if first.has_json else "{{ form }}",
        "entered": None,
        "told": {charge.name: braced(charge.source) for charge in scopes.charges[kind]},
        "headers": {
            name: braced(f"headers[{literal(name)}]")
            for name in first.headers
            if ("headers", name) not in scopes.nonces or ("headers", name) == scopes.request_keys.get(operation)
        },
        "of": _write_owners(scopes, operation, kind),
    }


def _write_lifetime(scopes: ExchangeScopes, oks: Successes) -> str:
    """Return how long a new thing lasts, by the outcome."""
    lifetimes: dict[str, int] = {}
    for _, answer in oks:
        for thing in (made for one in answer.seen if (made := scopes.world.made(one))):
            if seconds := scopes.lifetimes[thing]:
                lifetimes.setdefault(answer.name, seconds)
    return braced(f"{literal(lifetimes)}[let.outcome]")


def _write_owners(scopes: ExchangeScopes, operation: LearnedOperation, kind: ThingKind) -> dict[str, Any]:
    """Return what a new thing belongs to. One that replaces another, such as a token, also belongs to the same."""
    lookups = [one for one in scopes.lookups[operation] if not one.rows and one.place[0] != "headers"]
    replaced = [one for one in lookups if kind in [other for other, _ in one.kinds]]
    owners, last = (
        {one.name: {"merge": [braced(f"let.{one.name}.sent"), {"id": braced(f"let.{one.name}.id")}]} for one in ones}
        for ones in ([one for one in lookups if one not in replaced], replaced)
    )
    return {"merge": [owners, *(braced(f"let.{one.name}.of") for one in replaced), last]} if replaced else owners


def write_again(kind: ThingKind, key: Place) -> dict[str, str]:
    """Return the thing that a request with the same key has made before."""
    member = ".".join(map(str, key if key[0] == "headers" else ("sent", *key[1:])))
    same = f"selectattr({literal(member)}, 'equalto', {source_of(key)})"
    things = f"state.{collection(kind)} | dictsort | map('last') | {same} | sort(attribute='number') | list"
    return {"shape": f"{kind.name}-now", "of": braced(f"({things})[0] if {source_of(key)} else none")}
