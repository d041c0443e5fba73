"""`explain`: asks the running sandbox, or reads the configured files if none is running."""

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from textwrap import wrap
from typing import Any

import click

from xs2a_sandbox.cli.control import session_option
from xs2a_sandbox.cli.flags import (
    bank_flags,
    by_name,
    read_body,
    read_headers,
    request_arguments,
    running_sandbox_flags,
)
from xs2a_sandbox.cli.help import command, json_option, option
from xs2a_sandbox.config import Settings, load_settings
from xs2a_sandbox.control.client import Client
from xs2a_sandbox.control.shapes import DescribedRequest
from xs2a_sandbox.errors import NotRunning, Refused
from xs2a_sandbox.explain import request as described_request

_WIDTH = 80
_MARKS = (("fitted", "fits"), ("missed", "not"), ("lacks", "also"), ("lost", "but"))


def text(explanation: Mapping[str, Any]) -> str:
    """Return an explanation in words. `explained` is the JSON of the control interface."""
    return "\n".join(_lines(explanation)) + "\n"


def _lines(explanation: Mapping[str, Any]) -> Iterator[str]:
    request, answer, by = explanation["request"], explanation["answer"], explanation["by"]
    yield from _wrap(f"{request['method']} {request['path']} in the session {request['session']}")
    yield from _wrap(f"  {explanation['message']}")
    if client := explanation["client"]:
        who = ", ".join(text for text in (client["organisation"], " ".join(client["roles"])) if text)
        yield from _wrap(f"  sent by {client['name'] or 'a client without a name'} ({who or 'no TPP'})", "    ")
    if answer:
        error = f" {answer['error']}: {answer['text']}" if answer["error"] else ""
        yield from _wrap(f"  the answer is {answer['status']}{error}", "    ")
    if by:
        yield ""
        yield from _candidate(by, "")
    if handler := explanation["handler"]:
        options = f" with {json.dumps(handler['with'], ensure_ascii=False)}" if handler["with"] else ""
        yield from _wrap(f"  from the handler {handler['name']}{options}", "    ")
    for rule in explanation["amended"]:
        yield from _wrap(f"  amended by the rule {rule['rule']} ({rule['place']})", "    ")
    if quirks := explanation["quirks"]:
        yield from _wrap(f"  the bank has the quirks {', '.join(quirks)}", "    ")
    for objection in explanation["objections"]:
        yield from _wrap(f"  the profile strict would refuse this: {objection}", "    ")
    if signature := explanation["signature"]:
        yield from _signature(signature)
    if explanation["hints"]:
        yield ""
        for hint in explanation["hints"]:
            yield from _wrap(f"Hint: {hint['text']}", "      ")
    if explanation["nearest"]:
        yield ""
        yield "Other candidates, nearest first:" if by else "Nearest:"
        for number, candidate in enumerate(explanation["nearest"], 1):
            yield ""
            yield from _candidate(candidate, f"{number}. ")
    if suggestion := explanation["suggestion"]:
        yield ""
        yield f"This rule in {suggestion['file']} would answer it:"
        yield ""
        yield from suggestion["yaml"].splitlines()


def _certificates(file: Path) -> Iterator[str]:
    """Return the certificates of a PEM file in base64. Raises BadParameter."""
    from xs2a_sandbox.tpp import certificate

    try:
        for der in certificate.from_pem(file.read_bytes()):
            yield b64encode(der).decode()
    except (OSError, ValueError):
        raise click.BadParameter(f"{file} contains no certificate in PEM format", param_hint="--cert") from None


def _signature(signature: Mapping[str, Any]) -> Iterator[str]:
    """Yield lines that show the text to sign next to the text that was probably signed."""
    yield ""
    yield from _wrap(f"Signature: {signature['reason']}", "    ")
    if lines := signature["signingString"]:
        yield "  the signing string:"
        yield from (f"    {line!r}" for line in lines)
    if signed := signature["clientSigned"]:
        yield from _wrap(f"  the client seems to have signed, {signed['difference']}:", "    ")
        yield from (f"    {line!r}" for line in signed["text"])


def _candidate(candidate: Mapping[str, Any], number: str) -> Iterator[str]:
    kind = "rule" if "rule" in candidate else "operation"
    far = f", distance {candidate['distance']}" if candidate["distance"] else ""
    indent = " " * len(number)
    yield from _wrap(f"{number}{kind} {candidate[kind]}: {candidate['method']} {candidate['path']}{far}", indent)
    yield f"{indent}{candidate['place']}"
    for member, mark in _MARKS:
        remarks = candidate[member] or ()
        for remark in [remarks] if isinstance(remarks, str) else remarks:
            words = remark if isinstance(remark, str) else remark["text"]
            yield from _wrap(f"{indent}  {mark:<5} {words}", f"{indent}        ")


def _wrap(line: str, indent: str = "  ") -> list[str]:
    # Leading blanks are the indentation of the line itself.
    lead = line[: len(line) - len(line.lstrip())]
    plain = "".join(character if character.isprintable() else "�" for character in line.lstrip())
    return wrap(plain, _WIDTH, initial_indent=lead, subsequent_indent=indent, break_on_hyphens=False) or [lead]


@command(
    section="Inspect",
    examples=(
        "xs2a-sandbox explain GET /v1/accounts",
        "xs2a-sandbox explain POST /v1/consents -d @consent.json --cassettes cases",
    ),
)
@request_arguments
@option(
    "--cert",
    "certificate",
    metavar="FILE",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="The client certificate of the app, in PEM; a key in the file is ignored.",
)
@json_option
@option("--compiled", "is_compiled", is_flag=True, help="Show the code that answers the request instead, as Python.")
@option("--offline", is_flag=True, help="Use the configured files, even if a sandbox is running.")
@bank_flags
@session_option("The session (default: `default`).")
@running_sandbox_flags
def explain(
    method: str,
    url: str,
    headers: tuple[str, ...],
    body: str | None,
    certificate: Path | None,
    as_json: bool,
    is_compiled: bool,
    offline: bool,
    session: str | None,
    **flags: Any,
) -> None:
    """Explain why a request gets its response, without sending it.

    Asks the running sandbox. If none is running, or with --offline, --dialect, --cassettes, --quirk or --testdata, it
    uses the configured files and new test data.

    --compiled always uses the configured files.
    """
    request: DescribedRequest = {
        "method": method.upper(),
        "url": url,
        "headers": by_name(read_headers(headers)),
        "body": None if body is None else _text(body),
    }
    if session is not None:
        request["session"] = session
    if certificate:
        request["certificates"] = list(_certificates(certificate))
    try:
        described_request.read(request)
    except Refused as error:
        raise click.UsageError(str(error)) from None
    offline = offline or any(flags[name] for name in ("dialect", "cassettes", "quirk", "like", "testdata"))
    settings = load_settings(flags)
    if is_compiled and as_json:
        raise click.UsageError("--compiled shows code, which has no JSON form: leave out --json")
    if is_compiled:
        click.echo(_compiled(settings, request), nl=False)
        return
    explained, note = (_offline(settings, request), "") if offline else _explain(settings, session, request)
    if as_json:
        click.echo(json.dumps(explained, ensure_ascii=False, indent=2))
    else:
        click.echo(f"{note}{text(explained)}", nl=False)


def _text(argument: str) -> str:
    try:
        return read_body(argument).decode()
    except UnicodeDecodeError:
        raise click.BadParameter(f"{argument} is not UTF-8 text", param_hint="-d") from None


def _explain(settings: Settings, session: str | None, request: DescribedRequest) -> tuple[dict[str, Any], str]:
    """Return the explanation of the running sandbox.

    If none is running, use the files, and return a note about that.
    """
    client = Client.of(settings, session)
    try:
        return {"asked": client.url, **client.explain(request)}, ""
    except NotRunning:
        note = f"No sandbox answers at {client.url}:\nthis explanation uses the configured files and new test data.\n\n"
        return _offline(settings, request), note


def _compiled(settings: Settings, request: DescribedRequest) -> str:
    """Return the code of the rule or operation that answers. Raises UsageError if there is none."""
    from xs2a_sandbox.bank.handlers.table import collect_handlers
    from xs2a_sandbox.engine.build import build
    from xs2a_sandbox.explain.compiled import show_compiled

    engine = build(replace(settings, state="memory:", reset=False))
    explanation = engine.explain(described_request.read(request))
    if explanation.by is None:
        text = f"no rule or operation answers {request['method']} {explanation.path}, so there is no code"
        raise click.UsageError(f"{text}: run the command without --compiled to see what is near")
    return show_compiled(explanation.by.candidate.entry, engine.interface, engine.schemas, collect_handlers())


def _offline(settings: Settings, request: DescribedRequest) -> dict[str, Any]:
    from xs2a_sandbox.engine.build import build
    from xs2a_sandbox.explain.explanation import describe

    # Do not read or create a stored state.
    engine = build(replace(settings, state="memory:", reset=False))
    return {"asked": "offline", **describe(engine.explain(described_request.read(request)))}
