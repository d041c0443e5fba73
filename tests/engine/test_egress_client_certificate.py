"""Banks that require a QWAC get the configured one in every mode that sends them requests."""

import asyncio
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from tests.support.certificates import ca, issued
from tests.support.far_bank import Authority, FarBank, ok
from xs2a_sandbox.config import RealBank, Settings
from xs2a_sandbox.engine.build import build
from xs2a_sandbox.http import Headers, Request
from xs2a_sandbox.tpp import key_files

HEADERS = Headers([("X-Request-ID", "99391c7e-ad88-49ec-a2ad-99ddcb1f7721"), ("PSU-IP-Address", "192.0.2.7")])


@pytest.mark.parametrize("kind", ["pem", "p12"])
@pytest.mark.parametrize("mode", ["record", "spy", "compare"])
def test_the_bank_gets_the_qwac(tmp_path: Path, mode: str, kind: str) -> None:
    authority = Authority(tmp_path)
    as_pem, as_pkcs12 = key_files.write(tmp_path, "qwac", issued(), [ca().certificate], "geheim")
    file, password = (as_pem, None) if kind == "pem" else (as_pkcs12, "geheim")
    tls = authority.server("127.0.0.1", clients=True)
    tls.load_verify_locations(cadata=ca().certificate.public_bytes(Encoding.PEM).decode())
    with FarBank(ok(b"{}"), tls=tls) as far:
        shown = {"client_cert": file, "client_key_password": password}
        # If the bank does not answer, there is nothing to compare, and the sandbox answers.
        unasked = 404 if mode == "compare" else 502
        for name, options, status in (("with", shown, 200), ("without", {}, unasked)):
            bank = RealBank(far.url, ca=authority.file, mode=mode, **options)
            folder = tmp_path / f"{name}-{mode}"
            settings = Settings(state="memory:", confdir=folder, banks=(bank,), to=folder / "tape", answer_from="bank")
            assert asyncio.run(status_of(settings)) == status


async def status_of(settings: Settings) -> int:
    """Return the status for a path without a cassette, which the bank answers."""
    engine = build(settings)
    answer = await engine.answer(Request("GET", "/v1/funds-of-nobody", HEADERS, host="127.0.0.1", door="direct"))
    await engine.close()
    return answer.status
