"""An app that listens for callbacks: a server on loopback that counts connections and answers as a test wishes."""

import json
import socket
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.support.doors import DEADLINE


@dataclass(frozen=True, slots=True)
class Received:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Listener:
    """Answers with the statuses in `answers`, one after the other, and with 202 when there are none left."""

    def __init__(self, port: int = 0) -> None:
        self.received: list[Received] = []
        self.answers: list[int] = []
        self.headers: dict[str, str] = {}
        self.connections = 0
        self.open = threading.Event()
        """Answers wait until it is set."""
        self.open.set()
        self._changed = threading.Condition()
        listener = self

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def get_request(self) -> tuple[socket.socket, Any]:
                connection = super().get_request()
                listener.connections += 1
                return connection

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                one = Received(self.command, self.path, {n.lower(): v for n, v in self.headers.items()}, body)
                with listener._changed:
                    listener.received.append(one)
                    status = listener.answers.pop(0) if listener.answers else 202
                    listener._changed.notify_all()
                listener.open.wait(DEADLINE)
                self.send_response(status)
                for name, value in listener.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_PUT = do_POST

            def log_message(self, format: str, *args: Any) -> None:
                """Keep the output of tests short."""

        self._server = Server(("127.0.0.1", port), Handler)
        self.port: int = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/notify"

    def __enter__(self) -> "Listener":
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.open.set()
        self._server.shutdown()
        self._thread.join(DEADLINE)
        self._server.server_close()

    def wait_for(self, count: int) -> list[Received]:
        """Wait for that many requests, and return all of them."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.received) >= count, 2 * DEADLINE), self.received
            return list(self.received)
