"""An answer: the response, its source and reason, and data for the steps of the engine."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal

import msgspec

from xs2a_sandbox.cassette import Call
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.http import Response
from xs2a_sandbox.journal.log_line import LogEntry
from xs2a_sandbox.journal.outcome import Outcome

type Source = Literal["rule", "handler", "bank", "sandbox"]

STRICT = "X-Sandbox-Strict"
"""The response header that lists the errors of checks that only warn."""


class Answer(msgspec.Struct, frozen=True):
    """`source` and `rule` say what made the response; `amended` are the rules that changed it, in this order.

    - `error`: the name of the error in the dialect's table, or of the sandbox itself;
      `refusal`: the exception, if one was raised
    - `reason`: why the request failed, if programs cannot see it in the response
    - `objections`: the errors that a stricter bank would return
    - `delay`: seconds to wait before the response is sent
    - `call`: the request as the bank saw it
    - `is_repeatable`: false if the next request may get a different answer
    - `is_personal`: true if the answer may contain data of real people; None if the route decides
    - `is_journaled`, `is_logged`: false to leave it out of the journal or the log
    - `beside`: in mode compare, called with the response that is sent; `outcome` gets the result of the comparison
    - `fault`: the fault of the response, set even if it has already changed the body
    - `failure`: the exception that made the sandbox fail
    - `entry`: the log entry of the answer, once written; `number`: its number in the journal of this process

    A msgspec struct, because every request makes some, and a frozen dataclass takes six times as long.
    """

    response: Response
    source: Source = "sandbox"
    rule: str | None = None
    error: str | None = None
    refusal: BankError | None = None
    reason: str | None = None
    amended: tuple[str, ...] = ()
    warnings: Sequence[str] = ()
    objections: tuple[str, ...] = ()
    delay: float = 0.0
    call: Call | None = None
    is_repeatable: bool = True
    is_personal: bool | None = None
    is_journaled: bool = True
    is_logged: bool = True
    beside: Callable[[Response], Awaitable[None]] | None = None
    outcome: Outcome | None = None
    fault: str | None = None
    failure: Exception | None = None
    entry: LogEntry | None = None
    number: int | None = None

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """The headers that name the source of the response and the errors of a stricter bank."""
        rule = (("X-Sandbox-Rule", self.rule),) if self.rule else ()
        amended = (("X-Sandbox-Amended", ", ".join(self.amended)),) if self.amended else ()
        if not self.objections:
            return (("X-Sandbox-Source", self.source), *rule, *amended)
        # Apps split the list at its semicolons.
        text = "; ".join(text.replace("; ", ", ") for text in self.objections).encode("ascii", "replace").decode()
        objections = (STRICT, "".join(c if c.isprintable() else "?" for c in text))
        return (("X-Sandbox-Source", self.source), *rule, *amended, objections)
