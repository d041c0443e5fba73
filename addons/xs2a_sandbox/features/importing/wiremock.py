"""Converts WireMock's stub mappings to rules, which are similar: they have matchers, priorities and scenarios."""

import base64
import json
import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from itertools import chain, count
from pathlib import Path
from typing import Any

from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.cassette import Rule, reader
from xs2a_sandbox.cassette.dialect.overlap import meetings, subsumes
from xs2a_sandbox.documents import Schemas, own_file, yaml_reader
from xs2a_sandbox.documents.files import replace_file, writing
from xs2a_sandbox.documents.yaml_writer import write_exactly, yaml_text
from xs2a_sandbox.errors import ConfigError, Problem, Unreadable
from xs2a_sandbox.features.derive.recorded_answer import write_answer
from xs2a_sandbox.features.derive.routes import slug
from xs2a_sandbox.features.importing.wiremock_request import Censored, Match, read_request
from xs2a_sandbox.http import Headers, to_json
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.journal.log_line import make_printable
from xs2a_sandbox.recording.har import NOWHERE, NoExchange, Room, read_json
from xs2a_sandbox.redaction.body import note_of

FILES = "__files"
_ABOVE = 2
"""The number of folders above the mappings that are searched for `__files`."""
MOST = 2_000
"""The most mappings, because all that can match the same requests are compared in pairs."""

Redact = Callable[[Exchange], Exchange]

_ANSWER = frozenset("status statusMessage headers body jsonBody base64Body bodyFileName fault transformers".split())
_TIMING = frozenset("fixedDelayMilliseconds delayDistribution chunkedDribbleDelay fromConfiguredStub".split())
_FAULTS = {
    "EMPTY_RESPONSE": "drop",
    "CONNECTION_RESET_BY_PEER": "reset",
    "MALFORMED_RESPONSE_CHUNK": "truncate",
    "RANDOM_DATA_THEN_CLOSE": "malformed",
}
_LARGEST_REQUEST = 64 * 1024
"""The most characters of the `request` of a mapping."""
_LONGEST_REASON = 300
_USUAL_PRIORITY = 5
_STARTED = "Started"
_LONGEST_DELAY = 1_000_000
"""In milliseconds. Answers that take longer than 30 seconds time out anyway."""

_TEMPLATE = re.compile(r"\{\{\{?([^{}]*)\}\}\}?")
_BASE = re.compile(
    r"https?://[\w.-]+:\{\{\{?\s*request\.requestLine\.port\s*\}?\}\}|\{\{\{?\s*request\.(?:requestLine\.)?baseUrl\s*\}?\}\}"
)
_ECHOES: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (re.compile(r"request\.(?:query|requestLine\.query)\.([\w-]+)"), lambda place: f"query[{json.dumps(place[1])}]"),
    (re.compile(r"request\.headers\.([\w-]+)"), lambda place: f"headers[{json.dumps(place[1].lower())}]"),
    (re.compile(r"request\.(?:requestLine\.)?method"), lambda place: "request.method"),
    (
        re.compile(r"jsonPath request\.body '\$((?:\.[A-Za-z_]\w*)+)'"),
        lambda place: "body" + "".join(f"[{json.dumps(step)}]" for step in place[1].split(".")[1:]),
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mappings:
    """Mappings with the place of each, for messages. `files` are the folders for `bodyFileName`."""

    source: Path
    listed: tuple[tuple[str, Mapping[str, Any]], ...]
    files: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Imported:
    """Rules for a cassette, the files with their bodies, and what is left out with the reason."""

    rules: tuple[Mapping[str, Any], ...]
    bodies: Mapping[str, bytes]
    left_out: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Stub:
    place: str
    value: dict[str, Any]
    match: Match
    priority: int


def read_directory(directory: Path) -> Mappings:
    """Read a folder with `mappings/` and `__files/`, or only with mappings. Raises ConfigError."""
    folder = directory / "mappings" if (directory / "mappings").is_dir() else directory
    # Next to `mappings`, in a folder of mappings, or next to one of the folders above it.
    files = body_folders(directory)
    names = sorted(file for file in folder.rglob("*.json") if FILES not in file.relative_to(directory).parts)
    if not names:
        raise ConfigError(f"{directory} contains no mappings (*.json): choose the folder that contains mappings/")
    _check_number(names, directory)
    listed: list[tuple[str, Mapping[str, Any]]] = []
    for file in names:
        listed += read(read_json(file, folder=directory), file, files).listed
        _check_number(listed, directory)
    return Mappings(directory, tuple(listed), files)


def read(value: Any, file: Path, files: tuple[Path, ...]) -> Mappings:
    """Read a mapping, or an export of several. Raises ConfigError."""
    listed = value.get("mappings", [value]) if isinstance(value, Mapping) else None
    if not isinstance(listed, list):
        raise ConfigError(f"{file}: this is not a WireMock mapping: mappings must be a list")
    _check_number(listed, file)
    placed = []
    for number, mapping in enumerate(listed):
        for part in ("request", "response"):
            if not isinstance(mapping, Mapping) or not isinstance(mapping.get(part), Mapping):
                raise ConfigError(f"{file}: mappings[{number}]: {part} is missing")
        alone = file.name if len(listed) == 1 else f"{file.name}, mapping {number + 1}"
        placed.append((_shorten(str(mapping.get("name") or alone)), mapping))
    return Mappings(file, tuple(placed), files)


def body_folders(directory: Path) -> tuple[Path, ...]:
    """Return the folders `__files` in the folder of the mappings, in its subfolders, and in those above it."""
    places = (directory, *directory.resolve().parents[:_ABOVE], *sorted(directory.glob("*")))
    return tuple(place / FILES for place in places if (place / FILES).is_dir()) or (directory / FILES,)


def _check_number(listed: Sequence[Any], source: Path) -> None:
    if len(listed) > MOST:
        raise ConfigError(f"{source}: it has more than {MOST:,} mappings; import it in parts")


def rules(mappings: Mappings, redact: Redact | None, now: datetime) -> Imported:
    """Return the rules in the order of the mappings. If two match a request, the later one answers, as in WireMock.

    Raises ConfigError if WireMock would not accept a mapping.
    """
    bodies: dict[str, bytes] = {}
    left_out: list[str] = []
    stubs: list[_Stub] = []
    room = Room()
    maker = _Maker(mappings, redact, now, room, bodies)
    for place, mapping in mappings.listed:
        try:
            stubs.append(maker.stub(place, mapping))
        except NoExchange as reason:
            left_out.append(f"{place}: {_shorten(str(reason))}")
        except RecursionError:
            raise ConfigError(f"{mappings.source}: {place}: its JSON is nested too deep") from None
        except ValueError as error:
            # A mistake in one mapping of a folder does not affect the others.
            if len(mappings.listed) == 1:
                raise ConfigError(f"{mappings.source}: {place}: {_shorten(str(error))}") from None
            left_out.append(f"{place}: {_shorten(str(error))}")
    compiled = _compile(_identify(_with_headers(stubs), mappings.source), left_out)
    ready = tuple(_in_order(compiled, left_out))
    used = {rule["respond"].get("file") for rule in ready}
    return Imported(ready, {name: content for name, content in bodies.items() if name in used}, tuple(left_out))


def write(imported: Imported, source: Path, cassettes: Path, now: datetime, redacted: str | bool) -> Path:
    """Write the rules as a new cassette. Raises ConfigError if one of this name exists."""
    file = cassettes / f"wiremock-{slug(source.stem)}.yaml"
    if file.exists():
        raise ConfigError(
            f"{file} already exists, and may have been edited: delete it, or import into another folder with --to"
        )
    recorded = {"bank": NOWHERE, "at": now.astimezone(UTC).isoformat(timespec="seconds"), "redacted": redacted}
    title = f"{source.stem}, from WireMock"
    text = yaml_text({"cassette": 1, "title": title, "recorded": recorded, "rules": list(imported.rules)})
    with writing(cassettes):
        for folder in (cassettes, *((cassettes / name).parent for name in imported.bodies)):
            folder.mkdir(parents=True, exist_ok=True)
    for name, content in imported.bodies.items():
        replace_file(cassettes / name, content)
    replace_file(file, text.encode())
    return file


def _shorten(text: str) -> str:
    return make_printable(text if len(text) <= _LONGEST_REASON else text[:_LONGEST_REASON] + "…")


class _Maker:
    """Makes a rule from each mapping."""

    def __init__(
        self, mappings: Mappings, redact: Redact | None, now: datetime, room: Room, bodies: dict[str, bytes]
    ) -> None:
        self._mappings = mappings
        self._redact = redact or (lambda exchange: exchange)
        self._now = now
        self._room = room
        self._bodies = bodies
        self._censored = Censored(self._target, self._body, self._header)

    def stub(self, place: str, mapping: Mapping[str, Any]) -> _Stub:
        """Convert a mapping. Raises NoExchange if no rule can express it, ValueError if it is invalid."""
        if len(write_exactly(mapping["request"])) > _LARGEST_REQUEST:
            raise NoExchange(f"its request is larger than {_LARGEST_REQUEST // 1024} KiB")
        match = read_request(mapping["request"], self._censored)
        scenario = _scenario(mapping, match)
        answer = self._answer(mapping["response"])
        priority = mapping.get("priority", _USUAL_PRIORITY)
        if not isinstance(priority, int):
            raise ValueError(f"the priority must be a whole number, not {priority!r}")
        # In WireMock the lowest number wins.
        return _Stub(place, {"match": match.parts, "require": "none", "respond": answer, **scenario}, match, -priority)

    def _answer(self, answer: Mapping[str, Any]) -> dict[str, Any]:
        if unknown := sorted(answer.keys() - _ANSWER - _TIMING):
            raise NoExchange(f"a rule cannot express {', '.join(unknown)} of its response")
        transformers = answer.get("transformers") or []
        if not isinstance(transformers, list):
            raise ValueError("transformers must be a list")
        if others := sorted(set(map(str, transformers)) - {"response-template"}):
            raise NoExchange(f"a rule cannot express the transformers {', '.join(others)}")
        status = answer.get("status", 200)
        if not isinstance(status, int):
            raise ValueError(f"the status must be a whole number, not {status!r}")
        if not 200 <= status <= 599:
            raise NoExchange(f"its status {status} is outside 200 to 599")
        echoes: list[str] = []
        content, kind = self._content(answer, echoes)
        self._room.take(len(content))
        headers = Headers((name, _echo(text, echoes)) for name, text in _list(answer.get("headers")))
        if kind and headers.get("content-type") is None:
            headers = Headers([("Content-Type", kind), *headers])
        seen = self._redact(self._exchange(status=status, answer_headers=headers, answer_body=content))
        if content and (note := note_of(seen.answer_body)):
            raise NoExchange(f"redaction removes the body of its answer ({note}); use --no-redact to keep it")
        respond = write_answer(seen, self._bodies)
        if echoes:
            respond = _with_echoes(respond, echoes)
        return {**respond, **_delay(answer), **_fault(answer)}

    def _content(self, answer: Mapping[str, Any], echoes: list[str]) -> tuple[bytes, str | None]:
        if "jsonBody" in answer:
            return _echoed_bytes(to_json(answer["jsonBody"]), echoes), "application/json"
        if "base64Body" in answer:
            return base64.b64decode(str(answer["base64Body"])), None
        if "bodyFileName" in answer:
            name = str(answer["bodyFileName"])
            if "{{" in name:
                raise NoExchange("a rule cannot compute the name of its body file")
            folder = next((one for one in self._mappings.files if os.path.isfile(one / name)), None)
            if folder is None:
                raise NoExchange(f"its body file is not in {' or '.join(map(str, self._mappings.files))}: {name}")
            file = folder / name
            try:
                content = own_file.read(file, folder=folder)
            except OSError as error:
                raise NoExchange(f"{file} cannot be read: {error.strerror}") from None
            return _echoed_bytes(content, echoes), "application/json" if file.suffix == ".json" else None
        return _echoed_bytes(str(answer.get("body") or "").encode(errors="surrogatepass"), echoes), None

    def _exchange(self, **parts: Any) -> Exchange:
        usual: dict[str, Any] = {
            "target": "/", "headers": Headers(), "body": b"", "status": 200, "answer_headers": Headers(),
            "answer_body": b"",
        }  # fmt: skip
        return Exchange(time=self._now, milliseconds=0.0, bank=NOWHERE, method="GET", **{**usual, **parts})

    def _target(self, target: str) -> str:
        self._room.take(len(target))
        return self._redact(self._exchange(target=target)).target

    def _body(self, body: bytes, media: str) -> bytes:
        self._room.take(len(body))
        return self._redact(self._exchange(headers=Headers([("Content-Type", media)]), body=body)).body

    def _header(self, name: str, value: str) -> str | None:
        return self._redact(self._exchange(headers=Headers([(name, value)]))).headers.get(name)


def _list(headers: Any) -> Iterator[tuple[str, str]]:
    for name, value in (headers or {}).items() if isinstance(headers or {}, Mapping) else ():
        for item in value if isinstance(value, list) else [value]:
            yield str(name), str(item)


def _echoed_bytes(content: bytes, echoes: list[str]) -> bytes:
    if b"{{" not in content:
        return content
    try:
        # In JSON the quotes of an expression are escaped.
        return _echo(content.decode(), echoes).encode()
    except UnicodeDecodeError:
        return content


def _echo(text: str, echoes: list[str]) -> str:
    """Return the text with links to the bank, and placeholders for values from the request: `{{0}}`, `{{1}}`, …"""

    def mark(place: re.Match[str]) -> str:
        expression = place[1].strip().replace('\\"', '"')
        for pattern, written in _ECHOES:
            if echo := pattern.fullmatch(expression):
                echoes.append(written(echo))
                return f"echo-{len(echoes) - 1}-echo"
        raise NoExchange(f"a rule cannot compute {place[0]} of its answer")

    return _TEMPLATE.sub(mark, _BASE.sub(NOWHERE, text))


_MARK = re.compile(r"echo-(\d+)-echo")


def _with_echoes(respond: dict[str, Any], echoes: Sequence[str]) -> dict[str, Any]:
    marks: set[int] = set()

    def fill_in(value: Any) -> Any:
        match value:
            case str():
                if "{{" in value:
                    raise NoExchange("its answer contains braces in addition to values from the request")
                marks.update(int(place[1]) for place in _MARK.finditer(value))
                return _MARK.sub(lambda place: "{{ " + echoes[int(place[1])] + " }}", value)
            case dict():
                return {name: fill_in(inner) for name, inner in value.items()}
            case list():
                return [fill_in(inner) for inner in value]
        return value

    answer: dict[str, Any] = fill_in({key: value for key, value in respond.items() if key != "raw"})
    if marks != set(range(len(echoes))):
        raise NoExchange(
            "redaction changes the values that its answer takes from the request; use --no-redact to keep them"
        )
    return answer


def _delay(answer: Mapping[str, Any]) -> dict[str, Any]:
    spread, dribble = answer.get("delayDistribution"), answer.get("chunkedDribbleDelay")
    if isinstance(spread, Mapping):
        if spread.get("type") != "lognormal":
            raise NoExchange(f"a rule cannot express the delay distribution {spread.get('type')}")
        median, sigma = _number(spread.get("median"), "median"), _number(spread.get("sigma"), "sigma")
        return {"delay": {"lognormal": {"median": f"{median}ms", "sigma": sigma}}}
    milliseconds = answer.get("fixedDelayMilliseconds")
    if isinstance(dribble, Mapping):
        milliseconds = dribble.get("totalDuration")
    return {"delay": f"{_number(milliseconds, 'delay')}ms"} if milliseconds else {}


def _number(value: Any, name: str) -> int | Decimal:
    if isinstance(value, bool) or not isinstance(value, int | Decimal) or not 0 <= value < _LONGEST_DELAY:
        raise ValueError(f"the {name} must be a number of at least 0, not {value!r}")
    return value


def _fault(answer: Mapping[str, Any]) -> dict[str, Any]:
    fault = answer.get("fault")
    if fault is None:
        return {}
    if fault not in _FAULTS:
        raise NoExchange(f"a rule cannot express the fault {fault}")
    return {"fault": _FAULTS[fault]}


def _scenario(mapping: Mapping[str, Any], match: Match) -> dict[str, Any]:
    name, needed, new = (mapping.get(key) for key in ("scenarioName", "requiredScenarioState", "newScenarioState"))
    if name is None:
        return {}
    place = f"state.scenarios[{_quote(str(name))}]"
    if needed == _STARTED:
        match.conditions.append(f"({place}.state or {_quote(_STARTED)}) == {_quote(_STARTED)}")
    elif needed is not None:
        match.conditions.append(f"{place}.state == {_quote(str(needed))}")
    if new is None:
        return {}
    return {"effects": [{"set": f"state.scenarios['{name}']", "to": {"state": str(new)}}]}


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _with_headers(stubs: Sequence[_Stub]) -> list[_Stub]:
    """Add matchers on headers that count only if requests with the same path differ in them, as in derived rules."""
    alike: dict[str, list[_Stub]] = {}
    for stub in stubs:
        alike.setdefault(write_exactly([stub.value["match"].get("method"), stub.value["match"]["path"]]), []).append(
            stub
        )
    for group in alike.values():
        for name in {name for stub in group for name in stub.match.lesser}:
            if len({write_exactly(stub.match.lesser.get(name)) for stub in group}) > 1:
                for stub in group:
                    if name in stub.match.lesser:
                        stub.match.put("headers", name, stub.match.lesser[name])
    return [replace(stub, value={**stub.value, "match": stub.match.build()}) for stub in stubs]


def _identify(stubs: Sequence[_Stub], source: Path) -> list[_Stub]:
    """Return the stubs with ids that show from which mapping they come."""
    taken: set[str] = set()
    identified = []
    for stub in stubs:
        name = slug(f"{source.stem}-{Path(stub.place).stem}") or "stub"
        id = next(id for id in chain([name], (f"{name}-{number}" for number in count(2))) if id not in taken)
        taken.add(id)
        identified.append(replace(stub, value={"id": id, **stub.value}))
    return identified


def _compile(stubs: Sequence[_Stub], left_out: list[str]) -> list[tuple[_Stub, Rule]]:
    compiled = []
    for stub in stubs:
        try:
            compiled.append((stub, _rule(stub.value, Path(stub.place))))
        except Unreadable as unreadable:
            left_out.append(f"{stub.place}: {_shorten(unreadable.problems[0].text)}")
        except (UnicodeEncodeError, RecursionError):
            left_out.append(f"{stub.place}: a cassette cannot contain it")
    return compiled


def _rule(value: Mapping[str, Any], place: Path) -> Rule:
    """Compile a rule. Raises Unreadable."""
    # The file of a large body is not written yet.
    respond = {key: inner for key, inner in value["respond"].items() if key != "file"}
    content = yaml_reader.parse(yaml_text({"cassette": 1, "rules": [{**value, "respond": respond}]}), place)
    problems: list[Problem] = yaml_reader.complaints(content, reader.cassette_schema())
    if not problems:
        rules = reader.parse(content, _schemas(), problems).rules
    if problems:
        raise Unreadable(problems)
    return rules[0]


@cache
def _schemas() -> Schemas:
    return Schemas([bundled("schemas")])


def _in_order(compiled: Sequence[tuple[_Stub, Rule]], left_out: list[str]) -> Iterator[Mapping[str, Any]]:
    """Yield the rules with priorities if two can match a request, without those that another one always hides."""
    # The sort is stable: of equal ones the later is the stronger.
    weakest_first = sorted(compiled, key=lambda ranked: ranked[0].priority)
    stubs = {rule.id: stub for stub, rule in compiled}
    weaker: defaultdict[str, list[str]] = defaultdict(list)
    hiding: dict[str, str] = {}
    for one, other in meetings([rule for _, rule in weakest_first]):
        weaker[other.id].append(one.id)
        if subsumes(other, one, {}):
            hiding[one.id] = other.id
    priorities: dict[str, int] = {}
    for _, rule in weakest_first:
        if rule.id not in hiding:
            below = (priorities[id] + 1 for id in weaker[rule.id] if id in priorities)
            priorities[rule.id] = max(below, default=0)
    for id, stub in stubs.items():
        if id in hiding:
            headers = ", ".join(sorted(stub.match.ignored))
            text = f"{stub.place}: {stubs[hiding[id]].place} answers every request that it could answer"
            left_out.append(f"{text}, because rules do not match its headers {headers}" if headers else text)
        else:
            priority = {"priority": priorities[id]} if priorities[id] else {}
            yield {"id": id, **priority, **stub.value}
