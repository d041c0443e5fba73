"""An answer: the response, who gave it and why, and what the steps of the engine need to know of it."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal

import msgspec

from xs2a_sandbox.cassette import Call
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.http import Response
from xs2a_sandbox.journal.log_line import LogEntry

type Source = Literal["rule", "handler", "bank", "sandbox"]

STRICT = "X-Sandbox-Strict"
"""The header that says what checks which only warn would have refused."""


class Answer(msgspec.Struct, frozen=True):
    """`source` and `rule` gave the response, and the rules `amended` changed it, in their order.

    - `error`: the name of the error that it is, in the dialect's table or of the sandbox itself;
      `refusal`: the exception, where one was raised
    - `reason`: why the request failed, where the response does not say it to programs
    - `objections`: what a stricter bank would have refused, in its words
    - `delay`: seconds to wait before it is sent
    - `call`: the request as the bank saw it
    - `is_repeatable`: false where each request counts
    - `is_personal`: true where real people's data may be in it; None where the route knows
    - `is_journaled`, `is_logged`: false for what the journal, or the log, leaves out
    - `beside`: is told the response as it is sent, in mode compare
    - `failure`: the exception on which the sandbox failed
    - `entry`: its line in the log, once that is written

    A struct, as every request makes some: a frozen dataclass takes six times as long to make.
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
    failure: Exception | None = None
    entry: LogEntry | None = None

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """Headers that name who has answered, and what a stricter bank would have refused."""
        rule = (("X-Sandbox-Rule", self.rule),) if self.rule else ()
        amended = (("X-Sandbox-Amended", ", ".join(self.amended)),) if self.amended else ()
        if not self.objections:
            return (("X-Sandbox-Source", self.source), *rule, *amended)
        # Apps take the list apart at its semicolons.
        text = "; ".join(text.replace("; ", ", ") for text in self.objections).encode("ascii", "replace").decode()
        objections = (STRICT, "".join(c if c.isprintable() else "?" for c in text))
        return (("X-Sandbox-Source", self.source), *rule, *amended, objections)
