"""The command `derive`: a recording becomes cassettes, or a dialect."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from xs2a_sandbox.cli.flags import setting_flags
from xs2a_sandbox.cli.help import command, option
from xs2a_sandbox.cli.progress import Progress
from xs2a_sandbox.cli.verbosity import quiet_option
from xs2a_sandbox.config import Settings, load_settings

if TYPE_CHECKING:
    from xs2a_sandbox.recording.tape import Tape


@command(
    "derive",
    section="Real banks",
    examples=(
        "xs2a-sandbox derive recordings",
        "xs2a-sandbox derive recordings --dialect mybank",
        "xs2a-sandbox derive another --dialect mybank --check",
    ),
)
@click.argument("tapes", metavar="TAPE...", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@option("--dialect", "name", metavar="NAME", help="Write a dialect with this name instead of rules.")
@option("--check", is_flag=True, help="Check the dialect NAME against the recording, and write nothing.")
@option("--by", metavar="DIALECT", unset="the dialect of the settings", help="Derive rules of this dialect.")
@setting_flags("confdir")
@quiet_option
def derive_(tapes: tuple[Path, ...], name: str | None, check: bool, by: str | None, **flags: Any) -> None:
    """Derive cassettes, or a dialect, from a recording.

    TAPE is the folder of the recording. Rules that were edited by hand stay as they are.

    With --dialect, writes the folder cassettes/NAME: a dialect that answers like the recorded bank, also to requests
    that were not recorded. TAPE may then also be one file of a recording, or a HAR file, and several recordings of
    the bank add up.

    With --check as well, sends the requests of other recordings to this dialect, and lists the answers that differ.
    """
    settings = load_settings({**flags, "dialect": by})
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
        _derive_dialect(name, tapes)
    elif len(tapes) > 1:
        raise click.UsageError("rules need one recording; only --dialect NAME accepts several")
    elif tapes[0].is_dir():
        derive_rules(tapes[0], settings)
    else:
        raise click.UsageError(
            f"{tapes[0]} is a file, but rules need the folder of a recording; only --dialect NAME accepts a file"
        )


def _derive_dialect(name: str, paths: Sequence[Path]) -> None:
    from xs2a_sandbox.bank.loading import OWN
    from xs2a_sandbox.bundled import bundled
    from xs2a_sandbox.documents import Schemas
    from xs2a_sandbox.features.derive import derived_dialect

    hint = f". To derive rules of this dialect, run `xs2a-sandbox derive --by {name} DIR`"
    derived_dialect.check_name(name, (OWN, bundled("cassettes")), hint)
    with Progress("trying dialects") as progress:
        derived = derived_dialect.derive_dialect(name, _read(paths), Schemas([bundled("schemas")]), progress)
    folder = derived_dialect.write(derived, OWN)
    for line in derived_dialect.report_lines(derived, folder):
        click.echo(line)


def _read(paths: Sequence[Path]) -> "Tape":
    from xs2a_sandbox.recording.tape import join_tapes, read_tape

    return join_tapes([read_tape(path) for path in paths])


def _check_dialect(settings: Settings, paths: Sequence[Path]) -> None:
    from xs2a_sandbox.features.derive.check import check_dialect, report_lines

    checked = check_dialect(settings, _read(paths))
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
