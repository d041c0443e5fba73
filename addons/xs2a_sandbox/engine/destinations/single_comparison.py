"""Compares one exchange with the real bank on demand: the side that did not answer the app gets the same request."""

from msgspec import structs

from xs2a_sandbox.compare.comparison import Compared, Comparison, Source
from xs2a_sandbox.compare.states import SandboxSide
from xs2a_sandbox.config.modes import find_mode
from xs2a_sandbox.engine.destinations.journeys import Journey
from xs2a_sandbox.engine.destinations.live_comparison import Send
from xs2a_sandbox.engine.route import BankRequest
from xs2a_sandbox.errors import Refused
from xs2a_sandbox.http import Request, Response
from xs2a_sandbox.http.target import cut_target


def check(to_bank: BankRequest, *, allow_writes: bool) -> None:
    """Check that the bank may be asked. Raises Refused."""
    if not find_mode(to_bank.mode).asks_bank or not to_bank.real.can_be_asked:
        text = "this sandbox does not contact a bank: start it with --bank URL and --mode spy, record or compare"
        raise Refused(409, "bank-not-asked", text)
    if not to_bank.is_read and not allow_writes:
        text = f"{to_bank.request.method} can change data at the bank, so it is sent only with allow_writes"
        raise Refused(409, "bank-writes", text)


async def compare(
    to_bank: BankRequest,
    answer: Response,
    source: Source,
    send: Send,
    twin: SandboxSide,
    journey: Journey | None = None,
) -> Compared:
    """Compare `answer`, which the app got from `source`, with the answer of the other side.

    `journey` has the ids of the session's things on both sides, if they have been compared before.
    """
    real, destination = to_bank.real, to_bank.destination
    before, _ = cut_target(to_bank.request.target, destination.segments)
    if journey is None:
        journey = Journey((real.url or "", to_bank.session), to_bank.sandbox_url)
        journey.counterparts.things = to_bank.bank.interface.things

    async def bank(request: Request) -> Response:
        return await send(real, request, destination.with_target(request.target).sent)

    async def sandbox(request: Request) -> Response:
        return await twin.ask(structs.replace(request, target=before + request.target))

    comparison = Comparison(
        to_bank.bank.interface,
        to_bank.bank.schemas,
        sandbox,
        bank,
        bank_url=real.url or "",
        sandbox_url=to_bank.sandbox_url,
        allow_writes=True,
    ).on_journey(journey.counterparts, journey.states, SandboxSide(sandbox, twin.follow), bank)
    compared = await comparison.beside(structs.replace(to_bank.request, target=destination.target), answer, source)
    if compared is None:
        raise ValueError("a write that is allowed is compared")
    return compared
