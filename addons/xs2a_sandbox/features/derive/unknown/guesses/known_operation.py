"""What guesses about an operation start from: what the recording shows of it, and the checks of all operations."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from xs2a_sandbox.features.derive.unknown.conditions.candidates import candidates
from xs2a_sandbox.features.derive.unknown.conditions.checks import LearnedCheck
from xs2a_sandbox.features.derive.unknown.conditions.classes import AnswerClass
from xs2a_sandbox.features.derive.unknown.conditions.conditions import Condition
from xs2a_sandbox.features.derive.unknown.guesses.error_codes import change_status, find_free_number
from xs2a_sandbox.features.derive.unknown.recorded.places import Place
from xs2a_sandbox.features.derive.unknown.recorded.seen import SeenExchange
from xs2a_sandbox.features.derive.unknown.scopes import ExchangeScopes
from xs2a_sandbox.features.derive.unknown.things.lookups import ThingLookup
from xs2a_sandbox.features.derive.unknown.things.operations import LearnedOperation

_PAGE = "<!doctype html><html><body><p>There is nothing to decide here.</p></body></html>"


@dataclass
class KnownOperation:
    """`checks` are those that the recording shows, `every` those of all operations. `guesses` are added one by one.

    `beside` are operations that create the same at a path that differs in one word, such as another payment product.
    """

    scopes: ExchangeScopes
    operation: LearnedOperation
    classes: Sequence[AnswerClass]
    checks: Sequence[LearnedCheck]
    every: Sequence[LearnedCheck]
    beside: Sequence[LearnedOperation] = ()
    guesses: list[LearnedCheck] = field(default_factory=list)

    @cached_property
    def oks(self) -> list[SeenExchange]:
        return [one for answer in self.classes if answer.is_ok for one in answer.seen]

    @cached_property
    def mistakes(self) -> list[Condition]:
        """The mistakes that requests could make."""
        return list(candidates(self.scopes, self.operation, [], self.oks)) if self.oks else []

    @property
    def lookups(self) -> Sequence[ThingLookup]:
        return self.scopes.lookups[self.operation]

    @property
    def conditions(self) -> Iterator[Condition]:
        return (check.condition for check in (*self.checks, *self.guesses))

    @property
    def is_about_rows(self) -> bool:
        """Whether the operation shows accounts. One that makes a payment does not: it only names an account."""
        has_rows = any(lookup.rows for lookup in self.lookups) and not self.scopes.world.made_by(self.operation)
        return has_rows or any(rows.told_by is self.operation for rows in self.scopes.world.rows)

    def accepts(self, source: str) -> bool:
        """Return whether a condition holds for a request that was answered well."""
        return any(self.scopes.holds(source, one) for one in self.oks)

    def accepts_beside(self, condition: Condition) -> bool:
        """Return whether a condition on the body holds for a request that was answered well beside this operation."""
        seen = [one for operation in self.beside for one in operation.seen if self.scopes.is_ok[one]]
        return condition.is_of_body and any(self.scopes.holds(condition.source, one) for one in seen)

    def find_check(self, kind: str, place: Place) -> LearnedCheck | None:
        """Return the check of any operation on a part of the request."""
        found = (check for check in self.every if check.condition.kind == kind and check.condition.place == place)
        return next(found, None)

    def invent_answer(self, like: SeenExchange, status: int, name: str, **changes: Any) -> AnswerClass:
        """Return an error that was not recorded, made from a recorded answer."""
        world = self.scopes.world
        shown = replace(like, status=status, **changes)
        world.operation_of[shown] = world.operation_of[like]
        return AnswerClass(world.operation_of[like], False, [shown], name)

    def invent_error(self, status: int, name: str, error: AnswerClass | None = None) -> AnswerClass:
        """Return an error in the form of another one of the bank's errors."""
        own = (check for check in self.every if check.answer.operation is self.operation)
        like = (error or next(own, self.every[0]).answer).seen[0]
        answers = [check.answer for check in self.every]
        document = change_status(like.document, like.status, status, find_free_number(answers))
        return self.invent_answer(like, status, name, document=document)

    def invent_page(self, like: SeenExchange, status: int, name: str) -> AnswerClass:
        """Return a page with the headers that all answers of the bank have."""
        every = list(self.scopes.world.operation_of)
        headers = {
            header: value
            for header, value in like.answer_headers.items()
            if all(header in one.answer_headers for one in every)
        }
        return self.invent_answer(like, status, name, text=_PAGE, answer_headers=headers, media="text/html")
