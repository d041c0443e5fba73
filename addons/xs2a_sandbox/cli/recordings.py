"""The commands for recordings: one becomes a HAR file, and their vault goes to another machine."""

from pathlib import Path
from typing import Any

import click

from xs2a_sandbox.cli.flags import setting_flags
from xs2a_sandbox.config import load_settings
from xs2a_sandbox.config.kinds import VAULT_PASSPHRASE
from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.wording import say_count


@click.command("export")
@click.argument(
    "directory", metavar="[DIR]", default=".", type=click.Path(exists=True, file_okay=False, path_type=Path)
)
@click.option(
    "--har", "file", metavar="FILE", required=True, type=click.Path(path_type=Path), help="Where to write it."
)
def export_(directory: Path, file: Path) -> None:
    """Write all exchanges of the recording in DIR into one HAR file."""
    from xs2a_sandbox.recording.har_log import export

    click.echo(f"{say_count(export(directory, file), 'exchange')} written to {file}")


@click.group()
def vault() -> None:
    """Export the real values behind the pseudonyms of redacted recordings, which this machine keeps."""


@vault.command("export")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@setting_flags("confdir")
def export_vault(file: Path, **flags: Any) -> None:
    """Write the vault to FILE for another machine, under the passphrase in XS2A_SANDBOX_VAULT_KEY."""
    from xs2a_sandbox.redaction import vault

    confdir = load_settings(flags).confdir
    passphrase = vault.passphrase_of_environment()
    if passphrase is None:
        raise ConfigError(f"a vault leaves this machine under a passphrase only: set {VAULT_PASSPHRASE}")
    if file.exists():
        raise ConfigError(f"{file} is there already: name another file, or remove it")
    if not (confdir / vault.FILE).exists():
        raise ConfigError(
            f"there is no vault {confdir / vault.FILE}: nothing was recorded with redaction on this machine and with "
            "this --confdir"
        )
    opened = vault.read(confdir / vault.FILE, confdir)
    vault.export(opened, file, passphrase)
    click.echo(f"the vault with {say_count(len(opened.requests), 'request')} was written to {file}")
