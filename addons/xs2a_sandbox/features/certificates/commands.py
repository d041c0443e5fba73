"""The commands of the test trust service: certificates for a TPP that there is not."""

import re
import shlex
from base64 import b64encode
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from xs2a_sandbox.cli.flags import setting_flags, shorten
from xs2a_sandbox.config import Settings, load_settings
from xs2a_sandbox.documents import own_file
from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.features.certificates.mistakes import MISTAKES

if TYPE_CHECKING:
    from xs2a_sandbox.tpp.certificate import Kind
    from xs2a_sandbox.tpp.issuing import KeyType
    from xs2a_sandbox.tpp.organisation_identifier import OrganisationIdentifier

ROLES = ("AISP", "PISP", "PIISP")
_KINDS: "tuple[Kind, ...]" = ("QWAC", "QSEAL")
_REQUEST_ID = "99391c7e-ad88-49ec-a2ad-99ddcb1f7721"


@click.group()
def tpp() -> None:
    """Issue test certificates (QWAC and QSEAL), as a trust service does for payment services."""


def _roles(context: click.Context, parameter: click.Parameter, value: str) -> tuple[str, ...]:
    roles = tuple(dict.fromkeys(role.strip().upper() for role in value.split(",")))
    if unknown := [role for role in roles if role not in ROLES]:
        raise click.BadParameter(f"{unknown[0]!r} is no role; there are {', '.join(ROLES)}")
    return roles


def _identifier(context: click.Context, parameter: click.Parameter, value: str | None) -> "OrganisationIdentifier":
    from xs2a_sandbox.tpp import organisation_identifier

    identifier = organisation_identifier.parse(value or organisation_identifier.invent(context.params["name"]))
    if identifier is None:
        raise click.BadParameter("write it as PSDAT-FMA-123456: PSD and the country, the authority, the number there")
    return identifier


def _name(context: click.Context, parameter: click.Parameter, value: str) -> str:
    if not (value.strip() and value.isprintable() and len(value) <= 64):
        raise click.BadParameter("a name is 1 to 64 characters that can be printed")
    return value.strip()


def _domain(context: click.Context, parameter: click.Parameter, value: str) -> str:
    if not re.fullmatch(r"(?=.{1,64}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}", value, re.IGNORECASE):
        raise click.BadParameter(f"{value!r} is no host name such as tpp.example.org")
    return value


def _some_text(context: click.Context, parameter: click.Parameter, value: str) -> str:
    if not value or len(value) > 200:
        raise click.BadParameter("it must not be empty, nor longer than 200 characters")
    return value


def _add_wrong_flags(command: Callable[..., None]) -> Callable[..., None]:
    """Adds a flag for each kind of bad certificate that has a key."""
    for mistake in reversed([mistaken for mistaken in MISTAKES.values() if mistaken.has_key]):
        text = f"Write a bad certificate: one {mistake.doc}."
        command = click.option(f"--{mistake.name}", "wrong", flag_value=mistake.name, default=None, help=text)(command)
    return command


@tpp.command()
@click.option("--name", required=True, is_eager=True, callback=_name, help="The TPP's name.")
@click.option(
    "--roles",
    default=",".join(ROLES),
    show_default=True,
    metavar="ROLE,…",
    callback=_roles,
    help="What it may do: AISP reads accounts, PISP initiates payments, PIISP asks for funds.",
)
@click.option(
    "--id",
    "identifier",
    metavar="PSDAT-FMA-123456",
    callback=_identifier,
    help="Its organisation identifier; one that follows from the name when left out.",
)
@click.option(
    "--authority",
    default="Financial Market Authority",
    show_default=True,
    callback=_some_text,
    help="The name of the competent authority that the identifier is of.",
)
@click.option(
    "--domain",
    default="tpp.example.org",
    show_default=True,
    callback=_domain,
    help="The name that the QWAC is for.",
)
@click.option(
    "--from",
    "begin",
    type=click.DateTime(("%Y-%m-%d",)),
    help="The first day that the certificates are good for. [yesterday]",
)
@click.option("--days", type=click.IntRange(1, 3650), default=365, show_default=True, help="How many days they are.")
@click.option("--key", type=click.Choice(("rsa", "ec")), default="rsa", show_default=True, help="The kind of the keys.")
@click.option(
    "--password",
    default="changeit",
    show_default=True,
    callback=_some_text,
    help="The password of the PKCS#12 files.",
)
@click.option(
    "--to",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder to write into. [one called as the TPP]",
)
@_add_wrong_flags
@setting_flags("host", "proxy_port", "tls_port", "confdir")
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
    """Issue a QWAC and a QSEAL for a TPP, and print how curl shows them.

    The CA is kept in --confdir. Run it again before the certificates end: the new ones are taken beside the old ones. A
    flag that is named for a mistake makes bad ones, such as a bank refuses.
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
        raise ConfigError(f"{folder / there[0]} is there already: name another folder, --to DIR, or remove it")
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
            raise ValueError(f"a certificate {wrong} has no key")
        key_files.write(folder, kind.lower(), presented.issued, presented.above(ca.certificate), password)
        if standing == "revoked":
            service.revoke(certificate.read(presented.chain[0]), now)
    replace_file(folder / "ca.pem", ca.certificate.public_bytes(Encoding.PEM))
    service.register(str(identifier), Provider(name, standing == "blocked"))
    for line in _announcement(settings, folder, f"{name}, {identifier}, {', '.join(roles)}", password):
        click.echo(line)


@tpp.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@setting_flags("confdir")
def revoke(file: Path, **flags: Any) -> None:
    """Revoke the certificate in FILE (PEM); a sandbox that is running knows at once."""
    from xs2a_sandbox.clock import REAL
    from xs2a_sandbox.tpp import certificate
    from xs2a_sandbox.tpp.trust_service import TrustService

    try:
        issued = certificate.read(certificate.from_pem(own_file.read(file))[0])
    except (OSError, ValueError) as error:
        raise ConfigError(f"{file} holds no certificate that can be read: {error}") from None
    TrustService(load_settings(flags).confdir).revoke(issued, REAL.now())
    click.echo(f"revoked {issued.serial} of {issued.name}")


@tpp.command()
@click.argument("identifier", metavar="PSDAT-FMA-123456")
@click.option("--undo", is_flag=True, help="Let it in again.")
@setting_flags("confdir")
def block(identifier: str, undo: bool, **flags: Any) -> None:
    """Block a TPP by its organisation identifier, as the competent authority does; a running sandbox knows at once."""
    from xs2a_sandbox.tpp.trust_service import Provider, TrustService

    service = TrustService(load_settings(flags).confdir)
    provider = service.provider(identifier)
    if provider is None:
        raise ConfigError(f"no certificate was issued for {identifier}: `tpp new` registers a TPP")
    service.register(identifier, Provider(provider.name, not undo))
    click.echo(f"{provider.name} is {'no longer blocked' if undo else 'blocked'}")


@tpp.command()
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@setting_flags("confdir", "dialect")
def zoo(folder: Path, **flags: Any) -> None:
    """Write a certificate of every bad kind into DIR, and print the code that each is refused with.

    NAME.pem has the key, too; NAME.header is the certificate alone, for those that no TLS library shows.
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
        click.echo(f"{errors[mistake.error].code():20} {name:20} a certificate {mistake.doc}")


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
        f"  {shown / 'ca.pem'}     the CA that has issued them",
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
