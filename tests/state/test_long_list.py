"""Lists of ids in the state."""

from hypothesis import given
from hypothesis import strategies as st

from xs2a_sandbox.state import MemoryStore, Transaction, long_list


def transaction(store: MemoryStore) -> Transaction:
    return Transaction(store, "default", lambda _: {})


@given(st.lists(st.one_of(st.integers(1, 80), st.lists(st.text("ab", max_size=1), max_size=3))))
def test_a_list_has_what_was_added_since_it_was_replaced(steps: list[int | list[str]]) -> None:
    store, expected, number = MemoryStore(), list[str](), 0
    for step in steps:
        state = transaction(store)
        if isinstance(step, list):
            long_list.replace(state, "lists", "one", expected := list(step))
        else:
            for _ in range(step):
                number += 1
                expected = [*expected, str(number)]
                long_list.add(state, "lists", "one", str(number))
        assert long_list.read(state, "lists", "one") == expected
        assert state.commit()
        assert long_list.read(transaction(store), "lists", "one") == expected
    assert long_list.read(transaction(store), "lists", "other") == []


def test_adding_to_a_long_list_writes_as_little_as_to_a_short_one() -> None:
    class Writing(MemoryStore):
        written = 0

        def commit(self, *given: object) -> bool:
            writes = given[3]
            assert isinstance(writes, dict)
            self.written = max(self.written, sum(len(str(document)) for document in writes.values()))
            return super().commit(*given)  # type: ignore[arg-type]

    store = Writing()
    most = []
    for count in (200, 2000):
        for number in range(count):
            state = transaction(store)
            long_list.add(state, "lists", "one", f"{number:06}")
            assert state.commit()
        most.append(store.written)
        store.written = 0
    assert most[1] < 1.1 * most[0]
