import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.taping import START
from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.features.importing.postman import read, read_environment
from xs2a_sandbox.recording.har import Foreign

VARIABLES = [
    {"key": "host", "value": "xs2a.bank.example"},
    {"key": "baseUrl", "value": "https://{{host}}/psd2"},
    {"key": "off", "value": "x", "disabled": True},
]


def collection(*items: Any, variables: Any = VARIABLES) -> Foreign:
    info = {"name": "x", "schema": "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"}
    return read({"info": info, "item": list(items), "variable": variables}, Path("bank.json"), START)


def item(url: Any = "{{baseUrl}}/v1/consents?a=b", body: Any = None, **answer: Any) -> dict[str, Any]:
    header = [{"key": "X-Request-ID", "value": "1"}, {"key": "A", "value": "1", "disabled": True}]
    header.append({"key": "Authorization", "value": "Bearer {{token}}"})
    request = {"method": "post", "url": url, "header": header, **({"body": body} if body else {})}
    said = {"name": "fine", "code": 201, "header": [{"key": "Location", "value": "/x"}], "body": '{"id": 1}', **answer}
    return {"name": "Make a consent", "request": request, "response": [said]}


SAVED = {"name": "A", "request": "https://bank.example/v1/a"}


def test_a_saved_answer_becomes_an_exchange() -> None:
    exchanges = collection(
        {"name": "Folder", "item": [item(body={"mode": "raw", "raw": '{"a": "{{host}}"}'}, responseTime=12)]}
    )

    (entry,) = exchanges.entries
    assert (entry.bank, entry.method, entry.target) == ("https://xs2a.bank.example", "POST", "/psd2/v1/consents?a=b")
    assert (entry.status, entry.body, entry.answer_body) == (201, b'{"a": "xs2a.bank.example"}', b'{"id": 1}')
    assert entry.headers.pairs == (("X-Request-ID", "1"),)
    assert entry.answer_headers.pairs == (("Location", "/x"),)
    assert (entry.time, entry.milliseconds) == (START, 12.0)
    assert exchanges.left_out == ()


def test_the_original_request_of_an_answer_is_used() -> None:
    (entry,) = collection(item(originalRequest={"method": "GET", "url": {"raw": "https://a.example/v1/x"}})).entries
    assert (entry.method, entry.bank, entry.target) == ("GET", "https://a.example", "/v1/x")


def test_path_variables_are_replaced() -> None:
    url = {"raw": "{{baseUrl}}/v1/consents/:id/status", "variable": [{"key": "id", "value": "7"}]}
    assert collection(item(url)).entries[0].target == "/psd2/v1/consents/7/status"


def test_an_undefined_base_becomes_an_invalid_host() -> None:
    (entry,) = collection(item("{{base}}/v1/a"), variables=[]).entries
    assert (entry.bank, entry.target) == ("https://bank.invalid", "/v1/a")
    (entry,) = collection(item("bank.example/v1/a"), variables=None).entries
    assert (entry.bank, entry.target) == ("https://bank.example", "/v1/a")


def test_forms_are_encoded() -> None:
    fields = [{"key": "a", "value": "b c"}, {"key": "x", "value": "y", "disabled": True}]
    assert collection(item(body={"mode": "urlencoded", "urlencoded": fields})).entries[0].body == b"a=b+c"


@pytest.mark.parametrize(
    ("one", "reason"),
    [
        ({"name": "A", "request": {"url": "x"}}, "A: it has no saved response"),
        (item("{{baseUrl}}/v1/{{id}}"), "Make a consent, fine: the variable {{id}} has no value in the collection"),
        (item("{{baseUrl}}/v1/{{off}}"), "Make a consent, fine: the variable {{off}} has no value in the collection"),
        (item("{{baseUrl}}/v1/:id"), "Make a consent, fine: the path variable :id has no value"),
        (item(code=None), "Make a consent, fine: the saved response has no status"),
        (
            item(body={"mode": "file"}),
            "Make a consent, fine: cannot import a body of mode file: only raw and urlencoded are supported",
        ),
    ],
)
def test_an_incomplete_item_is_left_out(one: Any, reason: str) -> None:
    exchanges = collection(one, item())
    assert len(exchanges.entries) == 1
    assert exchanges.left_out == (reason,)


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ({"info": {}}, "is not a Postman collection"),
        ({"item": [5]}, r"item\[0\] must be an object"),
        ({"item": [{"name": "A", "response": {"a": 1}}]}, "A: response must be a list"),
        ({"item": [{"name": "A", "response": [5]}]}, "A: a response must be an object"),
        ({"item": [{"name": "A", "response": [{"code": 200}]}]}, "A, response: it has no request"),
        ({"item": [item({"raw": ""})]}, "Make a consent, fine: its URL is missing"),
        ({"item": [item("https:///x")]}, "is not an absolute URL"),
        ({"item": [SAVED | {"response": [{"code": 200, "body": 5}]}]}, "the body of the response must be a string"),
    ],
)
def test_mistakes_have_their_place(value: Any, complaint: str) -> None:
    with pytest.raises(ConfigError, match=rf"bank\.json: .*{complaint}"):
        read(value, Path("bank.json"), START)


def doubling(values: int, size: int = 1) -> list[dict[str, str]]:
    """Return variables that each contain the next one several times."""
    names = [{"key": f"v{i}", "value": f"{{{{v{i + 1}}}}}" * 20} for i in range(values)]
    return [*names, {"key": f"v{values}", "value": "x" * size}]


def test_variables_that_grow_without_limit_are_refused() -> None:
    with pytest.raises(
        ConfigError, match=r"bank.json: .*with its variables filled in, it has more than 16777216 characters"
    ):
        collection(item("https://bank.example/v1/{{v0}}"), variables=doubling(9))


def test_folders_nested_too_deeply_are_refused() -> None:
    folder: dict[str, Any] = item()
    for _ in range(150):
        folder = {"name": "f", "item": [folder]}
    with pytest.raises(ConfigError, match="folders are nested more than 100 levels deep"):
        collection(folder)


def test_values_of_an_environment_override_those_of_the_collection(tmp_path: Path) -> None:
    file = tmp_path / "environment.json"
    values = [
        {"key": "host", "value": "test.bank.example", "enabled": True},
        {"key": "baseUrl", "value": "https://off.example", "enabled": False},
    ]
    file.write_text(json.dumps({"name": "Test", "values": values}))
    info = {"info": {}, "item": [item()], "variable": VARIABLES}
    (entry,) = read(info, Path("bank.json"), START, read_environment(file)).entries
    assert entry.bank == "https://test.bank.example"

    file.write_text("{}")
    with pytest.raises(ConfigError, match="this is not a Postman environment: values must be a list of objects"):
        read_environment(file)
