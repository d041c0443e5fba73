"""`xs2a-sandbox`, writing a line of JSON about each TLS handshake with a client into the file `handshakes`."""

import json
from pathlib import Path

from mitmproxy.tls import TlsData

from xs2a_sandbox.cli.main import main
from xs2a_sandbox.doors.mitmproxy_addon import SandboxAddon


def tls_established_client(self: SandboxAddon, data: TlsData) -> None:
    names = [certificate.cn for certificate in data.conn.certificate_list]
    handshake = {"protocol": (data.conn.alpn or b"").decode(), "certificates": names}
    with Path("handshakes").open("a") as file:
        file.write(json.dumps(handshake) + "\n")


SandboxAddon.tls_established_client = tls_established_client  # type: ignore[attr-defined]

if __name__ == "__main__":
    main()
