"""The help of all commands has the same layout, with sections and working examples."""

import re
import shlex
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from xs2a_sandbox.cli import help
from xs2a_sandbox.cli.main import cli

ROOT = click.Context(cli, info_name="xs2a-sandbox")


def commands(parent: click.Context = ROOT, *words: str) -> Iterator[tuple[str, ...]]:
    assert isinstance(parent.command, click.Group)
    for name in parent.command.list_commands(parent):
        command = parent.command.get_command(parent, name)
        assert command
        yield (*words, name)
        if isinstance(command, click.Group):
            yield from commands(click.Context(command, parent, name), *words, name)


COMMANDS = [pytest.param(words, id=" ".join(words)) for words in commands()]


def find(words: tuple[str, ...]) -> click.Context:
    context = ROOT
    for word in words:
        assert isinstance(context.command, click.Group)
        command = context.command.get_command(context, word)
        assert command, word
        context = click.Context(command, context, word)
    return context


def printed(*words: str, width: int = 80) -> str:
    result = CliRunner(env={"COLUMNS": str(width)}).invoke(cli, [*words, "--help"], prog_name="xs2a-sandbox")
    assert result.exit_code == 0
    return result.output


def sections(text: str) -> list[str]:
    return re.findall(r"^(\S.*):$", text, re.MULTILINE)


def test_commands_are_in_groups() -> None:
    assert sections(printed()) == [*help.SECTIONS, "Global options", "Examples"]


def test_the_command_of_a_plugin_has_its_own_group(monkeypatch: pytest.MonkeyPatch) -> None:
    greet = click.Command("greet", help="Greet.", callback=lambda: None)
    monkeypatch.setattr("xs2a_sandbox.cli.main._added_commands", lambda: {"greet": greet})

    text = printed()

    assert sections(text)[-3:] == ["Plugins", "Global options", "Examples"]
    assert re.search(r"^Plugins:\n  greet +Greet\.$", text, re.MULTILINE)


def test_no_summary_is_cut_off() -> None:
    assert "..." not in printed()


def test_options_of_serve_are_in_sections() -> None:
    assert sections(printed("serve")) == [
        "Addresses and connections",
        "Behaviour of the bank",
        "State and time",
        "Tests and logs",
        "Real bank",
        "Comparison with the real bank (mode compare)",
        "Client certificates behind a proxy",
        "Global options",
        "Examples",
    ]


@pytest.mark.parametrize("words", COMMANDS)
def test_every_command_has_a_summary_and_two_valid_examples(words: tuple[str, ...]) -> None:
    command = find(words).command
    assert isinstance(command, help.SectionedCommand | help.SectionedGroup)
    assert len(words) > 1 or command.section in help.SECTIONS
    assert command.help
    assert re.match(r"[A-Z].*\.$", command.help.splitlines()[0])
    assert len(command.examples) >= 2
    assert printed(*words).endswith("".join(f"  {line}\n" for line in command.examples))
    for example in command.examples:
        read_example(example)


def read_example(example: str) -> None:
    """Parse the arguments. Raises the parser's errors, such as NoSuchOption."""
    (typed,) = re.findall(r"xs2a-sandbox ([^|)>]+)", example)
    words, context = shlex.split(typed), ROOT
    while isinstance(context.command, click.Group):
        command = context.command.get_command(context, name := words.pop(0))
        assert command, name
        context = click.Context(command, context, name)
    context.command.make_parser(context).parse_args(words)


@pytest.mark.parametrize("words", COMMANDS)
def test_every_option_has_a_help_text(words: tuple[str, ...]) -> None:
    missing = [p.opts for p in find(words).command.params if isinstance(p, click.Option) and not p.help]
    assert missing == []


def test_defaults_have_the_same_format() -> None:
    text = " ".join(printed("campaign").split())

    default = "as many as keep the processor busy"
    assert f"--jobs N Number of parallel runs, each in its own session. [default: {default}; 1 to 64]" in text
    assert (
        "--timeout SPAN Treat a run that takes longer as hung. [default: 10 times the first run, at least 30s" in text
    )
    assert "x>=0" not in printed("journal")
    assert "--format text|json|github" in printed("lint")
