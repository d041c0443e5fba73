"""`verify` and its output for answers without a valid signature."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from xs2a_sandbox.cli.main import cli

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"


@pytest.mark.parametrize("content", [HEAD + b"{}", b"HTTP/1.1 100 Continue\r\n\r\n" + HEAD + b"{}"])
def test_a_missing_signature_exits_with_1_and_lists_the_missing_headers(content: bytes) -> None:
    result = CliRunner().invoke(cli, ["verify"], input=content)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "the answer is not signed: it has neither the header Signature nor x-jws-signature\n"


@pytest.mark.parametrize("content", [b"", b"{}", b"Signature: a\r\n\r\n{}"])
def test_input_without_headers_is_not_a_response(content: bytes) -> None:
    result = CliRunner().invoke(cli, ["verify"], input=content)
    assert result.exit_code == 2
    assert "get it with curl -i" in result.stderr


def test_a_file_that_is_not_a_ca_is_named(tmp_path: Path) -> None:
    (tmp_path / "answer").write_bytes(HEAD.replace(b"Content", b"Signature: keyId=a\r\nContent") + b"{}")
    (tmp_path / "ca.pem").write_text("nonsense")
    for ca, text in (("ca.pem", "contains no CA certificate"), ("missing.pem", "No such file")):
        result = CliRunner().invoke(cli, ["verify", str(tmp_path / "answer"), "--ca", str(tmp_path / ca)])
        assert result.exit_code == 2
        assert text in result.stderr
        assert ca in result.stderr
