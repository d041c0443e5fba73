"""Reads commands of curl, each followed by the answer that `curl -i` has printed."""

import argparse
import base64
import re
import shlex
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import NoReturn
from urllib.parse import quote

from xs2a_sandbox.documents import own_file
from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.http import Headers
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.http.har import split_url
from xs2a_sandbox.recording.har import Foreign, NoExchange

_BEGINS = re.compile(rb"\s*(?:#[^\n]*\n\s*)*(?:\$ )?curl\s")
_COMMAND = re.compile(r"(?:\$ )?curl\s")
_STATUS = re.compile(r"HTTP/[0-9.]+ ([1-5][0-9]{2})\b")
_FLAGS = "-i --include -s --silent -S --show-error -k --insecure -L --location -v --verbose -f --fail -g --globoff -# "
_IGNORED = "-o --output -w --write-out -m --max-time --connect-timeout -x --proxy -E --cert --key --cacert --retry"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise NoExchange(message)


def is_transcript(begins: bytes) -> bool:
    """Return whether a file begins with a command of curl."""
    return _BEGINS.match(begins) is not None


def read(file: Path, now: datetime) -> Foreign:
    """Read the commands. They contain no times, so exchanges are dated `now`, one second apart. Raises ConfigError."""
    try:
        lines = own_file.read(file).decode().splitlines()
    except OSError as error:
        raise ConfigError(f"cannot read {file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{file} is not UTF-8: save the file in that encoding") from None
    entries: list[Exchange] = []
    left_out: list[str] = []
    for number, words, answer in _commands(lines, file):
        try:
            entries.append(_entry(words, answer, now + timedelta(seconds=len(entries))))
        except NoExchange as reason:
            left_out.append(f"line {number}: {reason}")
        except ValueError as error:
            raise ConfigError(f"{file}:{number}: {error}") from None
    return Foreign(tuple(entries), tuple(left_out))


def _commands(lines: Sequence[str], file: Path) -> Iterator[tuple[int, list[str], Sequence[str]]]:
    """Yield the line number, the words and the answer of each command. A command can have several lines."""
    position = 0
    while position < len(lines):
        if not _COMMAND.match(lines[position]):
            position += 1
            continue
        first, command = position, lines[position].removeprefix("$ ")
        while (words := _split(command)) is None:
            position += 1
            if position == len(lines):
                raise ConfigError(f"{file}:{first + 1}: the command does not end: a quotation mark is missing")
            begun = command.removesuffix("\\")
            command = begun + ("\n" if begun == command else " ") + lines[position]
        end = position + 1
        while end < len(lines) and not _COMMAND.match(lines[end]):
            end += 1
        yield first + 1, words[1:], lines[position + 1 : end]
        position = end


def _split(command: str) -> list[str] | None:
    """Return the words, or None if the command continues on the next line."""
    try:
        return None if command.endswith("\\") else shlex.split(command)
    except ValueError:
        return None


def _parser() -> _Parser:
    parser = _Parser(add_help=False, allow_abbrev=False)
    parser.add_argument("address", nargs="?")
    parser.add_argument("--url")
    parser.add_argument("-X", "--request")
    parser.add_argument("-H", "--header", action="append", default=[])
    parser.add_argument("-d", "--data", "--data-raw", "--data-binary", "--data-ascii", action="append", default=[])
    parser.add_argument("--data-urlencode", action="append", dest="data", type=_encoded)
    parser.add_argument("--json", action="append", default=[])
    parser.add_argument("-u", "--user")
    parser.add_argument("-A", "--user-agent")
    parser.add_argument("-b", "--cookie")
    parser.add_argument("-G", "--get", action="store_true")
    for flag in (*_FLAGS.split(), "--compressed", "--http1.1", "--http2"):
        parser.add_argument(flag, action="store_true", dest=f"flag {flag}")
    for flag in _IGNORED.split():
        parser.add_argument(flag, dest=f"flag {flag}")
    return parser


def _entry(words: Sequence[str], answer: Sequence[str], started: datetime) -> Exchange:
    given = _parser().parse_args(words)
    url = given.url or given.address
    if not url:
        raise NoExchange("the command has no URL")
    parts = given.data
    if any(part.startswith("@") for part in (*parts, *given.json)):
        raise NoExchange("its body is in another file: write the body into the command")
    body = "&".join(parts) if parts else "".join(given.json)
    if given.get and body:
        url, body = f"{url}{'&' if '?' in url else '?'}{body}", ""
    bank, target = split_url(url if "://" in url else f"https://{url}")
    status, answer_headers, text = _answer(answer)
    return Exchange(
        time=started,
        milliseconds=0.0,
        bank=bank,
        method=(given.request or ("POST" if body else "GET")).upper(),
        target=target,
        headers=Headers(_headers(given, bool(parts) and bool(body))),
        body=body.encode(),
        status=status,
        answer_headers=answer_headers,
        answer_body=text.encode(),
    )


def _encoded(part: str) -> str:
    name, equals, value = part.partition("=")
    return f"{name}={quote(value, safe='')}" if equals else quote(part, safe="")


def _headers(given: argparse.Namespace, is_form: bool) -> Iterator[tuple[str, str]]:
    """Yield the headers of the request, with those that curl adds."""
    pairs = [(name.strip(), value.strip()) for name, _, value in (one.partition(":") for one in given.header)]
    names = {name.lower() for name, _ in pairs}
    kind = "application/json" if given.json else "application/x-www-form-urlencoded" if is_form else None
    if kind and "content-type" not in names:
        yield "Content-Type", kind
    if given.user:
        yield "Authorization", f"Basic {base64.b64encode(given.user.encode()).decode()}"
    if given.user_agent:
        yield "User-Agent", given.user_agent
    if given.cookie:
        yield "Cookie", given.cookie
    yield from (pair for pair in pairs if pair[0])


def _answer(lines: Sequence[str]) -> tuple[int, Headers, str]:
    """Return status, headers and body of the last answer: redirects and `100 Continue` come before it."""
    starts = [number for number, line in enumerate(lines) if _STATUS.match(line)]
    heads = [number for number in starts if number == starts[0] or not lines[number - 1].strip()]
    if not heads:
        raise NoExchange("it has no answer: run it with `curl -i`, and write what it prints below it")
    first = heads[-1]
    end = next((number for number in range(first, len(lines)) if not lines[number].strip()), len(lines))
    pairs = [line.partition(":") for line in lines[first + 1 : end]]
    status = _STATUS.match(lines[first])
    headers = Headers((name.strip(), value.strip()) for name, _, value in pairs if name.strip())
    return int(status[1]) if status else 200, headers, "\n".join(lines[end + 1 :]).strip()
