"""The commands of the test trust service: certificates for a fictitious TPP."""

import json
import re
import shlex
from base64 import b64encode
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from xs2a_sandbox.cli.flags import setting_flags, shorten
from xs2a_sandbox.cli.help import group, json_option, option
from xs2a_sandbox.config import Settings, load_settings
from xs2a_sandbox.documents import own_file
from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.features.certificates.mistakes import MISTAKES

if TYPE_CHECKING:
    from xs2a_sandbox.tpp.certificate import Kind
    from xs2a_sandbox.tpp.issuing import KeyType
    from xs2a_sandbox.tpp.organisation_identifier import OrganisationIdentifier

SHOWN = {
    "host": "Address that `serve` listens on, for the curl commands.",
    "proxy_port": "Port of its forward proxy.",
    "tls_port": "Port of its base URL over TLS, or off.",
    "confdir": "Folder of the CA.",
}
ROLES = ("AISP", "PISP", "PIISP")
_KINDS: "tuple[Kind, ...]" = ("QWAC", "QSEAL")
_REQUEST_ID = "99391c7e-ad88-49ec-a2ad-99ddcb1f7721"


@group(
    section="Set up",
    examples=('xs2a-sandbox tpp new --name "My TPP"', "xs2a-sandbox tpp revoke my-tpp/qwac.pem"),
)
def tpp() -> None:
    """Issue and revoke test certificates (QWAC and QSEAL)."""


def _roles(context: click.Context, parameter: click.Parameter, value: str) -> tuple[str, ...]:
    roles = tuple(dict.fromkeys(role.strip().upper() for role in value.split(",")))
    if unknown := [role for role in roles if role not in ROLES]:
        raise click.BadParameter(f"{unknown[0]!r} is not a role; the roles are {', '.join(ROLES)}")
    return roles


def _identifier(context: click.Context, parameter: click.Parameter, value: str | None) -> "OrganisationIdentifier":
    from xs2a_sandbox.tpp import organisation_identifier

    identifier = organisation_identifier.parse(value or organisation_identifier.invent(context.params["name"]))
    if identifier is None:
        raise click.BadParameter("it must look like PSDAT-FMA-123456: PSD and the country, the authority, and a number")
    return identifier


def _name(context: click.Context, parameter: click.Parameter, value: str) -> str:
    if not (value.strip() and value.isprintable() and len(value) <= 64):
        raise click.BadParameter("a name must have 1 to 64 printable characters")
    return value.strip()


def _domain(context: click.Context, parameter: click.Parameter, value: str) -> str:
    if not re.fullmatch(r"(?=.{1,64}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}", value, re.IGNORECASE):
        raise click.BadParameter(f"{value!r} is not a host name such as tpp.example.org")
    return value


def _some_text(context: click.Context, parameter: click.Parameter, value: str) -> str:
    if not value or len(value) > 200:
        raise click.BadParameter("it must have 1 to 200 characters")
    return value


def _add_wrong_flags(command: Callable[..., None]) -> Callable[..., None]:
    """Adds a flag for each kind of bad certificate that has a key."""
    for mistake in reversed([mistaken for mistaken in MISTAKES.values() if mistaken.has_key]):
        text = f"A certificate {mistake.doc}."
        flag = f"--{mistake.name}"
        command = option(flag, "wrong", flag_value=mistake.name, default=None, section="Bad certificates", help=text)(
            command
        )
    return command


@tpp.command(
    examples=(
        'xs2a-sandbox tpp new --name "My TPP"',
        'xs2a-sandbox tpp new --name "My TPP" --roles AISP --days 30 --to certificates',
    ),
)
@option("--name", required=True, is_eager=True, callback=_name, help="The TPP's name.")
@option(
    "--roles",
    default=",".join(ROLES),
    metavar="ROLE,…",
    callback=_roles,
    help="Its roles: AISP reads accounts, PISP initiates payments, PIISP asks whether funds are available.",
)
@option(
    "--id",
    "identifier",
    metavar="PSDAT-FMA-123456",
    callback=_identifier,
    unset="derived from the name",
    help="Its organisation identifier.",
)
@option(
    "--authority",
    default="Financial Market Authority",
    callback=_some_text,
    help="Name of the competent authority in the identifier.",
)
@option(
    "--domain",
    default="tpp.example.org",
    callback=_domain,
    help="Host name in the QWAC.",
)
@option(
    "--from",
    "begin",
    type=click.DateTime(("%Y-%m-%d",)),
    metavar="YYYY-MM-DD",
    unset="yesterday",
    help="First day on which the certificates are valid.",
)
@option("--days", type=click.IntRange(1, 3650), default=365, help="Number of days on which they are valid.")
@option("--key", type=click.Choice(("rsa", "ec")), default="rsa", help="Type of the keys.")
@option(
    "--password",
    default="changeit",
    callback=_some_text,
    help="Password of the PKCS#12 files.",
)
@option(
    "--to",
    type=click.Path(file_okay=False, path_type=Path),
    unset="named after the TPP",
    metavar="DIR",
    help="Folder for the files.",
)
@_add_wrong_flags
@setting_flags(*SHOWN, docs=SHOWN, section="Sandbox")
def new(
    name: str,
    roles: tuple[str, ...],
    identifier: "OrganisationIdentifier",
    authority: str,
    domain: str,
    begin: datetime | None,
    days: int,
    key: "KeyType",
    password: str,
    to: Path | None,
    wrong: str | None,
    **flags: Any,
) -> None:
    """Issue a QWAC and a QSEAL for a TPP.

    Also prints how to use them with curl. The CA is in --confdir. Run it again before the certificates expire: the
    sandbox accepts the new ones and the old ones. A flag for bad certificates issues certificates that a bank refuses.
    """
    from cryptography.hazmat.primitives.serialization import Encoding

    from xs2a_sandbox.clock import BANK_ZONE, REAL
    from xs2a_sandbox.documents.files import replace_file
    from xs2a_sandbox.features.certificates import specimens
    from xs2a_sandbox.tpp import certificate, issuing, key_files
    from xs2a_sandbox.tpp.qc_statements import ROLES as WRITTEN
    from xs2a_sandbox.tpp.trust_service import Provider, TrustService

    settings = load_settings(flags)
    folder = Path.cwd() / (to or _folder(name))
    if there := [file for file in ("qwac.pem", "qseal.pem") if (folder / file).exists()]:
        raise ConfigError(
            f"{folder / there[0]} already exists: choose another folder with --to DIR, or remove the file"
        )
    now = REAL.now()
    first = begin.replace(tzinfo=BANK_ZONE) if begin else now - timedelta(days=1)
    service = TrustService(settings.confdir)
    ca = service.ca(now)
    make = specimens.MAKERS[wrong] if wrong else specimens.as_ordered
    standing = MISTAKES[wrong].standing if wrong else None
    for kind in _KINDS:
        particulars = issuing.Particulars(
            name=name,
            organisation_identifier=str(identifier),
            roles=tuple(WRITTEN[role] for role in roles),
            authority=identifier.authority_id,
            authority_name=authority,
            country=identifier.country,
            kind=kind,
            not_before=first,
            not_after=first + timedelta(days=days),
            host=domain,
        )
        presented = make(specimens.Order(particulars, ca, key, now))
        if presented.issued is None:
            raise ValueError(f"a certificate {wrong} cannot have a key")
        key_files.write(folder, kind.lower(), presented.issued, presented.above(ca.certificate), password)
        if standing == "revoked":
            service.revoke(certificate.read(presented.chain[0]), now)
    replace_file(folder / "ca.pem", ca.certificate.public_bytes(Encoding.PEM))
    service.register(str(identifier), Provider(name, standing == "blocked"))
    for line in _announcement(settings, folder, f"{name}, {identifier}, {', '.join(roles)}", password):
        click.echo(line)


@tpp.command(
    examples=("xs2a-sandbox tpp revoke my-tpp/qwac.pem", "xs2a-sandbox tpp revoke my-tpp/qseal.pem --confdir ~/bank"),
)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@setting_flags("confdir")
def revoke(file: Path, **flags: Any) -> None:
    """Revoke the certificate in FILE (PEM).

    A running sandbox refuses it immediately.
    """
    from xs2a_sandbox.clock import REAL
    from xs2a_sandbox.tpp import certificate
    from xs2a_sandbox.tpp.trust_service import TrustService

    try:
        issued = certificate.read(certificate.from_pem(own_file.read(file))[0])
    except (OSError, ValueError) as error:
        raise ConfigError(f"{file} contains no readable certificate in PEM format: {error}") from None
    TrustService(load_settings(flags).confdir).revoke(issued, REAL.now())
    click.echo(f"revoked {issued.serial} of {issued.name}")


@tpp.command(
    examples=("xs2a-sandbox tpp block PSDAT-FMA-123456", "xs2a-sandbox tpp block PSDAT-FMA-123456 --undo"),
)
@click.argument("identifier", metavar="PSDAT-FMA-123456")
@option("--undo", is_flag=True, help="Unblock the TPP.")
@setting_flags("confdir")
def block(identifier: str, undo: bool, **flags: Any) -> None:
    """Block a TPP by its organisation identifier.

    In reality, the competent authority does this. A running sandbox refuses the TPP immediately.
    """
    from xs2a_sandbox.tpp.trust_service import Provider, TrustService

    service = TrustService(load_settings(flags).confdir)
    provider = service.provider(identifier)
    if provider is None:
        raise ConfigError(
            f"no certificate was issued for {identifier}; `xs2a-sandbox tpp new --id {identifier}` issues one"
        )
    service.register(identifier, Provider(provider.name, not undo))
    click.echo(f"{provider.name} is {'no longer blocked' if undo else 'blocked'}")


@tpp.command(examples=("xs2a-sandbox tpp zoo bad-certificates", "xs2a-sandbox tpp zoo bad-certificates --json"))
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@json_option
@setting_flags("confdir", "dialect")
def zoo(folder: Path, as_json: bool, **flags: Any) -> None:
    """Write one certificate of each bad kind to DIR.

    Prints the error code with which the bank refuses each. NAME.pem also contains the key; NAME.header contains only
    the certificate, for those that no TLS library sends.
    """
    from xs2a_sandbox.bank.loading import interface_and_schemas
    from xs2a_sandbox.clock import REAL
    from xs2a_sandbox.documents.files import replace_file
    from xs2a_sandbox.features.certificates import specimens
    from xs2a_sandbox.tpp import certificate, issuing, key_files, organisation_identifier
    from xs2a_sandbox.tpp.qc_statements import ROLES as WRITTEN
    from xs2a_sandbox.tpp.trust_service import Provider, TrustService

    settings = load_settings(flags)
    errors = interface_and_schemas(settings)[0].errors
    now, service = REAL.now(), TrustService(settings.confdir)
    listed: list[dict[str, str]] = []
    ca = service.ca(now)
    for name, mistake in MISTAKES.items():
        identifier = organisation_identifier.invent(name)
        particulars = issuing.Particulars(
            name="Zoo TPP",
            organisation_identifier=identifier,
            roles=tuple(WRITTEN[role] for role in ROLES),
            authority="AT-FMA",
            authority_name="Financial Market Authority",
            country="AT",
            kind="QWAC",
            not_before=now - timedelta(days=1),
            not_after=now + timedelta(days=365),
        )
        presented = specimens.MAKERS[name](specimens.Order(particulars, ca, "ec", now))
        if presented.issued:
            key_files.write_pem(folder / f"{name}.pem", presented.issued, presented.above())
        replace_file(folder / f"{name}.header", b64encode(presented.chain[0]))
        if mistake.standing == "revoked":
            service.revoke(certificate.read(presented.chain[0]), now)
        service.register(identifier, Provider("Zoo TPP", mistake.standing == "blocked"))
        listed.append({"code": errors[mistake.error].code(), "name": name, "certificate": mistake.doc})
    if as_json:
        click.echo(json.dumps(listed, ensure_ascii=False, indent=2))
        return
    for one in listed:
        click.echo(f"{one['code']:20} {one['name']:20} a certificate {one['certificate']}")


def _announcement(settings: Settings, folder: Path, who: str, password: str) -> list[str]:
    from xs2a_sandbox.bank.loading import load_testdata
    from xs2a_sandbox.cli.serve.announcement import find_valid_consent
    from xs2a_sandbox.engine.build import CA_FILE

    shown, consent = shorten(folder), find_valid_consent(load_testdata(settings).at(settings.clock.today()))
    path = f"/v1/consents/{consent}/status"
    shows = ["--cacert", str(settings.confdir / CA_FILE), "--cert", str(shown / "qwac.pem")]
    asks = ["-H", f"X-Request-ID: {_REQUEST_ID}"]
    proxy = ["-x", f"http://{settings.host}:{settings.proxy_port}"]
    lines = [
        f"wrote a QWAC and a QSEAL for {who}",
        f"  {shown / 'qwac.pem'}, {shown / 'qseal.pem'}     certificate and key",
        f"  {shown / 'qwac.p12'}, {shown / 'qseal.p12'}     the same as PKCS#12, with the password {password}",
        f"  {shown / 'ca.pem'}     the CA that issued them",
        "",
    ]
    if settings.tls_port is not None:
        base = f"https://{settings.host}:{settings.tls_port}"
        lines.append(shlex.join(["curl", *shows, *asks, base + path]))
    lines.append(shlex.join(["curl", *shows, *proxy, *asks, f"https://bank.example{path}"]))
    jks = ["-srckeystore", str(shown / "qwac.p12"), "-srcstorepass", password, "-destkeystore", str(shown / "qwac.jks")]
    lines.append(shlex.join(["keytool", "-importkeystore", *jks, "-deststoretype", "JKS", "-deststorepass", password]))
    return lines


def _folder(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "tpp"
