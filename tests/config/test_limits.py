import pytest

from xs2a_sandbox.config.limits import USUAL
from xs2a_sandbox.http import Headers, Request


@pytest.mark.parametrize(("more", "fits"), [(0, True), (1, False)])
def test_headers_that_are_too_large_together(more: int, fits: bool) -> None:
    fields = [("A", "x" * 1000), ("b", "x" * (USUAL.headers - 1002 + more))]
    excess = USUAL.excess(Request("GET", "/", Headers(fields)))
    assert excess == (None if fits else ("headers-too-large", USUAL.headers))


@pytest.mark.parametrize(("more", "fits"), [(0, True), (1, False)])
def test_a_target_and_a_body_that_are_too_large(more: int, fits: bool) -> None:
    target = Request("GET", "/" + "x" * (USUAL.target - 1 + more))
    body = Request("POST", "/", body=b"x" * (USUAL.body + more))
    assert USUAL.excess(target) == (None if fits else ("target-too-long", USUAL.target))
    assert USUAL.excess(body) == (None if fits else ("body-too-large", USUAL.body))
