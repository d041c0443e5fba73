"""The command for the vault: what this machine's recordings replaced, for another machine."""

from pathlib import Path
from typing import Any

import click

from xs2a_sandbox.cli.flags import setting_flags
from xs2a_sandbox.config import load_settings
from xs2a_sandbox.config.kinds import VAULT_PASSPHRASE
from xs2a_sandbox.errors import ConfigError


@click.group()
def vault() -> None:
    """Export the real values behind the pseudonyms of redacted recordings, which this machine keeps."""


@vault.command("export")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@setting_flags("confdir")
def export_(file: Path, **flags: Any) -> None:
    """Write the vault to FILE for another machine, under the passphrase in XS2A_SANDBOX_VAULT_KEY."""
    from xs2a_sandbox.recording.derive import counted
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
    click.echo(f"the vault with {counted(len(opened.requests), 'request')} was written to {file}")
