"""A running sandbox, seen from another process: its control interface."""

import http.client
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from xs2a_sandbox.config import Settings
from xs2a_sandbox.control.access import FILE, read_token
from xs2a_sandbox.errors import NotRunning, UserMistake
from xs2a_sandbox.http.origin import reachable, url

_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Remote:
    """The sandbox that `serve` runs with these settings, and one session of it.

    `number` makes a value of a number with a fraction: Decimal keeps the digits that it is written with.
    """

    settings: Settings
    session: str | None = None
    number: Callable[[str], Any] = float

    @property
    def url(self) -> str:
        return url("http", self.settings.host, self.settings.port)

    def get(self, *path: str, **query: str) -> Any:
        return self.ask("GET", path, query=query)

    def ask(self, method: str, path: tuple[str, ...], body: Any = None, query: Mapping[str, str] | None = None) -> Any:
        """The answer's JSON. Raises UserMistake for whatever went wrong: what, where, what to do; NotRunning is one."""
        if not self.settings.port:
            raise UserMistake(
                "port 0 lets `serve` pick a free one: name the port that it printed as base URL, with --port PORT"
            )
        token = read_token(self.settings.confdir)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        if self.session is not None:
            headers["X-Sandbox-Session"] = self.session
        sent = None if body is None else json.dumps(body).encode()
        target = "/_sandbox/" + "/".join(quote(part, safe="") for part in path)
        target += f"?{urlencode(query)}" if query else ""
        status, content = self._exchange(method, target, sent, headers)
        value = self._read(status, content)
        if status < 300:
            return value
        if status != 401:
            raise UserMistake(_message(value))
        file = self.settings.confdir / FILE
        if token is None:
            text = f"there is no admin token {file}: name the --confdir that the sandbox at {self.url} was started with"
        else:
            text = f"the sandbox at {self.url} does not accept the admin token {file}"
            text += ": name the --confdir that it was started with"
        raise UserMistake(text)

    def _exchange(self, method: str, target: str, body: bytes | None, headers: dict[str, str]) -> tuple[int, bytes]:
        host = reachable(self.settings.host)
        connection = http.client.HTTPConnection(host, self.settings.port, timeout=_SECONDS)
        try:
            connection.request(method, target, body, headers)
            response = connection.getresponse()
            return response.status, response.read()
        except http.client.HTTPException:
            raise self._not_ours() from None
        except OSError as error:
            why = error.strerror or str(error) or type(error).__name__
            raise NotRunning(
                f"no sandbox answers at {self.url}: {why}. "
                "Start it with `xs2a-sandbox serve`, or say with --host and --port where it is"
            ) from None
        finally:
            connection.close()

    def _read(self, status: int, content: bytes) -> Any:
        """A bank's error is possible too: for a session whose name cannot be one."""
        if status == 204:
            return None
        try:
            value = json.loads(content, parse_float=self.number)
        except ValueError:
            raise self._not_ours() from None
        if status >= 300 and not _message(value):
            raise self._not_ours()
        return value

    def _not_ours(self) -> UserMistake:
        return UserMistake(
            f"what answers at {self.url} is not the sandbox's base URL: say with --host and --port where that is"
        )


def _message(value: Any) -> str:
    """The text of an error, ours or the bank's; empty for anything else."""
    match value:
        case {"error": str(), "message": str(message)}:
            return message
        case {"tppMessages": [{"text": str(text)}, *_]}:
            return text.removeprefix("{sensitive} ")
    return ""
