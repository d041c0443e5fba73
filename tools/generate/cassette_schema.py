"""Generate the parts of schemas/cassette.schema.json that let editors complete `handler`, `do` and `with`.

They accept everything, because lint checks options against the declarations of the handlers. Only the options in the
section `authorisation` are checked by the schema.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from xs2a_sandbox.bank.handlers.approaches import APPROACH_OPTIONS, HABITS
from xs2a_sandbox.bank.handlers.table import ACTIONS, HANDLERS
from xs2a_sandbox.cassette.handler import Handler


def completed(written: str) -> str:
    """Return the text of the schema with the options that handlers and actions declare."""
    schema = json.loads(written)
    places = schema["$defs"]
    for name, key, handlers in (
        ("operation", "handler", HANDLERS),
        ("rule", "handler", HANDLERS),
        ("effect", "do", ACTIONS),
    ):
        options = f"options-of-{key}"
        places[name]["properties"][key]["examples"] = sorted(handlers)
        places[name]["allOf"] = [{"$ref": f"#/$defs/{options}"}]
        places[options] = {
            "description": "For completion in editors; accepts everything. Written by `make generate`.",
            "allOf": [_options(key, handlers[one]) for one in sorted(handlers) if handlers[one].options],
        }
    for place in (schema["properties"]["authorisation"], places["authorised"]):
        place["properties"] |= {
            name: {"description": option.doc, **option.schema}
            | ({} if option.default is None else {"default": option.default})
            for name, option in (APPROACH_OPTIONS | HABITS).items()
        }
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _options(key: str, handler: Handler) -> dict[str, Any]:
    options = {
        name: _noted(option.doc, option.schema, option.choices)
        | ({} if option.default is None else {"default": option.default})
        for name, option in handler.options.items()
    }
    return {
        "if": {"properties": {key: {"const": handler.name}}, "required": [key]},
        "then": {"properties": {"with": {"description": handler.doc, "properties": options}}},
    }


def _noted(doc: str, schema: Mapping[str, Any], choices: Iterable[str] = ()) -> dict[str, Any]:
    """Return the parts of the schema that describe without restricting."""
    noted: dict[str, Any] = {"description": doc}
    if values := schema.get("enum") or list(choices):
        noted["examples"] = list(values)
    if properties := schema.get("properties"):
        noted["properties"] = {name: _noted(doc, inner) for name, inner in properties.items()}
    return noted
