"""Generate docs/control-openapi.yaml, the control interface as an OpenAPI 3.1 document."""

from http import HTTPStatus
from itertools import groupby
from typing import Any

import msgspec

from tools.generate.openapi import Json, to_yaml
from xs2a_sandbox.control.api import ROUTES, WARNING
from xs2a_sandbox.control.route import ERRORS, EVERYWHERE, ControlRoute
from xs2a_sandbox.control.shapes import ErrorShape

_REF = "#/components/schemas/{name}"
_ABOUT = (
    "What /_sandbox/docs/control.md describes, below /_sandbox/ at the base URL. The session is that of the header"
    " X-Sandbox-Session, else `default`."
)
_SESSION = {
    "name": "X-Sandbox-Session",
    "in": "header",
    "schema": {"type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$"},
}


def document() -> Json:
    shapes = [shape for route in ROUTES for shape in (route.body, *route.answers.values()) if shape is not None]
    schemas, components = msgspec.json.schema_components([ErrorShape, *shapes], ref_template=_REF)
    written = dict(zip(map(str, [ErrorShape, *shapes]), schemas, strict=True))
    paths: dict[str, Json] = {}
    for route in ROUTES:
        paths.setdefault(f"/_sandbox/{route.path}", {})[route.method.lower()] = _operation(route, written)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Control of the sandbox", "version": "1", "description": _ABOUT},
        "servers": [{"url": "http://127.0.0.1:8081"}],
        "security": [{"admin": []}],
        "paths": paths,
        "components": {
            "schemas": dict(sorted(components.items())),
            "parameters": {"session": _SESSION},
            "securitySchemes": {"admin": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(route: ControlRoute[Any], written: Json) -> Json:
    open_names = [segment.strip("{}") for segment in route.segments if segment.startswith("{")]
    parameters = [
        {"name": open_name, "in": "path", "required": True, "schema": {"type": "string"}} for open_name in open_names
    ]
    query = [{"name": name, "in": "query", "schema": _TYPES[kind]} for name, kind in route.query.items()]
    return {
        "operationId": route.id,
        "summary": route.summary,
        "parameters": [*parameters, *query, {"$ref": "#/components/parameters/session"}],
        **({"requestBody": _body(route, written)} if route.body is not None else {}),
        "responses": {**_answers(route, written), **_errors(route, written)},
    }


def _body(route: ControlRoute[Any], written: Json) -> Json:
    return {"required": not route.is_optional, "content": _json(written, route.body)}


_TYPES: dict[type, Json] = {
    bool: {"enum": ["true"]},
    int: {"type": "integer", "minimum": 0},
    str: {"type": "string"},
}


def _json(written: Json, shape: Any) -> Json:
    return {"application/json": {"schema": written[str(shape)]}}


def _answers(route: ControlRoute[Any], written: Json) -> Json:
    answers: Json = {}
    for status, shape in route.answers.items():
        warned = {WARNING: {"schema": {"type": "string"}}} if route.method != "GET" else {}
        content = {} if shape is None else {"content": _json(written, shape)}
        headers = {"headers": warned} if warned else {}
        answers[str(status)] = {"description": HTTPStatus(status).phrase, **headers, **content}
    return answers


def _errors(route: ControlRoute[Any], written: Json) -> Json:
    """Return the responses by status, with the values of `error` for each."""
    names = sorted({*EVERYWHERE, *route.ends_in}, key=lambda name: (ERRORS[name], name))
    return {
        str(status): {"description": ", ".join(group), "content": _json(written, ErrorShape)}
        for status, group in groupby(names, key=ERRORS.__getitem__)
    }


def text() -> str:
    """Return the content of docs/control-openapi.yaml."""
    return to_yaml(document(), "`control/`")
