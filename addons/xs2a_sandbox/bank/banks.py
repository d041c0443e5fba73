"""Selects the bank for a request from the banks in the settings."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from xs2a_sandbox.bank.bank import Bank
from xs2a_sandbox.config.modes import find_mode
from xs2a_sandbox.config.real_bank import unknown_host
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.http import Request
from xs2a_sandbox.http.origin import host_of


class Banks:
    """`with_hosts` are the banks with hosts of their own; `default` gets all other requests."""

    def __init__(self, default: Bank, with_hosts: Sequence[Bank] = ()) -> None:
        self.default = default
        self.all = (*with_hosts, default)
        self.are_personal = any(bank.is_personal for bank in self.all)
        """True if requests to any of the banks may contain data of real people."""
        self.vary_by_request_id = any(bank.interface.varies_by_request_id for bank in self.all)
        self._by_host = {host_of(entry): bank for bank in self.all for entry in bank.real.host_names}
        # Longest path first: if banks share a host, the path of the request selects the bank.
        self._real = sorted((bank for bank in self.all if bank.real.url), key=lambda bank: -len(_path(bank)))

    def bank_of(self, request: Request) -> Bank:
        """Find the bank by the host of the request. At the proxy, the host of a real bank's URL also matches."""
        named = self._by_host.get(request.host.lower())
        if named is None and self._real and request.door == "proxy":
            named = self._at(request)
        return named or self.default

    def choose(self, request: Request) -> Bank:
        """Return the bank for the request. At the proxy, raises BankError if the host belongs to no bank."""
        bank = self.bank_of(request)
        if bank is self.default and request.door == "proxy" and request.host.lower() not in self._by_host:
            # If everything is to be recorded, do not invent answers for hosts that are not configured.
            unnamed = bank.real.url is None and bank.real.mode == "record"
            if unnamed or (bank.real.hosts and not bank.real.at(request).is_named_by(request)):
                raise self.unknown_host(request)
        return bank

    def is_for_nobody(self, request: Request, bank: Bank) -> bool:
        """Return whether a request at the proxy needs a real bank although none is configured."""
        mode = bank.real.mode
        return request.door == "proxy" and bank.real.url is None and bool(mode and find_mode(mode).asks_bank)

    def unknown_host(self, request: Request) -> BankError:
        """Return the error for a request at the proxy to an unknown host."""
        return unknown_host(request, *(bank.real for bank in self.all))

    def _at(self, request: Request) -> Bank | None:
        there = [bank for bank in self._real if bank.real.at(request).is_named_by(request)]
        return next((bank for bank in there if request.target.startswith(_path(bank))), there[-1] if there else None)


def _path(bank: Bank) -> str:
    return urlsplit(bank.real.url or "").path + "/"
