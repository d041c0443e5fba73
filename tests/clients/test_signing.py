"""A client that signs requests and has no knowledge of the sandbox: the npm package js-nextgen-psd2."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests.clients.test_clients import HERE, WALK, plain, runs
from tests.contract import bodies, facts
from tests.support.seals import NOW, trusted
from tests.support.serving import served
from xs2a_sandbox.signatures.signing import Seal
from xs2a_sandbox.tpp.trust_service import TrustService

PROGRAM = HERE / "node" / "signing.cjs"


def walked(url: str, folder: Path, seal: Seal) -> list[dict[str, Any]]:
    """Return the answers to a program that signs with this certificate."""
    (folder / "seal.crt").write_bytes(seal.certificate.public_bytes(Encoding.PEM))
    (folder / "seal.key").write_bytes(seal.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    consent = json.dumps(bodies.consent(facts.covered()))
    variables = {"BASE_URL": url, "SEAL_CERT": "seal.crt", "SEAL_KEY": "seal.key", "CONSENT": consent}
    done = subprocess.run(
        ["node", PROGRAM], cwd=folder, env=plain() | variables, capture_output=True, text=True, timeout=WALK
    )
    assert done.returncode == 0, done.stderr[:1000]
    answers: list[dict[str, Any]] = json.loads(done.stdout)
    return answers


@pytest.mark.skipif(
    not runs(f"command -v node && test -d {HERE}/node/node_modules/js-nextgen-psd2"),
    reason="js-nextgen-psd2 is not installed: `make clients` does it",
)
def test_a_signing_client(tmp_path: Path) -> None:
    with served(tmp_path, "--checks", "signature") as serving:
        created, status = walked(serving.direct, tmp_path, trusted(TrustService(serving.confdir).ca(NOW)))
        assert [created["status"], status["status"]] == [200, 200], created
        assert status["body"]["consentStatus"] == "valid"
