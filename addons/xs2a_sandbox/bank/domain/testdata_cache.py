"""Caches what is computed from the test data of a session, which are the same object for a day."""

from collections import OrderedDict
from collections.abc import Callable
from functools import wraps

from xs2a_sandbox.state.store import Collections

_KEPT = 8


def for_each_testdata[R](compute: Callable[[Collections], R]) -> Callable[[Collections], R]:
    """Compute the result once for each of the test data that were used last."""
    results: OrderedDict[int, tuple[Collections, R]] = OrderedDict()

    @wraps(compute)
    def find(testdata: Collections) -> R:
        found = results.get(id(testdata))
        if found is None or found[0] is not testdata:
            found = results[id(testdata)] = testdata, compute(testdata)
            while len(results) > _KEPT:
                results.popitem(last=False)
        return found[1]

    return find
