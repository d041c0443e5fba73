"""The journal in a test's words: what was called, how often, and what came nearest."""

from collections.abc import Mapping
from typing import Any, Protocol

from xs2a_sandbox.journal.assertions import Search, Times, list_entries, select, verify
from xs2a_sandbox.journal.journal import Journaled
from xs2a_sandbox.journal.log_line import LogEntry


class Exchanges(Protocol):
    """Where exchanges are kept, in this process or in another."""

    def entries(self) -> list[Journaled]:
        """All, oldest first."""
        ...

    def clear(self) -> object: ...

    def __len__(self) -> int: ...


def is_unmatched(exchange: Journaled | LogEntry) -> bool:
    """Says whether no rule and no operation is for what was asked."""
    return exchange.source == "sandbox" and exchange.status in (404, 405) and not exchange.rule


class Calls:
    """All that has reached the sandbox since the test began, the payment user's pages left out."""

    def __init__(self, journal: Exchanges) -> None:
        self._journal = journal

    @property
    def calls(self) -> list[Journaled]:
        """Oldest first."""
        return self._journal.entries()

    @property
    def last(self) -> Journaled:
        """Raises LookupError before the first."""
        if not (entries := self._journal.entries()):
            raise LookupError("no request has reached the sandbox")
        return entries[-1]

    def find(self, method: str | None = None, path: str | None = None, **more: Any) -> list[Journaled]:
        """Exchanges that fit, oldest first; `more` as for `assert_called`."""
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
        """Asserts that it came at least once, or as often as `times` says. Gives the exchanges that were found.

        `*` in a path is anything; `body` is JSON that is contained.
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
        """`more` as for `assert_called`."""
        __tracebackhide__ = True
        self.assert_called(method, path, times=0, **more)

    def clear(self) -> None:
        self._journal.clear()

    def __len__(self) -> int:
        return len(self._journal)

    def __str__(self) -> str:
        return "\n".join(list_entries(self._journal.entries())) or "  no request has reached the sandbox"
