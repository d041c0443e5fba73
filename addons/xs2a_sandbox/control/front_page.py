"""The page at the base URL: what the sandbox is, where its doors are, and which CA to trust."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xs2a_sandbox import __version__
from xs2a_sandbox.bank.sca_pages.html import Page, show
from xs2a_sandbox.config import RealBank
from xs2a_sandbox.http import Request, Response
from xs2a_sandbox.http.media_type import split_parameters
from xs2a_sandbox.http.messages import json_answer

CA = "/_sandbox/ca.pem"
DOCUMENTATION = "/_sandbox/docs/"


@dataclass(frozen=True, slots=True)
class Addresses:
    """The URLs of the doors. `ca_file` is the certificate that clients of the proxy and the TLS door have to trust."""

    proxy: str
    direct: str
    tls: str | None
    ca_file: Path


@dataclass(frozen=True, slots=True)
class FrontPage:
    """`command` is an example to try the sandbox, if there is one; `banks` are the real ones that are shown.

    `local`: only this machine can connect, so the page shows the path of the CA file and the `command`.
    """

    addresses: Addresses
    command: str | None
    banks: Sequence[RealBank] = ()
    local: bool = True

    def answer(self, request: Request) -> Response:
        """Return HTML if the request asks for it, otherwise JSON."""
        if asks_for_html(request):
            banks = [bank for bank in self.banks if bank.can_be_asked]
            answer = show(Page("front", {**self._facts(), "asked": banks}))
        else:
            answer = json_answer(self._facts())
        return answer.with_headers(("Vary", "Accept"))

    def _facts(self) -> dict[str, Any]:
        at = self.addresses
        return {
            "name": "xs2a-sandbox",
            "version": __version__,
            "proxy": at.proxy,
            "direct": at.direct,
            "tls": at.tls,
            "ca": at.direct + CA,
            "ca_file": str(at.ca_file) if self.local else None,
            "banks": [{"url": bank.url, "mode": bank.mode} for bank in self.banks],
            "try": self.command if self.local else None,
            "documentation": at.direct + DOCUMENTATION,
        }


def asks_for_html(request: Request) -> bool:
    """Return whether the request asks for HTML, like browsers. Clients that accept anything, like curl, get JSON."""
    for media_range in ",".join(request.headers.all("Accept")).split(","):
        media, parameters = split_parameters(media_range)
        if media == "text/html":
            return parameters.get("q") not in ("0", "0.0", "0.00", "0.000")
    return False
