"""The view that a request has of a store with asynchronous access."""

import asyncio
from collections.abc import Callable, Mapping

import pytest

from xs2a_sandbox.errors import BankError, StoreUnavailable
from xs2a_sandbox.state import Document, Documents, MemoryStore, RemoteStore, Transaction
from xs2a_sandbox.state.attempts import TRIES, commit, run_transaction
from xs2a_sandbox.state.snapshot import Contents, RequestKind, Wanted, run_waiting, wait
from xs2a_sandbox.state.store import Key
from xs2a_sandbox.state.stream import Stream


class Far(RemoteStore):
    """A memory store with asynchronous access; `meanwhile` runs before each access."""

    def __init__(self, meanwhile: Callable[[int], None] = lambda asked: None) -> None:
        super().__init__()
        self.near = MemoryStore()
        self.meanwhile = meanwhile
        self.fetched = self.committed = self.waited = 0
        self._fetching = 0

    async def fetch(self, wanted: Mapping[str, Wanted], deadline: float) -> dict[str, Contents]:
        self.fetched += 1
        self.waited += not self._fetching
        self.meanwhile(self.fetched)
        self._fetching += 1
        await asyncio.sleep(0)
        self._fetching -= 1
        return {session: self._find(session, *wanted[session]) for session in wanted}

    def _find(self, session: str, documents: Mapping[Key, int], lists: Mapping[str, int]) -> Contents:
        now = {key: self.near.read(session, *key) for key in documents}
        all_now = {name: self.near.list(session, name) for name in lists}
        return Contents(
            {key: value for key, value in now.items() if value[0] != documents[key]},
            {name: value for name, value in all_now.items() if value[0] != lists[name]},
        )

    async def commit(
        self,
        session: str,
        reads: Mapping[Key, int],
        lists: Mapping[str, int],
        writes: Mapping[Key, Document | None],
        deadline: float,
    ) -> bool:
        self.committed += 1
        await asyncio.sleep(0)
        return self.near.commit(session, reads, lists, writes)

    async def reset(self, session: str | None, deadline: float) -> None:
        self.near.reset(session)

    async def counts(self, session: str | None, deadline: float) -> dict[str, int]:
        return self.near.counts(session)

    async def sessions(self, deadline: float) -> dict[str, dict[str, int]]:
        return self.near.sessions()

    async def check(self, deadline: float) -> None: ...

    def stream(self, name: str, count: int, bytes: int) -> Stream:
        raise NotImplementedError

    async def close(self) -> None: ...


def begun(documents: Documents) -> Transaction:
    return Transaction(documents, "s", lambda _: {})


def put(store: MemoryStore, id: str, number: int) -> None:
    assert store.commit("s", {}, {}, {("things", id): {"n": number}})


def test_documents_that_are_read_together_are_fetched_at_once() -> None:
    far = Far()
    for number in range(100):
        put(far.near, str(number), number)

    def work(documents: Documents) -> int:
        return len(begun(documents).get_each("things", map(str, range(101))))

    assert asyncio.run(run_transaction(far, work)) == 100
    assert far.fetched == 1


def test_work_waits_for_its_reads() -> None:
    far = Far()
    put(far.near, "a", 1)
    put(far.near, "b", 2)

    def work(documents: Documents) -> list[Document | None]:
        state = begun(documents)
        return [state.get("things", "a"), state.get("things", "b"), state.get("things", "c")]

    assert asyncio.run(run_transaction(far, work)) == [{"n": 1}, {"n": 2}, None]
    assert (far.fetched, far.committed) == (3, 0)


def test_work_sees_a_consistent_snapshot() -> None:
    """The first document changes before the second is read, so the work starts again."""
    far = Far(lambda asked: [put(far.near, id, 9) for id in "ab"] and None if asked == 2 else None)
    put(far.near, "a", 1)
    put(far.near, "b", 1)

    def work(documents: Documents) -> list[Document | None]:
        state = begun(documents)
        return [state.get("things", "a"), state.get("things", "b")]

    assert asyncio.run(run_transaction(far, work)) == [{"n": 9}, {"n": 9}]


def test_a_list_that_grows_during_the_work_is_read_completely() -> None:
    far = Far(lambda asked: put(far.near, "b", 2) if asked == 2 else None)
    put(far.near, "a", 1)

    def work(documents: Documents) -> tuple[list[str], Document | None]:
        state = begun(documents)
        return list(state.all("things")), state.get("things", "b")

    assert asyncio.run(run_transaction(far, work)) == (["a", "b"], {"n": 2})


@pytest.mark.parametrize("others", [0, 1, 3])
def test_other_writes_are_not_overwritten(others: int) -> None:
    left = others

    class Contended(Far):
        async def commit(self, *arguments: object) -> bool:  # type: ignore[override]
            nonlocal left
            if left:
                left -= 1
                _, document = self.near.read("s", "things", "a")
                put(self.near, "a", (document or {"n": 0})["n"] + 100)
            return await super().commit(*arguments)  # type: ignore[arg-type]

    far = Contended()

    def work(documents: Documents) -> None:
        state = begun(documents)
        state.put("things", "a", {"n": (state.get("things", "a") or {"n": 0})["n"] + 1})
        commit(state)

    asyncio.run(run_transaction(far, work))
    assert far.near.read("s", "things", "a")[1] == {"n": 100 * others + 1}


def test_the_work_gives_up_after_eight_attempts() -> None:
    class Refusing(Far):
        async def commit(self, *arguments: object) -> bool:  # type: ignore[override]
            self.committed += 1
            return False

    far = Refusing()

    def work(documents: Documents) -> None:
        state = begun(documents)
        state.put("things", "a", {})
        commit(state)

    with pytest.raises(StoreUnavailable, match="other processes changed it at each of 8 attempts"):
        asyncio.run(run_transaction(far, work))
    assert far.committed == TRIES


def test_documents_committed_before_an_error_are_sent() -> None:
    far = Far()

    def work(documents: Documents) -> None:
        state = begun(documents)
        state.put("things", "a", {"n": 1})
        commit(state)
        after = begun(documents)
        assert after.get("things", "a") == {"n": 1}
        assert list(after.all("things")) == ["a"]
        after.put("things", "b", {"n": 2})
        raise BankError("consent-unknown")

    with pytest.raises(BankError):
        asyncio.run(run_transaction(far, work))
    assert far.near.list("s", "things")[1] == {"a": {"n": 1}}


def test_two_commits_of_one_request_are_sent_as_one() -> None:
    far = Far()
    put(far.near, "a", 1)

    def work(documents: Documents) -> None:
        for _ in range(2):
            state = begun(documents)
            state.put("things", "a", {"n": (state.get("things", "a") or {"n": 0})["n"] + 1})
            commit(state)

    asyncio.run(run_transaction(far, work))
    assert far.near.read("s", "things", "a")[1] == {"n": 3}
    assert far.committed == 1


def test_writing_an_unread_document_does_not_undo_other_writes() -> None:
    """The document is assumed to be new, and read if it is not."""
    far = Far()
    put(far.near, "a", 1)
    tried = []

    def work(documents: Documents) -> None:
        state = begun(documents)
        state.put("things", "a", {"n": 2})
        tried.append(1)
        commit(state)

    asyncio.run(run_transaction(far, work))
    assert far.near.read("s", "things", "a")[1] == {"n": 2}
    assert (len(tried), far.committed) == (2, 2)


def test_resets_counts_and_sessions_are_passed_on() -> None:
    far = Far()
    put(far.near, "a", 1)

    def work(documents: Documents) -> tuple[object, object, object]:
        seen = documents.sessions(), documents.counts("s"), documents.counts()
        documents.reset("s")
        return seen

    assert asyncio.run(run_transaction(far, work)) == ({"s": {"things": 1}}, {"things": 1}, {"things": 1})
    assert far.near.sessions() == {}


def test_documents_that_similar_requests_read_are_fetched_at_once() -> None:
    far = Far()

    def work(id: str, documents: Documents) -> None:
        state = begun(documents)
        state.get("things", id)
        state.get("_session", "time")
        state.get("others", "always")
        state.all("lists")
        state.shared()

    def ask(id: str) -> int:
        before = far.waited
        asyncio.run(run_transaction(far, lambda documents: work(id, documents), RequestKind("s", "kind", (id,))))
        return far.waited - before

    assert ask("1") == 5
    assert ask("2") <= 3
    assert ask("3") == 1
    assert ask("4") == 1


def test_an_error_while_waiting_reaches_the_work() -> None:
    async def fails() -> None:
        raise StoreUnavailable("gone")

    def work() -> str:
        try:
            wait(fails())
        except StoreUnavailable as error:
            return str(error)
        return "nothing"

    assert asyncio.run(run_waiting(work)) == "gone"


def test_cancelled_work_ends() -> None:
    ended: list[str] = []

    async def long() -> None:
        await asyncio.sleep(60)

    def work() -> None:
        try:
            wait(long())
        finally:
            ended.append("ended")

    async def cancel() -> None:
        task = asyncio.ensure_future(run_waiting(work))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())
    assert ended == ["ended"]


def test_waiting_without_a_loop_is_an_error() -> None:
    async def nothing() -> None: ...

    with pytest.raises(RuntimeError, match="nothing waits here"):
        wait(nothing())
