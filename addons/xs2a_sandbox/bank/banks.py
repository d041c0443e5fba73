"""The banks that the settings name, and which of them a request means."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from xs2a_sandbox.bank.bank import Bank
from xs2a_sandbox.config.modes import find_mode
from xs2a_sandbox.config.real_bank import unknown_host
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.http import Request
from xs2a_sandbox.http.origin import host_of
from xs2a_sandbox.http.target import split_target


class Banks:
    """`named` have hosts of their own; `default` is there for all other requests."""

    def __init__(self, default: Bank, with_hosts: Sequence[Bank] = ()) -> None:
        self.default = default
        self.all = (*with_hosts, default)
        self.are_personal = any(bank.is_personal for bank in self.all)
        """True where real people's data may be in what any of them is asked."""
        self.vary_by_request_id = any(bank.interface.varies_by_request_id for bank in self.all)
        operations = (operation for bank in self.all for operation in bank.interface.operations.values())
        self._reading = {operation.method for operation in operations if operation.reads}
        self._by_host = {host_of(entry): bank for bank in self.all for entry in bank.real.host_names}
        # Longest first: of banks at one host each is the one whose path the request goes on from.
        self._real = sorted((bank for bank in self.all if bank.real.url), key=lambda bank: -len(_path(bank)))

    def bank_of(self, request: Request) -> Bank:
        """Finds the bank by the host that the request names; at the proxy that may be the one of the bank's own URL."""
        return self._by_host.get(request.host.lower()) or self._at(request) or self.default

    def choose(self, request: Request) -> Bank:
        """Finds the bank that is meant. Raises BankError, at the proxy, for a host that is no bank's."""
        bank = self.bank_of(request)
        if bank is self.default and request.door == "proxy" and request.host.lower() not in self._by_host:
            # Where everything is to be recorded, nothing is made up for hosts that nobody has named.
            unnamed = bank.real.url is None and bank.real.mode == "record"
            if unnamed or (bank.real.hosts and not bank.real.at(request).is_named_by(request)):
                raise self.unknown_host(request)
        return bank

    def is_read(self, request: Request) -> bool:
        """Says whether a request is for an operation that changes nothing."""
        if request.method not in self._reading:
            return False
        operation = self.bank_of(request).glance(request.method, split_target(request.target).segments).operation
        return operation is not None and operation.reads

    def is_for_nobody(self, request: Request, bank: Bank) -> bool:
        """Says whether a request at the proxy, to which the sandbox alone has no answer, is for none that are asked."""
        mode = bank.real.mode
        return request.door == "proxy" and bank.real.url is None and bool(mode and find_mode(mode).asks_bank)

    def unknown_host(self, request: Request) -> BankError:
        """The error for a request at the proxy that is for none of them."""
        return unknown_host(request, *(bank.real for bank in self.all))

    def _at(self, request: Request) -> Bank | None:
        if request.door != "proxy" or not self._real:
            return None
        there = [bank for bank in self._real if bank.real.at(request).is_named_by(request)]
        return next((bank for bank in there if request.target.startswith(_path(bank))), there[-1] if there else None)


def _path(bank: Bank) -> str:
    return urlsplit(bank.real.url or "").path + "/"
