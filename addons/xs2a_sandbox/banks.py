"""The banks that one sandbox stands for, and which of them a request means."""

from collections.abc import Sequence

from xs2a_sandbox.bank import Bank
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.messages import Request


class Banks:
    """`named` have hosts of their own; `default` is there for all other requests."""

    def __init__(self, default: Bank, named: Sequence[Bank] = ()) -> None:
        self.default = default
        self.all = (*named, default)
        self.are_personal = any(bank.is_personal for bank in self.all)
        """Whether real people's data may be in what any of them is asked."""
        self._by_host = {host.lower(): bank for bank in self.all for host in bank.real.hosts}

    def meant(self, request: Request) -> Bank:
        """By the host that the request names."""
        return self._by_host.get(request.host.lower(), self.default)

    def choose(self, request: Request) -> Bank:
        """The one that is meant. Raises BankError, at the proxy, for a host that is no bank's."""
        host = request.host.lower()
        if host in self._by_host:
            return self._by_host[host]
        if self.default.real.hosts and request.door == "proxy":
            known = ", ".join(sorted(self._by_host))
            text = f"{request.host} is not the bank, only {known} is (hosts, in xs2a-sandbox.yaml)"
            raise BankError("path-unknown", id=request.host, hint=f"{text}; {_FORWARD.format(host=host)}")
        return self.default


_FORWARD = "--forward-host {host} passes it on"


def stranger(request: Request) -> BankError:
    """For a request at the proxy that is neither for the real bank's host nor for any path the sandbox knows."""
    text = f"{request.host} is not the bank, and the sandbox knows no such path; {_FORWARD.format(host=request.host)}"
    return BankError("path-unknown", id=request.host, hint=text)
