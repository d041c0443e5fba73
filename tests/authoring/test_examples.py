from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.support.linting import run
from xs2a_sandbox.config import Settings
from xs2a_sandbox.engine import Engine, build
from xs2a_sandbox.features.authoring.examples import Example, compare, compose, examples
from xs2a_sandbox.http import Response

REQUESTS = """\
cassette: 1
rules:
  - id: mirror
    match: {path: "/mirror/{word}/{rest*}", where: {word: [hello, bye]}}
    respond:
      headers: {X-Word: "{{ path.word }}"}
      body:
        method: "{{ request.method }}"
        path: "{{ request.path }}"
        query: "{{ query }}"
        type: "{{ headers['content-type'] }}"
        ip: "{{ headers['psu-ip-address'] }}"
        id: "{{ headers['x-request-id'] }}"
        sent: "{{ body }}"
    examples:
"""

CLIENTS = """\
cassette: 1
rules:
  - id: of-a-pisp
    match: {path: /tpp, tls: {role: PISP, kind: QWAC}}
    respond: {body: {name: "{{ request.client.name }}", organisation: "{{ request.client.organisation }}"}}
  - id: of-others
    match: {path: /tpp}
    respond: {body: {roles: "{{ request.client.roles if request.client else 'nobody' }}"}}
    examples:
"""

COUNT = """\
cassette: 1
rules:
  - id: count
    match: {path: /count, method: [DELETE, PUT]}
    sequence: [{body: {turn: 1}}, {body: {turn: 2}}]
    examples:
      - {request: {}, expect: {status: 200, body: {turn: 1}}}
      - {request: {}, expect: {status: 200, body: {turn: 1}}}
"""


def engine(tmp_path: Path, cassette: str) -> Engine:
    (tmp_path / "case.yaml").write_text(cassette)
    return build.build(Settings(state="memory:", confdir=tmp_path, cassettes=(tmp_path,)))


def own(engine: Engine, tmp_path: Path) -> list[Example]:
    return [entry for entry in examples(engine.interface) if entry.owner.origin.document.file.parent == tmp_path]


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ("{where: {rest: a/b}}", "{method: GET, path: /mirror/hello/a/b, type: null, ip: 192.0.2.1, sent: null}"),
        ("{where: {word: bye, rest: ä b}}", "{path: /mirror/bye/ä b}"),
        ("{where: {rest: x}, body: {a: 1.50}}", "{method: POST, type: application/json, sent: {a: 1.5}}"),
        ("{where: {rest: x}, body: null}", "{method: POST, type: application/json}"),
        ("{path: /mirror/bye/y, method: PATCH}", "{method: PATCH, path: /mirror/bye/y}"),
        ("{where: {rest: x}, query: {a: true, b: 2, c: x y, d: null}}", "{query: {a: 'true', b: '2', c: x y}}"),
        ("{where: {rest: x}, headers: {psu-IP-address: null, X-Request-ID: mine}}", "{ip: null, id: mine}"),
    ],
)
def test_missing_parts_of_the_request_come_from_the_rule(tmp_path: Path, request_: str, expected: str) -> None:
    built = engine(tmp_path, REQUESTS + f"      - {{request: {request_}, expect: {{status: 200, body: {expected}}}}}\n")
    (entry,) = own(built, tmp_path)
    assert run(built, entry) == []


def test_a_query_parameter_that_is_null_is_not_sent(tmp_path: Path) -> None:
    built = engine(
        tmp_path, REQUESTS + "      - {request: {where: {rest: x}, query: {d: null}}, expect: {status: 200}}\n"
    )
    (entry,) = own(built, tmp_path)
    assert compose(entry).target == "/mirror/hello/x"


def test_each_example_has_its_own_session(tmp_path: Path) -> None:
    built = engine(tmp_path, COUNT)
    entries = own(built, tmp_path)
    assert [compose(entry).method for entry in entries] == ["DELETE", "DELETE"]
    assert [run(built, entry) for entry in entries] == [[], []]


def test_a_rule_for_an_operation_uses_its_method_and_path(tmp_path: Path) -> None:
    built = engine(
        tmp_path,
        """\
cassette: 1
rules:
  - id: refused
    match: {operation: cancel-payment, where: {paymentId: mine}}
    respond: {status: 403, text: "{{ path.service }} {{ path.product }}"}
    examples: [{request: {}, expect: {status: 403}}]
""",
    )
    (entry,) = own(built, tmp_path)
    request = compose(entry)
    assert (request.method, request.target) == ("DELETE", "/v1/payments/sepa-credit-transfers/mine")
    assert run(built, entry) == []
    assert entry.place == f"{tmp_path / 'case.yaml'}:6"


ANSWER = Response(201, (("X-One", "1"),), b'{"a": 1.50, "list": [{"b": 2, "c": 3}]}')


@pytest.mark.parametrize(
    ("expect", "complaints"),
    [
        ({"status": 201, "headers": {"x-one": 1}, "body": {"a": Decimal("1.5"), "list": [{"b": 2}]}}, []),
        ({"status": 200}, ["the status is 201, not 200; the answer is {"]),
        ({"status": 201, "headers": {"X-One": "2"}}, ["the header X-One is '1', not '2'"]),
        ({"status": 201, "headers": {"X-One": None}}, ["the header X-One is '1', not absent"]),
        ({"status": 201, "headers": {"X-Two": "2"}}, ["the header X-Two is absent, not '2'"]),
        ({"status": 201, "headers": {"X-Two": None}}, []),
        ({"status": 201, "body": {"a": "1.5"}}, ['the body does not contain {"a":"1.5"}; the answer is']),
        ({"status": 201, "body": {"z": None}}, ['the body does not contain {"z":null}; the answer is']),
    ],
)
def test_complaints_name_the_actual_values(expect: dict[str, Any], complaints: list[str]) -> None:
    differences = compare(expect, ANSWER)
    assert len(differences) == len(complaints)
    assert all(one.startswith(start) for one, start in zip(differences, complaints, strict=True))


def test_the_answer_and_the_reason_appear_once() -> None:
    differences = compare({"status": 200, "headers": {"X-One": "2"}, "body": {"a": 1}}, ANSWER, ", as it is")
    assert differences == [
        f"the status is 201, not 200, as it is; the answer is {ANSWER.body.decode()}",
        "the header X-One is '1', not '2'",
        'the body does not contain {"a":1}',
    ]
    assert compare({"status": 201, "headers": {"X-One": "2"}}, ANSWER, ", as it is") == [
        "the header X-One is '1', not '2', as it is"
    ]


@pytest.mark.parametrize(
    ("certificate", "expected"),
    [
        ("certificate: {}", "{name: My TPP, organisation: PSDAT-FMA-123456}"),
        ("certificate: {name: Other, organisation: PSDDE-BAFIN-1}", "{name: Other, organisation: PSDDE-BAFIN-1}"),
        ("certificate: {kind: QSEAL, roles: [PISP]}", "{roles: [PISP]}"),
        ("certificate: {roles: [AISP, PIISP]}", "{roles: [AISP, PIISP]}"),
        ("headers: {}", "{roles: nobody}"),
    ],
)
def test_a_client_certificate_is_sent(tmp_path: Path, certificate: str, expected: str) -> None:
    example = f"      - {{request: {{{certificate}}}, expect: {{status: 200, body: {expected}}}}}\n"
    sandbox = engine(tmp_path, CLIENTS + example)
    (entry,) = own(sandbox, tmp_path)
    assert run(sandbox, entry) == []
