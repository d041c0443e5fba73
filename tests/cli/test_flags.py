"""Flags derived from the table of settings, and headers and bodies as arguments."""

import io
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from xs2a_sandbox.cli import control, main, serve
from xs2a_sandbox.cli.flags import by_name, read_body, read_headers
from xs2a_sandbox.config.table import BY_NAME, SETTINGS


def test_every_setting_with_a_flag_has_it_in_the_order_of_the_table() -> None:
    flags = [o for p in serve.serve.params for o in p.opts if o != "--help"]
    others = ["--no-redact", "-q", "--quiet", "-v", "--verbose"]
    assert flags == [*(setting.flag for setting in SETTINGS if setting.flag), *others]


def test_every_setting_with_a_flag_has_a_section() -> None:
    assert [setting.name for setting in SETTINGS if bool(setting.section) is not bool(setting.flag)] == []


def test_help_contains_the_description_and_the_default_of_a_setting() -> None:
    output = " ".join(CliRunner().invoke(main.cli, ["serve", "--help"]).output.split())

    assert f"--port PORT {BY_NAME['port'].doc} [default: 8081]" in output
    assert "--no-debug-headers Do not add the headers X-Sandbox-Source" in output
    assert "my-testdata.yaml" not in output


def test_headers_from_arguments_and_files_keep_their_order(tmp_path: Path) -> None:
    file = tmp_path / "headers"
    file.write_text("HTTP/1.1 200 OK\nDigest: SHA-256=a:b\n\nX-Level:2\n")
    pairs = read_headers(["X-Level: 1", f"@{file}", "X-Empty:"])
    assert pairs == [("X-Level", "1"), ("Digest", "SHA-256=a:b"), ("X-Level", "2"), ("X-Empty", "")]
    assert by_name(pairs) == {"X-Level": ["1", "2"], "Digest": ["SHA-256=a:b"], "X-Empty": [""]}


def test_a_body_is_an_argument_or_the_exact_content_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "body"
    file.write_bytes(b"\xff\r\n")
    assert read_body("Gr\u00fcn") == "Gr\u00fcn".encode()
    assert read_body(None) == b""
    assert read_body(f"@{file}") == b"\xff\r\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"{}\n")))
    assert read_body("@-") == b"{}\n"


@pytest.mark.parametrize("command", ["reset", "state", "clock"])
def test_control_commands_have_only_the_flags_that_locate_a_sandbox(command: str) -> None:
    flags = {flag for parameter in getattr(control, command).params for flag in parameter.opts if "-" in flag}

    assert {"--host", "--port", "--confdir", "--session"} <= flags
    assert not {"--proxy-port", "--cassettes", "--state"} & flags
