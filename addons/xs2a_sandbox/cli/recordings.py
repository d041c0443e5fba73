"""The commands for recordings: export to a HAR file, and export of the vault for another machine."""

from pathlib import Path
from typing import Any

import click

from xs2a_sandbox.cli.flags import setting_flags
from xs2a_sandbox.cli.help import command, group, option
from xs2a_sandbox.config import load_settings
from xs2a_sandbox.config.kinds import VAULT_PASSPHRASE
from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.wording import say_count


@command(
    "export",
    section="Real banks",
    examples=("xs2a-sandbox export --har bank.har", "xs2a-sandbox export recordings --har bank.har"),
)
@click.argument(
    "directory", metavar="[DIR]", default=".", type=click.Path(exists=True, file_okay=False, path_type=Path)
)
@option("--har", "file", metavar="FILE", required=True, type=click.Path(path_type=Path), help="The file to write.")
def export_(directory: Path, file: Path) -> None:
    """Write the recording in DIR to one HAR file."""
    from xs2a_sandbox.recording.har_log import export

    click.echo(f"{say_count(export(directory, file), 'exchange')} written to {file}")


@group(
    section="Real banks",
    examples=(
        "XS2A_SANDBOX_VAULT_KEY=… xs2a-sandbox vault export bank.vault",
        "xs2a-sandbox compare recordings --bank https://api.bank.example/psd2 --vault bank.vault",
    ),
)
def vault() -> None:
    """Export the real values behind redacted recordings."""


@vault.command(
    "export",
    examples=(
        "XS2A_SANDBOX_VAULT_KEY=… xs2a-sandbox vault export bank.vault",
        "XS2A_SANDBOX_VAULT_KEY=… xs2a-sandbox vault export bank.vault --confdir ~/bank",
    ),
)
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@setting_flags("confdir")
def export_vault(file: Path, **flags: Any) -> None:
    """Write the vault to FILE, for another machine.

    The environment variable XS2A_SANDBOX_VAULT_KEY must contain the passphrase for the file.
    """
    from xs2a_sandbox.redaction import vault

    confdir = load_settings(flags).confdir
    passphrase = vault.passphrase_of_environment()
    if passphrase is None:
        raise ConfigError(f"an exported vault needs a passphrase: set {VAULT_PASSPHRASE}")
    if file.exists():
        raise ConfigError(f"{file} already exists: choose another name, or remove the file")
    if not (confdir / vault.FILE).exists():
        raise ConfigError(
            f"there is no vault {confdir / vault.FILE}: no recording was redacted with this --confdir on this machine; "
            "choose another one with --confdir DIR"
        )
    opened = vault.read(confdir / vault.FILE, confdir)
    vault.export(opened, file, passphrase)
    click.echo(f"the vault with {say_count(len(opened.requests), 'request')} was written to {file}")
