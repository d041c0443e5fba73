"""Reads Postman collections, format 2.x: the saved answers, with their requests."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.http import Headers
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.http.har import duration, split_url
from xs2a_sandbox.recording.har import NOWHERE, Foreign, NoExchange, Room, fill, read_json

_VARIABLE = re.compile(r"\{\{([^{}]*)\}\}")
_BASE = re.compile(r"\{\{[^{}]*\}\}(?=/|$)")
_PATH_VARIABLE = re.compile(r"/:([A-Za-z0-9_-]+)")

DEEPEST = 100
"""The deepest nesting of folders."""


@dataclass(frozen=True, slots=True)
class Variables:
    """The variables in a folder, and the remaining room for their expansion."""

    values: Mapping[str, str]
    room: Room


def read_environment(file: Path) -> dict[str, str]:
    """Return the enabled values of an environment. Raises ConfigError."""
    environment = read_json(file)
    values = environment.get("values") if isinstance(environment, Mapping) else None
    if not isinstance(values, list) or not all(isinstance(one, Mapping) for one in values):
        raise ConfigError(f"{file}: this is not a Postman environment: values must be a list of objects")
    enabled = (one for one in values if one.get("enabled", True) and one.get("value") is not None)
    return {str(one.get("key")): str(one["value"]) for one in enabled}


def read(
    collection: Mapping[str, Any], file: Path, now: datetime, environment: Mapping[str, str] | None = None
) -> Foreign:
    """Read a collection. It contains no times, so exchanges are dated `now`, one second apart.

    The variables of an environment override those of the collection.

    Raises ConfigError if it is not a collection as Postman exports it.
    """
    if not isinstance(collection.get("item"), list):
        raise ConfigError(f"{file}: this is not a Postman collection: item must be a list")
    entries: list[Exchange] = []
    left_out: list[str] = []
    for place, item, variables in _items(collection, "", Variables({}, Room()), file):
        variables = replace(variables, values={**variables.values, **(environment or {})})
        answers = item.get("response") or []
        if not isinstance(answers, list):
            raise ConfigError(f"{file}: {place}: response must be a list")
        if not answers:
            left_out.append(f"{place}: it has no saved response")
        for answer in answers:
            if not isinstance(answer, Mapping):
                raise ConfigError(f"{file}: {place}: a response must be an object")
            title = f"{place}, {answer.get('name') or 'response'}"
            try:
                request = answer.get("originalRequest") or item.get("request")
                entries.append(_entry(request, answer, variables, now + timedelta(seconds=len(entries))))
            except NoExchange as reason:
                left_out.append(f"{title}: {reason}")
            except ValueError as error:
                raise ConfigError(f"{file}: {title}: {error}") from None
    return Foreign(tuple(entries), tuple(left_out))


def _items(
    folder: Mapping[str, Any], place: str, variables: Variables, file: Path, depth: int = 1
) -> Iterator[tuple[str, Any, Variables]]:
    if depth > DEEPEST:
        raise ConfigError(f"{file}: {place[:100]}: folders are nested more than {DEEPEST} levels deep")
    variables = Variables({**variables.values, **_variables(folder)}, variables.room)
    for number, item in enumerate(folder["item"]):
        if not isinstance(item, Mapping):
            raise ConfigError(f"{file}: {place or 'item'}[{number}] must be an object")
        item_place = f"{place} / {item.get('name') or number}".removeprefix(" / ")
        if isinstance(item.get("item"), list):
            yield from _items(item, item_place, variables, file, depth + 1)
        else:
            yield item_place, item, variables


def _variables(folder: Mapping[str, Any]) -> Mapping[str, str]:
    listed = folder.get("variable") or []
    return {
        str(variable.get("key") or variable.get("id")): str(variable["value"])
        for variable in (listed if isinstance(listed, list) else [])
        if isinstance(variable, Mapping) and variable.get("value") is not None and not variable.get("disabled")
    }


def _entry(request: Any, answer: Mapping[str, Any], variables: Variables, started: datetime) -> Exchange:
    if isinstance(request, str):
        request = {"method": "GET", "url": request}
    if not isinstance(request, Mapping):
        raise ValueError("it has no request")
    status = answer.get("code")
    if not isinstance(status, int):
        raise NoExchange("the saved response has no status")
    bank, target = split_url(_url(request.get("url"), variables))
    text = answer.get("body")
    if text is not None and not isinstance(text, str):
        raise ValueError("the body of the response must be a string")
    took = answer.get("responseTime")
    return Exchange(
        time=started,
        milliseconds=duration(took) if isinstance(took, int | float | Decimal) else 0.0,
        bank=bank,
        method=str(request.get("method") or "GET").upper(),
        target=target,
        headers=_headers(request.get("header"), variables),
        body=_body(request.get("body"), variables),
        status=status,
        answer_headers=_headers(answer.get("header"), None),
        answer_body=(text or "").encode(errors="surrogatepass"),
    )


def _url(url: Any, variables: Variables) -> str:
    raw = url.get("raw") if isinstance(url, Mapping) else url
    if not isinstance(raw, str) or not raw:
        raise ValueError("its URL is missing")
    own = _variables(url) if isinstance(url, Mapping) else {}
    path, question_mark, query = _fill(raw, variables, leave_base=True).partition("?")
    scheme, separator, rest = path.partition("://")
    path = fill(
        _PATH_VARIABLE,
        "/" + (rest if separator else path),
        lambda place: "/" + _value(place[1], own, variables),
        variables.room,
    )[1:]
    if not separator:
        # `{{baseUrl}}/v1/accounts` with an undefined base, or a host without a scheme.
        return (_BASE.sub(NOWHERE, path, count=1) if _BASE.match(path) else f"https://{path}") + question_mark + query
    return f"{scheme}://{path}{question_mark}{query}"


def _value(name: str, own: Mapping[str, str], variables: Variables) -> str:
    if name not in own:
        raise NoExchange(f"the path variable :{name} has no value")
    return _fill(own[name], variables)


def _fill(text: str, variables: Variables, *, leave_base: bool = False) -> str:
    # The values of variables may refer to others; this also ends a circle.
    for _ in range(10):
        if not _VARIABLE.search(text):
            break
        text = fill(_VARIABLE, text, lambda place: variables.values.get(place[1].strip(), place[0]), variables.room)
    start = _BASE.match(text) if leave_base else None
    if missing := _VARIABLE.search(text, start.end() if start else 0):
        raise NoExchange(f"the variable {missing[0]} has no value in the collection")
    return text


def _headers(listed: Any, variables: Variables | None) -> Headers:
    pairs = []
    for header in listed if isinstance(listed, list) else []:
        if not isinstance(header, Mapping) or header.get("disabled"):
            continue
        value = str(header.get("value") or "")
        try:
            pairs.append((str(header.get("key") or ""), _fill(value, variables) if variables else value))
        except NoExchange:
            continue  # a token that Postman would have filled in
    return Headers(pair for pair in pairs if pair[0])


def _body(body: Any, variables: Variables) -> bytes:
    if not isinstance(body, Mapping) or body.get("disabled") or not body.get("mode"):
        return b""
    if body["mode"] == "raw":
        return _fill(str(body.get("raw") or ""), variables).encode(errors="surrogatepass")
    if body["mode"] == "urlencoded":
        listed = body.get("urlencoded") or []
        if not isinstance(listed, list):
            raise ValueError("the fields of its body must be a list")
        fields = [field for field in listed if isinstance(field, Mapping) and not field.get("disabled")]
        return urlencode(
            [(str(f.get("key", "")), _fill(str(f.get("value") or ""), variables)) for f in fields]
        ).encode()
    raise NoExchange(f"cannot import a body of mode {body['mode']}: only raw and urlencoded are supported")
