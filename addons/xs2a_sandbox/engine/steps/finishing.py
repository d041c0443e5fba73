"""Finishes an answer for the client: shows a page instead, signs it, applies faults, and adds the sandbox's headers."""

import logging
from collections.abc import Callable
from dataclasses import dataclass

from msgspec import structs

from xs2a_sandbox.bank import Answer
from xs2a_sandbox.cassette.body_faults import BODY_FAULTS, corrupt
from xs2a_sandbox.engine.route import Route, Step
from xs2a_sandbox.engine.steps.journaling import reason_of
from xs2a_sandbox.engine.steps.landing import Landing
from xs2a_sandbox.http import Response
from xs2a_sandbox.http.confinement import confine
from xs2a_sandbox.journal.display import Display
from xs2a_sandbox.signatures.rules import SignatureRules

log = logging.getLogger("xs2a_sandbox")

type Seal = Callable[[Response, SignatureRules], Response]
"""Signs an answer. Raises ConfigError."""


@dataclass(frozen=True, slots=True)
class Finishing:
    """`display` decides how exchanges may be shown."""

    step: Step
    landing: Landing
    seal: Seal | None
    display: Display | None
    debug_headers: bool

    async def __call__(self, route: Route) -> Answer:
        """Return the finished answer. Raises ConfigError if it cannot be signed."""
        answer = await self.step(route)
        if answer.refusal and (page := self.landing.page(route, answer.refusal.name)):
            answer = Answer(page, is_journaled=False, is_personal=False)
        elif self.seal and route.bank.interface.signatures.answers:
            answer = self._sign(route, answer, self.seal)
        return await self.finish(route, answer)

    async def finish(self, route: Route, answer: Answer) -> Answer:
        response, warnings = answer.response, tuple(answer.warnings)
        is_journaled = answer.is_journaled and not route.is_own
        # At the direct door, the console has the same origin.
        if route.request.door == "direct" and (is_journaled or answer.source in ("rule", "bank")):
            response = confine(response)
        reason = self._reason(route, answer) if response.status >= 400 else None
        if (fault := response.fault) in BODY_FAULTS:
            if (changed := corrupt(response)) is None:
                warnings = (*warnings, f"{fault} changes nothing in this answer")
                fault = None
                changed = Response(response.status, response.headers, response.body, None, response.rest)
            response = changed
        if route.request.method == "HEAD":
            response = response.without_body()
        if answer.beside:
            try:
                await answer.beside(response)
            except Exception:
                log.exception("the exchange could not be compared", extra={"request": route.request})
        if answer.objections or route.warnings:
            objections = (f"the profile strict would refuse this: {text}" for text in answer.objections)
            warnings = (*warnings, *route.warnings, *objections)
        return structs.replace(
            answer,
            response=response.with_headers(*answer.headers) if self.debug_headers else response,
            reason=reason,
            warnings=warnings,
            fault=fault,
            is_journaled=is_journaled,
            is_personal=route.is_personal if answer.is_personal is None else answer.is_personal,
        )

    def _sign(self, route: Route, answer: Answer, seal: Seal) -> Answer:
        """Return the answer with the bank's signature, if its dialect signs this one. Raises ConfigError."""
        rules = route.bank.interface.signatures
        # A real bank signs its own answers, and pages are for browsers.
        is_ours = answer.source != "bank" and answer.is_journaled and not route.is_own
        if not is_ours or answer.response.rest or not rules.signs(route.target.segments):
            return answer
        return structs.replace(answer, response=seal(answer.response, rules))

    def _reason(self, route: Route, answer: Answer) -> str | None:
        """Return why a request failed, as it may be shown, or None if that cannot be computed."""
        try:
            return reason_of(route.request, answer, route.is_personal, self.display)
        except Exception:
            log.exception("the reason of a failed request cannot be shown", extra={"request": route.request})
            return None
