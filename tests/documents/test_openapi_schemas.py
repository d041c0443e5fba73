"""OpenAPI documents as banks publish them: read unchanged, with their schemas translated to JSON Schema."""

import asyncio
import json
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
import yaml

from tests.support.doors import limits
from tests.support.writing import BANK, write
from xs2a_sandbox.bank import Bank, Banks, TestData
from xs2a_sandbox.bank.handlers.table import NAMED
from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.cassette.dialect import layers
from xs2a_sandbox.config import Settings
from xs2a_sandbox.documents import Schemas
from xs2a_sandbox.documents.openapi_schemas import translate
from xs2a_sandbox.documents.schema_files import DRAFT, check
from xs2a_sandbox.engine import Engine, Parts
from xs2a_sandbox.features.authoring import lint
from xs2a_sandbox.http import Headers, Request
from xs2a_sandbox.state import MemoryStore

PUBLISHED = """\
openapi: 3.0.1
info: {title: Accounts of Harbour Bank, version: "2.1"}
servers: [{url: https://api.harbour-bank.example/open/v2}]
tags: [{name: accounts, description: Accounts and their balances}]
paths:
  /accounts/{AccountRef}:
    get:
      operationId: getAccount
      parameters:
        - name: AccountRef
          in: path
          required: true
          schema: {type: string, minLength: 3, example: HB-1}
      responses:
        "200":
          description: The account
          content:
            application/json:
              schema:
                type: object
                required: [Account]
                properties:
                  Account: {$ref: "#/components/schemas/Account"}
                  Note: {type: string, nullable: true}
              example: {Account: {schema: {type: nothing}}}
components:
  securitySchemes:
    oauth: {type: oauth2, flows: {}}
  schemas:
    Money:
      type: object
      description: An amount with its currency
      required: [Amount, Currency]
      properties:
        Amount: {type: number, format: double, minimum: 0, exclusiveMinimum: true, example: 12.5}
        Currency: {type: string, pattern: "^[A-Z]{3}$", example: EUR}
      xml: {name: money}
    Base:
      type: object
      required: [Ref, Secret]
      properties:
        Ref: {type: string, readOnly: true}
        Nickname: {type: string, nullable: true, maxLength: 20}
        Secret: {type: string, format: password, writeOnly: true}
    Account:
      allOf:
        - $ref: "#/components/schemas/Base"
        - type: object
          required: [Kind]
          properties:
            Kind: {type: string, enum: [current, savings]}
            Status: {type: string, enum: [open, closed], nullable: true}
            Limit: {nullable: true, allOf: [{$ref: "#/components/schemas/Money"}]}
            Balance: {$ref: "#/components/schemas/Money", nullable: true}
            Number: {type: integer, format: int32}
            Statement: {type: string, format: byte, deprecated: true}
            Opened: {type: string, format: date}
            Tier: {type: string, format: harbour-tier, x-harbour: {a: 1}}
            Parent: {$ref: "shared.yaml#/components/schemas/Branch"}
      discriminator: {propertyName: Kind, mapping: {current: "#/components/schemas/Account"}}
      externalDocs: {url: https://harbour-bank.example/docs}
"""
SHARED = """\
openapi: 3.0.1
info: {title: Shared, version: "1"}
paths: {}
components:
  schemas:
    Branch:
      type: object
      properties: {City: {type: string, nullable: true}}
"""
GOOD = {"Kind": "current", "Ref": "HB-1"}


@pytest.fixture
def schemas(tmp_path: Path) -> Schemas:
    write(tmp_path / "schemas" / "harbour", {"accounts.yaml": PUBLISHED, "shared.yaml": SHARED})
    return Schemas([tmp_path / "schemas", bundled("schemas")])


def wrong(schemas: Schemas, more: Any, name: str = "harbour/accounts#Account") -> str | None:
    complaint = schemas[name].complaint({**GOOD, **more})
    return complaint and f"{'/'.join(map(str, complaint.pointer))} {complaint.text}"


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"Nickname": None},
        {"Nickname": "n"},
        {"Status": "open"},
        {"Status": None},
        {"Limit": None},
        {"Limit": {"Amount": 0.5, "Currency": "EUR"}},
        {"Number": -(2**31)},
        {"Statement": "AAEC"},
        {"Tier": "gold"},
        {"Parent": {"City": None}},
        {"Secret": "s"},
    ],
)
def test_a_published_schema_accepts_valid_values(schemas: Schemas, more: Any) -> None:
    assert wrong(schemas, more) is None


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"Kind": None}, "Kind must be"),
        ({"Kind": "other"}, 'Kind must be "current" or "savings"'),
        ({"Nickname": "n" * 21}, "Nickname must"),
        ({"Status": "lost"}, "Status must be"),
        ({"Limit": {"Amount": 0, "Currency": "EUR"}}, "Limit/Amount must be more than 0"),
        ({"Balance": None}, "Balance must be"),
        ({"Balance": {"Amount": 1}}, "Balance/Currency is required"),
        ({"Number": 2**31}, "Number must be at most 2147483647"),
        ({"Opened": "today"}, "Opened must be a date"),
        ({"Parent": {"City": 5}}, "Parent/City must be"),
    ],
)
def test_a_published_schema_refuses_invalid_values(schemas: Schemas, more: Any, text: str) -> None:
    assert (wrong(schemas, more) or "").startswith(text)


def test_missing_nullable_members_are_filled_in_the_order_of_the_schema(schemas: Schemas) -> None:
    filled = schemas["harbour/accounts#Account"].fill({**GOOD, "Parent": {}})
    assert list(filled.items()) == [
        ("Ref", "HB-1"),
        ("Nickname", None),
        ("Kind", "current"),
        ("Status", None),
        ("Limit", None),
        ("Parent", {"City": None}),
    ]
    assert schemas["harbour/accounts#Account"].accepts(filled)


@pytest.mark.parametrize(
    "name",
    [
        "harbour/accounts#Money",
        "harbour/accounts.yaml#Money",
        "harbour/accounts#/components/schemas/Money",
        "harbour/accounts#/paths/~1accounts~1{AccountRef}/get/responses/200/content/application~1json/schema",
        "definitions#amount",
    ],
)
def test_parts_of_files_have_names(schemas: Schemas, name: str) -> None:
    assert name in schemas
    assert schemas[name].accepts(5) is False


@pytest.mark.parametrize(
    "name",
    ["harbour/accounts", "harbour/accounts#Mony", "harbour/other#Money", "../x#y", "harbour/accounts#/info/a", "#"],
)
def test_missing_parts_have_no_name(schemas: Schemas, name: str) -> None:
    assert name not in schemas
    with pytest.raises(KeyError):
        schemas[name]


def test_names_are_suggested_from_the_intended_file(schemas: Schemas) -> None:
    parts = ["harbour/accounts#Account", "harbour/accounts#Base", "harbour/accounts#Money"]
    assert schemas.names("harbour/accounts#Acount") == schemas.names("harbour/accounts") == parts
    assert {"account-list", "harbour/accounts#…"} <= set(schemas.names())


def test_a_document_can_be_json(tmp_path: Path) -> None:
    (tmp_path / "accounts.json").write_text(json.dumps(yaml.safe_load(PUBLISHED)))
    (tmp_path / "shared.yaml").write_text(SHARED)
    schemas = Schemas([tmp_path])
    assert schemas["accounts#Account"].accepts({**GOOD, "Nickname": None})
    assert check(schemas) == []


def test_a_file_can_contain_a_single_schema(tmp_path: Path) -> None:
    document = {"type": "object", "properties": {"a": {"type": "string", "nullable": True, "example": "x"}}}
    (tmp_path / "a.schema.json").write_text(json.dumps(document))
    (tmp_path / "b.schema.json").write_text(json.dumps({**document, "$schema": DRAFT}))
    schemas = Schemas([tmp_path])
    assert [schemas[name].accepts({"a": None}) for name in ("a", "b")] == [True, False]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "integer", "format": "int64"}, {"type": "integer", "minimum": -(2**63), "maximum": 2**63 - 1}),
        ({"type": "integer", "format": "int32", "minimum": 1}, {"type": "integer", "minimum": 1, "maximum": 2**31 - 1}),
        ({"type": "number", "format": "float"}, {"type": "number"}),
        ({"type": "string", "format": "binary"}, {"type": "string"}),
        ({"type": "string", "format": "date-time"}, {"type": "string", "format": "date-time"}),
        ({"maximum": 5, "exclusiveMaximum": True}, {"exclusiveMaximum": 5}),
        ({"maximum": 5, "exclusiveMaximum": False}, {"maximum": 5}),
        ({"exclusiveMinimum": True}, {}),
        ({"type": "string", "nullable": False}, {"type": "string"}),
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ({"enum": ["a"], "nullable": True}, {"enum": ["a", None]}),
        ({"enum": ["a", None], "nullable": True}, {"enum": ["a", None]}),
        ({"nullable": True}, {}),
        (
            {"oneOf": [{"type": "string"}], "nullable": True},
            {"anyOf": [{"oneOf": [{"type": "string"}]}, {"type": "null"}]},
        ),
        ({"$ref": "#/a", "description": "d", "nullable": True}, {"$ref": "#/a"}),
        ({"items": {"type": "string", "nullable": True}}, {"items": {"type": ["string", "null"]}}),
        ({"additionalProperties": {"xml": {}, "x-own": 1}}, {"additionalProperties": {}}),
        ({"not": {"example": 1}}, {"not": {}}),
        ({"properties": {"example": {"example": 1}, "nullable": {}}}, {"properties": {"example": {}, "nullable": {}}}),
        ({"example": {"nullable": True}, "default": {"xml": 1}}, {"default": {"xml": 1}}),
        (True, True),
    ],
)
def test_a_schema_is_translated(schema: Any, expected: Any) -> None:
    document = {"openapi": "3.0.3", "components": {"schemas": {"A": schema}}}
    assert translate(document)["components"]["schemas"]["A"] == expected
    assert document["components"]["schemas"]["A"] is schema, "the input is not changed"


@pytest.mark.parametrize("version", ["3.1.0", "3.1"])
def test_schemas_of_openapi_3_1_are_not_changed(version: str) -> None:
    document = {"openapi": version, "components": {"schemas": {"A": {"type": ["string", "null"], "example": 1}}}}
    assert translate(document) == document


MISTAKES = [
    ("format: double, minimum: 0", "format: double, minimm: 0", "unknown keyword minimm; did you mean minimum?"),
    ("nullable: true, maxLength", "nulable: true, maxLength", "unknown keyword nulable; did you mean nullable?"),
    ("type: string, readOnly", "type: strng, readOnly", "did you mean string?"),
    ("maxLength: 20", "maxLength: -1", "must be at least 0, not -1"),
    ("shared.yaml#/components/schemas/Branch", "shared.yaml#/components/schemas/Branh", "did you mean Branch?"),
    ("shared.yaml#", "shred.yaml#", "there is no harbour/shred.yaml; did you mean harbour/shared.yaml?"),
    ('"#/components/schemas/Base"', '"#/components/schemas/Bas"', "/components/schemas has no Bas; did you mean Base?"),
    ("minLength: 3", "minLenth: 3", "unknown keyword minLenth; did you mean minLength?"),
    ("openapi: 3.0.1", "openapi: 2.9", "only OpenAPI 3.0 and 3.1 are supported, not 2.9"),
    ("openapi: 3.0.1", 'swagger: "2.0"', "this is OpenAPI 2 (Swagger): convert it to OpenAPI 3.0 or 3.1"),
]  # fmt: skip


@pytest.mark.parametrize(("right", "mistaken", "text"), MISTAKES)
def test_a_mistake_is_reported_with_its_position(tmp_path: Path, right: str, mistaken: str, text: str) -> None:
    published = PUBLISHED.replace(right, mistaken, 1)
    assert published != PUBLISHED
    write(tmp_path / "harbour", {"accounts.yaml": published, "shared.yaml": SHARED})
    schemas = Schemas([tmp_path])
    _ = "harbour/accounts#Account" in schemas
    (problem,) = check(schemas)
    assert text in problem.text
    assert mistaken in published.splitlines()[problem.line - 1]


def test_files_that_no_cassette_names_are_not_read(tmp_path: Path) -> None:
    write(tmp_path, {"notes.yaml": "a: {{", "package.json": "{"})
    schemas = Schemas([tmp_path])
    assert check(schemas) == []
    assert "notes#A" in schemas  # the check reports what is wrong with this file
    assert {problem.file.name for problem in check(schemas)} == {"notes.yaml"}


OPERATIONS = """\
cassette: 1
operations:
  - id: open-account
    method: POST
    path: /v1/accounts
    require: {body: {schema: "harbour/accounts#Account"}}
    answers: {200: "harbour/accounts#Account"}
    respond: {nulls: fill, body: {Kind: "{{ body.Kind }}", Ref: HB-1, Limit: "{{ body.Limit }}"}}
"""


def test_a_dialect_can_use_published_schemas(schemas: Schemas, tmp_path: Path) -> None:
    dialect = [write(tmp_path / "0", {"bank.yaml": BANK, "accounts.yaml": OPERATIONS})]
    interface = layers.read([dialect], schemas, NAMED)
    engine = Engine(Parts(Banks(Bank(interface, schemas)), MemoryStore(), TestData({}, ()), limits=limits()))

    def ask(**body: Any) -> tuple[int, Any]:
        headers = Headers([("Content-Type", "application/json")])
        answer = asyncio.run(engine.answer(Request("POST", "/v1/accounts", headers, json.dumps(body).encode())))
        return answer.status, json.loads(answer.body)

    assert ask(Kind="savings") == (
        200,
        {"Ref": "HB-1", "Nickname": None, "Kind": "savings", "Status": None, "Limit": None},
    )
    assert ask(Kind="other")[0] == 500  # in this bank, an error of any kind


def test_lint_reads_published_schemas_and_suggests_names(
    schemas: Schemas, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "ours.yaml"
    settings = Settings(state="memory:", confdir=tmp_path)
    file.write_text(OPERATIONS)
    assert lint.check(settings, [file]) == []
    file.write_text(OPERATIONS.replace("accounts#Account", "accounts#Acount", 1))
    (problem,) = lint.check(settings, [file])
    text = "unknown schema 'harbour/accounts#Acount'; did you mean 'harbour/accounts#Account'?"
    assert (problem.code, problem.text) == ("unknown-schema", text)
    file.write_text(OPERATIONS)
    accounts = tmp_path / "schemas" / "harbour" / "accounts.yaml"
    accounts.write_text(dedent(PUBLISHED).replace("maxLength: 20", "maxLenght: 20"))
    (problem,) = lint.check(settings, [file])
    assert (problem.file, problem.code) == (accounts, "schema")
