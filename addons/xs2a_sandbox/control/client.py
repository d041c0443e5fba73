"""A typed client for the control interface of a running sandbox in another process."""

import http.client
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast
from urllib.parse import quote, urlencode, urlsplit

from xs2a_sandbox.config import Settings
from xs2a_sandbox.control import shapes
from xs2a_sandbox.control.access import FILE, read_token
from xs2a_sandbox.errors import NotRunning, UserMistake
from xs2a_sandbox.http.error_body import read_errors
from xs2a_sandbox.http.origin import url as url_of

_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Client:
    """The sandbox at `url`, the base URL that `serve` prints, and a session of it.

    The admin token is `token`, or by default the token in `confdir`. `number` converts numbers with a fraction: Decimal
    keeps their digits. Every method raises UserMistake, which says what is wrong and what to do, or its subclass
    NotRunning if no sandbox answers.
    """

    url: str = "http://127.0.0.1:8081"
    session: str | None = None
    token: str | None = field(default=None, repr=False)
    confdir: Path = field(default_factory=lambda: Settings().confdir)
    number: Callable[[str], Any] = float

    @classmethod
    def of(cls, settings: Settings, session: str | None = None, number: Callable[[str], Any] = float) -> "Client":
        """Return a client for the sandbox that `serve` runs with these settings."""
        return cls(url_of("http", settings.host, settings.port), session, confdir=settings.confdir, number=number)

    # -- state

    def collections(self, *, redacted: bool = False) -> dict[str, shapes.Collection]:
        """Return all documents of the bank, by collection and id. `redacted` replaces what the journal replaces."""
        return cast("dict[str, shapes.Collection]", self.get("state", **_flag("redacted", redacted)))

    def collection(self, collection: str, *, redacted: bool = False) -> shapes.Collection:
        """Return the documents of a collection, which is empty if no collection has that name."""
        return cast("shapes.Collection", self.get("state", collection, **_flag("redacted", redacted)))

    def document(self, collection: str, id: str) -> shapes.Document:
        return cast("shapes.Document", self.get("state", collection, id))

    def put_document(self, collection: str, id: str, document: Mapping[str, Any]) -> shapes.Document:
        """Write a complete document."""
        return cast("shapes.Document", self.ask("PUT", ("state", collection, id), dict(document)))

    def happen(self, collection: str, id: str, event: str) -> shapes.Document:
        """Make an event of its state machine happen to a consent, payment or basket."""
        return cast("shapes.Document", self.ask("POST", ("state", collection, id), {"event": event}))

    def delete_document(self, collection: str, id: str) -> None:
        self.ask("DELETE", ("state", collection, id))

    def available(self) -> shapes.AvailableShape:
        """Return the money that can be paid from each account now."""
        return cast("shapes.AvailableShape", self.get("available"))

    # -- clock

    def clock(self) -> shapes.ClockShape:
        return cast("shapes.ClockShape", self.get("clock"))

    def set_clock(
        self,
        *,
        shift: int | str | None = None,
        frozen: str | None = None,
        seed: int | str | None = None,
        real: bool = False,
    ) -> shapes.ClockShape:
        """Set the clock with exactly one of `shift`, `frozen` (and `seed`) and `real`."""
        written = {"shift": shift, "frozen": frozen, "seed": seed, "real": real or None}
        return cast("shapes.ClockShape", self.ask("PUT", ("clock",), _write(written)))

    def move_clock(self, move: int | str) -> shapes.ClockShape:
        """Let seconds, or a duration such as 90d, pass."""
        return cast("shapes.ClockShape", self.ask("POST", ("clock",), {"move": move}))

    def due(self) -> shapes.DueShape:
        """Return the next events that happen by themselves."""
        return cast("shapes.DueShape", self.get("due"))

    # -- checks

    def checks(self) -> shapes.ChecksShape:
        return cast("shapes.ChecksShape", self.get("checks"))

    def set_checks(self, *checks: str, profile: Literal["documented", "strict"] = "documented") -> shapes.ChecksShape:
        """Set the checks that reject requests. If one of the names is warn, the other checks warn."""
        return cast("shapes.ChecksShape", self.ask("PUT", ("checks",), {"profile": profile, "checks": list(checks)}))

    # -- sessions

    def sessions(self) -> shapes.SessionsShape:
        return cast("shapes.SessionsShape", self.get("sessions"))

    def session_documents(self, session: str) -> shapes.SessionShape:
        return cast("shapes.SessionShape", self.get("sessions", session))

    def delete_session(self, session: str) -> None:
        self.ask("DELETE", ("sessions", session))

    def reset(self, *, all: bool = False) -> shapes.ResetShape:
        """Reset the client's session, or all."""
        return cast("shapes.ResetShape", self.ask("POST", ("reset",), {"all": all}))

    def status(self) -> shapes.StatusShape:
        return cast("shapes.StatusShape", self.get("status"))

    def dialect(self) -> shapes.DialectShape:
        """Return the operations and errors of the default bank."""
        return cast("shapes.DialectShape", self.get("dialect"))

    # -- the payment user

    def authorisation(self, id: str) -> shapes.AuthorisationShape:
        return cast("shapes.AuthorisationShape", self.get("sca", id))

    def decide(self, id: str, decide: str) -> shapes.AuthorisationShape:
        """Approve the authorisation, or end it with `decline`, `timeout` or `error`."""
        return cast("shapes.AuthorisationShape", self.ask("POST", ("sca", id), {"decide": decide}))

    # -- faults

    def faults(self) -> shapes.FaultsShape:
        return cast("shapes.FaultsShape", self.get("faults"))

    def add_fault(self, fault: shapes.FaultOrder) -> shapes.FaultShape:
        """Add a fault: `{"operation": "consent-status", "fault": "reset", "next": 1}`.

        With `"sessions": "all"` it is for all sessions.
        """
        return cast("shapes.FaultShape", self.ask("POST", ("faults",), fault))

    def delete_fault(self, id: str) -> None:
        self.ask("DELETE", ("faults", id))

    def clear_faults(self, *, sessions: Literal["all"] | None = None) -> shapes.DeletedShape:
        """Delete the session's faults, or with `sessions="all"` those of all sessions."""
        query = {"sessions": sessions} if sessions else None
        return cast("shapes.DeletedShape", self.ask("DELETE", ("faults",), query=query))

    # -- breakpoints

    def breaks(self) -> shapes.BreaksShape:
        return cast("shapes.BreaksShape", self.get("breaks"))

    def add_break(self, breakpoint: shapes.BreakOrder) -> shapes.BreakShape:
        """Add a breakpoint: `{"operation": "initiate-payment", "on": "response", "timeout": "30s"}`."""
        return cast("shapes.BreakShape", self.ask("POST", ("breaks",), breakpoint))

    def delete_break(self, id: str) -> None:
        self.ask("DELETE", ("breaks", id))

    def clear_breaks(self) -> shapes.DeletedShape:
        return cast("shapes.DeletedShape", self.ask("DELETE", ("breaks",)))

    def callbacks(self) -> shapes.CallbacksShape:
        """Return the bank's requests to apps, oldest first."""
        return cast("shapes.CallbacksShape", self.get("callbacks"))

    def resend_callback(self, id: str) -> shapes.CallbackShape:
        """Send a callback again, whatever has become of it."""
        return cast("shapes.CallbackShape", self.ask("POST", ("callbacks", id, "resend")))

    def held(self) -> shapes.HeldListShape:
        """Return the exchanges that are held now, of all sessions if the client has none."""
        return cast("shapes.HeldListShape", self.get("held"))

    def release(self, id: str, order: shapes.HeldOrder) -> shapes.HeldShape:
        """Release an exchange with `{"continue": True}`, `{"drop": True}`, or edits: `{"status": 503, "body": {}}`."""
        return cast("shapes.HeldShape", self.ask("POST", ("held", id), order))

    # -- added rules

    def rules(self) -> shapes.AddedRulesShape:
        """Return the rules that were added to the session, with their numbers of hits."""
        return cast("shapes.AddedRulesShape", self.get("rules"))

    def add_rules(self, *rules: Mapping[str, Any] | str) -> shapes.AddedRules:
        """Add rules in the form of cassettes, as mappings or YAML text. They override all others."""
        written = [rule if isinstance(rule, str) else dict(rule) for rule in rules]
        return cast("shapes.AddedRules", self.ask("POST", ("rules",), {"rules": written}))

    def delete_rules(self, id: str) -> None:
        self.ask("DELETE", ("rules", id))

    def clear_rules(self) -> shapes.DeletedShape:
        return cast("shapes.DeletedShape", self.ask("DELETE", ("rules",)))

    # -- journal and explanations

    def explain(self, request: shapes.DescribedRequest) -> shapes.ExplanationShape:
        return cast("shapes.ExplanationShape", self.ask("POST", ("explain",), request))

    def journal(self, *, plain: bool = False, **filters: str | int) -> shapes.JournalShape:
        """Return the last exchanges that match the `filters`: session, method, path, status, source, rule, since,
        before, text, limit, and `search` in the search language of the journal."""
        return cast(
            "shapes.JournalShape",
            self.get("journal", **{n: str(v) for n, v in filters.items()}, **_flag("plain", plain)),
        )

    def exchange(self, number: int, *, plain: bool = False) -> shapes.ExchangeShape:
        """Return an exchange completely. `plain` shows secrets, too."""
        return cast("shapes.ExchangeShape", self.get("journal", str(number), **_flag("plain", plain)))

    def explain_exchange(self, number: int, *, plain: bool = False) -> shapes.ExplanationShape:
        """Explain why the request of an exchange gets its response in the current state. `plain` shows secrets, too."""
        return cast("shapes.ExplanationShape", self.get("journal", str(number), "explain", **_flag("plain", plain)))

    def send_again(self, number: int) -> shapes.ExchangeSummary:
        """Send the request of an exchange again, and return the new exchange."""
        return cast("shapes.ExchangeSummary", self.ask("POST", ("journal", str(number), "send")))

    def compare_exchange(self, number: int, *, allow_writes: bool = False) -> shapes.ComparedShape:
        """Send the request to the real bank, and return the differences of its answer."""
        written = {"allow_writes": allow_writes}
        return cast("shapes.ComparedShape", self.ask("POST", ("journal", str(number), "compare"), written))

    def clear_journal(self) -> shapes.DeletedShape:
        return cast("shapes.DeletedShape", self.ask("DELETE", ("journal",)))

    def assert_journal(
        self, match: shapes.JournalMatch | None = None, times: int | shapes.TimesRange | None = None
    ) -> shapes.AssertedShape:
        """Return the matching exchanges. Raises UserMistake if their number is not as in `times`."""
        written = _write({"match": match, "times": times})
        return cast("shapes.AssertedShape", self.ask("POST", ("journal", "assert"), written))

    # -- requests

    def get(self, *path: str, **query: str) -> Any:
        return self.ask("GET", path, query=query)

    def ask(self, method: str, path: tuple[str, ...], body: Any = None, query: Mapping[str, str] | None = None) -> Any:
        """Send a request to a path below `/_sandbox/`, and return the JSON of the answer."""
        try:
            parts = urlsplit(self.url)
            port = parts.port
        except ValueError:
            raise self._no_url() from None
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise self._no_url()
        if port == 0:
            raise UserMistake("with port 0, `serve` picks a free port: use the one in its base URL, with --port PORT")
        token = self.token or read_token(self.confdir)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        if self.session is not None:
            headers["X-Sandbox-Session"] = self.session
        sent = None if body is None else json.dumps(body).encode()
        target = parts.path.rstrip("/") + "/_sandbox/" + "/".join(quote(part, safe="") for part in path)
        target += f"?{urlencode(query)}" if query else ""
        status, content = self._exchange(method, target, sent, headers)
        value = self._read(status, content)
        if status < 300:
            return value
        if status != 401:
            raise UserMistake(_message(value))
        file = self.confdir / FILE
        if token is None:
            text = f"there is no admin token {file}: use the same --confdir as the sandbox at {self.url}"
        elif self.token:
            text = f"the sandbox at {self.url} does not accept the admin token that the client was given"
        else:
            text = f"the sandbox at {self.url} does not accept the admin token {file}"
            text += ": use the same --confdir as that sandbox"
        raise UserMistake(text)

    def _exchange(self, method: str, target: str, body: bytes | None, headers: dict[str, str]) -> tuple[int, bytes]:
        parts = urlsplit(self.url)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=_SECONDS)
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
                "Start it with `xs2a-sandbox serve`, or give its address with --host and --port"
            ) from None
        finally:
            connection.close()

    def _read(self, status: int, content: bytes) -> Any:
        """Return the JSON of an answer. It may also be an error of the bank, for an invalid session name."""
        if status == 204:
            return None
        try:
            value = json.loads(content, parse_float=self.number)
        except ValueError:
            raise self._not_ours() from None
        if status >= 300 and not _message(value):
            raise self._not_ours()
        return value

    def _no_url(self) -> UserMistake:
        return UserMistake(f"{self.url!r} is not the URL of a sandbox; use its base URL, such as http://127.0.0.1:8081")

    def _not_ours(self) -> UserMistake:
        return UserMistake(
            f"the server at {self.url} is not a sandbox; give the base URL of the sandbox with --host and --port"
        )


def _message(value: Any) -> str:
    """Return the text of an error of the sandbox or the bank, or an empty string."""
    return next((error.text for error in read_errors(value) if error.code), "")


def _write(members: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members that have a value."""
    return {name: value for name, value in members.items() if value is not None}


def _flag(name: str, is_set: bool) -> dict[str, str]:
    return {name: "true"} if is_set else {}
