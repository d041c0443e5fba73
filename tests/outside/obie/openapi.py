"""Checking answers with the OpenAPI document."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import httpx
import jsonschema_rs

from tests.outside.obie.manifests import OPENAPI


def differences(document: str, method: str, path: str, answer: httpx.Response) -> Iterator[str]:
    """`path` is relative to the document's server."""
    response = _response(document, method, path, str(answer.status_code))
    if isinstance(response, str):
        yield response
        return
    for name, header in response.get("headers", {}).items():
        value = answer.headers.get(name)
        if value is None and header.get("required"):
            yield f"the OpenAPI requires the header {name}"
        elif value is not None:
            yield from _invalid(document, header["schema"], value, f"header {name}")
    if contents := response.get("content"):
        sent = answer.headers.get("content-type", "")
        content = contents.get(sent) or contents.get(sent.partition(";")[0])
        if content is None:
            yield f"the OpenAPI does not have the content type {sent!r}"
            return
        try:
            yield from _invalid(document, content["schema"], answer.json(), "body")
        except ValueError:
            yield "the body is not JSON"


def server(document: str) -> str:
    url: str = _document(document)["servers"][0]["url"]
    return url


def _response(document: str, method: str, path: str, status: str) -> dict[str, Any] | str:
    """Return the response, or why there is none."""
    for template, operations in _document(document)["paths"].items():
        if re.fullmatch(re.sub(r"{\w+}", "[^/]+", template), path) and method.lower() in operations:
            responses = operations[method.lower()]["responses"]
            found = responses.get(status) or responses.get("default")
            return _followed(document, found) if found else f"the OpenAPI has no {status} for {method} {template}"
    return f"the OpenAPI has no {method} {path}"


def _invalid(document: str, schema: Mapping[str, Any], value: Any, where: str) -> Iterator[str]:
    for error in _validator(document, json.dumps(schema)).iter_errors(value):
        place = ".".join(map(str, error.instance_path))
        yield f"{where} {place}: {error.message}".replace(" :", ":")


@cache
def _validator(document: str, schema: str) -> jsonschema_rs.Draft4Validator:
    whole = {"allOf": [json.loads(schema)], "components": _document(document)["components"]}
    return jsonschema_rs.Draft4Validator(whole, validate_formats=True)


@cache
def _document(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((OPENAPI / f"{name}.json").read_bytes())
    return document


def _followed(document: str, value: Any) -> Any:
    while "$ref" in value:
        reference, value = value["$ref"], _document(document)
        for part in reference.removeprefix("#/").split("/"):
            value = value[part]
    return value
