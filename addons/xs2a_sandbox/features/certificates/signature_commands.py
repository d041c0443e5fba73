"""The commands of signatures: `sign` makes the headers of a signed request, `verify` checks a signed answer."""

import re
import sys
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit
from uuid import uuid4

import click

from xs2a_sandbox.cli.flags import read_body, read_headers, request_arguments
from xs2a_sandbox.cli.help import command, option
from xs2a_sandbox.errors import UserMistake, WrongSignature
from xs2a_sandbox.http import Headers

_FILE = click.Path(path_type=Path)
_HEAD = re.compile(rb"(HTTP/[\d.]+ \d{3}[^\n]*\n(?:[^\r\n]+\r?\n)*)\r?\n")


@command(
    section="Set up",
    examples=(
        "xs2a-sandbox sign GET https://127.0.0.1:8443/v1/accounts --with my-tpp/qseal.pem",
        "xs2a-sandbox sign POST /v1/consents -d @consent.json --with my-tpp/qseal.pem --form jws",
    ),
)
@request_arguments
@option(
    "--with", "seal", metavar="FILE", type=_FILE, required=True, help="The seal (QSEAL) with its key, in PEM format."
)
@option("--key", metavar="FILE", type=_FILE, help="The key, if it is in another file.")
@option("--key-password", metavar="TEXT", envvar="XS2A_SANDBOX_KEY_PASSWORD", help="The key's password.")
@option(
    "--form",
    type=click.Choice(["signature", "jws"]),
    default="signature",
    help="Header to sign with: Signature or x-jws-signature.",
)
@option("--digest", type=click.Choice(["SHA-256", "SHA-512"]), default="SHA-256", help="Hash of body and signature.")
@option("--sign", "names", metavar="NAME", multiple=True, help="Sign these headers, in this order, and no others.")
def sign(
    method: str,
    url: str,
    headers: tuple[str, ...],
    body: str | None,
    seal: Path,
    key: Path | None,
    key_password: str | None,
    form: Literal["signature", "jws"],
    digest: str,
    names: tuple[str, ...],
) -> None:
    """Print the headers that sign a request.

    Pipe them to `curl -H @-` or `explain -H @-`. Headers given with -H are printed as well. A missing X-Request-ID is
    added.
    """
    from xs2a_sandbox.clock import REAL
    from xs2a_sandbox.signatures.signing import Seal, signed_headers
    from xs2a_sandbox.signatures.signing_string import REQUEST_TARGET, SignedMessage

    sent = read_headers(headers)
    if not any(name.lower() == "x-request-id" for name, _ in sent):
        sent.append(("X-Request-ID", str(uuid4())))
    parts = urlsplit(url)
    target = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
    message = SignedMessage(Headers(sent), read_body(body), method.upper(), target, url)
    signed_names = {REQUEST_TARGET, "digest", *(name.lower() for name, _ in sent)}
    if absent := [name for name in names if name.lower() not in signed_names]:
        raise click.BadParameter(f"the request has no header {absent[0]!r}; add it with -H", param_hint="--sign")
    added = signed_headers(
        message,
        Seal.read(seal, key, key_password),
        REAL.now(),
        form=form,
        algorithm=digest,
        names=[name.lower() for name in names],
    )
    replaced = {name.lower() for name, _ in added}
    for name, value in [*(pair for pair in sent if pair[0].lower() not in replaced), *added]:
        click.echo(f"{name}: {value}")


@command(
    section="Set up",
    examples=(
        "curl -i http://127.0.0.1:8081/v1/accounts | xs2a-sandbox verify",
        "xs2a-sandbox verify response.txt --ca ca.pem",
    ),
)
@click.argument("file", metavar="[FILE]", default="-")
@option("--ca", metavar="FILE", type=_FILE, help="The CA that must have issued the seal.")
def verify(file: str, ca: Path | None) -> None:
    """Verify the signature of a bank's response.

    Reads a response with its headers from FILE or standard input, as written by `curl -i`. For a wrong signature,
    prints the reason and the signing string. Exit status: 0 correct, 1 wrong.
    """
    from xs2a_sandbox.signatures import answers

    content, head = read_body(f"@{file}"), None
    # There may be other answers before it, such as 100 Continue.
    while next_head := _HEAD.match(content):
        head, content = next_head[1].decode("latin-1"), content[next_head.end() :]
    if head is None:
        raise UserMistake("the input must be a response with its headers: get it with curl -i")
    headers = Headers(read_headers(head.splitlines()[1:]))
    try:
        answers.verify(headers, content, ca)
    except WrongSignature as wrong:
        click.echo(str(wrong), err=True)
        sys.exit(1)
    click.echo("the signature is valid")
