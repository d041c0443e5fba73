"""The command `derive`: a recording becomes cassettes, or a dialect."""

from pathlib import Path
from typing import Any

import click

from xs2a_sandbox.cli.flags import setting_flags
from xs2a_sandbox.cli.help import command, option
from xs2a_sandbox.cli.progress import Progress
from xs2a_sandbox.cli.verbosity import quiet_option
from xs2a_sandbox.config import Settings, load_settings


@command(
    "derive",
    section="Real banks",
    examples=("xs2a-sandbox derive recordings", "xs2a-sandbox derive recordings --dialect mybank"),
)
@click.argument("tape", metavar="TAPE", type=click.Path(exists=True, path_type=Path))
@option("--dialect", "name", metavar="NAME", help="Write a dialect with this name instead of rules.")
@option("--by", metavar="DIALECT", unset="the dialect of the settings", help="Derive rules of this dialect.")
@setting_flags("confdir")
@quiet_option
def derive_(tape: Path, name: str | None, by: str | None, **flags: Any) -> None:
    """Derive cassettes, or a dialect, from a recording.

    TAPE is the folder of the recording. Rules that were edited by hand stay as they are.

    With --dialect it writes the folder cassettes/NAME: a dialect that answers like the recorded bank, also to requests
    that were not recorded. TAPE may then also be one file of a recording, or a HAR file.
    """
    settings = load_settings({**flags, "dialect": by})
    if name is not None:
        if by is not None:
            raise click.UsageError(
                "use either --by or --dialect: --by is for rules, and --dialect NAME writes a dialect instead of rules"
            )
        _derive_dialect(name, tape)
    elif tape.is_dir():
        derive_rules(tape, settings)
    else:
        raise click.UsageError(f"{tape} is a file: rules need the folder of a recording; --dialect NAME takes a file")


def _derive_dialect(name: str, path: Path) -> None:
    from xs2a_sandbox.bank.loading import OWN
    from xs2a_sandbox.bundled import bundled
    from xs2a_sandbox.documents import Schemas
    from xs2a_sandbox.features.derive import derived_dialect
    from xs2a_sandbox.recording.tape import read_tape

    hint = f". To derive rules of this dialect, run `xs2a-sandbox derive --by {name} DIR`"
    derived_dialect.check_name(name, (OWN, bundled("cassettes")), hint)
    with Progress("trying dialects") as progress:
        derived = derived_dialect.derive_dialect(name, read_tape(path), Schemas([bundled("schemas")]), progress)
    folder = derived_dialect.write(derived, OWN)
    for line in derived_dialect.report_lines(derived, folder):
        click.echo(line)


def derive_rules(directory: Path, settings: Settings) -> None:
    from xs2a_sandbox.bank.loading import interface_and_schemas
    from xs2a_sandbox.features.derive.derive import derive, report_lines

    with Progress("deriving rules") as progress:
        derived = derive(directory, *interface_and_schemas(settings), progress)
    for line in report_lines(derived, directory):
        click.echo(line)
