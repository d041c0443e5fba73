"""The URL of a Redis."""

import pytest

from xs2a_sandbox.state.redis_url import RedisUrl, is_in_redis


@pytest.mark.parametrize(
    ("written", "url", "text"),
    [
        ("redis://h", "redis://h:6379/0", "redis://h:6379/0"),
        ("valkey://h:1/2", "redis://h:1/2", "valkey://h:1/2"),
        ("rediss://u:s%40x@h/1", "rediss://u:s%40x@h:6379/1", "rediss://u@h:6379/1"),
        ("valkeys://:s@h", "rediss://:s@h:6379/0", "valkeys://h:6379/0"),
        ("redis://[::1]:7/0", "redis://[::1]:7/0", "redis://[::1]:7/0"),
        ("redis://h?prefix=team-a", "redis://h:6379/0", "redis://h:6379/0?prefix=team-a"),
    ],
)
def test_a_url_is_read_and_shown_without_its_password(written: str, url: str, text: str) -> None:
    read = RedisUrl.read(written)

    assert (read.url, read.text) == (url, text)


@pytest.mark.parametrize(
    "written",
    "redis: redis:// http://h redis://h/x redis://h:0 redis://h:99999 redis://h?x=1 redis://h?prefix= redis://h#x"
    " redis://h?prefix=a:b redis://h?prefix redis://h/1/2".split(),
)
def test_an_invalid_url_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        RedisUrl.read(written)


def test_the_options_are_read() -> None:
    read = RedisUrl.read("rediss://h?prefix=a&ca=/ca.pem&cert=/c.pem&key=/k.pem")

    assert (read.prefix, read.ca, read.cert, read.key) == ("a", "/ca.pem", "/c.pem", "/k.pem")


def test_states_in_redis_are_recognised() -> None:
    assert is_in_redis("redis://h")
    assert not any(map(is_in_redis, ("memory:", "sqlite:redis.db")))
