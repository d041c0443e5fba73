"""The files for SchemaStore can be submitted: entries, schemas and examples match each other and our files."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator
from tools import schemastore

from xs2a_sandbox.bundled import bundled, dialects
from xs2a_sandbox.config.settings import FILE
from xs2a_sandbox.documents.formats import FORMATS, OF_JSON_SCHEMA
from xs2a_sandbox.features.authoring import init_files

CATALOG: list[dict[str, Any]] = json.loads(schemastore.CATALOG.read_text())
VALIDATION = json.loads((schemastore.CATALOG.parent / "schema-validation.json").read_text())
OWN_FORMATS = FORMATS.keys() - OF_JSON_SCHEMA - {"uuid"}
NAMES = [entry["url"].rpartition("/")[2] for entry in CATALOG]


def schema(name: str) -> Any:
    return json.loads(schemastore.files()[f"src/schemas/json/{name}"])


def values(document: Any, keyword: str) -> list[Any]:
    found = []
    if isinstance(document, dict):
        found += [document[keyword]] if keyword in document else []
        found += [value for inner in document.values() for value in values(inner, keyword)]
    elif isinstance(document, list):
        found += [value for inner in document for value in values(inner, keyword)]
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_is_valid_and_self_contained(name: str) -> None:
    document = schema(name)
    Draft202012Validator.check_schema(document)
    assert document["$id"] == next(entry["url"] for entry in CATALOG if entry["url"].endswith(name))
    references = [one for one in values(document, "$ref") if isinstance(one, str)]
    assert all(one.startswith("#/$defs/") and one.split("/")[2] in document["$defs"] for one in references)


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_accepts_its_example(name: str) -> None:
    kind = name.removesuffix(".json").rpartition("-")[2]
    example = schemastore.files()[f"src/test/{name.removesuffix('.json')}/{kind}.yaml"]
    # In the way of SchemaStore: scalars by YAML's own rules, except for dates.
    value = json.loads(json.dumps(yaml.safe_load(example), default=str))
    assert value
    Draft202012Validator(schema(name)).validate(value)
    assert not Draft202012Validator(schema(name)).is_valid({**value, "unknown": 1})


def test_the_exceptions_of_the_validation_are_those_that_are_needed() -> None:
    assert sorted(VALIDATION["ajvNotStrictMode"]) == sorted(VALIDATION["highSchemaVersion"]) == sorted(NAMES)
    own = {name: {f for f in values(schema(name), "format") if isinstance(f, str)} & OWN_FORMATS for name in NAMES}
    listed = {name: set(options["unknownFormat"]) for name, options in VALIDATION["options"].items()}
    assert listed == {name: formats for name, formats in own.items() if formats}


def matching(path: str) -> list[str]:
    """Return the schemas for a file. A pattern with `!` excludes, and one without a slash matches in every folder."""
    found = []
    for entry in CATALOG:
        hits = [one for one in entry["fileMatch"] if glob(one.removeprefix("!")).fullmatch(path)]
        if hits and not any(one.startswith("!") for one in hits):
            found.append(entry["url"].rpartition("-")[2])
    return found


def glob(pattern: str) -> re.Pattern[str]:
    whole = pattern if "/" in pattern else f"**/{pattern}"
    text = re.escape(whole).replace(r"\*\*/", "(?:.*/)?").replace(r"\*", "[^/]*")
    return re.compile(text)


@pytest.mark.parametrize("dialect", dialects())
def test_the_files_of_each_dialect_have_one_schema(dialect: str) -> None:
    for file in (bundled("cassettes") / dialect).glob("*.yaml"):
        kind = "testdata.json" if file.name == "testdata.yaml" else "cassette.json"
        assert matching(f"app/cassettes/{dialect}/{file.name}") == [kind]


@pytest.mark.parametrize(
    ("path", "schemas"),
    [
        ("app/cassettes/cases/mine.yaml", ["cassette.json"]),
        ("app/cassettes/cases/team/mine.yaml", ["cassette.json"]),
        ("app/cassettes/testdata.yaml", ["testdata.json"]),
        (f"app/{FILE}", ["config.json"]),
        ("tests/cassettes/test_of_another_tool.yaml", []),
        ("app/testdata.yaml", []),
    ],
)
def test_files_have_their_schema(path: str, schemas: list[str]) -> None:
    assert matching(path) == schemas


def test_the_files_of_an_own_dialect_name_their_schema(tmp_path: Path) -> None:
    """Its folder can have any name, so that no pattern can match it."""
    for file in init_files.write_dialect(tmp_path, "mybank", "berlin-group-1.3"):
        if file.suffix == ".yaml":
            line = re.search(r"^# yaml-language-server: \$schema=(.*)$", file.read_text(), re.MULTILINE)
            assert line
            assert (file.parent / line[1]).is_file()
