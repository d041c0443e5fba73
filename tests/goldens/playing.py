"""Plays a journey of this folder in process, and writes what the bank answers as a text that people can compare.

A journey is a YAML file: `settings` of the engine, if it needs others than usual, and `steps`. A step is a request
line, or one with `json`, `form`, `text` or headers, which begin with a capital: `GET /v1/accounts: {Consent-ID: $id}`.
These are steps too:

- `OPEN LINK`: what a browser does with a link of the bank; it follows where the bank leads it within itself.
- `PRESS name=value`: sends the form of the page that is open, with its hidden fields.
- `MOVE 31s`: moves the session's clock.
- `SESSION name`: goes on in another session, where nothing has been done yet.

`$name` is the last member, link or header of that name in the answers before, or one of `GIVEN`; `as: one` keeps those
of an answer as `$one.name`. Ids and secrets that the bank makes are named by when they were first seen, so that it does
not matter in which order they are drawn.
"""

import asyncio
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit

import yaml

from tests.support.engine_client import CONFDIR
from xs2a_sandbox.clock import read_time
from xs2a_sandbox.config.settings import load
from xs2a_sandbox.engine import Engine
from xs2a_sandbox.engine.build import build
from xs2a_sandbox.http import Headers, Request, Response
from xs2a_sandbox.http.messages import Door

FOLDER = Path(__file__).parent
GIVEN = {
    "basic": "Basic ZGVtby10cHA6a2xldHRlcnJvc2U=",
    "verifier": "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
    "challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
}
"""The header of the client `demo-tpp`, and the example of RFC 7636, appendix B."""
USUAL = {"frozen_at": read_time("2026-11-17T09:00").isoformat(), "seed": "goldens", "state": "memory:"}
TOKEN = "of-the-goldens"
WIDTH = 120

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
_MADE = re.compile(
    rf"(?P<uuid>{_UUID}|\b[0-9a-f]{{32}}\b)"
    r'|(?:"(?:access|refresh)_token": ?"|name="nonce" value="|[?&]code=|confirmationCode=|<strong class="otp">)'
    r"(?P<secret>[\w-]{8,})"
)
_STYLE = re.compile(r"(?<=<style>).*?(?=</style>)", re.DOTALL)
"""Its digest stands in the header Content-Security-Policy."""

type Step = tuple[str, Mapping[str, Any]]


def journeys() -> list[str]:
    return sorted(file.relative_to(FOLDER).with_suffix("").as_posix() for file in FOLDER.glob("*/*.yaml"))


def play(journey: str) -> str:
    """All answers to the journey, as one text."""
    content = yaml.load((FOLDER / f"{journey}.yaml").read_text(), yaml.CSafeLoader)
    dialect, _, name = journey.partition("/")
    engine = _engine(dialect, json.dumps(content.get("settings", {})))
    player = _Player(engine, name, known=set(re.findall(_UUID, _kept(dialect) + json.dumps(content))))
    return asyncio.run(player.play(_flat(content["steps"])))


@cache
def _engine(dialect: str, settings: str) -> Engine:
    written = {**USUAL, "dialect": dialect, "confdir": CONFDIR.name, **json.loads(settings)}
    engine = build(load(written, {}, FOLDER))
    engine.use(admin_token=TOKEN)
    return engine


@cache
def _kept(dialect: str) -> str:
    """The test data, whose ids are always the same."""
    cassettes = FOLDER.parents[1] / "cassettes"
    own = cassettes / dialect / "testdata.yaml"
    return (own if own.exists() else cassettes / "testdata.yaml").read_text()


def _flat(written: Any) -> Iterator[Step]:
    for one in written:
        if isinstance(one, list):
            yield from _flat(one)
        elif isinstance(one, str):
            yield one, {}
        else:
            yield from one.items()


@dataclass
class _Player:
    engine: Engine
    session: str
    known: set[str]
    number: int = 0
    link: str = ""
    page: str = ""
    values: dict[str, str] = field(default_factory=lambda: dict(GIVEN))
    names: dict[str, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)

    async def play(self, steps: Iterator[Step]) -> str:
        for line, more in steps:
            self.number += 1
            verb, _, rest = line.partition(" ")
            sent = json.dumps(more, ensure_ascii=False) if more else ""
            self.lines += ["", f"=== {line} {sent}".rstrip()]
            try:
                await getattr(self, f"_{verb.lower()}", self._ask)(verb, self._filled(rest), more)
            except KeyError as missing:
                before = "\n".join(self.lines[-40:])
                raise ValueError(f"{line}: no answer has had {missing}, the last ones were\n{before}") from None
        return "\n".join(self.lines[1:]) + "\n"

    async def _ask(self, verb: str, target: str, more: Mapping[str, Any]) -> None:
        id = f"00000000-0000-4000-a000-{self.number:012}"
        headers: dict[str, str | None] = {"X-Request-ID": id, "PSU-IP-Address": "192.0.2.7"}
        body = b""
        if "json" in more:
            headers["Content-Type"] = "application/json"
            body = json.dumps(self._filled(more["json"]), ensure_ascii=False).encode()
        elif "form" in more:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
            body = self._filled(more["form"]).encode()
        elif "text" in more:
            body = self._filled(more["text"]).encode()
        answer = await self._send(verb, target, {**headers, **more}, body)
        self._note(answer, more.get("X-Request-ID", id), more.get("as", ""))

    async def _open(self, _: str, link: str, more: Mapping[str, Any]) -> None:
        self.link = link
        await self._browse("GET", more)

    async def _press(self, _: str, fields: str, more: Mapping[str, Any]) -> None:
        hidden = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', self.page))
        sent = parse_qsl(fields, keep_blank_values=True)
        form = [*((name, text) for name, text in hidden.items() if name not in dict(sent)), *sent]
        await self._browse("POST", more, urlencode(form).encode())

    async def _browse(self, method: str, more: Mapping[str, Any], body: bytes = b"") -> None:
        answer = await self._send(method, self.link, more, body, "direct")
        self.page = answer.body.decode()
        self._note(answer)
        to = Headers(answer.headers).get("location") or ""
        if answer.status == 303 and not urlsplit(to).netloc.endswith("tpp.example"):
            self.link = urljoin(self.link, to)
            self.lines += ["", f"--- GET {self._named(_local(self.link))}"]
            await self._browse("GET", more)

    async def _move(self, _: str, span: str, __: object) -> None:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        answer = await self._send("POST", "/_sandbox/clock", headers, json.dumps({"move": span}).encode())
        self.lines.append(json.loads(answer.body)["now"])

    async def _session(self, _: str, name: str, __: object) -> None:
        self.session += f"-{name}"

    async def _send(
        self, method: str, target: str, more: Mapping[str, Any], body: bytes, door: Door = "process"
    ) -> Response:
        """Of `more` the headers are sent; None leaves one out."""
        headers = {"X-Sandbox-Session": self.session, **{name: more[name] for name in more if name[0].isupper()}}
        pairs = [(name, self._filled(value)) for name, value in headers.items() if value is not None]
        request = Request(method, _local(target), Headers(pairs), body, host="bank.example", door=door)
        answer = await self.engine.answer(request)
        assert isinstance(answer, Response)
        return answer

    def _note(self, answer: Response, request_id: str | None = None, kept_as: str = "") -> None:
        found = dict(_values(answer))
        self.values |= found
        if kept_as:
            self.values |= {f"{kept_as}.{name}": value for name, value in found.items()}
        text = "\n".join([str(answer.status), *(f"{name}: {value}" for name, value in answer.headers)])
        if answer.body:
            text += f"\n\n{_readable(answer)}"
        self.lines.append(self._named(text.replace(request_id, "<as sent>") if request_id else text))

    def _named(self, text: str) -> str:
        for match in _MADE.finditer(text):
            made = match["uuid"] or match["secret"]
            if made not in self.known and made not in self.names:
                self.names[made] = f"<{match.lastgroup} {len(self.names) + 1}>"
        if not self.names:
            return text
        return re.sub("|".join(map(re.escape, self.names)), lambda match: self.names[match[0]], text)

    def _filled(self, value: Any) -> Any:
        if isinstance(value, str):
            return re.sub(r"\$(\w+(?:\.\w+)?)", lambda match: self.values[match[1]], value)
        if isinstance(value, dict):
            return {name: self._filled(inner) for name, inner in value.items()}
        return [self._filled(inner) for inner in value] if isinstance(value, list) else value


def _local(link: str) -> str:
    """Path and query of a link."""
    parts = urlsplit(link)
    return parts.path + (f"?{parts.query}" if parts.query else "")


def _values(answer: Response) -> Iterator[tuple[str, str]]:
    if location := Headers(answer.headers).get("location"):
        yield "location", location
        yield from parse_qsl(urlsplit(location).query)
    if _is_json(answer):
        yield from _members("", json.loads(answer.body))
    if code := re.search(r'<strong class="otp">([\w-]+)<', answer.body.decode()):
        yield "shown", code[1]


def _is_json(answer: Response) -> bool:
    return bool(answer.body) and (Headers(answer.headers).get("content-type") or "").startswith("application/json")


def _members(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for inner, member in value.items():
            if inner == "href":
                yield name, member
            else:
                yield from _members(inner, member)
    elif isinstance(value, list):
        for entry in value:
            yield from _members(name, entry)
    elif isinstance(value, str) and name not in ("scaStatus", "status"):  # as links are called
        yield name, value


def _readable(answer: Response) -> str:
    """The body, from which its bytes can be told: JSON in several lines only where it is written as JSON always is."""
    text = answer.body.decode()
    if _is_json(answer):
        value = json.loads(text)
        if json.dumps(value, ensure_ascii=False, separators=(",", ":")) == text:
            # What the sandbox says beside the bank quotes the files of the dialect.
            return _laid_out({**value, "sandbox": "…"} if isinstance(value, dict) and "sandbox" in value else value)
    return _STYLE.sub("", text).replace("\r", "␍")


def _laid_out(value: Any, indent: str = "") -> str:
    text = json.dumps(value, ensure_ascii=False)
    if len(indent) + len(text) <= WIDTH or not isinstance(value, dict | list):
        return text
    deeper = indent + "  "
    if isinstance(value, dict):
        inner = [f"{deeper}{json.dumps(name)}: {_laid_out(member, deeper)}" for name, member in value.items()]
        return "{\n" + ",\n".join(inner) + f"\n{indent}}}"
    return "[\n" + ",\n".join(deeper + _laid_out(entry, deeper) for entry in value) + f"\n{indent}]"
