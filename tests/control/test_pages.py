"""Pages of the sandbox itself."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.engine_client import Client, an_engine


@pytest.fixture
def client(tmp_path: Path) -> Client:
    return Client(an_engine(ca_file=tmp_path / "ca.pem", bank_keys=lambda: {"keys": []}))


@pytest.mark.parametrize("page", ["health", "ready", "ca.pem", "jwks.json"])
@pytest.mark.parametrize(("door", "there"), [("direct", True), ("process", True), ("proxy", False), ("tls", False)])
def test_the_control_interface_is_never_reached_through_a_proxy(
    client: Client, tmp_path: Path, page: str, door: Any, there: bool
) -> None:
    (tmp_path / "ca.pem").write_text("PEM")

    assert client.get(f"/_sandbox/{page}", door=door).status == (200 if there else 404)


@pytest.mark.parametrize(
    "path", ["/_sandbox", "/_sandbox/nope", "/_sandbox/health/x", "/_sandbox/ca.pem", "/_sandbox/jwks.json/x"]
)
def test_unknown_pages_are_not_found(client: Client, path: str) -> None:
    assert client.get(path).error["code"] == "RESOURCE_UNKNOWN"


@pytest.mark.parametrize("method", ["POST", "DELETE", "PUT"])
def test_pages_cannot_be_written(client: Client, method: str) -> None:
    assert client.request(method, "/_sandbox/health").status in (404, 405)


def test_the_ca_is_a_download(client: Client, tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_bytes(b"-----BEGIN CERTIFICATE-----")

    answer = client.get("/_sandbox/ca.pem")

    assert answer.body == b"-----BEGIN CERTIFICATE-----"
    assert answer.headers["content-disposition"].startswith("attachment")
