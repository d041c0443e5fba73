"""The scripts themselves, run on Redis without the store."""

from hashlib import sha1
from uuid import uuid4

import pytest
import redis

from tests.support.redis_server import needs_redis, the_redis
from xs2a_sandbox.state import redis_scripts
from xs2a_sandbox.state.redis_scripts import CLAIM, FETCH, LuaScript

SCRIPTS = {name: value for name, value in vars(redis_scripts).items() if isinstance(value, LuaScript)}


@pytest.fixture
def prefix() -> str:
    return f"{uuid4()}:"


def run(script: LuaScript, *arguments: object) -> object:
    return the_redis().client.eval(script.text, 0, *arguments)


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_digest_is_the_one_that_redis_uses(name: str) -> None:
    assert SCRIPTS[name].digest == sha1(SCRIPTS[name].text.encode()).hexdigest()


@needs_redis
@pytest.mark.parametrize("name", SCRIPTS)
def test_redis_loads_the_script_under_its_digest(name: str) -> None:
    assert the_redis().client.script_load(SCRIPTS[name].text) == SCRIPTS[name].digest


@needs_redis
def test_the_first_claim_wins(prefix: str) -> None:
    assert run(CLAIM, prefix, "1", "one") == [b"1", b"one"]
    assert run(CLAIM, prefix, "2", "other") == [b"1", b"one"]


@needs_redis
def test_a_claim_does_not_affect_other_prefixes(prefix: str) -> None:
    run(CLAIM, prefix, "1", "one")
    other = f"{uuid4()}:"
    assert run(CLAIM, other, "2", "other") == [b"2", b"other"]


@needs_redis
@pytest.mark.parametrize("name", sorted(SCRIPTS.keys() - {"CLAIM"}))
def test_no_script_works_without_a_claim(name: str, prefix: str) -> None:
    """A Redis that has lost everything, or a different one, must not be taken for a bank without documents."""
    with pytest.raises(redis.ResponseError, match="XS2AEMPTY nothing of ours is there"):
        run(SCRIPTS[name], prefix, *["0"] * 12)


@needs_redis
def test_an_unused_session_is_empty(prefix: str) -> None:
    run(CLAIM, prefix, "1", "one")
    now, version, ((life, commits, documents, lists),) = run(FETCH, prefix, "0", "a", "1", "0", "payments", "p1", "-1")
    assert now > 0
    assert (version, life, commits, documents, lists) == (b"0", b"", b"0", [0, b"0"], [])


@needs_redis
def test_known_documents_are_not_sent_again(prefix: str) -> None:
    run(CLAIM, prefix, "1", "one")
    *_, ((_, _, documents, lists),) = run(FETCH, prefix, "0", "a", "1", "1", "payments", "p1", "0", "payments", "0")
    assert (documents, lists) == ([], [])
