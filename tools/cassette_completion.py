"""What editors complete under `handler`, `do` and `with`: `python -m tools.cassette_completion` writes it.

It stands in schemas/cassette.schema.json and refuses nothing: lint judges options by what the handlers declare. Only
options in the section `authorisation` are judged by the schema.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from xs2a_sandbox.bank.handlers.approaches import APPROACH_OPTIONS, HABITS
from xs2a_sandbox.bank.handlers.table import ACTIONS, HANDLERS
from xs2a_sandbox.cassette.handler import Handler

SCHEMA = Path(__file__).parents[1] / "schemas" / "cassette.schema.json"


def completed(written: str) -> str:
    """The schema's text with what the handlers and actions declare."""
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
            "description": "Made by make pages of what handlers declare; for editors, it refuses nothing.",
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
    """What the schema says to a reader alone."""
    noted: dict[str, Any] = {"description": doc}
    if values := schema.get("enum") or list(choices):
        noted["examples"] = list(values)
    if properties := schema.get("properties"):
        noted["properties"] = {name: _noted(doc, inner) for name, inner in properties.items()}
    return noted


if __name__ == "__main__":
    SCHEMA.write_text(completed(SCHEMA.read_text()))
