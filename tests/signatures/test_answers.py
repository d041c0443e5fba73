"""Answers that the bank signs if its dialect says so, and how apps verify them."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from cryptography.hazmat.primitives.serialization import Encoding

from tests.contract import facts
from tests.support.doors import opened
from tests.support.roads import direct_door
from tests.support.seals import seal
from xs2a_sandbox import WrongSignature, verify
from xs2a_sandbox.cli.main import cli
from xs2a_sandbox.clock import REAL
from xs2a_sandbox.config import Settings
from xs2a_sandbox.engine.build import build
from xs2a_sandbox.tpp.trust_service import TrustService

ID = {"X-Request-ID": "99391c7e-ad88-49ec-a2ad-99ddcb1f7721"}
PATH = "/v1/accounts"


def cassettes(folder: Path, form: str) -> Path:
    (folder / "cases").mkdir()
    (folder / "cases" / "signed.yaml").write_text(f"cassette: 1\ntitle: Signed\nsignatures: {{answers: {form}}}\n")
    return folder / "cases"


@pytest.fixture(scope="module", params=["signature", "jws"])
def answers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return an answer and an error of a signing bank, requested over HTTP, and its CA."""
    folder = tmp_path_factory.mktemp("signing")
    confdir = folder / "conf"
    engine = build(Settings(state="memory:", confdir=confdir, cassettes=(cassettes(folder, request.param),)))
    with opened(lambda: direct_door(engine.answer)) as (door, _):
        url = f"http://127.0.0.1:{door.port}"
        consents = [facts.consent(), facts.consent("expired")]
        received = [httpx.get(url + PATH, headers={**ID, "Consent-ID": id}) for id in consents * 2]
        unsigned = httpx.get(f"{url}/_sandbox/health")
    ca = TrustService(confdir).ca(REAL.now()).certificate.public_bytes(Encoding.PEM)
    (folder / "ca.pem").write_bytes(ca)
    (folder / "other.pem").write_bytes(seal().certificate.public_bytes(Encoding.PEM))
    return received, unsigned, folder


def test_every_answer_of_the_bank_is_signed(answers: Any) -> None:
    got, unsigned, folder = answers
    assert [answer.status_code for answer in got] == [200, 401, 200, 401]
    for answer in got:
        verify(answer)
        verify(answer, ca=folder / "ca.pem")
    with pytest.raises(WrongSignature, match="not issued by any of the given CAs"):
        verify(got[0], ca=folder / "other.pem")
    with pytest.raises(WrongSignature, match="neither the header Signature nor"):
        verify(unsigned)


def test_a_changed_answer_is_wrong(answers: Any) -> None:
    answer = answers[0][0]
    changed = httpx.Response(200, headers=answer.headers, content=answer.content + b" ")
    with pytest.raises(WrongSignature, match="SHA-256"):
        verify(changed)
    headers = {**answer.headers, "x-request-id": "other"}
    with pytest.raises(WrongSignature, match="the signing string is 'digest"):
        verify(httpx.Response(200, headers=headers, content=answer.content))


def test_the_command_verifies_an_answer(answers: Any, tmp_path: Path) -> None:
    answer = answers[0][0]
    head = "".join(f"{name}: {value}\r\n" for name, value in answer.headers.items())
    file = tmp_path / "answer"
    file.write_bytes(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n" + head.encode() + b"\r\n" + answer.content)
    right = CliRunner().invoke(cli, ["verify", str(file), "--ca", str(answers[2] / "ca.pem")])
    assert (right.exit_code, right.output) == (0, "the signature is valid\n")
    file.write_bytes(file.read_bytes() + b"\n")
    wrong = CliRunner().invoke(cli, ["verify", str(file)])
    assert wrong.exit_code == 1
    assert "which is the digest of the body without white space at its ends" in wrong.output
    file.write_bytes(b"nothing")
    assert CliRunner().invoke(cli, ["verify", str(file)]).exit_code == 2
