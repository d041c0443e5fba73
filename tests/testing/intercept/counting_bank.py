"""A bank on real sockets that counts the connections from a process whose clients are intercepted."""

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HOST = "bank.test"
ENDS = (".test", ".example")
RULE: dict[str, dict[str, Any]] = {
    "match": {"path": "/mine"},
    "respond": {"status": 200, "body": {"from": "the sandbox"}},
}
FROM_BANK, FROM_SANDBOX = {"from": "the bank"}, {"from": "the sandbox"}


class CountingBank:
    """Counts connections, and answers HTTP requests."""

    def __init__(self) -> None:
        self.connections = 0
        bank = self

        class Server(ThreadingHTTPServer):
            def get_request(self) -> Any:
                bank.connections += 1
                return super().get_request()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", "20")
                self.end_headers()
                self.wfile.write(b'{"from": "the bank"}')

            def log_message(self, *_: object) -> None:
                """Log nothing."""

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
