"""The flags that follow from the table of settings."""

from typing import Any

import click
import pytest
from click.testing import CliRunner

from xs2a_sandbox.cli import main, serve
from xs2a_sandbox.cli.flags import setting_flags
from xs2a_sandbox.config.table import BY_NAME, SETTINGS


def arguments(*words: str, names: tuple[str, ...] = ()) -> dict[str, Any]:
    """What a command with these flags is called with."""
    seen: dict[str, Any] = {}
    command = click.command()(setting_flags(*names)(lambda **flags: seen.update(flags)))
    result = CliRunner().invoke(command, words)
    assert result.exit_code == 0, result.output
    return seen


def test_every_setting_with_a_flag_has_it_in_the_order_of_the_table() -> None:
    flags = [o for p in serve.serve.params for o in p.opts if o != "--help"]
    assert flags == [*(setting.flag for setting in SETTINGS if setting.flag), "--no-redact"]


def test_what_is_left_out_is_nothing() -> None:
    assert set(arguments().values()) == {None, ()}


def test_values_arrive_as_they_were_written() -> None:
    flags = arguments("--port", "x", "--cassettes", "a", "--cassettes", "b", "--reset", "--no-debug-headers")

    assert {name: value for name, value in flags.items() if value} == {
        "port": "x",
        "cassettes": ("a", "b"),
        "reset": True,
    }
    assert flags["debug_headers"] is False


def test_only_those_that_are_named() -> None:
    assert arguments("--port", "1", names=("port", "host")) == {"port": "1", "host": None}


def test_the_help_says_what_a_setting_is_and_its_default() -> None:
    output = " ".join(CliRunner().invoke(main.cli, ["serve", "--help"]).output.split())

    assert f"--port PORT {BY_NAME['port'].doc} [8081]" in output
    assert "--no-debug-headers No headers X-Sandbox-Source" in output
    assert "my-testdata.yaml" not in output


@pytest.mark.parametrize("command", ["reset", "state", "clock"])
def test_only_flags_that_say_where(command: str) -> None:
    flags = {flag for parameter in main.cli.commands[command].params for flag in parameter.opts if "-" in flag}

    assert {"--host", "--port", "--confdir", "--session"} <= flags
    assert not {"--proxy-port", "--cassettes", "--state"} & flags
