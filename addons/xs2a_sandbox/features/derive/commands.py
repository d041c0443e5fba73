"""The command `derive`: a recording becomes cassettes, or a dialect."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from xs2a_sandbox.cli.flags import setting_flags
from xs2a_sandbox.cli.help import command, option
from xs2a_sandbox.cli.progress import Progress
from xs2a_sandbox.cli.verbosity import quiet_option
from xs2a_sandbox.config import Settings, load_settings
from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.wording import say_count

if TYPE_CHECKING:
    from xs2a_sandbox.recording.tape import Tape
    from xs2a_sandbox.redaction.marked_members import MarkedMembers


@command(
    "derive",
    section="Real banks",
    examples=(
        "xs2a-sandbox derive recordings",
        "xs2a-sandbox derive recordings --dialect mybank",
        "xs2a-sandbox derive another --dialect mybank --check",
        "xs2a-sandbox derive recordings --words",
    ),
)
@click.argument("tapes", metavar="TAPE...", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@option("--dialect", "name", metavar="NAME", help="Write a dialect with this name instead of rules.")
@option("--check", is_flag=True, help="Check the dialect NAME against the recording, and write nothing.")
@option("--words", is_flag=True, help="List words that may be the bank's own and have pseudonyms, and write nothing.")
@option("--by", metavar="DIALECT", unset="the dialect of the settings", help="Derive rules of this dialect.")
@setting_flags("confdir")
@quiet_option
def derive_(tapes: tuple[Path, ...], name: str | None, check: bool, words: bool, by: str | None, **flags: Any) -> None:
    """Derive cassettes, or a dialect, from a recording.

    TAPE is the folder of the recording. Rules that were edited by hand stay as they are.

    With --dialect, writes the folder cassettes/NAME: a dialect that answers like the recorded bank, also to requests
    that were not recorded. TAPE may then also be one file of a recording, or a HAR file, and several recordings of
    the bank add up.

    With --check as well, sends the requests of other recordings to this dialect, and lists the answers that differ.

    With --words, shows the real words behind pseudonyms that may be the bank's own, as redaction rules that keep them.
    """
    settings = load_settings({**flags, "dialect": by})
    if words:
        if name is not None or by is not None or check:
            raise click.UsageError(
                "--words only lists the words of recordings; use it without --dialect, --check and --by"
            )
        _list_words(tapes, settings)
        return
    if check and (name is None or by is not None):
        raise click.UsageError("--check needs --dialect NAME, the dialect to check, and no --by")
    if check:
        _check_dialect(load_settings({**flags, "dialect": name}), tapes)
    elif name is not None:
        if by is not None:
            raise click.UsageError(
                "use either --by or --dialect, not both: --by is for rules, and --dialect NAME writes a "
                "dialect instead of rules"
            )
        _derive_dialect(name, tapes, settings, flags["confdir"])
    elif len(tapes) > 1:
        raise click.UsageError("rules need one recording; only --dialect NAME accepts several")
    elif tapes[0].is_dir():
        derive_rules(tapes[0], settings)
    else:
        raise click.UsageError(
            f"{tapes[0]} is a file, but rules need the folder of a recording; only --dialect NAME accepts a file"
        )


def _derive_dialect(name: str, paths: Sequence[Path], settings: Settings, confdir: str | Path | None) -> None:
    from xs2a_sandbox.bank.loading import OWN
    from xs2a_sandbox.bundled import bundled
    from xs2a_sandbox.documents import Schemas
    from xs2a_sandbox.features.derive import derived_dialect

    hint = f". To derive rules of this dialect, run `xs2a-sandbox derive --by {name} DIR`"
    derived_dialect.check_name(name, (OWN, bundled("cassettes")), hint)
    tape = _read(paths, settings)
    with Progress("trying dialects") as progress:
        derived = derived_dialect.derive_dialect(name, tape, Schemas([bundled("schemas")]), progress)
    folder = derived_dialect.write(derived, OWN)
    for line in derived_dialect.report_lines(derived, folder):
        click.echo(line)
    if not derived.base and any(tape.keys):
        from xs2a_sandbox.features.derive.hidden_words import count_hidden, find_hidden

        if hidden := count_hidden(find_hidden(tape)):
            words = ["--words", *map(str, paths), *(("--confdir", str(confdir)) if confdir else ())]
            click.echo(
                f"note: {say_count(hidden, 'text')} may be words of the bank, such as states, but have pseudonyms, and "
                f"so the dialect answers with these. To keep the bank's words: xs2a-sandbox derive {shlex.join(words)}"
            )


def _list_words(paths: Sequence[Path], settings: Settings) -> None:
    from xs2a_sandbox.features.derive.hidden_words import find_hidden, rule_lines
    from xs2a_sandbox.redaction import vault

    tape, file = _read(paths, settings), settings.confdir / vault.FILE
    names = " ".join(map(str, paths))
    if not any(tape.keys):
        raise ConfigError(f"{names}: nothing has a pseudonym, because this was recorded with --no-redact")
    values = vault.read(file, settings.confdir).values if file.exists() else {}
    real = {pseudonym: text for key in tape.keys if key for pseudonym, text in values.get(key, {}).items()}
    if not real:
        raise ConfigError(
            f"{names}: no vault at {file} has real values of pseudonyms in this recording. Run this on the machine, "
            "and with the --confdir, that the recording was made with"
        )
    lines = rule_lines(names, find_hidden(tape, _marked_members()), real)
    for line in lines or [f"Nothing to choose: no pseudonym in {names} looks like a word or an amount of the bank."]:
        click.echo(line)


def _read(paths: Sequence[Path], settings: Settings) -> "Tape":
    """Return the recordings as one. What the redaction rules keep now has no pseudonyms, if a vault knows it."""
    from xs2a_sandbox.engine.redacting import rules_of
    from xs2a_sandbox.recording.tape import join_tapes, read_tape
    from xs2a_sandbox.redaction import vault

    tape, file = join_tapes([read_tape(path) for path in paths]), settings.confdir / vault.FILE
    if settings.redaction is None or not any(tape.keys) or not file.exists():
        return tape
    from xs2a_sandbox.features.derive.hidden_words import keep

    return keep(tape, vault.read(file, settings.confdir), rules_of(settings), _marked_members())


def _marked_members() -> "MarkedMembers":
    from xs2a_sandbox.bank.loading import find_schemas
    from xs2a_sandbox.redaction.marked_members import MarkedMembers

    schemas = find_schemas()
    return MarkedMembers.of(schemas.marked("x-secret"), schemas.marked("x-personal"), ())


def _check_dialect(settings: Settings, paths: Sequence[Path]) -> None:
    from xs2a_sandbox.features.derive.check import check_dialect, report_lines

    checked = check_dialect(settings, _read(paths, settings))
    for line in report_lines(checked):
        click.echo(line)
    if checked.wrong:
        click.get_current_context().exit(1)


def derive_rules(directory: Path, settings: Settings) -> None:
    from xs2a_sandbox.bank.loading import interface_and_schemas
    from xs2a_sandbox.features.derive.derive import derive, report_lines

    with Progress("deriving rules") as progress:
        derived = derive(directory, *interface_and_schemas(settings), progress)
    for line in report_lines(derived, directory):
        click.echo(line)
