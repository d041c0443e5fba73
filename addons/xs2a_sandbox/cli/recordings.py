"""The commands for recordings: what other programs have kept becomes one, and one becomes cassettes or a HAR file."""

import asyncio
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from xs2a_sandbox.cli.flags import setting_flags
from xs2a_sandbox.config import Settings, load_settings
from xs2a_sandbox.config.kinds import VAULT_PASSPHRASE
from xs2a_sandbox.documents import own_file
from xs2a_sandbox.errors import ConfigError, RecordingFailed, UserMistake

if TYPE_CHECKING:
    from xs2a_sandbox.http.exchange import Exchange
    from xs2a_sandbox.recording.importers.har import Foreign
    from xs2a_sandbox.recording.importers.wiremock import Mappings, Redact

_DUMP = re.compile(rb"-?\d+:")
"""How a file of mitmproxy begins: with a length, be it an absurd one. No JSON begins so."""
_BEGINNING = 64

_where = setting_flags("confdir", "dialect")


@click.command("import")
@click.argument("source", metavar="FILE", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--to", "directory", metavar="DIR", required=True, type=click.Path(path_type=Path), help="Folder of the recording."
)
@click.option("--no-redact", is_flag=True, help="Keep secrets and personal data as they are.")
@_where
def import_(source: Path, directory: Path, no_redact: bool, **flags: Any) -> None:
    """Make a recording of a HAR file, a dump of mitmproxy, a Postman collection, or WireMock's mappings."""
    from xs2a_sandbox.recording.derive import counted
    from xs2a_sandbox.recording.importers.har import Foreign

    settings = load_settings(flags)
    foreign = _read(source)
    if not isinstance(foreign, Foreign):
        _write_rules(foreign, directory, *((None, False) if no_redact else _redaction(settings)))
        return
    for line in foreign.left_out:
        click.echo(f"left out: {line}", err=True)
    if not foreign.entries:
        raise ConfigError(f"{source}: there is no exchange in it that could be imported")
    redact, redacted = (None, foreign.redacted or False)
    if not (no_redact or foreign.redacted):
        redact, redacted = _redaction(settings, keeps=True)
    entries = [redact(entry) for entry in foreign.entries] if redact else foreign.entries
    # Their URLs can hold a password.
    banks = sorted({entry.bank for entry in entries})
    asyncio.run(_write(directory, entries, {"banks": banks, "redacted": redacted}))
    click.echo(f"{counted(len(entries), 'exchange')} imported into {directory}")
    _derive(directory, settings)


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
        _derive(tape, settings)
    else:
        raise click.UsageError(f"{tape} is no folder: rules are derived from a recording's folder")


@click.command("export")
@click.argument(
    "directory", metavar="[DIR]", default=".", type=click.Path(exists=True, file_okay=False, path_type=Path)
)
@click.option(
    "--har", "file", metavar="FILE", required=True, type=click.Path(path_type=Path), help="Where to write it."
)
def export_(directory: Path, file: Path) -> None:
    """Write all exchanges of the recording in DIR into one HAR file."""
    from xs2a_sandbox.recording.derive import counted
    from xs2a_sandbox.recording.har_log import export

    click.echo(f"{counted(export(directory, file), 'exchange')} written to {file}")


def _write_rules(mappings: "Mappings", directory: Path, redact: "Redact | None", redacted: str | bool) -> None:
    """WireMock's mappings are rules already: they become a cassette without a recording."""
    from xs2a_sandbox.clock import Clock
    from xs2a_sandbox.recording.derive import CASSETTES, counted
    from xs2a_sandbox.recording.importers import wiremock

    now = Clock().now()
    imported = wiremock.rules(mappings, redact, now)
    for line in imported.left_out:
        click.echo(f"left out: {line}", err=True)
    if not imported.rules:
        raise ConfigError(f"{mappings.source}: there is no mapping in it that could be imported")
    file = wiremock.write(imported, mappings.source, directory / CASSETTES, now, redacted)
    click.echo(f"{counted(len(imported.rules), 'rule')} of {counted(len(mappings.listed), 'mapping')}: {file}")
    click.echo(f"They answer with: xs2a-sandbox serve --cassettes {directory / CASSETTES}")


def _read(source: Path) -> "Foreign | Mappings":
    from xs2a_sandbox.clock import Clock
    from xs2a_sandbox.recording.importers.har import read_har, read_json

    now = Clock().now()
    if source.is_dir():
        from xs2a_sandbox.recording.importers import wiremock

        return wiremock.read_directory(source)
    try:
        with own_file.open_file(source) as content:
            begins = content.read(_BEGINNING)
    except OSError as error:
        raise ConfigError(f"{source} cannot be read: {error.strerror}") from None
    if _DUMP.match(begins):
        from xs2a_sandbox.recording.importers import mitmproxy

        return mitmproxy.read(source)
    value = read_json(source)
    kinds = value.keys() if isinstance(value, dict) else ()
    if "log" in kinds:
        return read_har(value, source)
    if "item" in kinds:
        from xs2a_sandbox.recording.importers import postman

        return postman.read(value, source, now)
    if "mappings" in kinds or "request" in kinds:
        from xs2a_sandbox.recording.importers import wiremock

        return wiremock.read(value, source, wiremock.body_folders(source.parent))
    raise ConfigError(f"{source}: this is no HAR file, dump of mitmproxy, Postman collection or mapping of WireMock")


def _redaction(settings: Settings, *, keeps: bool = False) -> tuple[Callable[["Exchange"], "Exchange"], str]:
    """The redaction, and the fingerprint of its key; with `keeps` the vault keeps what it replaces."""
    from xs2a_sandbox.engine import build, redacting
    from xs2a_sandbox.redaction import pseudonyms

    banks, _ = build.read_all(settings)
    redactor = redacting.redactor_of(settings, banks)
    redact = redacting.keeper(settings, redactor).entry if keeps else redactor.entry
    return redact, pseudonyms.fingerprint(pseudonyms.ensure_key(settings.confdir))


async def _write(directory: Path, entries: Sequence["Exchange"], head: dict[str, Any]) -> None:
    from xs2a_sandbox.recording.har_log import Recording

    recording = Recording(directory, None, head)
    try:
        recording.check()
        for entry in entries:
            await recording.add(entry)
    except RecordingFailed as failed:
        raise UserMistake(str(failed)) from None
    finally:
        recording.close()


def _derive_dialect(name: str, path: Path) -> None:
    from xs2a_sandbox.authoring import derived_dialect
    from xs2a_sandbox.bank.loading import OWN
    from xs2a_sandbox.bundled import bundled
    from xs2a_sandbox.documents import Schemas
    from xs2a_sandbox.recording.tape import read_tape

    hint = f". To derive rules by it, say `xs2a-sandbox derive --by {name} DIR`"
    derived_dialect.check_name(name, (OWN, bundled("cassettes")), hint)
    derived = derived_dialect.derived_dialect(name, read_tape(path), Schemas([bundled("schemas")]))
    folder = derived_dialect.write(derived, OWN)
    for line in derived_dialect.report_lines(derived, folder):
        click.echo(line)


def _derive(directory: Path, settings: Settings) -> None:
    from xs2a_sandbox.bank.loading import interface_and_schemas
    from xs2a_sandbox.recording.derive import derive, report_lines

    for line in report_lines(derive(directory, *interface_and_schemas(settings)), directory):
        click.echo(line)


@click.group()
def vault() -> None:
    """Export the real values behind the pseudonyms of redacted recordings, which this machine keeps."""


@vault.command("export")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@setting_flags("confdir")
def export_vault(file: Path, **flags: Any) -> None:
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
