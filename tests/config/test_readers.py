from datetime import timedelta
from pathlib import Path

import pytest

from xs2a_sandbox.config import readers

HERE = Path("/somewhere")


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (["A.example", "b"], ("a.example", "b")),
        (("[::1]", "10.0.0.1"), ("::1", "10.0.0.1")),
        ("a.example,b.example", ("a.example", "b.example")),
    ],
)
def test_hosts(written, read):
    assert readers.hosts(written, HERE) == read


@pytest.mark.parametrize("written", [["a b"], ["a/b"], ["a,b"], [""]])
def test_no_hosts(written):
    with pytest.raises(ValueError):  # noqa: PT011
        readers.hosts(written, HERE)


def test_an_age():
    assert readers.age("30d", HERE) == timedelta(days=30)
    assert readers.age("off", HERE) is None
    for wrong in ("-1d", "0d", "soon"):
        with pytest.raises(ValueError):  # noqa: PT011
            readers.age(wrong, HERE)


def test_a_path_starts_from_the_directory_it_is_written_in():
    assert readers.path("a/../b", HERE) == HERE / "b"
    for wrong in ("", "a\0b"):
        with pytest.raises(ValueError):  # noqa: PT011
            readers.path(wrong, HERE)


@pytest.mark.parametrize(
    "written", ["https://u:p@h", "https://h?x=1", "ftp://h", "https://", "https://h:0", "https://h /"]
)
def test_no_url(written):
    with pytest.raises(ValueError):  # noqa: PT011
        readers.url(written, HERE)


def test_a_url_ends_without_a_slash():
    assert readers.url("https://h:8443/psd2/", HERE) == "https://h:8443/psd2"
