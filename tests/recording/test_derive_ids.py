"""Ids of recorded rules consist of bank, operation and request. They are stable, and different for each bank."""

import random
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from tests.support.doors import limits
from tests.support.taping import again, bank_of_things, derived, rules, tape, taped
from tests.support.writing import SCHEMAS, rule_of
from xs2a_sandbox.bank import Bank, Banks, TestData
from xs2a_sandbox.bank.handlers.table import HANDLERS
from xs2a_sandbox.cassette.dialect import layers as interface
from xs2a_sandbox.cli.main import cli
from xs2a_sandbox.engine import Engine, Parts
from xs2a_sandbox.features.derive.derive import derive
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.recording import replay
from xs2a_sandbox.state import MemoryStore

OTHER = "https://api.other.example"


def ids(directory: Path, *entries: Exchange, name: str = "20261121T101112Z") -> list[str]:
    derived(directory, *entries, name=name)
    return list(rules(directory))


def test_two_banks_have_no_common_ids(tmp_path: Path) -> None:
    journey = [taped(path, 1) for path in ("/v1/things", "/v1/things/a", "/v1/others")]
    theirs = [replace(entry, bank=OTHER) for entry in journey]
    same_host = [replace(entry, bank=f"{entry.bank}/branch") for entry in journey]
    every = [ids(tmp_path / str(n), *entries) for n, entries in enumerate((journey, theirs, same_host))]
    assert len({id for some in every for id in some}) == 9


def test_an_id_stays_the_same_if_the_answer_changes_or_more_is_recorded(tmp_path: Path) -> None:
    (first,) = ids(tmp_path, taped("/v1/things", 1))
    assert ids(tmp_path, taped("/v1/things", 2), name="20261122T101112Z") == [first]
    more = [taped("/v1/things?page=2", 3), taped("/v1/things/a", 4)]
    assert first in ids(tmp_path, *more, name="20261123T101112Z")
    assert len(rules(tmp_path)) == 3


def test_an_edited_rule_keeps_its_id_when_other_requests_are_added(tmp_path: Path) -> None:
    (id,) = ids(tmp_path, taped("/v1/things", 1))
    file = tmp_path / "tape/cassettes/things.yaml"
    file.write_text(file.read_text().replace("body: 1", "body: edited"))
    done = derived(tmp_path, taped("/v1/things?page=2", 2), name="20261122T101112Z")
    assert (done.rules, done.kept) == (1, 1)
    assert f"{id!r} in things.yaml was edited" in done.left_out[0]


def text(directory: Path) -> str:
    files = sorted((directory / "tape/cassettes").glob("*.yaml"))
    return "".join(file.read_text() for file in files)


targets = st.tuples(
    st.sampled_from(["/v1/things", "/v1/things/a", "/v1/things/b", "/v1/others"]),
    st.dictionaries(st.sampled_from("abc"), st.sampled_from(["1", "2", "2026-11-21"]), max_size=2),
).map(
    lambda pair: (
        pair[0] + ("?" + "&".join(f"{name}={value}" for name, value in sorted(pair[1].items())) if pair[1] else "")
    )
)


@given(st.lists(targets, min_size=1, max_size=8, unique=True), st.randoms(use_true_random=False))
def test_the_order_of_requests_changes_nothing(targets: list[str], chance: random.Random) -> None:
    journey = [taped(target, {"for": target}) for target in targets]
    with TemporaryDirectory() as one, TemporaryDirectory() as other:
        derived(Path(one), *journey)
        derived(Path(other), *chance.sample(journey, len(journey)))
        assert text(Path(one)) == text(Path(other))


# Two recordings as two layers


def layered(directory: Path, *recordings: list[Exchange]) -> Engine:
    bank_of_things(directory)
    layers = [[directory / "bank"]]
    for number, entries in enumerate(recordings):
        tape(directory / str(number), *entries)
        derive(directory / str(number), bank_of_things(directory))
        layers.append([directory / str(number) / "cassettes"])
    read = interface.read(layers, SCHEMAS, HANDLERS)
    return Engine(Parts(Banks(Bank(read, SCHEMAS)), MemoryStore(), TestData({}, ()), limits=limits()))


def of(bank: str, target: str, answer: Any, **headers: str) -> Exchange:
    pairs = [(name.replace("_", "-"), value) for name, value in headers.items()]
    return taped(target, answer, headers=pairs, bank=bank)


def test_rules_of_two_banks_can_be_combined(tmp_path: Path) -> None:
    ours = [of("https://one.example", f"/v1/things/{n}", n) for n in "abc"]
    theirs = [of(OTHER, f"/v1/things/{n}", n) for n in "def"]
    engine = layered(tmp_path, ours, theirs)
    assert [answer.body for answer in again(engine, *ours, *theirs)] == [f'"{n}"'.encode() for n in "abcdef"]
    assert list(replay.find_replaced(engine.interface)) == []


def test_missing_bodies_are_listed_for_both_layers(tmp_path: Path) -> None:
    lost = b"<!-- application/xml, 12 bytes, not recorded -->"
    engine = layered(tmp_path, [of("https://one.example", "/v1/things", lost)], [of(OTHER, "/v1/things", lost)])
    assert len(list(replay.list_left_out(engine.interface))) == 2


@pytest.mark.parametrize("bank", ["https://xs2a.bank.example/psd2", OTHER], ids=["the same bank", "another"])
def test_a_layer_that_replaces_recorded_rules_of_another_is_reported(tmp_path: Path, bank: str) -> None:
    first = [taped("/v1/things", 1), taped("/v1/things/a", 1), taped("/v1/things/b", 1)]
    second = [of(bank, "/v1/things", 2), of(bank, "/v1/things/a", 1)]
    engine = layered(tmp_path, first, second)
    (answer,) = again(engine, taped("/v1/things"))
    assert answer.body == b"2"
    (line,) = replay.find_replaced(engine.interface)
    (id,) = (id for id in text_ids(tmp_path / "0") if "-list-" in id)
    places = [tmp_path / number / "cassettes/things.yaml" for number in "01"]
    assert line == f"{places[0]}: {places[1]} replaces {id} with other answers"


def text_ids(recording: Path) -> list[str]:
    lines = (recording / "cassettes/things.yaml").read_text().splitlines()
    return [line.partition("id: ")[2] for line in lines if line.startswith("  - id: ")]


def test_a_more_general_rule_of_a_later_layer_is_reported_too(tmp_path: Path) -> None:
    first = [taped("/v1/things?page=1", 1), taped("/v1/things?page=2", 2)]
    engine = layered(tmp_path, first, [of(OTHER, "/v1/things", 3)])
    assert {rule_of(answer) for answer in again(engine, *first)} == {text_ids(tmp_path / "1")[0]}
    (line,) = replay.find_replaced(engine.interface)
    assert all(id in line for id in text_ids(tmp_path / "0"))


def test_lint_and_serve_report_replaced_rules(tmp_path: Path) -> None:
    for number, answer in ((1, 1), (2, 2)):
        tape(tmp_path / str(number), taped("/v1/accounts", answer))
        derive(tmp_path / str(number), None)
    places = [str(tmp_path / str(number) / "cassettes") for number in (1, 2)]
    done = CliRunner().invoke(cli, ["lint", *places])
    assert done.exit_code == 0, done.output
    assert f"{places[1]}/accounts.yaml replaces recorded-xs2a-bank-example-" in done.stderr
