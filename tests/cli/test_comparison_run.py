from pathlib import Path

import pytest

from tests.support.engine_client import an_engine, cassette
from xs2a_sandbox.cli import comparison_run
from xs2a_sandbox.errors import ConfigError

CASE = """\
    rules:
      - id: mine
        match: {path: "/own/{x}"}
        respond: {body: 1}
        examples:
          - {request: {where: {x: a}}, expect: {status: 200}}
          - {request: {where: {x: b}, body: {}}, expect: {status: 200}}
"""


def test_all_examples_are_played_or_those_of_a_file(tmp_path: Path) -> None:
    layers = cassette(tmp_path, CASE)
    interface = an_engine(layers=layers).interface
    everything = comparison_run.of_examples(interface)
    own = comparison_run.of_examples(interface, [tmp_path])
    assert [(s.title, s.request.method, s.request.target) for s in own] == [
        ("mine, example 1", "GET", "/own/a"),
        ("mine, example 2", "POST", "/own/b"),
    ]
    assert comparison_run.of_examples(interface, [tmp_path / "case.yaml"])[0].title == "mine, example 1"
    assert len(everything) > len(own)


def test_an_example_with_a_gap_says_where(tmp_path: Path) -> None:
    layers = cassette(tmp_path, CASE.replace("where: {x: a}", ""))
    with pytest.raises(ConfigError, match=r"case\.yaml:\d+: the example does not say what \{x\} is"):
        comparison_run.of_examples(an_engine(layers=layers).interface, [tmp_path])
