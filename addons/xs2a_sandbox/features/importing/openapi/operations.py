"""The operations of an OpenAPI document, with parameters, bodies and answers."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from xs2a_sandbox.cassette.path_pattern import Pattern
from xs2a_sandbox.features.importing.openapi.document import ApiDocument, Located
from xs2a_sandbox.http.media_type import is_json, media_type

METHODS = ("get", "post", "put", "patch", "delete", "head", "options")
_NOT_A_NAME = re.compile(r"[^A-Za-z0-9._-]+")
_VARIABLE = re.compile(r"\{([^{}]*)\}")
_STATUS = re.compile(r"[2-5][0-9X]{2}", re.IGNORECASE)
_IN_BOUNDS = range(200, 600)
_OF_HTTP = frozenset(("accept", "content-type", "authorization"))
"""Headers that OpenAPI does not describe as parameters."""

MISSING: Any = object()
"""Marks a missing example. None cannot be used, because null is a valid JSON value."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """`place` is `path`, `query` or `header`."""

    name: str
    place: str
    required: bool
    schema: Located
    example: Any = MISSING


@dataclass(frozen=True, slots=True)
class MediaTypeObject:
    """A body. `others` are the media types that the document also offers."""

    media: str
    schema: Located | None
    examples: tuple[Any, ...]
    required: bool = True
    others: tuple[str, ...] = ()

    @property
    def is_json(self) -> bool:
        return is_json(media_type(self.media))


@dataclass(frozen=True, slots=True)
class ApiAnswer:
    status: int
    content: MediaTypeObject | None
    headers: Mapping[str, Parameter]


@dataclass(frozen=True, slots=True)
class ApiOperation:
    """`line` is its place in the file; `credential` is the parameter that authenticates the app, if there is one."""

    id: str
    method: str
    path: str
    line: int
    summary: str
    parameters: Sequence[Parameter]
    body: MediaTypeObject | None
    answers: Sequence[ApiAnswer]
    credential: Parameter | None

    @property
    def success(self) -> ApiAnswer | None:
        """The answer to a good request: the one with the lowest status, or for DELETE the one without a body."""
        good = [answer for answer in self.answers if answer.status < 300]
        ended = [answer for answer in good if answer.status == 204 and self.method == "DELETE"]
        return min(ended or good, key=lambda answer: answer.status) if good else next(iter(self.answers), None)

    @property
    def pattern(self) -> Pattern:
        return Pattern.parse(self.path)

    def parameter(self, name: str) -> Parameter | None:
        """Return the path parameter of that name."""
        return next((one for one in self.parameters if (one.place, one.name) == ("path", name)), None)


def read_operations(document: ApiDocument, notes: list[str]) -> list[ApiOperation]:
    """Return the operations. What cannot be imported is added to `notes`, each with its line."""
    prefix = _prefix(document)
    operations: list[ApiOperation] = []
    taken: set[str] = set()
    for path, written in document.content["paths"].items():
        if path.startswith("x-"):
            continue
        item = document.resolve(document.root.at(written))
        if not isinstance(item.value, Mapping):
            raise document.mistake("a path must be a mapping of its methods", "paths", path)
        full = _full_path(prefix, path)
        try:
            Pattern.parse(full)
        except ValueError as error:
            notes.append(f"{document.line('paths', path)}: {path} is left out: {error}")
            continue
        for method, operation in item.value.items():
            if method in METHODS and isinstance(operation, Mapping):
                read = _operation(document, item, method, (path, full), taken)
                taken.add(read.id)
                operations.append(read)
    if not operations:
        raise document.mistake("no path has an operation that can be imported", "paths")
    return operations


def _prefix(document: ApiDocument) -> str:
    """Return the path of the first server, with the defaults of its variables."""
    servers = document.content.get("servers")
    server = servers[0] if isinstance(servers, list) and servers and isinstance(servers[0], Mapping) else {}
    variables = server.get("variables")
    named = variables if isinstance(variables, Mapping) else {}
    defaults = {name: one.get("default", "") for name, one in named.items() if isinstance(one, Mapping)}
    url = _VARIABLE.sub(lambda place: str(defaults.get(place[1], "")), str(server.get("url", "")))
    try:
        return urlsplit(url).path.rstrip("/")
    except ValueError:
        raise document.mistake(f"{url} is not a URL; correct it", "servers", 0, "url") from None


def _full_path(prefix: str, path: str) -> str:
    """Return the path with that of the server. The sandbox ignores everything before `/v1/`."""
    path = path.partition("?")[0].partition("#")[0]
    whole = f"{prefix}/{path.lstrip('/')}"
    start = whole.find("/v1/")
    return whole[start:] if start > 0 else whole


def _operation(
    document: ApiDocument, item: Located, method: str, paths: tuple[str, str], taken: set[str]
) -> ApiOperation:
    path, full = paths
    operation = item.get(method)
    line = document.line("paths", path, method)
    given = [one for holder in (item, operation) for one in _list(holder.value.get("parameters"))]
    read = {(one.place, one.name): one for one in (_parameter(document, item.at(raw)) for raw in given) if one}
    for name in Pattern.parse(full).names:
        read.setdefault(("path", name), Parameter(name, "path", True, item.at({})))
    body = document.resolve(operation.get("requestBody"))
    return ApiOperation(
        id=_id(operation.value.get("operationId"), method, path, taken),
        method=method.upper(),
        path=full,
        line=line,
        summary=" ".join(str(operation.value.get("summary") or "").split()),
        parameters=list(read.values()),
        body=_content(document, body, bool(body.value.get("required"))) if isinstance(body.value, Mapping) else None,
        answers=list(_answers(document, operation.get("responses"))),
        credential=_credential(document, operation),
    )


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _id(written: Any, method: str, path: str, taken: set[str]) -> str:
    words = written if isinstance(written, str) and written else f"{method}{path}"
    name = _NOT_A_NAME.sub("-", words).strip("-._") or method
    numbered = (f"{name}-{number}" for number in range(2, len(taken) + 3))
    return name if name not in taken else next(one for one in numbered if one not in taken)


def _parameter(document: ApiDocument, written: Located) -> Parameter | None:
    one = document.resolve(written)
    if not isinstance(one.value, Mapping) or not isinstance(name := one.value.get("name"), str):
        return None
    place = one.value.get("in")
    if place not in ("path", "query", "header") or (place == "header" and name.lower() in _OF_HTTP):
        return None
    schema = one.get("schema")
    if schema.value is None:
        content = one.get("content")
        schema = content.get(next(iter(content.value), "")).get("schema") if content.value else one.at({})
    example = next(iter(_examples(document, one)), MISSING)
    return Parameter(name, str(place), one.value.get("required") is True, schema, example)


def _examples(document: ApiDocument, holder: Located) -> Iterator[Any]:
    if "example" in holder.value:
        yield holder.value["example"]
    named = holder.get("examples")
    for name in named.value if isinstance(named.value, Mapping) else ():
        one = document.resolve(named.get(name))
        if isinstance(one.value, Mapping) and "value" in one.value:
            yield one.value["value"]


def _content(document: ApiDocument, holder: Located, required: bool = True) -> MediaTypeObject | None:
    content = holder.get("content")
    if not isinstance(content.value, Mapping) or not content.value:
        return None
    names = list(content.value)
    chosen = next((name for name in names if is_json(media_type(name)) or name.startswith("*/")), names[0])
    media = content.get(chosen)
    schema = media.get("schema") if isinstance(media.value, Mapping) else media.at(None)
    return MediaTypeObject(
        "application/json" if chosen.startswith("*/") else media_type(chosen),
        schema if schema.value is not None else None,
        tuple(_examples(document, media)) if isinstance(media.value, Mapping) else (),
        required,
        tuple(dict.fromkeys(media_type(name) for name in names if media_type(name) != media_type(chosen))),
    )


def _answers(document: ApiDocument, responses: Located) -> Iterator[ApiAnswer]:
    written = responses.value if isinstance(responses.value, Mapping) else {}
    for name in written:
        if _STATUS.fullmatch(name) and int(name.upper().replace("X", "0")) in _IN_BOUNDS:
            answer = document.resolve(responses.get(name))
            if isinstance(answer.value, Mapping):
                status = int(name.upper().replace("X", "0"))
                yield ApiAnswer(status, _content(document, answer), _headers(document, answer.get("headers")))


def _headers(document: ApiDocument, headers: Located) -> dict[str, Parameter]:
    found = {}
    for name in headers.value if isinstance(headers.value, Mapping) else ():
        one = document.resolve(headers.get(name))
        if isinstance(one.value, Mapping) and name.lower() not in ("content-type", "content-length"):
            example = next(iter(_examples(document, one)), MISSING)
            schema = one.get("schema") if "schema" in one.value else one.at({})
            found[name] = Parameter(name, "header", one.value.get("required") is True, schema, example)
    return found


def _credential(document: ApiDocument, operation: Located) -> Parameter | None:
    """Return the parameter that all alternatives of the security have in common."""
    needs = operation.value.get("security", document.content.get("security"))
    schemes = document.root.get("components").get("securitySchemes")
    found: set[tuple[str, str]] = set()
    for alternative in needs if isinstance(needs, list) else ():
        own = [
            _place_of(document.resolve(schemes.get(name)))
            for name in (alternative if isinstance(alternative, Mapping) else ())
        ]
        found.add(next((one for one in own if one), ("", "")))
    place, name = found.pop() if len(found) == 1 else ("", "")
    return Parameter(name, place, True, document.root.at({"type": "string"})) if name else None


def _place_of(scheme: Located) -> tuple[str, str] | None:
    value = scheme.value if isinstance(scheme.value, Mapping) else {}
    match value.get("type"):
        case "apiKey" if value.get("in") in ("header", "query") and isinstance(value.get("name"), str):
            return str(value["in"]), str(value["name"])
        case "http" | "oauth2" | "openIdConnect":
            return "header", "Authorization"
    return None
