"""Verifying the signature of an answer, with any client."""

from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
import requests
from cryptography.hazmat.primitives.serialization import Encoding

from tests.support.certificates import ca
from tests.support.seals import NOW, trusted
from xs2a_sandbox import WrongSignature, verify
from xs2a_sandbox.features.pytest.verification import SignedAnswer
from xs2a_sandbox.http import Headers
from xs2a_sandbox.signatures.rules import OF_ANSWERS
from xs2a_sandbox.signatures.signing import signed_headers
from xs2a_sandbox.signatures.signing_string import SignedMessage

BODY = b'{"consentStatus": "valid"}'
PLAIN = {"X-Request-ID": "1"}
SIGNED = PLAIN | dict(signed_headers(SignedMessage(Headers(PLAIN.items()), BODY), trusted(ca()), NOW, rules=OF_ANSWERS))


def of_httpx(headers: dict[str, str], body: bytes) -> SignedAnswer:
    return httpx.Response(200, headers=headers, content=body)


def of_requests(headers: dict[str, str], body: bytes) -> SignedAnswer:
    answer = requests.Response()
    answer.headers.update(headers)
    answer._content = body
    return answer


CLIENTS = pytest.mark.parametrize("received", [of_httpx, of_requests])


@CLIENTS
def test_a_signed_answer_is_valid_under_the_ca_of_its_seal(
    received: Callable[[dict[str, str], bytes], SignedAnswer], tmp_path: Path
) -> None:
    file = tmp_path / "ca.pem"
    file.write_bytes(ca().certificate.public_bytes(Encoding.PEM))
    for authority in (None, file, str(file)):
        verify(received(SIGNED, BODY), ca=authority)
    file.write_bytes(ca("Another").certificate.public_bytes(Encoding.PEM))
    for authority in (file, str(file)):
        with pytest.raises(WrongSignature, match="not issued by any of the given CAs"):
            verify(received(SIGNED, BODY), ca=authority)


@CLIENTS
def test_a_changed_or_unsigned_answer_is_wrong(
    received: Callable[[dict[str, str], bytes], SignedAnswer],
) -> None:
    for headers, body in (
        (SIGNED, BODY + b" "),
        ({**SIGNED, "X-Request-ID": "2"}, BODY),
        ({"X-Request-ID": "1"}, BODY),
    ):
        with pytest.raises(WrongSignature):
            verify(received(headers, body))
