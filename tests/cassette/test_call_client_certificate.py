"""The content of a client certificate, in matchers and in expressions."""

import asyncio
from pathlib import Path

import pytest

from tests.support.certificates import der, issued
from tests.support.engine_client import an_engine, cassette
from xs2a_sandbox.http import Headers, Request

CASE = """\
rules:
  - id: of-a-pisp
    match: {method: GET, path: /tpp, tls: {role: PISP}}
    respond:
      body: {name: "{{ request.client.name }}", roles: "{{ request.client.roles }}", kind: "{{ request.client.kind }}"}
  - id: of-anybody
    match: {method: GET, path: /tpp}
    respond: {body: {name: "{{ request.client.name }}"}}
  - id: of-one
    match: {method: GET, path: /one, tls: {organisation: PSDAT-FMA-123456, fingerprint: {exists: true}}}
    respond: {text: one}
"""
HEADERS = Headers([("X-Request-ID", "99391c7e-ad88-49ec-a2ad-99ddcb1f7721")])


@pytest.fixture
def answer_of(tmp_path: Path):
    engine = an_engine(layers=cassette(tmp_path, CASE))

    def ask(target: str, *shown: bytes) -> tuple[int, bytes]:
        request = Request("GET", target, HEADERS, certificates=shown)
        answer = asyncio.run(engine.answer(request))
        return answer.status, answer.body

    return ask


def test_a_rule_can_match_a_role(answer_of) -> None:
    pisp, aisp = der(issued(roles=("PISP", "PIISP"))), der(issued(roles=("AISP",)))

    assert answer_of("/tpp", pisp) == (200, b'{"name":"My TPP","roles":["PISP","PIISP"],"kind":"QWAC"}')
    assert answer_of("/tpp", aisp) == (200, b'{"name":"My TPP"}')


def test_without_a_certificate_nothing_matches(answer_of) -> None:
    assert answer_of("/tpp") == (200, b'{"name":null}')
    assert answer_of("/tpp", b"no certificate") == (200, b'{"name":null}')
    assert answer_of("/one")[0] == 404


def test_answers_to_one_client_are_not_cached_for_another(answer_of) -> None:
    one, other = der(issued()), der(issued(organisation_identifier="PSDAT-FMA-9"))

    assert [answer_of("/one", one)[0] for _ in range(3)] == [200, 200, 200]
    assert answer_of("/one", other)[0] == 404
    assert answer_of("/one")[0] == 404
