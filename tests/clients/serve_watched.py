"""`xs2a-sandbox`, writing a line of JSON about each TLS handshake with a client into the file `handshakes`."""

import json
from pathlib import Path

from cryptography.x509.oid import NameOID
from mitmproxy.tls import TlsData

from xs2a_sandbox.cli.main import main
from xs2a_sandbox.doors.mitmproxy_addon import SandboxAddon
from xs2a_sandbox.doors.tls import Tls


def note(protocol: bytes | None, names: list[str | bytes | None]) -> None:
    with Path("handshakes").open("a") as file:
        file.write(json.dumps({"protocol": (protocol or b"").decode(), "certificates": names}) + "\n")


def tls_established_client(self: SandboxAddon, data: TlsData) -> None:
    note(data.conn.alpn, [certificate.cn for certificate in data.conn.certificate_list])


def shake_hands(self: Tls) -> bool:
    is_done = _shake_hands(self)
    if is_done:
        certificate = self._tls.get_peer_certificate(as_cryptography=True)
        names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME) if certificate else []
        note(self._tls.get_alpn_proto_negotiated(), [name.value for name in names])
    return is_done


_shake_hands = Tls._shake_hands
Tls._shake_hands = shake_hands  # type: ignore[method-assign]
SandboxAddon.tls_established_client = tls_established_client  # type: ignore[attr-defined]

if __name__ == "__main__":
    main()
