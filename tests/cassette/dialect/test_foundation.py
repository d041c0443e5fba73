"""A dialect that extends another: removals, changes, and mistakes with their places."""

import json
from pathlib import Path

import pytest

from tests.support.writing import BANK, SCHEMAS, ask, header, write
from xs2a_sandbox.bank import Bank, Banks, TestData
from xs2a_sandbox.bank.handlers.table import NAMED
from xs2a_sandbox.cassette.dialect import layers
from xs2a_sandbox.config.limits import USUAL
from xs2a_sandbox.engine import Engine, Parts
from xs2a_sandbox.errors import Problem
from xs2a_sandbox.state import MemoryStore

BASE = {
    "bank.yaml": {key: value for key, value in BANK.items() if key != "operations"},
    "operations.yaml": """\
        cassette: 1
        request: {consent: "{{ path.consentId }}"}
        operations:
          - {id: list, method: GET, path: /v1/things, respond: {body: {list: 1, more: {a: 1, b: 2}}}}
          - {id: one, method: GET, path: "/v1/things/{thing}", respond: {error: odd}}
          - id: consent
            method: GET
            path: /v1/consents/{consentId}
            handler: accounts.list
            with: {sca_days: 90, rights: true}
            respond: {body: "{{ result }}"}
        rules:
          - {id: first, match: {operation: list, query: {a: "1"}}, respond: {body: first}}
        errors:
          odd: {status: 418, code: TEAPOT, text: a}
        """,
}


def problems(directory: Path, *texts: str, base: bool = True) -> list[Problem]:
    """Return the problems of a dialect with these files. The dialect that it extends is in the folder next to it."""
    if base:
        write(directory / "base", BASE)
    write(directory / "mine", {f"{number}.yaml": text for number, text in enumerate(texts)})
    return layers.check([[directory / "mine"]], SCHEMAS, NAMED)[1]


def engine(directory: Path, *texts: str) -> Engine:
    assert problems(directory, *texts) == []
    interface = layers.read([[directory / "mine"]], SCHEMAS, NAMED)
    return Engine(Parts(Banks(Bank(interface, SCHEMAS)), MemoryStore(), TestData({}, ()), limits=USUAL))


def test_inherited_entries_are_unchanged(tmp_path: Path) -> None:
    bank = engine(tmp_path, "cassette: 1\nextends: base\n")
    assert json.loads(ask(bank).body) == {"list": 1, "more": {"a": 1, "b": 2}}
    assert header(ask(bank, "/v1/things?a=1"), "X-Sandbox-Rule") == "first"
    assert ask(bank, "/v1/things/1").status == 418


def test_entries_can_be_removed_changed_and_added(tmp_path: Path) -> None:
    bank = engine(
        tmp_path,
        """\
        cassette: 1
        extends: base
        without: [first]
        changes:
          operations:
            list: {respond: {status: 201, body: {more: {a: null, c: 3}}}}
          errors:
            odd: {status: {default: 400, list: 409}}
        rules:
          - {id: mine, match: {operation: list, query: {b: "1"}}, respond: {body: mine}}
        """,
    )
    listed = ask(bank, "/v1/things?a=1")
    assert (listed.status, json.loads(listed.body)) == (201, {"list": 1, "more": {"b": 2, "c": 3}})
    assert ask(bank, "/v1/things/1").status == 400
    assert ask(bank, "/v1/things?b=1").body == b'"mine"'


def test_an_entry_with_the_same_id_replaces_the_inherited_one(tmp_path: Path) -> None:
    bank = engine(
        tmp_path,
        "cassette: 1\nextends: base\n",
        """\
        cassette: 1
        operations:
          - {id: one, method: GET, path: "/v1/things/{x}", respond: {body: "{{ path.x }}"}}
        """,
    )
    assert ask(bank, "/v1/things/7").body == b'"7"'


def test_options_are_changed_wherever_the_handler_is_used(tmp_path: Path) -> None:
    text = "cassette: 1\nextends: base\nchanges: {options: {accounts.list: {rights: null}}}\n"
    (operation,) = [o for o in engine(tmp_path, text).interface.operations.values() if o.id == "consent"]
    assert operation.behaviour.options == {"sca_days": 90}


def test_a_dialect_can_extend_a_derived_dialect(tmp_path: Path) -> None:
    write(tmp_path / "middle", {"a.yaml": "cassette: 1\nextends: base\nchanges: {errors: {odd: {status: 400}}}\n"})
    bank = engine(tmp_path, "cassette: 1\nextends: middle\nwithout: [list, first]\n")
    assert ask(bank, "/v1/things/1").status == 400
    assert ask(bank).status == 404
    assert [folder.name for folder in bank.interface.foundation] == ["base", "middle"]


def test_any_dialect_can_extend_the_bundled_one(tmp_path: Path) -> None:
    bank = engine(tmp_path, "cassette: 1\nextends: xs2a-1.84\n")
    assert len(bank.interface.operations) > 30


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("extends: mine", "0.yaml:2:10", "the dialect mine extends itself"),
        ("extends: bse", "0.yaml:2:10", "unknown dialect 'bse'; did you mean base?"),
        ("extends: ../base", "0.yaml:2:10", "unknown dialect '../base'; "),
        ("extends: cases", "0.yaml:2:10", "unknown dialect 'cases'; "),
        ("without: [list]", "0.yaml:2:1", "without also needs the key extends"),
        ("extends: base\nwithout: [lst]", "0.yaml:3:11", "base has no entry 'lst'; did you mean list?"),
        (
            "extends: base\nwithout: [first, list, first]",
            "0.yaml:3:10",
            "has the same entry twice",
        ),
        ("extends: base\nwithout: [list]", "0.yaml:3:11", "this removes the operation list, which "),
        ("extends: base\nwithout: [odd]", "0.yaml:3:11", "this removes the error odd, which "),
        (
            "extends: base\nwithout: [consent-expired]",
            "0.yaml:3:11",
            "this removes the error consent-expired, which accounts.list raises",
        ),
        (
            "extends: base\nchanges: {operations: {lst: {}}}",
            "0.yaml:3:24",
            "base has no operation 'lst'; did you mean list?",
        ),
        (
            "extends: base\nchanges:\n  operations:\n    list: {respond: {staus: 201}}",
            "0.yaml:5:22",
            "unknown key staus; did you mean status?",
        ),
        (
            "extends: base\nchanges:\n  errors:\n    odd: {status: 200}",
            "0.yaml:5:19",
            "must be at least 400, not 200",
        ),
        (
            "extends: base\nchanges:\n  options:\n    accounts.list: {lnks: {}}",
            "0.yaml:5:21",
            "unknown key lnks",
        ),
        (
            "extends: base\nchanges: {options: {accounts.lst: {}}}",
            "0.yaml:3:21",
            "base has no handler 'accounts.lst'; did you mean accounts.list?",
        ),
    ],
)
def test_a_mistake(tmp_path: Path, text: str, place: str, said: str) -> None:
    mistakes = [f"{p.place.rpartition('/')[2]} {p.text}" for p in problems(tmp_path, f"cassette: 1\n{text}\n")]
    assert any(one.startswith(f"{place} ") for one in mistakes if said in one), mistakes


def test_dialects_that_extend_each_other_are_reported(tmp_path: Path) -> None:
    write(tmp_path / "base", {"a.yaml": "cassette: 1\nextends: mine\n"})
    (problem, *_) = problems(tmp_path, "cassette: 1\nextends: base\n", base=False)
    assert problem.text == "the dialect mine extends itself, through base"
    assert problem.file.parent.name == "base"


def test_a_dialect_cannot_extend_two_dialects(tmp_path: Path) -> None:
    (problem, *_) = problems(tmp_path, "cassette: 1\nextends: base\n", "cassette: 1\nextends: xs2a-1.84\n")
    assert (problem.file.name, problem.line, problem.column) == ("1.yaml", 2, 1)
    assert problem.text.startswith("the dialect already extends base, at ")


def test_several_files_can_contain_changes(tmp_path: Path) -> None:
    bank = engine(
        tmp_path,
        "cassette: 1\nextends: base\nwithout: [first]\nchanges: {errors: {odd: {status: 400}}}\n",
        "cassette: 1\nextends: base\nchanges: {operations: {list: {respond: {status: 201}}}}\n",
    )
    assert ask(bank, "/v1/things?a=1").status == 201
    assert ask(bank, "/v1/things/1").status == 400


def test_two_files_that_change_the_same_entry_are_reported(tmp_path: Path) -> None:
    change = "cassette: 1\nextends: base\nchanges:\n  errors: {odd: {status: %s}}\n"
    (problem,) = problems(tmp_path, change % 400, change % 409)
    assert (problem.file.name, problem.line, problem.column) == ("1.yaml", 4, 12)
    assert problem.text.startswith("odd is already changed at ")
    assert problem.text.endswith("0.yaml:4")


def test_a_section_is_allowed_in_only_one_file_of_a_layer(tmp_path: Path) -> None:
    every = 'every_answer: {headers: {X-A: "1"}}\n'
    (problem,) = problems(tmp_path, f"cassette: 1\nextends: base\n{every}", f"cassette: 1\n{every}")
    assert (problem.file.name, problem.code) == ("1.yaml", "duplicate-id")
    assert problem.text.startswith("every_answer is already in ")


def test_a_layer_above_a_dialect_cannot_extend_another(tmp_path: Path) -> None:
    write(tmp_path / "base", BASE)
    write(tmp_path / "cases", {"a.yaml": "cassette: 1\nextends: base\n"})
    (problem,) = layers.check([[tmp_path / "base"], [tmp_path / "cases"]], SCHEMAS, NAMED)[1]
    assert problem.text.startswith("only a dialect can extend another")


def test_examples_of_the_dialect_in_use_replace_inherited_ones(tmp_path: Path) -> None:
    write(tmp_path / "base", BASE)
    shown = "changes: {operations: {list: {examples: [{request: {}, expect: {status: 200}}]}}}\n"
    write(tmp_path / "middle", {"a.yaml": f"cassette: 1\nextends: base\n{shown}"})
    write(tmp_path / "mine", {"a.yaml": "cassette: 1\nextends: middle\n"})
    middle = layers.read([[tmp_path / "middle"]], SCHEMAS, NAMED)
    mine = layers.read([[tmp_path / "mine"]], SCHEMAS, NAMED)
    assert [len(one.operations["list"].examples) for one in (middle, mine)] == [1, 0]


def test_a_removed_error_that_many_handlers_raise_is_reported_once(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "mine", {"a.yaml": "cassette: 1\nextends: berlin-group-1.3\nwithout: [consent-unknown]\n"}
    )
    (problem,) = layers.check([[folder]], SCHEMAS, NAMED)[1]
    assert (problem.line, problem.column) == (3, 11)
    assert problem.text.startswith("this removes the error consent-unknown, which accounts.list, accounts.read, ")
    assert problem.text.endswith(" raise")
