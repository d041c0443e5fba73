"""The command `derive`: a recording becomes cassettes, or a dialect."""

from pathlib import Path
from typing import Any

import click

from xs2a_sandbox.cli.flags import setting_flags
from xs2a_sandbox.config import Settings, load_settings


@click.command("derive")
@click.argument("tape", metavar="TAPE", type=click.Path(exists=True, path_type=Path))
@click.option("--dialect", "name", metavar="NAME", help="Write a dialect with this name in place of rules.")
@click.option("--by", metavar="DIALECT", help="The dialect by which to derive rules. [that of the settings]")
@setting_flags("confdir")
def derive_(tape: Path, name: str | None, by: str | None, **flags: Any) -> None:
    """Derive the cassettes of the recording in the folder TAPE again, and keep rules that were edited by hand.

    With --dialect it writes the folder cassettes/NAME: a dialect that answers as the recorded bank, also to requests
    that were not recorded. TAPE may also be a file of a recording, or a HAR document.
    """
    settings = load_settings({**flags, "dialect": by})
    if name is not None:
        if by is not None:
            raise click.UsageError("--by says by which dialect rules are derived; --dialect NAME derives none")
        _derive_dialect(name, tape)
    elif tape.is_dir():
        derive_rules(tape, settings)
    else:
        raise click.UsageError(f"{tape} is no folder: rules are derived from a recording's folder")


def _derive_dialect(name: str, path: Path) -> None:
    from xs2a_sandbox.bank.loading import OWN
    from xs2a_sandbox.bundled import bundled
    from xs2a_sandbox.documents import Schemas
    from xs2a_sandbox.features.derive import derived_dialect
    from xs2a_sandbox.recording.tape import read_tape

    hint = f". To derive rules by it, say `xs2a-sandbox derive --by {name} DIR`"
    derived_dialect.check_name(name, (OWN, bundled("cassettes")), hint)
    derived = derived_dialect.derive_dialect(name, read_tape(path), Schemas([bundled("schemas")]))
    folder = derived_dialect.write(derived, OWN)
    for line in derived_dialect.report_lines(derived, folder):
        click.echo(line)


def derive_rules(directory: Path, settings: Settings) -> None:
    from xs2a_sandbox.bank.loading import interface_and_schemas
    from xs2a_sandbox.features.derive.derive import derive, report_lines

    for line in report_lines(derive(directory, *interface_and_schemas(settings)), directory):
        click.echo(line)
