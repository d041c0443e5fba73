"""Generate schemas/config.schema.json and the table of settings in docs/command-line.md.

The last column of the table is edited by hand.
"""

import json
from collections.abc import Sequence
from typing import Any

from xs2a_sandbox.config.kinds import Setting, settings_of
from xs2a_sandbox.config.real_bank import RealBank
from xs2a_sandbox.config.table import SETTINGS

_HEAD = "| key | flag | environment | default | |\n|---|---|---|---|---|\n"

_BANK = "A real bank. One without hosts is the bank of all other requests."


def schema_of(settings: Sequence[Setting], **more: Any) -> dict[str, Any]:
    """Return the JSON Schema of a mapping of settings."""
    properties = {
        setting.name: {
            "description": setting.doc,
            **setting.kind.reference,
            **({} if setting.default is None else {"default": setting.default}),
        }
        for setting in settings
    }
    return {"type": "object", "additionalProperties": False, **more, "properties": properties}


def schema() -> str:
    """Return the content of schemas/config.schema.json."""
    bank = settings_of(RealBank)
    kinds = [setting.kind for setting in (*SETTINGS, *bank)]
    definitions = {kind.definition: kind.schema for kind in kinds if kind.definition}
    document: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://xs2a-sandbox.invalid/schemas/config.schema.json",
        "title": "Settings of the sandbox: xs2a-sandbox.yaml",
        **schema_of(SETTINGS),
        "$defs": {**definitions, "bank": schema_of(bank, description=_BANK, required=["url"])},
    }
    return json.dumps(document, indent=2) + "\n"


def page(text: str) -> str:
    """Return the page with a row for each setting. Existing rows keep their last column."""
    before, _, rest = text.partition(_HEAD)
    old, gap, after = rest.partition("\n\n")
    rows = dict(row.removeprefix("| ").removesuffix(" |").split(" | ", 1) for row in old.splitlines())
    words = {key: cells.rpartition("| ")[2] for key, cells in rows.items()}
    new = "\n".join(_row(setting, words.get(f"`{setting.name}`")) for setting in SETTINGS)
    return before + _HEAD + new + gap + after


def _row(setting: Setting, words: str | None) -> str:
    default = f"`{json.dumps(setting.default).strip('"')}`" if setting.default not in (None, "", []) else setting.unset
    if not setting.flag:
        return f"| `{setting.name}` | | | {default} | {words or f'{setting.doc} In the file only.'} |"
    metavar = f" {setting.kind.metavar}".replace("|", r"\|") if setting.kind.metavar else ""
    flag = f"`{setting.flag}{metavar}`{', repeatable' if setting.kind.is_list else ''}"
    return f"| `{setting.name}` | {flag} | `{setting.variable}` | {default} | {words or setting.doc} |"
