import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from xs2a_sandbox.random_bytes import SIZE, draw


def test_no_draw_is_returned_twice_also_not_to_threads() -> None:
    with ThreadPoolExecutor(4) as threads:
        drawn = list(threads.map(lambda _: draw(), range(2000)))
    assert {len(one) for one in drawn} == {SIZE}
    assert len(set(drawn)) == 2000


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_draws_other_bytes_than_its_parent() -> None:
    draw()
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        os.write(writer, b"".join(draw() for _ in range(100)))
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader, "rb") as pipe:
        of_child = pipe.read()
    assert len(of_child) == 100 * SIZE
    assert {of_child[at : at + SIZE] for at in range(0, len(of_child), SIZE)}.isdisjoint(draw() for _ in range(300))
