"""Learns an interface from its recorded exchanges: what its things are, when it gives each answer, what it lists."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xs2a_sandbox.features.derive.unknown.conditions.checks import LearnedCheck, find_checks, split_successes
from xs2a_sandbox.features.derive.unknown.conditions.classes import AnswerClass, find_classes
from xs2a_sandbox.features.derive.unknown.conditions.quotas import Quota, find_quotas
from xs2a_sandbox.features.derive.unknown.guesses.carried_over import carry_over
from xs2a_sandbox.features.derive.unknown.guesses.guesses import add_guesses
from xs2a_sandbox.features.derive.unknown.guesses.states import add_endings
from xs2a_sandbox.features.derive.unknown.lists.balances import Balance, find_balances
from xs2a_sandbox.features.derive.unknown.lists.listing import Listing
from xs2a_sandbox.features.derive.unknown.lists.lists import find_listings
from xs2a_sandbox.features.derive.unknown.lists.named_accounts import NamedAccounts, find_named_accounts
from xs2a_sandbox.features.derive.unknown.recorded.outcomes import find_envelope, find_successes
from xs2a_sandbox.features.derive.unknown.recorded.recorded_ids import find_ids
from xs2a_sandbox.features.derive.unknown.recorded.seen import SeenExchange, see
from xs2a_sandbox.features.derive.unknown.scopes import ExchangeScopes
from xs2a_sandbox.features.derive.unknown.states.implied_states import add_implied_states
from xs2a_sandbox.features.derive.unknown.states.machines import StateMachine
from xs2a_sandbox.features.derive.unknown.states.products import share_times
from xs2a_sandbox.features.derive.unknown.states.standing_orders import add_standing_orders
from xs2a_sandbox.features.derive.unknown.states.states import find_machines
from xs2a_sandbox.features.derive.unknown.states.uncovered import add_uncovered, guess_uncovered
from xs2a_sandbox.features.derive.unknown.things.find_things import find_things
from xs2a_sandbox.features.derive.unknown.things.operations import LearnedOperation, find_operations
from xs2a_sandbox.features.derive.unknown.things.things import ThingKind, World
from xs2a_sandbox.features.derive.unknown.written.lists import check_parameters
from xs2a_sandbox.recording.tape import Tape

_MOST_PLACES = 4


@dataclass
class LearnedInterface:
    """Everything that was found out about the bank. `unknown` says what was not found out."""

    seen: Sequence[SeenExchange]
    scopes: ExchangeScopes
    classes: Mapping[LearnedOperation, Sequence[AnswerClass]]
    listings: Mapping[LearnedOperation, Listing]
    balances: Sequence[Balance]
    named_accounts: Sequence[NamedAccounts]
    quotas: Mapping[ThingKind, Quota]
    checks: dict[LearnedOperation, list[LearnedCheck]] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)

    @property
    def world(self) -> World:
        return self.scopes.world


def learn(tape: Tape) -> LearnedInterface:
    recorded = see(tape)
    world, machines = _find_things(recorded)
    carried = carry_over(tape, recorded, world, machines)
    if carried.seen:
        # What was found out about an exchange depends on the others.
        recorded = see(tape)
        world, machines = _find_things([*recorded, *carried.seen])
        carried.add_changes(machines)
    share_times(machines)
    add_implied_states(world, machines)
    add_standing_orders(machines)
    scopes = ExchangeScopes(world, machines)
    classes = find_classes(world, machines)
    listings = find_listings(scopes)
    quotas = find_quotas(scopes, classes)
    balances, accounts = find_balances(scopes, listings), find_named_accounts(scopes)
    scopes.add_ticked({one.kind: one.field for one in accounts if one.field})
    add_uncovered(scopes)
    learned = LearnedInterface(recorded, scopes, classes, listings, balances, accounts, quotas)
    checks: dict[LearnedOperation, list[LearnedCheck]] = {}
    for operation in world.operations:
        checks[operation], left = find_checks(scopes, operation, classes[operation])
        told = [answer for _, answer in split_successes(scopes, operation, classes[operation])]
        left += [answer for answer in classes[operation] if answer.is_ok and answer not in told]
        learned.unknown += [
            _describe_unexplained(answer, classes[operation])
            for answer in left
            if answer.status not in (404, 405) and not answer.seen[0].like
        ]
    covering = {one for one, own in checks.items() if any(check.condition.kind == "cover" for check in own)}
    taken = [each for balance in balances if balance.is_exact for each in balance.taken]
    guess_uncovered(scopes, covering, {state for each in taken for state in each.states})
    add_endings(scopes, checks, classes)
    learned.checks = add_guesses(scopes, checks, classes)
    for named in accounts:
        for operation, own in learned.checks.items():
            named.add_checks(scopes, operation, own)
    for operation, listing in listings.items():
        learned.checks[operation] += check_parameters(listing, learned.checks[operation])
    return learned


def _find_things(seen: Sequence[SeenExchange]) -> tuple[World, dict[ThingKind, StateMachine]]:
    envelope, ids = find_envelope(seen), find_ids(seen)
    world = find_things(find_operations(seen, ids), find_successes(seen, envelope), envelope, ids)
    return world, find_machines(world)


def _describe_unexplained(answer: AnswerClass, classes: Sequence[AnswerClass]) -> str:
    """Return in words that nothing in the requests explains an answer. Between recordings, this is a contradiction."""
    request = f"{answer.operation.method} {answer.operation.path}"
    others = [one for other in classes if other is not answer for one in other.seen]
    if {one.file for one in answer.seen}.isdisjoint(one.file for one in others) and others:
        statuses = ", ".join(dict.fromkeys(str(one.status) for one in others))
        return (
            f"contradiction: {request} is answered with {answer.status} in {_list_places(answer.seen)}, and with "
            f"{statuses} in {_list_places(others)}; nothing in the requests tells when"
        )
    numbers = ", ".join(str(one.number) for one in answer.seen)
    return f"{request}: when it is answered with {answer.name} (exchanges {numbers})"


def _list_places(ones: Sequence[SeenExchange]) -> str:
    more = f" and {len(ones) - _MOST_PLACES} more" if ones[_MOST_PLACES:] else ""
    return "; ".join(one.place for one in ones[:_MOST_PLACES]) + more
