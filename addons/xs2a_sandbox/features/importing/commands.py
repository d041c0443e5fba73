"""The command `import`: makes a recording, rules or a dialect from the files of other programs."""

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
"""The start of a mitmproxy file: a length, even if it is absurd. JSON never starts like this."""
_BEGINNING = 256
_OPENAPI = re.compile(r'^\s*\{?\s*"(?:openapi|swagger)"\s*:')
"""The version of an OpenAPI document in JSON, which is at its beginning."""
_FIRST = 64 * 1024


@command(
    "import",
    section="Real banks",
    examples=(
        "xs2a-sandbox import bank.har --to recordings",
        "xs2a-sandbox import mappings --to recordings",
        "xs2a-sandbox import openapi.yaml --dialect mybank",
    ),
)
@click.argument("source", metavar="FILE", type=click.Path(exists=True, path_type=Path))
@option(
    "--to",
    "directory",
    metavar="DIR",
    type=click.Path(path_type=Path),
    unset="for an OpenAPI document the working directory",
    help="Folder of the recording, or of the cassettes and schemas of the dialect.",
)
@option(
    "--environment",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A Postman environment with values for the variables of the collection.",
)
@option("--no-redact", is_flag=True, help="Keep secrets and personal data as they are.")
@setting_flags("confdir", "dialect")
@quiet_option
def import_(source: Path, directory: Path | None, environment: Path | None, no_redact: bool, **flags: Any) -> None:
    """Import files of other tools, or an OpenAPI document.

    FILE is a HAR file, a mitmproxy dump, a Postman collection or commands of curl with their answers, which become a
    recording and its cassettes, or a file or folder of WireMock mappings, which become rules.

    With an OpenAPI document (3.0, 3.1 or Swagger 2.0), writes the skeleton of the dialect that --dialect names.
    """
    from xs2a_sandbox.features.derive.commands import derive_rules
    from xs2a_sandbox.recording.har import Foreign

    if _is_openapi(source):
        _import_openapi(source, flags.get("dialect"), directory or Path())
        return
    if directory is None:
        raise click.UsageError("--to DIR is missing: the folder of the recording")
    settings = load_settings(flags)
    foreign = _read(source, environment)
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


def _is_openapi(source: Path) -> bool:
    """Return whether the file is an OpenAPI document. No other file is YAML."""
    if source.is_dir():
        return False
    if source.suffix in (".yaml", ".yml"):
        return True
    return source.suffix == ".json" and any(_OPENAPI.search(line) for line in _first_lines(source))


def _first_lines(source: Path) -> list[str]:
    try:
        with own_file.open_file(source) as content:
            return content.read(_FIRST).decode(errors="replace").splitlines()
    except OSError as error:
        raise ConfigError(f"cannot read {source}: {error.strerror}") from None


def _import_openapi(source: Path, name: Any, directory: Path) -> None:
    """Write the skeleton of a dialect."""
    from xs2a_sandbox.bank.loading import OWN
    from xs2a_sandbox.bundled import bundled
    from xs2a_sandbox.features.derive.derived_dialect import check_name
    from xs2a_sandbox.features.importing import openapi

    if not isinstance(name, str):
        raise click.UsageError("an OpenAPI document becomes a dialect: add --dialect NAME, the name of its folder")
    check_name(name, (directory / OWN, bundled("cassettes")))
    skeleton = openapi.import_document(name, openapi.read_document(source))
    openapi.write(skeleton, directory)
    for line in openapi.report_lines(skeleton, directory):
        click.echo(line)
    click.echo(f"Check it with: xs2a-sandbox lint --dialect {name}")
    click.echo(f"Use it with: xs2a-sandbox serve --dialect {name}")


def _write_rules(mappings: "Mappings", directory: Path, redact: "Redact | None", redacted: str | bool) -> None:
    """Write WireMock's mappings as a cassette. They are rules, so no recording is needed."""
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
    click.echo(f"Use them with: xs2a-sandbox serve --cassettes {directory / CASSETTES}")


def _read(source: Path, environment: Path | None) -> "Foreign | Mappings":
    from xs2a_sandbox.clock import Clock
    from xs2a_sandbox.features.importing import curl
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
    if curl.is_transcript(begins):
        return curl.read(source, now)
    value = read_json(source)
    kinds = value.keys() if isinstance(value, dict) else ()
    if "log" in kinds:
        return read_har(value, source)
    if "item" in kinds:
        from xs2a_sandbox.features.importing import postman

        return postman.read(value, source, now, postman.read_environment(environment) if environment else {})
    if "mappings" in kinds or "request" in kinds:
        from xs2a_sandbox.features.importing import wiremock

        return wiremock.read(value, source, wiremock.body_folders(source.parent))
    raise ConfigError(
        f"{source} must be a HAR file, a mitmproxy dump, a Postman collection, a WireMock mapping, commands of curl or "
        "an OpenAPI document"
    )


def _redaction(settings: Settings, *, keeps: bool = False) -> tuple[Callable[["Exchange"], "Exchange"], str]:
    """Return the redaction, and the fingerprint of its key. With `keeps`, the vault stores the replaced values."""
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
