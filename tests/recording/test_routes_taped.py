"""Which exchanges of a recording are used, and why others are not."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.taping import URL, bank_of_things, tape, taped
from xs2a_sandbox.features.derive.routes import LeftOut, RoutedExchange, Routes, by_route, read
from xs2a_sandbox.http.exchange import Exchange

A = "11111111-1111-4111-8111-111111111111"


def noted(body: bytes, *headers: tuple[str, str], status: int = 200) -> Exchange:
    return replace(taped("/v1/things", answer_headers=headers, status=status), answer_body=body)


def routed(directory: Path) -> tuple[list[RoutedExchange], dict[str, int], list[str]]:
    left_out: list[LeftOut] = []
    exchanges, said = read(directory / "tape", Routes(bank_of_things(directory)), left_out)
    return exchanges, said, list(map(str, left_out))


def test_each_exchange_has_its_number_file_and_route(tmp_path: Path) -> None:
    tape(tmp_path / "tape", taped("/v1/things"), taped("/v1/things/1"), name="20261120T101112Z")
    tape(tmp_path / "tape", taped("/v1/things/2"), redacted=False)
    exchanges, _, left_out = routed(tmp_path)
    assert [(one.number, one.file, one.redacted, one.route.name) for one in exchanges] == [
        (1, 0, "1a2b3c4d", "list"),
        (2, 0, "1a2b3c4d", "one"),
        (3, 1, None, "one"),
    ]
    assert left_out == []


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (taped("things"), "its target is not a path"),
        (noted(b'{"notRecorded":"application/json, 7 bytes"}'), "not recorded (application/json, 7 bytes: its form"),
        (
            noted(b"<!-- text/html, 1234 bytes, not recorded: a rule drops it -->"),
            "(text/html, 1234 bytes: a rule drops it)",
        ),
    ],
)
def test_an_exchange_that_cannot_become_a_rule_is_named_with_its_reason(
    tmp_path: Path, entry: Exchange, reason: str
) -> None:
    tape(tmp_path / "tape", entry, taped("/v1/things?secret=1"))
    exchanges, _, left_out = routed(tmp_path)
    assert [one.number for one in exchanges] == [2]
    (line,) = left_out
    assert reason in line
    assert "secret" not in line


def test_an_error_without_its_body_is_used_and_reported(tmp_path: Path) -> None:
    tape(tmp_path / "tape", noted(b"<!-- text/html, 12 bytes, not recorded -->", status=503))
    exchanges, _, (line,) = routed(tmp_path)
    assert len(exchanges) == 1
    assert "not recorded (text/html, 12 bytes: its form is not known), so the rule answers without a body" in line


@pytest.mark.parametrize(
    "entry",
    [
        noted(b"<!-- text/html, 12 bytes, not recorded -->", ("Location", "/there"), status=302),
        noted(b'{"written": "by a browser"}', ("Content-Encoding", "br")),
        noted(b'{"notRecorded": "at all"}'),
        noted(b"\x1f\x00\xff", ("Content-Encoding", "compress")),
    ],
)
def test_these_exchanges_are_used_completely(tmp_path: Path, entry: Exchange) -> None:
    tape(tmp_path / "tape", entry)
    exchanges, _, left_out = routed(tmp_path)
    assert (len(exchanges), left_out) == (1, [])


def test_values_that_the_bank_said_first_are_known(tmp_path: Path) -> None:
    other = A.replace("1", "2")
    tape(
        tmp_path / "tape",
        taped("/v1/things", {"id": A.upper()}, body={"x": other}, method="POST"),
        taped(f"/v1/things/{A}", {"id": A, "x": other}),
    )
    assert routed(tmp_path)[1] == {A: 1}


def test_of_two_banks_the_later_one_is_used(tmp_path: Path) -> None:
    tape(tmp_path / "tape", replace(taped("/v1/things"), bank="https://other.example"), taped("/v1/things"))
    left_out: list[str] = []
    groups = list(by_route(routed(tmp_path)[0], left_out))
    assert [[one.number for one in group] for group in groups] == [[2]]
    (line,) = left_out
    assert f"it went to https://other.example; {URL} answered the same request later" in str(line)
