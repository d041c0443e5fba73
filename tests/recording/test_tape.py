"""Recordings as they are read, and as they were before redaction."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.taping import redacted_tape, taped
from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.http import har
from xs2a_sandbox.recording import har_log as recording
from xs2a_sandbox.recording.tape import as_sent, read_tape
from xs2a_sandbox.redaction import vault
from xs2a_sandbox.redaction.real_values import Depseudonymizer

IBAN = "AT459880000010204711"


@pytest.mark.parametrize(
    ("members", "redacted"), [({}, False), ({"_redacted": "1a2b3c4d"}, True), ({"_redacted": 1}, False)]
)
def test_a_har_document_shows_whether_it_is_redacted(tmp_path: Path, members: dict[str, Any], redacted: bool) -> None:
    document = har.log([taped("/a"), taped("/b")])
    document["log"] |= members
    (tmp_path / "x.har").write_text(json.dumps(document))
    exchanges = read_tape(tmp_path / "x.har")
    assert ([e.target for e in exchanges.entries], exchanges.is_redacted) == (["/a", "/b"], redacted)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "is not JSON"),
        ("[]", "log.entries must be a list"),
        ('{"log": {}}', "log.entries must be a list"),
        ('{"log": {"entries": [7]}}', r"log.entries\[0\]: "),
    ],
)
def test_a_file_that_is_not_har_is_an_error(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "x.har").write_text(text)
    with pytest.raises(ConfigError, match=reason):
        read_tape(tmp_path / "x.har")


def test_a_vault_restores_a_redacted_recording(tmp_path: Path) -> None:
    was = taped(f"/v1/accounts/{IBAN}", {"iban": IBAN, "ownerName": "Anna Grünwald"}, headers=[("PSU-ID", "anna")])
    tape = redacted_tape(tmp_path, was)
    assert IBAN not in str(tape.entries)
    real = as_sent(tape, vault.read(tmp_path / vault.FILE, tmp_path), Depseudonymizer(b"-"))
    (one,) = real.entries
    assert (one.target, one.headers.pairs, one.body) == (was.target, was.headers.pairs, b"")
    assert json.loads(one.answer_body) == json.loads(was.answer_body)
    assert not real.lacking


def test_a_vault_restores_an_exported_har_document(tmp_path: Path) -> None:
    was = taped(
        f"/v1/accounts?iban={IBAN}", {}, "POST", headers=[("Content-Type", "application/json")], body={"a": IBAN}
    )
    redacted_tape(tmp_path, was)
    recording.export(tmp_path / "tape", tmp_path / "all.har")
    real = as_sent(read_tape(tmp_path / "all.har"), vault.read(tmp_path / vault.FILE, tmp_path), Depseudonymizer(b"-"))
    assert [(one.target, one.body) for one in real.entries] == [(was.target, was.body)]


def test_a_request_with_a_secret_cannot_be_sent_again(tmp_path: Path) -> None:
    json_type = [("Content-Type", "application/json")]
    password = taped("/v1/x", {}, "PUT", headers=json_type, body={"psuData": {"password": "alpenrose7"}})
    tape = redacted_tape(
        tmp_path, taped("/v1/y"), password, taped("/v1/z", headers=[("Authorization", "Bearer 2fa81bc0")])
    )
    real = as_sent(tape, vault.read(tmp_path / vault.FILE, tmp_path), Depseudonymizer(b"-"))
    assert real.lacking == {1}
    assert "alpenrose7" not in str(real)
    assert "2fa81bc0" not in str(real)


def test_a_vault_without_the_recording_is_an_error(tmp_path: Path) -> None:
    tape = redacted_tape(tmp_path / "one", taped(f"/v1/accounts/{IBAN}"))
    redacted_tape(tmp_path / "other", taped("/v1/x"), key=b"o" * 32)
    opened = vault.read(tmp_path / "other" / vault.FILE, tmp_path / "other")
    with pytest.raises(ConfigError, match=r"redacted with the key .* does not have its real values: nothing was sent"):
        as_sent(tape, opened, Depseudonymizer(b"-"))


def test_a_vault_that_lacks_requests_is_an_error_with_their_number(tmp_path: Path) -> None:
    tape = redacted_tape(tmp_path, taped(f"/v1/accounts/{IBAN}"), taped("/v1/x"))
    (tmp_path / vault.FILE).unlink()
    redacted_tape(tmp_path, taped("/v1/x"))
    opened = vault.read(tmp_path / vault.FILE, tmp_path)
    with pytest.raises(ConfigError, match=r"lacks 1 of the 2 requests .*: nothing was sent now"):
        as_sent(tape, opened, Depseudonymizer(b"-"))
