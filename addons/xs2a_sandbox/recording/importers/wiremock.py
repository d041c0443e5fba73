"""WireMock's stub mappings, as far as they say one request and one answer."""

import base64
import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from xs2a_sandbox.documents import own_file
from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.http import Headers, to_json
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.recording.importers.har import NOWHERE, Foreign, NoExchange, Room, fill, read_json

FILES = "__files"

_PARAMETER = re.compile(r"\{([^{}/]+)\}")
_URLS = ("url", "urlPath", "urlPathTemplate")
_REQUEST = frozenset({"method", *_URLS, "pathParameters", "queryParameters", "headers", "bodyPatterns"})
_ANSWER = frozenset({"status", "statusMessage", "headers", "body", "jsonBody", "base64Body", "bodyFileName"})
_TIMING = frozenset({"fixedDelayMilliseconds", "delayDistribution", "chunkedDribbleDelay", "fromConfiguredStub"})


def read_directory(directory: Path, now: datetime) -> Foreign:
    """A folder with `mappings/` and `__files/`, or of mappings alone. Raises ConfigError."""
    folder = directory / "mappings" if (directory / "mappings").is_dir() else directory
    # In a folder of mappings alone the files lie beside it.
    files = (directory if folder != directory else directory.parent) / FILES
    entries: list[Exchange] = []
    left_out: list[str] = []
    room = Room()
    names = sorted(file for file in folder.rglob("*.json") if FILES not in file.relative_to(directory).parts)
    if not names:
        raise ConfigError(f"{directory}: there are no mappings: no *.json")
    for file in names:
        later = now + timedelta(seconds=len(entries))
        one = read(read_json(file, folder=directory), file, files, later, room)
        entries += one.entries
        left_out += one.left_out
    return Foreign(tuple(entries), tuple(left_out))


def read(value: Any, file: Path, files: Path, now: datetime, room: Room | None = None) -> Foreign:
    """One mapping, or an export of several. `files` is where `bodyFileName` leads. Raises ConfigError."""
    room = room or Room()
    entries: list[Exchange] = []
    left_out: list[str] = []
    for place, mapping in _mappings(value, file):
        try:
            entries.append(_entry(mapping, files, room, now + timedelta(seconds=len(entries))))
        except NoExchange as reason:
            left_out.append(f"{place}: {reason}")
        except ValueError as error:
            raise ConfigError(f"{file}: {place}: {error}") from None
    return Foreign(tuple(entries), tuple(left_out))


def _mappings(value: Any, file: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    listed = value.get("mappings", [value]) if isinstance(value, Mapping) else None
    if not isinstance(listed, list):
        raise ConfigError(f"{file}: this is no mapping of WireMock: mappings is no list")
    for number, mapping in enumerate(listed):
        if not isinstance(mapping, Mapping) or not isinstance(mapping.get("request"), Mapping):
            raise ConfigError(f"{file}: mappings[{number}]: request is missing")
        if not isinstance(mapping.get("response"), Mapping):
            raise ConfigError(f"{file}: mappings[{number}]: response is missing")
        yield str(mapping.get("name") or f"{file.name}, mapping {number + 1}"), mapping


def _entry(mapping: Mapping[str, Any], files: Path, room: Room, started: datetime) -> Exchange:
    request, answer = mapping["request"], mapping["response"]
    if mapping.get("requiredScenarioState") or mapping.get("newScenarioState"):
        raise NoExchange("it depends on the state of a scenario")
    if unknown := sorted(request.keys() - _REQUEST):
        raise NoExchange(f"its request is matched by {', '.join(unknown)}")
    if unknown := sorted(answer.keys() - _ANSWER - _TIMING):
        raise NoExchange(f"its response has {', '.join(unknown)}")
    method = str(request.get("method", "ANY")).upper()
    if method == "ANY":
        raise NoExchange("it answers any method")
    headers = _equal(request.get("headers"), "header")
    body = _body(request.get("bodyPatterns"))
    if body and "content-type" not in {name.lower() for name in headers}:
        headers["Content-Type"] = "application/json"
    status = answer.get("status", 200)
    if not isinstance(status, int):
        raise ValueError(f"the status is {status!r}")
    content, kind = _content(answer, files)
    room.take(len(content))
    answer_headers = Headers(_listed(answer.get("headers")))
    if kind and answer_headers.get("content-type") is None:
        answer_headers = Headers([("Content-Type", kind), *answer_headers])
    return Exchange(
        time=started,
        milliseconds=0.0,
        bank=NOWHERE,
        method=method,
        target=_target(request, room),
        headers=Headers(headers.items()),
        body=body,
        status=status,
        answer_headers=answer_headers,
        answer_body=content,
    )


def _target(request: Mapping[str, Any], room: Room) -> str:
    named = [key for key in _URLS if key in request]
    if len(named) != 1:
        raise ValueError("it has no url, urlPath or urlPathTemplate" if not named else f"it has {' and '.join(named)}")
    path = str(request[named[0]])
    if named == ["urlPathTemplate"]:
        values = _equal(request.get("pathParameters"), "path parameter")
        if missing := [name for name in _PARAMETER.findall(path) if name not in values]:
            raise NoExchange(f"its path parameter {missing[0]} can be anything")
        path = fill(_PARAMETER, path, lambda place: quote(values[place[1]], safe=""), room)
    if not path.startswith("/"):
        raise ValueError(f"its path {path!r} does not begin with /")
    query = urlencode(_equal(request.get("queryParameters"), "query parameter"))
    return path + (("&" if "?" in path else "?") + query if query else "")


def _equal(matchers: Any, kind: str) -> dict[str, str]:
    values = {}
    for name, matcher in (matchers or {}).items() if isinstance(matchers or {}, Mapping) else ():
        if matcher == {"absent": True}:
            continue
        if (
            not isinstance(matcher, Mapping)
            or matcher.keys() - {"equalTo", "caseInsensitive"}
            or "equalTo" not in matcher
        ):
            raise NoExchange(f"its {kind} {name} is not matched by equalTo")
        values[str(name)] = str(matcher["equalTo"])
    return values


def _body(patterns: Any) -> bytes:
    if not patterns:
        return b""
    only = patterns[0] if isinstance(patterns, list) and len(patterns) == 1 else None
    if isinstance(only, Mapping) and isinstance(only.get("equalTo"), str):
        return str(only["equalTo"]).encode()
    if not isinstance(only, Mapping) or "equalToJson" not in only:
        raise NoExchange("its body is not matched by one equalToJson")
    value = only["equalToJson"]
    body = value.encode() if isinstance(value, str) else to_json(value)
    if b"${json-unit." in body:
        raise NoExchange("its body is matched by placeholders")
    return body


def _content(answer: Mapping[str, Any], files: Path) -> tuple[bytes, str | None]:
    if "jsonBody" in answer:
        return to_json(answer["jsonBody"]), "application/json"
    if "base64Body" in answer:
        return base64.b64decode(str(answer["base64Body"])), None
    if "bodyFileName" in answer:
        file = files / str(answer["bodyFileName"])
        try:
            return own_file.read(file, folder=files), "application/json" if file.suffix == ".json" else None
        except OSError as error:
            raise ValueError(f"{file} cannot be read: {error.strerror}") from None
    return str(answer.get("body") or "").encode(errors="surrogatepass"), None


def _listed(headers: Any) -> Iterator[tuple[str, str]]:
    for name, value in (headers or {}).items() if isinstance(headers or {}, Mapping) else ():
        for one in value if isinstance(value, list) else [value]:
            yield str(name), str(one)
