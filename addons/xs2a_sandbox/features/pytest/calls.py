"""The journal for tests: which calls were made, how often, and which are most similar."""

from collections.abc import Mapping
from typing import Any, Protocol

from xs2a_sandbox.journal.assertions import Search, Times, list_entries, select, verify
from xs2a_sandbox.journal.journal import Journaled
from xs2a_sandbox.journal.log_line import LogEntry


class Exchanges(Protocol):
    """A source of exchanges, in this process or in another."""

    def entries(self) -> list[Journaled]:
        """Return all exchanges, oldest first."""
        ...

    def clear(self) -> object: ...

    def __len__(self) -> int: ...


def is_unmatched(exchange: Journaled | LogEntry) -> bool:
    """Return whether no rule and no operation matched the request."""
    return exchange.source == "sandbox" and exchange.status in (404, 405) and not exchange.rule


class Calls:
    """All requests to the sandbox since the test began, without the payment user's pages.

    The bank's callbacks to the app are among them, with the source `app`.
    """

    def __init__(self, journal: Exchanges) -> None:
        self._journal = journal

    @property
    def calls(self) -> list[Journaled]:
        """All exchanges, oldest first."""
        return self._journal.entries()

    @property
    def last(self) -> Journaled:
        """The last exchange. Raises LookupError if there is none."""
        if not (entries := self._journal.entries()):
            raise LookupError("no request has reached the sandbox")
        return entries[-1]

    def find(self, method: str | None = None, path: str | None = None, **more: Any) -> list[Journaled]:
        """Return the matching exchanges, oldest first. `more` are the same as for `assert_called`."""
        return select(self.calls, Search(method=method, path=path, **more))

    def assert_called(
        self,
        method: str | None = None,
        path: str | None = None,
        *,
        times: int | Times | None = None,
        status: int | None = None,
        rule: str | None = None,
        source: str | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        body: Any = None,
    ) -> list[Journaled]:
        """Assert that the call was made at least once, or as often as `times` says, and return the exchanges.

        `*` in a path matches anything; `body` is JSON that must be contained.
        """
        __tracebackhide__ = True
        search = Search(
            method=method, path=path, status=status, rule=rule, source=source, headers=headers, query=query, body=body
        )
        expected = times if isinstance(times, Times) else Times() if times is None else Times(times, times)
        verdict = verify(self._journal.entries(), search, expected)
        if not verdict.holds:
            raise AssertionError(str(verdict))
        return list(verdict.fitting)

    def assert_not_called(self, method: str | None = None, path: str | None = None, **more: Any) -> None:
        """Assert that the call was not made. `more` are the same as for `assert_called`."""
        __tracebackhide__ = True
        self.assert_called(method, path, times=0, **more)

    def clear(self) -> None:
        self._journal.clear()

    def __len__(self) -> int:
        return len(self._journal)

    def __str__(self) -> str:
        return "\n".join(list_entries(self._journal.entries())) or "  no request has reached the sandbox"
