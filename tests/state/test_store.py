"""The contract of all stores, and of transactions."""

import tracemalloc
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.state.waited import Waited
from tests.support.redis_server import PROGRAM, needs_redis, the_redis
from xs2a_sandbox.state import Document, MemoryStore, Store, Transaction
from xs2a_sandbox.state.redis import RedisStore
from xs2a_sandbox.state.sqlite import SqliteStore
from xs2a_sandbox.state.store import StateView

KEY = ("payments", "p1")
MAKERS: dict[str, Callable[[Path], Store]] = {
    "memory": lambda directory: MemoryStore(),
    "sqlite": lambda directory: SqliteStore(directory / "state.db"),
    "redis": lambda directory: Waited(lambda: RedisStore(f"{the_redis().url}?prefix={uuid4()}", "xs2a-1.84")),
}


@pytest.fixture(params=[pytest.param(name, marks=needs_redis if name == "redis" else ()) for name in MAKERS])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    store = MAKERS[request.param](tmp_path)
    yield store
    store.close()


def put(store: Store, document: Document | None, session: str = "a", key: tuple[str, str] = KEY) -> int:
    """Write regardless of the current content, and return the new version."""
    assert store.commit(session, {}, {}, {key: document})
    return store.read(session, *key)[0]


# -- documents


def test_a_missing_document_has_version_zero(store: Store) -> None:
    assert store.read("a", *KEY) == (0, None)
    assert store.list("a", "payments") == (0, {})
    assert store.counts() == {}


def test_a_document_is_read_back(store: Store) -> None:
    document = {"amount": "1.10", "rate": Decimal("1.10"), "n": 3, "none": None, "yes": True, "in": [{"ü": "\x00€"}]}

    version = put(store, document)

    found = store.read("a", *KEY)
    assert found == (version, document)
    assert version > 0
    assert str(found[1]["rate"]) == "1.10"  # type: ignore[index]
    assert found[1]["yes"] is True  # type: ignore[index]


@pytest.mark.parametrize("id", ["", "Ä", "a'b", "%", "\x00", "x" * 5000, "|", "P1", "p1 "])
def test_ids_can_be_any_text(store: Store, id: str) -> None:
    put(store, {"a": 1}, key=("payments", id))

    assert store.read("a", "payments", id)[1] == {"a": 1}
    assert store.read("a", *KEY) == (0, None)
    assert store.list("a", "payments")[1] == {id: {"a": 1}}


def test_every_write_has_a_new_version(store: Store) -> None:
    versions = [put(store, {"n": n}) for n in range(3)]

    assert sorted(set(versions)) == versions


def test_a_deleted_document_is_distinguished_from_a_missing_one(store: Store) -> None:
    version = put(store, None)

    assert version > 0
    assert store.read("a", *KEY) == (version, None)
    assert store.list("a", "payments")[1] == {"p1": None}


def test_sessions_and_collections_are_separate(store: Store) -> None:
    put(store, {"whose": "a"})

    assert store.read("b", *KEY) == (0, None)
    assert store.list("b", "payments") == (0, {})
    assert store.list("a", "consents") == (0, {})


# -- commits


def test_a_commit_writes_all_or_nothing(store: Store) -> None:
    put(store, {"n": 1})

    done = store.commit("a", {KEY: 0}, {}, {KEY: {"n": 2}, ("payments", "p2"): {"n": 2}})

    assert not done
    assert store.read("a", *KEY)[1] == {"n": 1}
    assert store.read("a", "payments", "p2") == (0, None)


def test_a_commit_succeeds_if_its_reads_are_unchanged(store: Store) -> None:
    version = put(store, {"n": 1})

    assert store.commit("a", {KEY: version, ("payments", "p2"): 0}, {}, {KEY: {"n": 2}})
    assert store.read("a", *KEY)[1] == {"n": 2}


@pytest.mark.parametrize("now", [{"n": 1}, None], ids=["written again with the same value", "deleted"])
def test_a_commit_fails_if_its_reads_have_changed(store: Store, now: Document | None) -> None:
    version = put(store, {"n": 1})
    put(store, now)

    assert not store.commit("a", {KEY: version}, {}, {("payments", "p2"): {}})


def test_a_list_changes_with_every_write_to_its_collection(store: Store) -> None:
    empty, _ = store.list("a", "payments")
    put(store, {"n": 1})
    first, _ = store.list("a", "payments")

    assert not store.commit("a", {}, {"payments": empty}, {KEY: {"n": 2}})
    assert store.commit("a", {}, {"payments": first}, {KEY: {"n": 3}})
    assert not store.commit("a", {}, {"payments": first}, {KEY: {"n": 4}})
    assert store.read("a", *KEY)[1] == {"n": 3}


def test_a_list_does_not_change_with_other_collections(store: Store) -> None:
    put(store, {"n": 1})
    version, _ = store.list("a", "payments")
    put(store, {}, session="b")
    put(store, {}, key=("consents", "p1"))

    assert store.commit("a", {}, {"payments": version}, {KEY: {"n": 2}})


# -- reset


@pytest.mark.parametrize(("whose", "left"), [("a", {"b"}), (None, set()), ("nobody", {"a", "b"})])
def test_a_reset_deletes_documents(store: Store, whose: str | None, left: set[str]) -> None:
    for session in ("a", "b"):
        put(store, {"n": 1}, session)

    store.reset(whose)

    assert {session for session in ("a", "b") if store.read(session, *KEY)[0]} == left
    assert {session for session in ("a", "b") if store.list(session, "payments")[0]} == left
    assert store.counts() == ({"payments": len(left)} if left else {})


@pytest.mark.parametrize("whose", ["a", None])
def test_versions_are_not_repeated_after_a_reset(store: Store, whose: str | None) -> None:
    version = put(store, {"n": 1})
    listed, _ = store.list("a", "payments")

    store.reset(whose)

    assert not store.commit("a", {KEY: version}, {}, {KEY: {"n": 2}})
    assert not store.commit("a", {}, {"payments": listed}, {KEY: {"n": 2}})
    assert put(store, {"n": 1}) > version
    assert not store.commit("a", {KEY: version}, {}, {KEY: {"n": 2}})


def test_counts_include_all_sessions(store: Store) -> None:
    for session in ("a", "b"):
        put(store, {}, session)
    put(store, {}, key=("consents", "c"))

    assert store.counts() == {"payments": 2, "consents": 1}


# -- sessions


def test_a_new_store_has_no_sessions(store: Store) -> None:
    assert store.sessions() == {}
    assert store.counts("a") == {}


def test_sessions_are_listed_with_their_counts(store: Store) -> None:
    for key in (KEY, ("payments", "p2"), ("consents", "c1")):
        put(store, {}, "b", key)
    put(store, {}, "a")
    put(store, None, "a", ("consents", "c1"))

    assert store.sessions() == {"a": {"payments": 1, "consents": 1}, "b": {"payments": 2, "consents": 1}}
    assert list(store.sessions()) == ["a", "b"]
    assert store.counts("b") == {"payments": 2, "consents": 1}
    assert store.counts("nobody") == {}


def test_reading_creates_no_session(store: Store) -> None:
    store.read("a", *KEY)
    store.list("a", "payments")
    assert store.commit("a", {KEY: 0}, {"payments": 0}, {})

    assert store.sessions() == {}


def test_a_reset_ends_sessions(store: Store) -> None:
    for session in ("a", "b"):
        put(store, {}, session)

    store.reset("a")
    assert list(store.sessions()) == ["b"]
    store.reset()
    assert store.sessions() == {}


# -- transactions

BASE = {"payments": {"p1": {"from": "test data"}, "p2": {"from": "test data too"}}}


def begin(store: Store, session: str = "a") -> Transaction:
    return Transaction(store, session, lambda _: BASE)


def test_the_state_overrides_the_test_data(store: Store) -> None:
    one = begin(store)
    one.put("payments", "p1", {"from": "state"})
    one.put("payments", "p3", {"from": "state"})
    assert one.commit()

    then = begin(store)

    assert then.get("payments", "p1") == {"from": "state"}
    assert then.get("payments", "p2") == {"from": "test data too"}
    assert list(then.all("payments")) == ["p1", "p2", "p3"]
    assert begin(store, "b").all("payments") == BASE["payments"]


def test_collections_include_state_and_test_data(store: Store) -> None:
    put(store, {}, key=("notes", "n1"))
    put(store, {}, "b", ("others", "o1"))
    one = begin(store)
    one.put("new", "x", {})
    one.put("notes", "n2", {})

    assert one.collections() == ["payments", "notes", "new"]


def test_a_deletion_hides_the_test_data(store: Store) -> None:
    one = begin(store)
    one.delete("payments", "p1")
    assert one.commit()

    then = begin(store)

    assert then.get("payments", "p1") is None
    assert list(then.all("payments")) == ["p2"]
    assert "p1" not in StateView(then)["payments"]


def test_a_deleted_document_can_be_restored(store: Store) -> None:
    for change in ("delete", "put"):
        one = begin(store)
        getattr(one, change)("payments", "p1", *([{"from": "state"}] if change == "put" else []))
        assert one.commit()
        back = begin(store)

        back.restore("payments", "p1")

        assert back.get("payments", "p1") == BASE["payments"]["p1"]
        assert back.commit()
        assert begin(store).all("payments") == BASE["payments"]


def test_restoring_an_existing_document_writes_nothing(store: Store) -> None:
    """A copy would keep the dates of the day on which it was made."""
    one = begin(store)
    one.restore("payments", "p1")

    assert one.commit()
    assert store.counts() == {}


class Dated:
    """Test data with new dates."""

    def __init__(self) -> None:
        self.data: dict[str, dict[str, Document]] = {"consents": {"c": {"until": "day 1", "role": "valid", "n": 1}}}

    def begin(self, store: Store) -> Transaction:
        return Transaction(store, "a", lambda _: self.data)


def test_unchanged_members_of_a_changed_document_still_follow_the_test_data(store: Store) -> None:
    base = Dated()
    one = base.begin(store)
    one.put("consents", "c", {**(one.get("consents", "c") or {}), "n": 2, "more": "x"})
    assert one.commit()
    base.data = {"consents": {"c": {"until": "day 2", "role": "valid", "n": 1, "new": True}}}

    then = base.begin(store)

    expected = {"until": "day 2", "role": "valid", "n": 2, "more": "x"}
    assert then.get("consents", "c") == then.get_own("consents", "c") == expected
    assert then.all("consents") == then.own("consents") == {"c": expected}
    assert dict(StateView(then)["consents"]) == {"c": expected}


def test_a_completely_new_document_stays_as_written(store: Store) -> None:
    base = Dated()
    one = base.begin(store)
    one.put("consents", "c", {"until": "".join(["day", " 1"]), "role": "valid"})
    assert one.commit()
    base.data = {"consents": {"c": {"until": "day 2", "role": "valid"}}}

    assert (base.begin(store).get("consents", "c") or {})["until"] == "day 1"


def test_a_restored_document_follows_the_test_data_again(store: Store) -> None:
    base = Dated()
    one = base.begin(store)
    one.delete("consents", "c")
    assert one.commit()
    back = base.begin(store)
    back.restore("consents", "c")
    assert back.commit()
    base.data = {"consents": {"c": {"until": "day 2", "role": "valid", "n": 1}}}

    assert base.begin(store).all("consents") == base.data["consents"]


def test_a_change_of_a_document_removed_from_the_test_data_is_removed_too(store: Store) -> None:
    base = Dated()
    one = base.begin(store)
    one.put("consents", "c", {**(one.get("consents", "c") or {}), "n": 2})
    assert one.commit()
    base.data = {}

    then = base.begin(store)

    assert then.get("consents", "c") is None
    assert (then.all("consents"), then.own("consents")) == ({}, {})


def test_a_transaction_sees_its_own_changes_before_the_commit(store: Store) -> None:
    one = begin(store)
    one.put("payments", "p3", {"n": 1})
    one.delete("payments", "p1")

    assert one.get("payments", "p3") == {"n": 1}
    assert one.get("payments", "p1") is None
    assert list(one.all("payments")) == ["p2", "p3"]
    assert one.get_own("payments", "p2") is None
    assert begin(store).all("payments") == BASE["payments"]
    assert store.counts() == {}


def test_a_blind_write_conflicts(store: Store) -> None:
    one, other = begin(store), begin(store)
    one.put("payments", "new", {"n": 1})
    other.put("payments", "new", {"n": 2})

    assert one.commit()
    assert not other.commit()
    assert begin(store).get("payments", "new") == {"n": 1}


def test_reading_a_list_conflicts_with_a_new_document(store: Store) -> None:
    one, other = begin(store), begin(store)
    assert len(one.all("payments")) == 2
    one.put("notes", "count", {"n": 2})
    other.put("payments", "p3", {})

    assert other.commit()
    assert not one.commit()
    assert begin(store).get("notes", "count") is None


def test_a_changed_document_that_was_only_read_is_a_conflict(store: Store) -> None:
    one, other = begin(store), begin(store)
    one.get("payments", "p1")
    one.put("notes", "seen", {})
    other.delete("payments", "p1")

    assert other.commit()
    assert not one.commit()


def test_a_document_is_read_once(store: Store) -> None:
    """Writes of others during the transaction are not partly visible."""
    one, other = begin(store), begin(store)
    one.get("payments", "p1")
    one.all("payments")
    other.delete("payments", "p1")
    assert other.commit()

    assert one.get("payments", "p1") == BASE["payments"]["p1"]
    assert "p1" in one.all("payments")


def test_read_only_transactions_always_commit_and_write_nothing(store: Store) -> None:
    one = begin(store)
    one.get("payments", "p1")
    one.all("payments")
    put(store, {})

    assert one.commit()
    assert store.counts() == {"payments": 1}


def test_a_view_is_a_mapping_by_id(store: Store) -> None:
    view = StateView(begin(store))["payments"]

    assert view["p1"] == BASE["payments"]["p1"]
    assert (len(view), list(view)) == (2, ["p1", "p2"])
    assert view.get("nope") is None
    assert view.get(3) is None  # type: ignore[call-overload]
    assert dict(StateView(begin(store))["nothing"]) == {}


# -- all stores behave the same

sessions = st.sampled_from(["a", "b"])
collections = st.sampled_from(["payments", "consents"])
ids = st.sampled_from(["1", "2", "3"])
documents = st.one_of(st.none(), st.dictionaries(st.text(max_size=2), st.integers() | st.text(max_size=3), max_size=2))


class Alike(RuleBasedStateMachine):
    """Two concurrent transactions on each store, so that they can conflict."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = TemporaryDirectory()
        self.stores = [make(Path(self.directory.name)) for name, make in MAKERS.items() if PROGRAM or name != "redis"]
        self.pairs: dict[int, list[Transaction]] = {}

    def teardown(self) -> None:
        for store in self.stores:
            store.close()
        self.directory.cleanup()

    def open(self, number: int) -> list[Transaction]:
        if number not in self.pairs:
            self.pairs[number] = [begin(store, "ab"[number % 2]) for store in self.stores]
        return self.pairs[number]

    def same(self, do: Callable[[Any], Any], each: list[Any]) -> Any:
        one, *others = (do(entry) for entry in each)
        assert others == [one] * len(others)
        return one

    @rule(number=st.integers(0, 3), collection=collections, id=ids)
    def get(self, number: int, collection: str, id: str) -> None:
        self.same(lambda t: t.get(collection, id), self.open(number))

    @rule(number=st.integers(0, 3), collection=collections)
    def all(self, number: int, collection: str) -> None:
        self.same(lambda t: dict(sorted(t.all(collection).items())), self.open(number))

    @rule(number=st.integers(0, 3), collection=collections, id=ids, document=documents)
    def write(self, number: int, collection: str, id: str, document: Document | None) -> None:
        def do(transaction: Transaction) -> None:
            if document is None:
                transaction.delete(collection, id)
            else:
                transaction.put(collection, id, document)

        self.same(do, self.open(number))

    @rule(number=st.integers(0, 3), id=ids)
    def restore(self, number: int, id: str) -> None:
        self.same(lambda t: t.restore("payments", f"p{id}"), self.open(number))

    @rule(number=st.integers(0, 3))
    def commit(self, number: int) -> None:
        self.same(lambda t: t.commit(), self.open(number))
        del self.pairs[number]

    @rule(session=st.none() | sessions)
    def reset(self, session: str | None) -> None:
        self.same(lambda s: s.reset(session), self.stores)

    @invariant()
    def the_same_is_there(self) -> None:
        self.same(lambda s: s.counts(), self.stores)
        for session in ("a", "b"):
            for collection in ("payments", "consents"):
                self.same(lambda s, of=(session, collection): sorted(s.list(*of)[1].items()), self.stores)


TestAlike = Alike.TestCase
TestAlike.settings = settings(stateful_step_count=25, suppress_health_check=[HealthCheck.too_slow])


def test_a_trial_undoes_only_its_own_writes(store: Store) -> None:
    transaction = Transaction(store, "a", lambda _: {"payments": {"p1": {"n": 1}}})
    transaction.put("payments", "p2", {"n": 2})
    undo = transaction.trial()
    transaction.put("payments", "p2", {"n": 3})
    transaction.put("payments", "p2", {"n": 4})
    transaction.delete("payments", "p1")
    transaction.put("payments", "p3", {"n": 5})
    undo()

    assert transaction.all("payments") == {"p1": {"n": 1}, "p2": {"n": 2}}
    assert transaction.take_changes() == [("payments", "p2")]
    assert transaction.commit()
    assert store.list("a", "payments")[1] == {"p2": {"n": 2}}


def test_a_stored_payment_takes_at_most_one_and_a_half_kilobytes_of_memory() -> None:
    payment = {"sequence": 1, "transactionStatus": "ACSP", "endToEndIdentification": "RE-1187", "psuMessage": None}
    payment |= {
        name: {"iban": "AT459880000010204711", "currency": "EUR"} for name in ("debtorAccount", "creditorAccount")
    }
    payment |= {f"remittance{number}": "an invoice of the month" for number in range(12)}
    store = MemoryStore()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for number in range(4000):
            document = {
                **payment,
                "id": f"{number:036}",
                "instructedAmount": {"amount": str(number), "currency": "EUR"},
            }
            assert store.commit("default", {}, {}, {("payments", f"{number:036}"): document})
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (after - before) / 4000 < 1500
