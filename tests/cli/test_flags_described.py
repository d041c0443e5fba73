"""Headers and bodies as arguments."""

import io
import sys
from pathlib import Path

import click
import pytest

from xs2a_sandbox.cli.flags import by_name, read_body, read_headers


def test_headers_are_read_in_their_order_from_arguments_and_files(tmp_path: Path) -> None:
    file = tmp_path / "headers"
    file.write_text("HTTP/1.1 200 OK\nDigest: SHA-256=a:b\n\nX-Level:2\n")
    pairs = read_headers(["X-Level: 1", f"@{file}", "X-Empty:"])
    assert pairs == [("X-Level", "1"), ("Digest", "SHA-256=a:b"), ("X-Level", "2"), ("X-Empty", "")]
    assert by_name(pairs) == {"X-Level": ["1", "2"], "Digest": ["SHA-256=a:b"], "X-Empty": [""]}


@pytest.mark.parametrize("argument", ["nonsense", ": value"])
def test_a_line_that_is_no_header_is_refused_with_the_line(argument: str) -> None:
    with pytest.raises(click.BadParameter, match="is not 'NAME: VALUE'") as refused:
        read_headers([argument])
    assert repr(argument) in refused.value.message


def test_a_body_is_what_is_written_or_a_file_byte_for_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "body"
    file.write_bytes(b"\xff\r\n")
    assert read_body("Gr\u00fcn") == "Gr\u00fcn".encode()
    assert read_body(None) == b""
    assert read_body(f"@{file}") == b"\xff\r\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"{}\n")))
    assert read_body("@-") == b"{}\n"


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(click.BadParameter, match="missing: No such file or directory"):
        read_body(f"@{tmp_path / 'missing'}")
