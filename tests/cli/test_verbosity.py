"""`--quiet` and `--verbose`, which have the same meaning in all commands."""

# ruff: noqa: F401, F811 - a fixture of another file

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tests.cli.test_main import run, serving
from xs2a_sandbox.cli.help import command
from xs2a_sandbox.cli.verbosity import Verbosity, detail, note, verbosity_options

QUIET = ("lint", "serve", "record", "campaign", "compare", "watch", "derive", "import")
VERBOSE = ("lint", "serve", "record", "campaign", "compare", "watch")


@command()
@verbosity_options
def speak() -> None:
    click.echo(Verbosity.current().name)
    note("remark")
    detail("detail")


@pytest.mark.parametrize(
    ("words", "stdout", "stderr"),
    [
        ([], "NORMAL\n", "remark\n"),
        (["-q"], "QUIET\n", ""),
        (["--quiet"], "QUIET\n", ""),
        (["-v"], "VERBOSE\n", "remark\ndetail\n"),
        (["--verbose"], "VERBOSE\n", "remark\ndetail\n"),
    ],
)
def test_remarks_and_details(words: list[str], stdout: str, stderr: str) -> None:
    result = CliRunner().invoke(speak, words)

    assert (result.stdout, result.stderr) == (stdout, stderr)


@pytest.mark.parametrize("words", [["-q", "-v"], ["--verbose", "--quiet"]])
def test_both_flags_together_are_refused(words: list[str]) -> None:
    result = CliRunner().invoke(speak, words)

    assert result.exit_code == 2
    assert "use either --quiet or --verbose, not both" in result.stderr


def test_the_default_outside_of_a_command_is_normal() -> None:
    assert Verbosity.current() is Verbosity.NORMAL


@pytest.mark.parametrize("name", QUIET)
def test_commands_with_both_flags(name: str) -> None:
    text = run(name, "--help").output

    assert "-q, --quiet" in text
    assert ("-v, --verbose" in text) is (name in VERBOSE)


def test_a_quiet_sandbox_prints_neither_addresses_nor_requests(serving: object, home: Path) -> None:
    result = run("serve", "--quiet")

    assert (result.exit_code, result.stdout) == (0, "")


def test_a_verbose_sandbox_lists_its_cassettes_and_the_operation(serving: object, home: Path) -> None:
    (home / "mine").mkdir()

    lines = run("serve", "--verbose", "--cassettes", "mine").stdout.splitlines()

    assert "cassettes mine" in lines
    assert lines[-1].endswith(" handler list-accounts operation=- request_id=-")
    first = run("serve", "--verbose", "--cassettes", "mine", "--log-format", "json").stdout.splitlines()[0]
    assert json.loads(first)["cassettes"][-1] == "mine"


def test_quiet_lint_prints_only_problems(home: Path) -> None:
    assert run("lint", "--quiet").output == ""
    (home / "bad.yaml").write_text("cassette: 1\nrules: 1\n")
    assert "bad.yaml:2:8: error wrong-type" in run("lint", "--quiet", "bad.yaml").stdout


def test_verbose_lint_lists_the_files(home: Path) -> None:
    (home / "cassettes/cases").mkdir(parents=True)
    (home / "cassettes/cases/mine.yaml").write_text("cassette: 1\nrules: []\n")

    assert "checked cassettes/cases/mine.yaml\n" in run("lint", "--verbose").stderr
