"""OpenAPI documents become dialects that lint accepts and serve plays."""

import json
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import requests
import yaml
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import settings as settings_of_hypothesis
from hypothesis import strategies as st

from tests.support.shared import SHARED
from xs2a_sandbox.cli.main import cli
from xs2a_sandbox.config import settings
from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.features.authoring.lint import check
from xs2a_sandbox.features.importing.openapi import import_document, read_document
from xs2a_sandbox.features.pytest.server_process import Process

HARBOUR = Path(__file__).parent / "openapi" / "harbour.yaml"
PAGE = Path(__file__).resolve().parents[3] / "docs" / "import-openapi.md"
FILES = {"dialect.yaml", "operations.yaml", "testdata.yaml"}
TRACE = "0cae8c3e-1111-4222-8333-444455556666"
HEADERS = {"Authorization": "Bearer any", "X-Trace": TRACE}
ORDER = {
    "from": {"iban": "SE4550000000058398257466"},
    "to": {"name": "Ferry Line", "iban": "IE64IRCE92050112345678"},
    "money": {"amount": "20.00", "currency": "EUR"},
    "message": "Ticket",
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["import", *arguments])


def imported(document: Any, home: Path, name: str = "bank") -> str:
    """Import a document, check that lint accepts the dialect, and return the output."""
    file = document if isinstance(document, Path) else home / "document.yaml"
    if not isinstance(document, Path):
        file.write_text(yaml.safe_dump(document, sort_keys=False))
    result = run(str(file), "--dialect", name)
    assert result.exit_code == 0, result.output
    assert [str(problem) for problem in lint(home, name)] == []
    return result.output


def lint(home: Path, name: str) -> list[Any]:
    return check(settings.load({"state": "memory:", "dialect": name}, {}, home))


def operations(home: Path, name: str = "bank") -> dict[str, Any]:
    written = yaml.safe_load((home / "cassettes" / name / "operations.yaml").read_text())
    return {operation["id"]: operation for operation in written["operations"]}


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    directory = tmp_path_factory.mktemp("harbour")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(directory)
        assert run(str(HARBOUR), "--dialect", "harbour").exit_code == 0
        process = Process(directory / "conf", ["--dialect", "harbour"])
        process.start()
    yield process
    process.stop()


def ask(bank: Process, method: str, path: str, body: Any = None, session: str = "a") -> requests.Response:
    url = f"{bank.direct}/s/{session}/live/desk/{path}"
    return requests.request(method, url, json=body, headers=HEADERS, timeout=20)


def decide(page: str) -> None:
    """Act as the customer: log in, choose accounts, and approve with the code."""
    browser = requests.Session()
    shown = browser.get(page, timeout=20)
    for fields in (
        {"customer": "nora", "password": "anemone"},
        {"account": "SE4550000000058398257466"},
        {"otp": "135790"},
    ):
        if next(iter(fields)) not in shown.text:
            continue
        hidden = dict(re.findall(r'name="(authorisation|nonce|step)" value="([^"]*)"', shown.text))
        shown = browser.post(shown.url, data={**hidden, **fields}, timeout=20)
        assert shown.status_code == 200, shown.text


def test_a_consent_is_created_decided_read_and_ended(bank: Process) -> None:
    asked = {"permissions": ["seeBalances"], "validUntil": "9999-12-31"}
    made = ask(bank, "POST", "grants", asked).json()
    assert (made["phase"], made["permissions"]) == ("open", ["seeBalances"])
    decide(made["links"]["authorise"])

    read = ask(bank, "GET", f"grants/{made['grantId']}").json()
    assert read == {"grantId": made["grantId"], "phase": "active", "permissions": ["seeBalances"]}
    assert ask(bank, "DELETE", f"grants/{made['grantId']}").status_code == 204
    gone = ask(bank, "GET", f"grants/{made['grantId']}")
    assert gone.json()["errors"][0]["code"] in ("BAD_FORMAT", "NO_ACCESS", "NOT_FOUND")


def test_accounts_balances_and_entries_are_those_of_the_test_data(bank: Process) -> None:
    pots = ask(bank, "GET", "pots").json()["pots"]
    assert len(pots) == 2
    assert pots[0] == {"potId": "P-1001", "iban": "SE4550000000058398257466", "currency": "EUR", "name": "Everyday"}
    assert ask(bank, "GET", "pots/P-1001").json() == pots[0]
    holdings = ask(bank, "GET", "pots/P-1001/holdings").json()["balances"]
    assert holdings[0] == {"money": {"amount": "2480.15", "currency": "EUR"}, "type": "ITAV"}
    lines = ask(bank, "GET", "pots/P-1001/lines").json()["lines"]
    assert [(line["direction"], line["money"]["amount"]) for line in lines] == [
        ("DEBIT", "18.40"), ("DEBIT", "790.00"), ("CREDIT", "2950.00")
    ]  # fmt: skip
    later = requests.get(
        f"{bank.direct}/live/desk/pots/P-1001/lines?sinceDate={lines[0]['bookedOn']}", headers=HEADERS, timeout=20
    )
    assert later.json()["lines"] == lines[:1]


def test_a_payment_changes_its_state_and_the_balance(bank: Process) -> None:
    made = ask(bank, "POST", "orders", ORDER, "pay").json()
    assert made["state"] == "RECEIVED"
    decide(made["links"]["authorise"])

    assert ask(bank, "GET", f"orders/{made['orderId']}/state", session="pay").json() == {"state": "EXECUTED"}
    line = ask(bank, "GET", "pots/P-1001/lines", session="pay").json()["lines"][0]
    assert line["payeeName"] == "Ferry Line"
    assert line["money"] == {"amount": "20.00", "currency": "EUR"}
    holdings = ask(bank, "GET", "pots/P-1001/holdings", session="pay").json()["balances"]
    assert holdings[0]["money"]["amount"] == "2460.15"


def test_what_is_not_recognised_answers_the_example(bank: Process) -> None:
    answer = requests.get(f"{bank.direct}/live/desk/branches?country=IE", timeout=20)
    assert answer.json() == {"branches": [{"name": "North {{ pier }}"}]}


@pytest.mark.parametrize(
    ("method", "path", "change", "status"),
    [
        ("POST", "orders", {"money": {"amount": "20", "currency": "EUR"}}, 400),
        ("POST", "orders", {"X-Trace": "1"}, 400),
        ("GET", "pots", {"Authorization": None}, 401),
        ("GET", "branches", {}, 400),
        ("GET", "pots/1001", {}, 404),
        ("PUT", "pots", {}, 405),
    ],
)
def test_mistakes_get_the_errors_of_the_document(
    bank: Process, method: str, path: str, change: dict[str, Any], status: int
) -> None:
    headers = {**HEADERS, **{name: value for name, value in change.items() if name in HEADERS}}
    body = {**ORDER, **{name: value for name, value in change.items() if name not in HEADERS}}
    answer = requests.request(
        method, f"{bank.direct}/live/desk/{path}", headers=headers, json=body if method == "POST" else None, timeout=20
    )
    assert answer.status_code == status
    (error,) = answer.json()["errors"]
    assert error["code"] in ("BAD_FORMAT", "NO_ACCESS", "NOT_FOUND")
    assert error["detail"]


def test_the_command_prints_what_the_page_shows(home: Path) -> None:
    shown = re.findall(r"^```text\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert imported(HARBOUR, home, "harbour") == shown[0]


def test_names_alone_are_not_enough(home: Path) -> None:
    """A path `/consents` whose body asks for no access, and `/payments` without a payee, are not attached."""
    made = {"description": "Made", "content": {"application/json": {"schema": {
        "type": "object", "properties": {"id": {"type": "string"}, "status": {"type": "string"}}}}}}  # fmt: skip
    text = {"type": "object", "properties": {"name": {"type": "string"}}}
    document = {
        "openapi": "3.1.0",
        "info": {"title": "Names"},
        "paths": {
            path: {
                "post": {
                    "requestBody": {"content": {"application/json": {"schema": text}}},
                    "responses": {"201": made},
                }
            }
            for path in ("/v1/consents", "/v1/payments")
        }
        | {f"/v1/{name}/{{id}}": {"get": {"responses": {"200": made}}} for name in ("consents", "payments")},
    }
    assert "has the handler" not in imported(document, home)


@pytest.mark.parametrize("header", ["Access-Id", "X-Access-Request-ID", None])
@pytest.mark.parametrize("iban", [{}, {"format": "iban"}, {"example": "DE89370400440532013000"}])
def test_the_consent_is_named_by_the_header_that_is_called_like_it(
    home: Path, iban: dict[str, str], header: str | None
) -> None:
    state = {
        "type": "object",
        "properties": {"id": {"type": "string"}, "state": {"type": "string", "enum": ["OPEN", "GRANTED"]}},
    }
    account = {
        "type": "object",
        "properties": {"id": {"type": "string"}, "iban": {"type": "string"}, "currency": {"type": "string"}},
    }
    access = {"type": "object", "required": ["accounts", "validUntil"], "properties": {
        "accounts": {"type": "array", "items": {"type": "object", "required": ["iban"], "properties": {
            "iban": {"type": "string", **iban}}}},
        "validUntil": {"type": "string", "format": "date"}}}  # fmt: skip
    named = (
        [{"name": header, "in": "header", "required": True, "schema": {"type": "string", "format": "uuid"}}]
        if header
        else []
    )
    listed = {"type": "object", "properties": {"accounts": {"type": "array", "items": account}}}
    document = {
        "openapi": "3.1.0",
        "info": {"title": "Lakeside"},
        "paths": {
            "/v2/access-requests": {
                "post": {"operationId": "ask", "requestBody": _json(access), "responses": {"201": _json(state)}}
            },
            "/v2/access-requests/{id}": _get("read", state),
            "/v2/accounts": _get("list", listed, named),
            "/v2/accounts/{account}": _get("one", account, named),
        },
    }
    output = imported(document, home)

    assert [id for id, one in operations(home).items() if "handler" in one] == ["ask", "read", "list", "one"], output
    assert ("no header is known to name the consent" in output) is (header is None)
    written = yaml.safe_load((home / "cassettes" / "bank" / "dialect.yaml").read_text())
    assert (header is not None and f"headers['{header.lower()}']" in written["request"]["consent"]) or header is None


def _get(id: str, schema: Any, parameters: Sequence[Any] = ()) -> dict[str, Any]:
    return {"get": {"operationId": id, "parameters": [*parameters], "responses": {"200": _json(schema)}}}


def _json(schema: Any) -> dict[str, Any]:
    return {"description": "", "content": {"application/json": {"schema": schema}}}


def test_swagger_2_gives_the_same_dialect(home: Path) -> None:
    imported(HARBOUR, home, "three")
    imported(_as_swagger(yaml.safe_load(HARBOUR.read_text())), home, "two")

    three, two = operations(home, "three"), operations(home, "two")
    assert three.keys() == two.keys()
    for id, operation in three.items():
        mine = json.loads(json.dumps(two[id]).replace("two/api", "three/api"))
        assert {**mine, "answers": None, "require": None} == {**operation, "answers": None, "require": None}


def _as_swagger(document: Any) -> Any:
    """Write the document as Swagger 2.0."""
    components = document["components"]
    swagger = {
        "swagger": "2.0",
        "info": document["info"],
        "basePath": "/live/desk",
        "security": document["security"],
        "securityDefinitions": {"app": {"type": "oauth2", "flow": "application", "tokenUrl": "https://x.example"}},
        "parameters": {name: _flat(one) for name, one in components["parameters"].items()},
        "responses": {name: _flat(one) for name, one in components["responses"].items()},
        "definitions": components["schemas"],
        "paths": {path: _path(item) for path, item in document["paths"].items()},
    }
    text = json.dumps(swagger).replace("#/components/schemas/", "#/definitions/").replace("#/components/", "#/")
    return json.loads(text)


def _path(item: Any) -> Any:
    written: dict[str, Any] = {}
    for name, value in item.items():
        if name == "parameters":
            written[name] = [_flat(one) for one in value]
            continue
        written[name] = {**value, "parameters": [_flat(one) for one in value.get("parameters", [])]}
        if body := written[name].pop("requestBody", None):
            ((media, content),) = body["content"].items()
            written[name]["consumes"] = [media]
            written[name]["parameters"].append({"name": "body", "in": "body", "required": True, **content})
        written[name]["responses"] = {status: _flat(one) for status, one in value["responses"].items()}
    return written


def _flat(part: Any) -> Any:
    """Return a parameter or a response in the form of Swagger 2.0."""
    if "content" in part:
        ((media, content),) = part["content"].items()
        flat = {name: value for name, value in part.items() if name not in ("content", "headers")}
        headers = (
            {"headers": {name: one["schema"] for name, one in part["headers"].items()}} if "headers" in part else {}
        )
        example = {"examples": {media: content["example"]}} if "example" in content else {}
        return {**flat, **headers, "schema": content["schema"], **example}
    return {**{name: value for name, value in part.items() if name != "schema"}, **part.get("schema", {})}


def test_references_to_other_files_are_followed(home: Path) -> None:
    document = yaml.safe_load(HARBOUR.read_text())
    (home / "shared").mkdir()
    parts = yaml.safe_dump(document.pop("components")).replace("#/components/", "#/")
    (home / "shared" / "parts.yaml").write_text(parts)
    text = yaml.safe_dump(document).replace("#/components/", "shared/parts.yaml#/")
    (home / "split.yaml").write_text(text + "components: {securitySchemes: {app: {type: http, scheme: bearer}}}\n")

    imported(home / "split.yaml", home, "split")
    imported(HARBOUR, home, "whole")
    assert {id: one.get("handler") for id, one in operations(home, "split").items()} == {
        id: one.get("handler") for id, one in operations(home, "whole").items()
    }


def test_what_json_schema_does_not_allow_is_left_out_and_noted(home: Path) -> None:
    document = {
        "openapi": "3.0.0",
        "paths": {
            "/v1/a": {"get": {"responses": {"200": {"description": "a", "content": {"application/json": {"schema": {
                "type": "object", "required": True, "properties": {"b": {"type": "string", "pattern": "("}}}}}}}}},
            "/v1/b.{format}": {"get": {"responses": {}}},
        },
    }  # fmt: skip
    output = imported(document, home)
    assert "the schema get-v1-a.200 has required: True, which is left out" in output
    assert "the schema get-v1-a.200 has pattern: (, which is left out" in output
    assert re.search(r"document\.yaml:\d+: /v1/b\.\{format\} is left out: 'b\.\{format\}' must be either", output)


ENDLESS = """openapi: 3.0.0
info: {{title: A, version: "1"}}
paths:
  /a:
    get: {{responses: {{200: {{content: {{application/json: {{schema: {{$ref: "#/components/schemas/A"}}}}}}}}}}}}
components: {{schemas: {{A: {}}}}}
"""


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("openapi: 3.0.0\npaths: {/a: [}\n", "document.yaml:2:"),
        ("openapi: 3.2.0\npaths: {}\n", "document.yaml:1:10: error schema: only OpenAPI 3.0 and 3.1 are supported"),
        ("swagger: '1.2'\npaths: {}\n", "document.yaml:1:10: error schema: only Swagger 2.0 and OpenAPI 3.0 and 3.1"),
        ("info: {title: x}\n", "is not an OpenAPI document: it has neither the key openapi nor the key swagger"),
        ("openapi: 3.0.0\ninfo: {}\n", "the document has no paths, so there is nothing to import"),
        (
            "openapi: 3.0.0\npaths:\n  /a: 5\n",
            "document.yaml:3:7: error schema: a path must be a mapping of its methods",
        ),
        (
            "openapi: 3.0.0\nservers: [{url: 'https://['}]\npaths: {/a: {}}\n",
            "document.yaml:2:17: error schema: https://[",
        ),
        ("openapi: 3.0.0\npaths: {/a: {x-note: {}}}\n", "no path has an operation that can be imported"),
        (
            "openapi: 3.0.0\npaths: {/a: {get: {requestBody: {$ref: '#/components/no'}}}}\n",
            "document.yaml:2:40: error schema: #/components/no in document.yaml does not exist; correct the reference",
        ),
        (
            "swagger: '2.0'\npaths:\n  /a:\n    get:\n      responses: {200: {schema: {$ref: '#/definitions/no'}}}\n",
            "document.yaml:5:40: error schema: #/components/schemas/no in document.yaml does not exist",
        ),
        (
            "openapi: 3.0.0\npaths: {/a: {get: {requestBody: {$ref: 'https://x.example/a.yaml'}}}}\n",
            "document.yaml:2:40: error schema: https://x.example/a.yaml is a URL, which is never fetched",
        ),
        ("openapi: 3.0.0\npaths: {/a: {$ref: '../out.yaml'}}\n", "outside"),
        (
            "openapi: 3.0.0\npaths: {/a: {$ref: '#/paths/~1a'}}\n",
            "document.yaml:2:20: error schema: #/paths/~1a refers to itself",
        ),
        (ENDLESS.format("{$ref: '#/components/schemas/A'}"), "#/components/schemas/A refers to itself"),
    ],
)
def test_a_broken_document_gets_an_error_with_its_place(home: Path, content: str, complaint: str) -> None:
    (home / "document.yaml").write_text(content)
    (home.parent / "out.yaml").write_text("get: {}\n")
    result = run("document.yaml", "--dialect", "bank")
    assert result.exit_code == 2
    assert complaint in result.output
    assert not (home / "cassettes").exists()


@pytest.mark.parametrize(
    "schema",
    [
        "{allOf: [{$ref: '#/components/schemas/A'}]}",
        "{anyOf: [{$ref: '#/components/schemas/A'}]}",
        "{type: object, required: [a, b, c, d], additionalProperties: {$ref: '#/components/schemas/A'}}",
    ],
)
def test_a_schema_that_needs_itself_without_end_gets_a_dialect(home: Path, schema: str) -> None:
    (home / "document.yaml").write_text(ENDLESS.format(schema))
    result = run("document.yaml", "--dialect", "bank")
    assert result.exit_code == 0, result.output


def test_the_name_of_the_dialect_is_needed_and_free(home: Path) -> None:
    shutil.copy(HARBOUR, home / "harbour.json")
    assert "add --dialect NAME" in run(str(HARBOUR)).output
    assert run(str(HARBOUR), "--dialect", "bank", "--to", "there").exit_code == 0
    assert (home / "there" / "schemas" / "bank" / "api.schema.json").exists()
    assert "already exists in there/cassettes/bank" in run(str(HARBOUR), "--dialect", "bank", "--to", "there").output
    assert "--to DIR is missing" in run("harbour.json").output


def _shared_documents() -> list[Path]:
    folders = (SHARED / "data" / "obie-v4" / "openapi", SHARED / "spec" / "berlin-group")
    return [file for folder in folders for file in sorted(folder.glob("*")) if "openapi" in str(file)]


@pytest.mark.slow
@pytest.mark.parametrize("file", _shared_documents() or [None], ids=lambda file: file.stem if file else "none")
def test_published_documents_become_dialects_whose_examples_work(file: Path | None, home: Path) -> None:
    if file is None:
        pytest.skip("there are no OpenAPI documents in ../shared")
    imported(file, home)
    assert all(one["examples"][0]["expect"]["status"] < 300 for one in operations(home).values())


def _places(value: Any, above: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, part in inner:
        yield (*above, step)
        yield from _places(part, (*above, step))


DOCUMENT = yaml.safe_load(HARBOUR.read_text())
DAMAGES = st.sampled_from([None, 5, "x", "{{ x }}", [], [None], {}, {"a": 1}, {"$ref": "#/components/schemas/Pot"}])


@pytest.mark.slow
@settings_of_hypothesis(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(list(_places(DOCUMENT))), DAMAGES), min_size=1, max_size=3))
def test_a_damaged_document_gets_a_dialect_or_an_error(damages: list[tuple[tuple[str | int, ...], Any]]) -> None:
    damaged = deepcopy(DOCUMENT)
    for place, value in damages:
        with suppress(LookupError, TypeError):  # an earlier damage has removed the place
            holder = damaged
            for step in place[:-1]:
                holder = holder[step]
            holder[place[-1]] = deepcopy(value)
    with TemporaryDirectory() as directory, suppress(UserMistake):
        file = Path(directory) / "document.yaml"
        file.write_text(yaml.safe_dump(damaged))
        assert import_document("bank", read_document(file)).files.keys() == FILES
