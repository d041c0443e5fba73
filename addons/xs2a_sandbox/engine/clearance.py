"""The check of what may leave the sandbox for a real bank, and the words for what may not."""

from xs2a_sandbox.config import RealBank
from xs2a_sandbox.config.real_bank import stranger
from xs2a_sandbox.control.access import Guard
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.http import Request, own_path
from xs2a_sandbox.http.origin import host_of


def check(bank: RealBank, request: Request, guard: Guard) -> None:
    """Raises BankError or Refused for what must not go to this bank."""
    _check_path(request)
    # Only there a request says where it wants to go: at a base URL it names the sandbox.
    if request.door == "proxy" and not bank.is_named_by(request):
        raise stranger(request, bank)
    own = [bank.origin.host] if bank.origin else []
    guard.check_way_out(request, {*own, *map(host_of, bank.host_names)})


def check_forwarding(request: Request, guard: Guard) -> None:
    """Raises BankError or Refused for what must not go to a host that the request names."""
    _check_path(request)
    guard.check_way_out(request)


def _check_path(request: Request) -> None:
    """Raises BankError for the sandbox's own paths: whoever asks for them may send the admin token along."""
    if own_path.is_own(request.target):
        raise BankError("path-unknown", id=request.target.partition("?")[0], hint=own_path.hint(request))
