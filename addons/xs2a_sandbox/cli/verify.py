"""`verify`: the signature of an answer."""

import re
import sys
from pathlib import Path

import click

from xs2a_sandbox.cli.described import read_body, read_headers
from xs2a_sandbox.errors import UserMistake, WrongSignature
from xs2a_sandbox.http import Headers

_HEAD = re.compile(rb"(HTTP/[\d.]+ \d{3}[^\n]*\n(?:[^\r\n]+\r?\n)*)\r?\n")


@click.command()
@click.argument("file", metavar="[FILE]", default="-")
@click.option("--ca", metavar="FILE", type=click.Path(path_type=Path), help="The CA that must have issued the seal.")
def verify(file: str, ca: Path | None) -> None:
    """Check the bank's signature of an answer, as `curl -i` writes it to FILE, or to standard input.

    If the signature is wrong, it prints the reason and the signing string. Exit status: 0 right, 1 wrong.
    """
    from xs2a_sandbox.signatures import answers

    content, head = read_body(f"@{file}"), None
    # Before the answer there may be others, such as 100 Continue.
    while next_head := _HEAD.match(content):
        head, content = next_head[1].decode("latin-1"), content[next_head.end() :]
    if head is None:
        raise UserMistake("this is no answer with its headers: write it with curl -i")
    headers = Headers(read_headers(head.splitlines()[1:]))
    try:
        answers.verify(headers, content, ca)
    except WrongSignature as wrong:
        click.echo(str(wrong), err=True)
        sys.exit(1)
    click.echo("the signature is right")
