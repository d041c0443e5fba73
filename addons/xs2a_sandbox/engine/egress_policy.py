"""Decides which requests may leave the sandbox for a real bank or an app, and describes why others may not."""

from collections.abc import Collection, Iterable
from ipaddress import IPv6Address, ip_address

from xs2a_sandbox.config.readers import Network
from xs2a_sandbox.config.real_bank import unknown_host
from xs2a_sandbox.control.access import Guard
from xs2a_sandbox.engine.route import BankRequest
from xs2a_sandbox.errors import BankError, Refused
from xs2a_sandbox.http import Request, own_path
from xs2a_sandbox.http.origin import Origin, host_of
from xs2a_sandbox.upstream.callbacks import is_loopback

_WITHOUT_BODY = frozenset({"GET", "HEAD"})


def check(to_bank: BankRequest, guard: Guard) -> None:
    """Check that the request may go to this bank. Raises BankError, Refused."""
    bank, request, destination = to_bank.real, to_bank.request, to_bank.destination
    _check_path(request)
    # At the proxy, the request must name the bank. At a base URL, its host is the sandbox, or one of the bank's names.
    if request.door == "proxy" and not bank.is_named_by(request):
        raise unknown_host(request, bank)
    _check_message(request, request.target, destination.target, destination.sent)
    own = [bank.origin.host] if bank.origin else []
    guard.check_way_out(request, {*own, *map(host_of, bank.host_names)})


def check_forwarding(request: Request, guard: Guard) -> None:
    """Check that the request may be forwarded to the host that it names. Raises BankError, Refused."""
    _check_path(request)
    _check_message(request, request.target)
    guard.check_way_out(request)


def check_callback(url: str, allowed: Iterable[str | Network], own_ports: Collection[int]) -> None:
    """Check that a callback may go to this address. No name is resolved for that. Raises Refused."""
    origin = Origin.parse(url)
    if origin is None or not url.isascii() or not url.isprintable() or " " in url:
        text = "it must be an http or https URL with only a host, a port, a path and a query"
        raise Refused(403, "callback-refused", f"{url[:200]!r} is not an address for callbacks: {text}")
    if not any(_is_in(origin.host, entry) for entry in allowed):
        text = f"callbacks to {origin.host} are not allowed: set callback_host (--callback-host {origin.host})"
        raise Refused(403, "callback-refused", f"{text} to allow it")
    if origin.port in own_ports and (origin.host == "localhost" or is_loopback(origin.host)):
        text = "callbacks never go to the sandbox itself"
        raise Refused(403, "callback-refused", f"{origin} is a port of the sandbox, and {text}")


def _is_in(host: str, allowed: str | Network) -> bool:
    if isinstance(allowed, str):
        return host == allowed
    try:
        address = ip_address(host)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address) in allowed


def _check_path(request: Request) -> None:
    """Raise BankError for the sandbox's own paths, because such requests may contain the admin token."""
    if own_path.is_own(request.target):
        raise BankError("path-unknown", id=request.target.partition("?")[0], hint=own_path.hint(request))


def _check_message(request: Request, *targets: str) -> None:
    """Raise Refused for requests that servers read differently: as another target, or as two requests."""
    if any(not target.startswith("/") or target[1:2] in ("/", "\\") for target in targets):
        text = "its path starts with // or not with /, and some servers read that as the name of a host"
        raise Refused(
            400, "target-refused", f"{text}, so the request does not go to the bank: start the path with a single slash"
        )
    if request.method in _WITHOUT_BODY and (request.body or "transfer-encoding" in request.headers.first):
        text = f"some servers read a {request.method} with a body as one request, others as two"
        raise Refused(400, "body-refused", f"{text}, so the request does not go to the bank: remove the body")
