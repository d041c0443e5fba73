"""The command `import`: what other programs have kept becomes a recording."""

import asyncio
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from xs2a_sandbox.cli.flags import setting_flags
from xs2a_sandbox.cli.help import command, option
from xs2a_sandbox.cli.progress import Progress
from xs2a_sandbox.cli.verbosity import note, quiet_option
from xs2a_sandbox.config import Settings, load_settings
from xs2a_sandbox.documents import own_file
from xs2a_sandbox.errors import ConfigError, RecordingFailed, UserMistake
from xs2a_sandbox.wording import say_count

if TYPE_CHECKING:
    from xs2a_sandbox.features.importing.wiremock import Mappings, Redact
    from xs2a_sandbox.http.exchange import Exchange
    from xs2a_sandbox.recording.har import Foreign

_DUMP = re.compile(rb"-?\d+:")
"""How a file of mitmproxy begins: with a length, be it an absurd one. No JSON begins so."""
_BEGINNING = 64


@command(
    "import",
    section="Real banks",
    examples=("xs2a-sandbox import bank.har --to recordings", "xs2a-sandbox import mappings --to recordings"),
)
@click.argument("source", metavar="FILE", type=click.Path(exists=True, path_type=Path))
@option(
    "--to", "directory", metavar="DIR", required=True, type=click.Path(path_type=Path), help="Folder of the recording."
)
@option("--no-redact", is_flag=True, help="Keep secrets and personal data as they are.")
@setting_flags("confdir", "dialect")
@quiet_option
def import_(source: Path, directory: Path, no_redact: bool, **flags: Any) -> None:
    """Import traffic from HAR, mitmproxy, Postman or WireMock.

    FILE is a HAR file, a dump of mitmproxy or a Postman collection, which become a recording and its cassettes; or a
    file or folder of WireMock's mappings, which become rules.
    """
    from xs2a_sandbox.features.derive.commands import derive_rules
    from xs2a_sandbox.recording.har import Foreign

    settings = load_settings(flags)
    foreign = _read(source)
    if not isinstance(foreign, Foreign):
        _write_rules(foreign, directory, *((None, False) if no_redact else _redaction(settings)))
        return
    for line in foreign.left_out:
        note(f"left out: {line}")
    if not foreign.entries:
        raise ConfigError(f"{source} contains no request with a response that could be imported")
    redact, redacted = (None, foreign.redacted or False)
    if not (no_redact or foreign.redacted):
        redact, redacted = _redaction(settings, keeps=True)
    entries = list(_redacted(foreign.entries, redact)) if redact else foreign.entries
    # Their URLs can hold a password.
    banks = sorted({entry.bank for entry in entries})
    asyncio.run(_write(directory, entries, {"banks": banks, "redacted": redacted}))
    click.echo(f"{say_count(len(entries), 'exchange')} imported into {directory}")
    derive_rules(directory, settings)


def _write_rules(mappings: "Mappings", directory: Path, redact: "Redact | None", redacted: str | bool) -> None:
    """WireMock's mappings are rules already: they become a cassette without a recording."""
    from xs2a_sandbox.clock import Clock
    from xs2a_sandbox.features.derive.derive import CASSETTES
    from xs2a_sandbox.features.importing import wiremock

    now = Clock().now()
    imported = wiremock.rules(mappings, redact, now)
    for line in imported.left_out:
        note(f"left out: {line}")
    if not imported.rules:
        raise ConfigError(f"{mappings.source} contains no mapping that could be imported")
    file = wiremock.write(imported, mappings.source, directory / CASSETTES, now, redacted)
    click.echo(f"{say_count(len(imported.rules), 'rule')} of {say_count(len(mappings.listed), 'mapping')}: {file}")
    click.echo(f"They answer with: xs2a-sandbox serve --cassettes {directory / CASSETTES}")


def _read(source: Path) -> "Foreign | Mappings":
    from xs2a_sandbox.clock import Clock
    from xs2a_sandbox.recording.har import read_har, read_json

    now = Clock().now()
    if source.is_dir():
        from xs2a_sandbox.features.importing import wiremock

        return wiremock.read_directory(source)
    try:
        with own_file.open_file(source) as content:
            begins = content.read(_BEGINNING)
    except OSError as error:
        raise ConfigError(f"cannot read {source}: {error.strerror}") from None
    if _DUMP.match(begins):
        from xs2a_sandbox.features.importing import mitmproxy

        return mitmproxy.read(source)
    value = read_json(source)
    kinds = value.keys() if isinstance(value, dict) else ()
    if "log" in kinds:
        return read_har(value, source)
    if "item" in kinds:
        from xs2a_sandbox.features.importing import postman

        return postman.read(value, source, now)
    if "mappings" in kinds or "request" in kinds:
        from xs2a_sandbox.features.importing import wiremock

        return wiremock.read(value, source, wiremock.body_folders(source.parent))
    raise ConfigError(f"{source} is not a HAR file, a dump of mitmproxy, a Postman collection or a mapping of WireMock")


def _redaction(settings: Settings, *, keeps: bool = False) -> tuple[Callable[["Exchange"], "Exchange"], str]:
    """The redaction, and the fingerprint of its key; with `keeps` the vault keeps what it replaces."""
    from xs2a_sandbox.engine import build, redacting
    from xs2a_sandbox.redaction import pseudonyms

    banks, _ = build.read_all(settings)
    redactor = redacting.redactor_of(settings, banks)
    redact = redacting.keeper(settings, redactor).entry if keeps else redactor.entry
    return redact, pseudonyms.fingerprint(pseudonyms.ensure_key(settings.confdir))


def _redacted(entries: Sequence["Exchange"], redact: Callable[["Exchange"], "Exchange"]) -> Iterator["Exchange"]:
    with Progress("redacting") as progress:
        for number, entry in enumerate(entries, 1):
            yield redact(entry)
            progress(number, len(entries))


async def _write(directory: Path, entries: Sequence["Exchange"], head: dict[str, Any]) -> None:
    from xs2a_sandbox.recording.har_log import Recording

    recording = Recording(directory, None, head)
    try:
        recording.check()
        with Progress("writing") as progress:
            for number, entry in enumerate(entries, 1):
                await recording.add(entry)
                progress(number, len(entries))
    except RecordingFailed as failed:
        raise UserMistake(str(failed)) from None
    finally:
        recording.close()
