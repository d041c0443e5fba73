"""What may leave the sandbox for a real bank, and what is said of that which may not."""

from xs2a_sandbox import own_path
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.guard import Guard
from xs2a_sandbox.messages import Request
from xs2a_sandbox.origin import host_of, named
from xs2a_sandbox.real_bank import RealBank


def check(bank: RealBank, request: Request, guard: Guard) -> None:
    """Raises BankError or Refused for what must not go to this bank."""
    _check_path(request)
    # Only there a request says where it wants to go: at a base URL it names the sandbox.
    if request.door == "proxy" and not bank.is_named_by(request):
        raise stranger(request, bank)
    own = [bank.origin.host] if bank.origin else []
    guard.check_way_out(request, {*own, *map(host_of, bank.hosts)})


def check_forwarding(request: Request, guard: Guard) -> None:
    """Raises BankError or Refused for what must not go to a host that the request names."""
    _check_path(request)
    guard.check_way_out(request)


def _check_path(request: Request) -> None:
    """Raises BankError for the sandbox's own paths: whoever asks for them may send the admin token along."""
    if own_path.is_own(request.target):
        raise BankError("path-unknown", id=request.target.partition("?")[0], hint=own_path.hint(request))


def stranger(request: Request, *banks: RealBank) -> BankError:
    """For a request at the proxy that names another place than these banks, with what would let it through."""
    asked = " and ".join(sorted({str(origin) if origin else request.host for origin in named(request)}))
    known = ", ".join(sorted({str(entry) for one in banks for entry in (*one.hosts, one.origin) if entry}))
    only = f", only {known} is" if known else ""
    text = f"{asked} is not the bank{only}: if it is, name it in banks[].hosts of xs2a-sandbox.yaml"
    return BankError("path-unknown", id=request.host, hint=f"{text}; --forward-host {request.host} passes it on")
