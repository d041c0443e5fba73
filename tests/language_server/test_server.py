"""The server, as an editor runs it."""

import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.language_server.editor import Editor
from xs2a_sandbox.bundled import bundled

CASE = """cassette: 1
rules:
  - id: mine
    doc: A case
    match: {operation: initiate-payment}
    respond: {text: "💶", status: 403, headers: {X-Product: "{{ path.produkt }}"}}
"""

needs_pygls = pytest.mark.skipif(find_spec("pygls") is None, reason="pygls is not installed: the extra lsp")


@pytest.fixture
def case(tmp_path: Path) -> Path:
    file = tmp_path / "cassettes/cases/mine.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(CASE)
    return file


@pytest.fixture
def editor(case: Path) -> Iterator[Editor]:
    with Editor(case.parents[2]) as editor:
        yield editor


def any_code(codes: list[str]) -> bool:
    return bool(codes)


def no_code(codes: list[str]) -> bool:
    return not codes


def test_without_pygls_the_command_says_how_to_install_it() -> None:
    code = "import importlib.util as u; found = u.find_spec\n"
    code += "u.find_spec = lambda name, package=None: None if name == 'pygls' else found(name, package)\n"
    code += "import sys; sys.argv = ['xs2a-sandbox', 'lsp']\nfrom xs2a_sandbox.cli.main import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.strip() == "Error: the language server needs pygls: pip install 'xs2a-sandbox[lsp]'"


def test_the_feature_does_not_import_pygls() -> None:
    code = "import sys, xs2a_sandbox.features.language_server.commands as c; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"pygls", "lsprotocol"} & {name.partition(".")[0] for name in done.stdout.split()}


@needs_pygls
@pytest.mark.slow
def test_problems_follow_the_file(editor: Editor, case: Path) -> None:
    editor.show(case)
    (problem,) = editor.problems(case, any_code)
    assert problem["code"] == "where"
    assert "did you mean product?" in problem["message"]
    # The position counts in UTF-16, in which the symbol before it has two units.
    assert problem["range"]["start"] == {"line": 5, "character": 60}
    assert problem["source"] == "xs2a-sandbox"

    editor.type(case, CASE.replace("produkt", "product"))
    editor.problems(case, no_code)
    editor.type(case, CASE.replace("match", "mach"))
    assert {one["code"] for one in editor.problems(case, any_code)} == {"missing-key", "unknown-key"}
    editor.type(case, CASE.replace("]", "").replace("{operation", "{ {operation"))
    editor.problems(case, lambda codes: codes not in ([], ["missing-key", "unknown-key"]))
    editor.type(case, CASE.replace("produkt", "product"))
    editor.problems(case, no_code)
    editor.save(case)
    editor.problems(case, no_code)
    editor.type(case, CASE)
    editor.save(case)
    assert [one["code"] for one in editor.problems(case, any_code)] == ["where"]


@needs_pygls
@pytest.mark.slow
def test_problems_of_other_files(editor: Editor, case: Path) -> None:
    """A mistake in one file is also reported in files that use what is missing."""
    other = case.with_name("other.yaml")
    other.write_text("cassette: 1\nrules:\n  - {id: mine, match: {path: /x}, respond: {status: 200}}\n")
    editor.show(case)
    assert [one["code"] for one in editor.problems(other, any_code)] == ["duplicate-id"]
    editor.type(case, CASE.replace("mine", "other").replace("produkt", "product"))
    editor.save(case)
    editor.problems(other, no_code)


@needs_pygls
@pytest.mark.slow
def test_completion_description_and_definition(editor: Editor, case: Path) -> None:
    editor.show(case)
    editor.problems(case, any_code)
    items = editor.at("completion", case, "{operation: initiate")["items"]
    (item,) = (one for one in items if one["label"] == "initiate-payment")
    start, end = item["textEdit"]["range"]["start"], item["textEdit"]["range"]["end"]
    assert (start["line"], start["character"], end["character"]) == (4, 23, 39)
    assert "POST" in item["documentation"]["value"]
    items = editor.at("completion", case, "{{ path.")["items"]
    assert [one["label"] for one in items] == ["product"]
    assert items[0]["textEdit"]["range"]["start"]["character"] == 69
    assert "POST /v1/payments" in editor.at("hover", case, "initiate-pay")["contents"]["value"]
    assert "Rule for initiate-payment" in editor.at("hover", case, "id: mi")["contents"]["value"]
    assert editor.at("hover", case, "A ca") is None
    place = editor.at("definition", case, "initiate-pay")
    file = bundled("cassettes") / "xs2a-1.84/payments.yaml"
    assert place["uri"] == file.as_uri()
    assert file.read_text().splitlines()[place["range"]["start"]["line"]].strip() == "- id: initiate-payment"


@needs_pygls
@pytest.mark.slow
def test_settings_and_other_yaml(editor: Editor, case: Path) -> None:
    config = case.parents[2] / "xs2a-sandbox.yaml"
    config.write_text("dialekt: xs2a-1.84\n")
    editor.show(config)
    assert [one["code"] for one in editor.problems(config, any_code)] == ["unknown-key"]
    config.write_text("dialect: obie-4.0\n")
    editor.texts[config] = config.read_text()
    editor.save(config)
    editor.problems(config, no_code)
    editor.show(case)
    codes = {one["code"] for one in editor.problems(case, any_code)}
    assert "unknown-operation" in codes
    other = case.parents[2] / "compose.yaml"
    other.write_text("services: {}\n")
    editor.show(other)
    assert editor.at("completion", other, "serv") is None


@needs_pygls
@pytest.mark.slow
def test_a_file_of_a_bundled_dialect_is_checked_with_that_dialect(editor: Editor) -> None:
    file = bundled("cassettes") / "obie-4.0/payments.yaml"
    editor.show(file)
    assert editor.problems(file, lambda codes: True) == []
    assert "domestic" in str(editor.at("completion", file, "operations:\n  - id: "))


@needs_pygls
@pytest.mark.slow
def test_wrong_settings_are_reported_in_their_file(editor: Editor, case: Path) -> None:
    config = case.parents[2] / "xs2a-sandbox.yaml"
    config.write_text("testdata: missing.yaml\n")
    editor.show(case)
    assert [one["code"] for one in editor.problems(config, any_code)] == ["wrong-value"]
    assert editor.at("completion", case, "    match: {")["items"]
    config.unlink()
    editor.save(case)
    editor.problems(config, no_code)
