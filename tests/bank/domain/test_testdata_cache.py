"""The cache of what is computed from test data."""

from typing import Any

from xs2a_sandbox.bank.domain.testdata_cache import for_each_testdata


def test_each_test_data_have_their_own_result() -> None:
    computed = []

    @for_each_testdata
    def count(testdata: Any) -> int:
        computed.append(testdata)
        return len(testdata)

    several: list[dict[str, Any]] = [{}, {"accounts": {}}]
    assert [count(one) for one in several * 3] == [0, 1] * 3
    assert len(computed) == 2


def test_many_test_data_keep_their_own_results() -> None:
    count = for_each_testdata(len)
    several: list[dict[str, Any]] = [{str(key): {} for key in range(size)} for size in range(100)]
    assert [count(one) for one in (*several, *several)] == [*range(100), *range(100)]
