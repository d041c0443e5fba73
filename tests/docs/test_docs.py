"""The documentation is correct.

A block after `<!-- runs -->` is run against a sandbox; a block after `<!-- prints -->` is the output of the block
before it (`…` matches anything). Ports and the folder `~/.xs2a-sandbox` are replaced by the ports and folder of the
test. A block after `<!-- from FILE -->` is part of that file.
"""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, get_args

import click
import pytest
from click.testing import CliRunner

from tests.support.doors import DEADLINE
from tests.support.linting import run
from xs2a_sandbox.bank import testdata
from xs2a_sandbox.bank.handlers.table import HANDLERS
from xs2a_sandbox.cassette.evaluation.expressions import ERROR_ROOTS, FILTERS, FUNCTIONS, RESULT_ROOTS, ROOTS
from xs2a_sandbox.cassette.matchers import OPERATORS
from xs2a_sandbox.cli.main import cli
from xs2a_sandbox.compare import masking
from xs2a_sandbox.compare.difference import Kind
from xs2a_sandbox.config import Settings
from xs2a_sandbox.config.table import SETTINGS
from xs2a_sandbox.documents import yaml_reader
from xs2a_sandbox.engine import build
from xs2a_sandbox.features.agents.skill import SKILL
from xs2a_sandbox.features.authoring import lint, lint_answers, new_case
from xs2a_sandbox.features.authoring import lint as unused
from xs2a_sandbox.features.authoring.examples import examples
from xs2a_sandbox.redaction import rules

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = {"README.md": (ROOT / "README.md").read_text()}
PAGES |= {page.relative_to(DOCS).as_posix(): page.read_text() for page in sorted(DOCS.glob("**/*.md"))}
PAGES[SKILL.name] = SKILL.read_text()

_BLOCK = re.compile(
    r"(?:^<!-- (runs(?: with --dialect \S+)?|prints|from \S+) -->\n)?^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
_TEXT = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    page: str
    number: int
    mark: str
    language: str
    text: str
    prints: str | None = None

    @property
    def id(self) -> str:
        return f"{self.page}-{self.number}"


def blocks(page: str) -> list[Block]:
    found = [Block(page, n, *groups) for n, groups in enumerate(_BLOCK.findall(PAGES[page]))]
    following = [*found[1:], None][: len(found)]
    return [
        Block(b.page, b.number, b.mark, b.language, b.text, after.text if after and after.mark == "prints" else None)
        for b, after in zip(found, following, strict=True)
    ]


BLOCKS = [block for page in PAGES for block in blocks(page)]


CASSETTE_PAGES = (
    "cassettes.md",
    "rules.md",
    "answers.md",
    "expressions.md",
    "define-operations.md",
    "dialect-sections.md",
)
"""The pages that together describe the format of cassettes."""


def file_blocks(*languages: str, first: str = "") -> list[Any]:
    chosen = [b for b in BLOCKS if b.language in languages and b.text.startswith(first)]
    return [pytest.param(block, id=block.id) for block in chosen]


def prose(page: str) -> str:
    return _TEXT.sub("", PAGES[page])


def names_on(*pages: str) -> set[str]:
    """Return all code spans outside of blocks, complete and word by word."""
    spans = [span for page in pages for span in re.findall(r"`([^`\n]+)`", prose(page))]
    return {*spans, *(word for span in spans for word in re.split(r"[ :,(){}\[\]|]+", span))}


# Blocks


ELSEWHERE_TRIED = ("lint.md", "plugins.md", "extend-a-dialect.md", "your-own-bank.md")
"""Pages whose cassettes depend on the text around them, and are tested in other modules."""


@pytest.mark.parametrize(
    "block", [p for p in file_blocks("yaml", first="cassette:") if p.values[0].page not in ELSEWHERE_TRIED]
)
def test_cassettes_load_and_their_examples_pass(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    is_dialect = "\nextends: " in block.text
    file = tmp_path / "cassettes/mybank/dialect.yaml" if is_dialect else tmp_path / "case.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(block.text)
    monkeypatch.chdir(tmp_path)
    settings = Settings(state="memory:", confdir=tmp_path)
    layered = replace(settings, dialect="mybank") if is_dialect else replace(settings, cassettes=(tmp_path,))
    engine = build.build(layered)
    own = [one for one in examples(engine.interface) if is_dialect or one.owner.origin.document.file == file]
    assert {f"{entry.owner.id} {entry.number}": run(engine, entry) for entry in own} == {
        f"{entry.owner.id} {entry.number}": [] for entry in own
    }


@pytest.mark.parametrize("first", ["case", "command"])
def test_the_case_and_the_command_of_the_readme_work_together(
    first: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = Settings(state="memory:", confdir=tmp_path)
    (block,) = [b for b in blocks("README.md") if b.language == "yaml" and b.text.startswith("cassette:")]
    (words,) = re.findall(r"`xs2a-sandbox new-case (\S+) (\S+) --status (\d+)`", PAGES["README.md"])
    file = tmp_path / "cassettes/cases/tax.yaml"
    file.parent.mkdir(parents=True)
    if first == "case":
        file.write_text(block.text)
    new_case.write(settings, words[0], words[1], int(words[2]))
    file.write_text(block.text)
    assert [str(p) for p in lint.check(settings)] == []


def test_the_pages_about_cassettes_have_examples_that_run() -> None:
    counts = {
        "README.md": 1,
        "cassettes.md": 1,
        "rules.md": 4,
        "answers.md": 5,
        "expressions.md": 5,
        "define-operations.md": 4,
        "dialect-sections.md": 3,
        "recipes.md": 18,
    }
    assert set(CASSETTE_PAGES) <= set(counts)
    for page, count in counts.items():
        assert sum("examples:" in b.text for b in blocks(page) if b.language == "yaml") >= count, page


@pytest.mark.parametrize("block", [p for p in file_blocks("yaml", first="testdata:") if p.values[0].page != "lint.md"])
def test_test_data_load_over_the_bundled(block: Block, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(block.text)
    testdata.load([ROOT / "cassettes" / "testdata.yaml", tmp_path / "mine.yaml"])


@pytest.mark.parametrize("block", file_blocks("yaml", first="redaction:"))
def test_rules_of_redaction_load(block: Block, tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text(block.text)
    assert rules.read(tmp_path / "rules.yaml") != rules.DEFAULT


@pytest.mark.parametrize("block", file_blocks("yaml", first="ignore:"))
def test_ignore_rules_load(block: Block, tmp_path: Path) -> None:
    (tmp_path / "ignore.yaml").write_text(block.text)
    assert masking.read([tmp_path / "ignore.yaml"])


def test_every_kind_of_difference_is_documented() -> None:
    for kind in get_args(Kind):
        assert re.search(rf"^\| (`[a-z-]+`, )?`{kind}`.*\|", PAGES["compare.md"], re.MULTILINE), kind


def test_every_yaml_block_is_checked() -> None:
    checked = ("cassette:", "redaction:", "testdata:")
    others = [b for b in BLOCKS if b.language == "yaml" and not b.text.startswith(checked)]
    # The YAML blocks that are not cassettes: lint's example of that, Compose and Prometheus files, ignore rules, and a
    # workflow.
    assert {b.text.partition(":")[0] for b in others} <= {"rules", "services", "ignore", "name", "scrape_configs"}


@pytest.mark.parametrize("code", re.findall(r"^### (\S+)$", PAGES["lint.md"], re.MULTILINE))
def test_lint_examples_have_the_documented_problem(code: str, tmp_path: Path) -> None:
    section = PAGES["lint.md"].partition(f"\n### {code}\n")[2].partition("\n#")[0]
    for text in re.findall(r"^```yaml\n(.*?)^```", section, re.MULTILINE | re.DOTALL):
        file = tmp_path / "example.yaml"
        file.write_text(text)
        path = file if text.startswith("testdata:") else tmp_path
        problems = lint.check(Settings(state="memory:", confdir=tmp_path), [path])
        assert {problem.code for problem in problems} == {code}, [str(problem) for problem in problems]
    assert len(section.split()) > 5


Served = tuple[Path, Mapping[str, str]]
"""The confdir of a sandbox, and its announcement."""


@contextmanager
def serving(home: Path, *more: str) -> Iterator[Served]:
    """Start a real sandbox in an empty home."""
    flags = ["--proxy-port", "0", "--port", "0", "--tls-port", "0", "--state", "memory:", "--log-format", "json", *more]
    command = [sys.executable, "-m", "xs2a_sandbox", "serve", *flags, "--confdir", str(home / "sandbox")]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("XS2A_SANDBOX_")}
    process = subprocess.Popen(command, cwd=home, env=environ, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    try:
        output = process.stdout.readline()
        assert output, "the sandbox did not start"
        # The pipe must not fill up.
        reader = threading.Thread(target=process.stdout.read)
        reader.start()
        yield home / "sandbox", json.loads(output)
    finally:
        process.terminate()
        assert process.wait(2 * DEADLINE) == 0
    reader.join(DEADLINE)


@pytest.fixture(scope="session")
def sandboxes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Served]]:
    """Return the sandbox of a dialect, or of the default dialect for an empty name. It is started on first use."""
    with ExitStack() as stack:

        @cache
        def started(dialect: str) -> Served:
            flags = ("--dialect", dialect) if dialect else ()
            return stack.enter_context(serving(tmp_path_factory.mktemp("home"), *flags))

        yield started


@pytest.mark.parametrize("block", [p for p in file_blocks("sh", "python") if p.values[0].mark.startswith("runs")])
def test_the_example_runs(block: Block, sandboxes: Callable[[str], Served], tmp_path: Path) -> None:
    confdir, addresses = sandboxes(block.mark.removeprefix("runs").removeprefix(" with --dialect "))

    def here(text: str) -> str:
        for usual, real in (
            ("http://127.0.0.1:8080", addresses["proxy"]),
            ("http://127.0.0.1:8081", addresses["direct"]),
            ("https://127.0.0.1:8443", addresses["tls"]),
            ("~/.xs2a-sandbox", str(confdir)),
        ):
            text = text.replace(usual, real)
        return text

    shell = ["bash", "-euo", "pipefail", "-c"] if block.language == "sh" else [sys.executable, "-c"]
    if shutil.which(shell[0]) is None or (block.language == "sh" and shutil.which("curl") is None):
        pytest.skip("needs bash and curl")
    # An error of the bank fails the example too.
    (tmp_path / ".curlrc").write_text("silent\nshow-error\nfail-with-body\n")
    environ = {n: v for n, v in os.environ.items() if not n.lower().endswith("_proxy")} | {"CURL_HOME": str(tmp_path)}
    # Commands of xs2a-sandbox find the sandbox through these variables.
    environ |= {"XS2A_SANDBOX_PORT": addresses["direct"].rpartition(":")[2], "XS2A_SANDBOX_CONFDIR": str(confdir)}
    environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), environ.get("PATH", os.defpath)])
    done = subprocess.run(
        [*shell, here(block.text)], cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=3 * DEADLINE
    )
    assert done.returncode == 0, done.stdout + done.stderr
    if block.prints is not None:
        expected = ".*".join(re.escape(part) for part in here(block.prints).strip().split("…"))
        assert re.fullmatch(expected, done.stdout.strip()), done.stdout


@pytest.mark.parametrize("block", [pytest.param(b, id=b.id) for b in BLOCKS if b.mark.startswith("from ")])
def test_the_excerpt_is_part_of_its_file(block: Block) -> None:
    lines = (DOCS / block.mark.removeprefix("from ")).read_text().splitlines()
    count = len(block.text.splitlines())
    parts = ["\n".join(lines[start : start + count]) for start in range(len(lines) - count + 1)]
    assert block.text.rstrip("\n") in [textwrap.dedent(part) for part in parts]


def test_every_client_program_is_run_by_a_test() -> None:
    """Except for the .NET program, which is marked as untested."""
    other = [b for b in blocks("clients.md") if b.language not in ("sh", "text") and not b.mark]
    assert [b.language for b in other] == ["csharp"]
    assert "not tested here" in PAGES["clients.md"].partition("## .NET")[2].partition("## ")[0]


def test_marked_blocks_can_run() -> None:
    marked = [b for b in BLOCKS if b.mark.startswith("runs")]
    assert {b.page for b in marked} >= {"README.md", "quickstart.md", "clients.md"}
    assert {b.language for b in marked} == {"sh", "python"}
    assert len([b for b in BLOCKS if b.mark == "prints"]) == len([b for b in marked if b.prints is not None])


def test_the_readme_starts_with_the_two_commands() -> None:
    first = blocks("README.md")[0]
    assert PAGES["README.md"].index("```") < 40
    assert [line.split("#")[0].strip() for line in first.text.splitlines()] == ["make run", "make test"]


# Completeness


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: s.name)
def test_every_setting_is_in_the_command_line_page(setting: Any) -> None:
    (row,) = [line for line in PAGES["command-line.md"].splitlines() if line.startswith(f"| `{setting.name}` |")]
    if setting.flag:
        assert re.search(rf"`{setting.flag}[ `]", row)
        assert f"`{setting.variable}`" in row
    else:
        assert "In the file only" in row
        assert setting.variable not in row


COMMANDS = "serve record compare watch testdata lint explain new-case coverage init reset state clock journal".split()
COMMANDS += "import derive export plugins mcp skill lsp callbacks".split()


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_and_flag_is_in_the_command_line_page(command: str) -> None:
    assert f"\n## {command}\n" in PAGES["command-line.md"]
    assert flags_of(command) <= flags_in(PAGES["command-line.md"])


def keys(schema: Any) -> set[str]:
    if isinstance(schema, list):
        return {key for inner in schema for key in keys(inner)}
    if not isinstance(schema, dict):
        return set()
    properties = schema.get("properties")
    return {
        *(properties if isinstance(properties, dict) else ()),
        *(k for name, inner in schema.items() if not name.startswith(ELSEWHERE) for k in keys(inner)),
    }


ELSEWHERE = ("options-of-", "sca-texts")
"""Parts of schemas that are documented on other pages: the options of handlers, and the texts of pages."""
OTHER_PAGES = ("callbacks.md", "sca-page.md", "states.md")
"""Pages to which the pages about cassettes link for further keys."""
FORMATS = {
    "cassette": (*CASSETTE_PAGES, *OTHER_PAGES),
    "ignore": ("compare.md",),
    "redaction": ("redaction.md",),
    "testdata": ("testdata.md",),
}


@pytest.mark.parametrize(("name", "pages"), FORMATS.items(), ids=FORMATS)
def test_every_key_of_the_format_is_in_its_page(name: str, pages: tuple[str, ...]) -> None:
    schema = json.loads((ROOT / "schemas" / f"{name}.schema.json").read_text())
    assert keys(schema) - names_on(*pages) == set()


def test_every_key_at_the_top_of_a_cassette_is_in_the_first_page() -> None:
    schema = json.loads((ROOT / "schemas" / "cassette.schema.json").read_text())
    assert schema["properties"].keys() <= names_on("cassettes.md")


def test_every_matcher_is_in_the_page_about_rules() -> None:
    assert set(OPERATORS) <= names_on("rules.md")


def test_every_root_function_and_filter_is_in_the_page_about_expressions() -> None:
    assert names_on("expressions.md") >= ROOTS | RESULT_ROOTS | ERROR_ROOTS | FILTERS
    assert all(re.search(rf"`{function}\(", PAGES["expressions.md"]) for function in FUNCTIONS)


@pytest.mark.parametrize("operator", OPERATORS)
def test_the_strengths_match_the_table(operator: str) -> None:
    (row,) = [line for line in PAGES["rules.md"].splitlines() if re.match(rf"\| [^|]*`{operator}`[^|]*\|.*\| \d", line)]
    assert row.rstrip(" |").endswith(f"| {OPERATORS[operator].strength}")


def test_all_filters_are_documented() -> None:
    (line,) = re.findall(r"^Filters: (.*?)Except for", PAGES["expressions.md"], re.MULTILINE | re.DOTALL)
    assert set(re.findall(r"`(\w+)`", line)) == FILTERS


def test_all_handlers_are_documented() -> None:
    (listed,) = re.findall(r"^Handlers: (.*?)\. Each", PAGES["define-operations.md"], re.MULTILINE | re.DOTALL)
    assert re.findall(r"`([\w.]+)`", listed) == sorted(HANDLERS)


def errors() -> list[tuple[str, Mapping[str, Any]]]:
    return list(yaml_reader.read(ROOT / "cassettes" / "xs2a-1.84" / "errors.yaml").value["errors"].items())


@pytest.mark.parametrize(("name", "error"), errors(), ids=[name for name, _ in errors()])
def test_every_error_is_documented(name: str, error: Mapping[str, Any]) -> None:
    (row,) = [line for line in PAGES["errors.md"].splitlines() if line.startswith(f"| `{name}` |")]
    _, _, status, code, number, when, _ = row.split("|")
    numbers = error["number"].values() if isinstance(error["number"], dict) else [error["number"]]
    assert (status.strip(), code.strip()) == (str(error["status"]), f"`{error['code']}`")
    assert re.findall(r"XS2A\w+", number) == list(dict.fromkeys(numbers))
    assert len(when.split()) > 2


def test_every_documented_error_exists() -> None:
    rows = re.findall(r"^\| `([\w-]+)` \|", PAGES["errors.md"], re.MULTILINE)
    assert sorted(rows) == sorted(name for name, _ in errors())


@cache
def codes() -> set[str]:
    """Return the problem codes in the source: first arguments of these calls that look like a code."""
    callers = {"problem", "Problem", "complain", "Complaint", "note", "stop", "try_make", "report", "_unknown"}
    found = set()
    for file in (ROOT / "addons" / "xs2a_sandbox").rglob("*.py"):
        for call in [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call)]:
            name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
            texts = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
            if name in callers and texts and re.fullmatch("[a-z]+(-[a-z]+)*", texts[0]):
                found.add(texts[0])
    return found | {lint_answers.ANSWER_SCHEMA, lint_answers.TEMPLATE, unused.UNUSED_TESTDATA}


def test_every_code_is_in_the_lint_page() -> None:
    assert {"ambiguous", "unknown-key", "duplicate-id", "unquoted-expression", "expression", "tag"} <= codes()
    assert set(re.findall(r"^### (\S+)$", PAGES["lint.md"], re.MULTILINE)) == codes()


def test_every_folder_is_in_the_architecture_page() -> None:
    package = ROOT / "addons" / "xs2a_sandbox"
    folders = {f"{file.parent.relative_to(package)}/" for file in package.glob("*/__init__.py")}
    assert len(folders) > 15
    assert folders - names_on("architecture.md") == set()


def test_the_architecture_page_names_existing_files() -> None:
    package = ROOT / "addons" / "xs2a_sandbox"
    files = set(re.findall(r"`((?:[a-z_]+/)+(?:[a-z_]+\.py)?)`", PAGES["architecture.md"]))
    assert len(files) > 40
    parts = ("", "bank", "recording", "compare", "features/derive/unknown")
    homes = (*(package / part for part in parts), ROOT)
    assert [name for name in sorted(files) if not any((home / name).exists() for home in homes)] == []


def test_the_threat_model_names_existing_modules_and_tests() -> None:
    rows = [line.split("|")[2:4] for line in (ROOT / "SECURITY.md").read_text().splitlines() if line.startswith("| ")]
    names = [name for row in rows for cell in row for name in re.findall(r"`([a-z_]+/[a-z_/]+(?:\.yaml)?)`", cell)]
    assert len(names) > 50
    places = [ROOT / "addons" / "xs2a_sandbox", ROOT / "tests"]
    suffixed = {name: name if name.endswith(".yaml") else f"{name}.py" for name in names}
    assert [name for name, file in suffixed.items() if not any((place / file).exists() for place in places)] == []


def test_the_page_about_test_data_lists_the_bundled_bank() -> None:
    content = yaml_reader.read(ROOT / "cassettes" / "testdata.yaml").value
    listed = set(re.findall(r"^\| `([A-Z0-9]+|[0-9a-f-]{36})` \|", PAGES["testdata.md"], re.MULTILINE))
    assert listed == {*content["accounts"], *content["consents"]}


# Correctness


CONTEXT = click.Context(cli)


def flags_of(command: str) -> set[str]:
    """Return the flags of a command and of its subcommands."""
    words = [command] if command else []
    inner = getattr(cli.get_command(CONTEXT, command), "commands", {}) if command else {}
    calls = [[*words, "--help"], *([*words, name, "--help"] for name in inner)]
    return set().union(*(flags_in(CliRunner().invoke(cli, call, prog_name="xs2a-sandbox").output) for call in calls))


def flags_in(text: str) -> set[str]:
    return set(re.findall(r"(?<![\w<!-])--[a-z][a-z0-9-]+", text))


OTHERS = {
    "--add-host": "docker",
    "--cacert": "curl",
    "--cert": "curl",
    "--data-binary": "curl",
    "--enable-browser-proxying": "WireMock",
    "--from-file": "kubectl",
    "--from-literal": "kubectl",
    "--install-extension": "Visual Studio Code",
    "--key": "curl",
    "--door": "bench/calls.py",
    "--listen-host": "mitmdump",
    "--proxy-server": "chromium",
    "--repeated": "bench/calls.py",
    "--rm": "docker",
    "--schema-name": "SchemaStore",
    "--user": "docker",
    "--user-data-dir": "chromium",
    "--xs2a-record": "pytest",
}
"""Flags of other programs in the documentation."""


@pytest.mark.parametrize("page", PAGES)
def test_every_flag_on_a_page_exists(page: str) -> None:
    known = {flag for command in ("", *cli.list_commands(CONTEXT)) for flag in flags_of(command)}
    assert flags_in(PAGES[page]) - known - set(OTHERS) == set()


def test_the_index_links_to_every_page() -> None:
    links = set(re.findall(r"\]\(([\w/-]+\.md)", PAGES["index.md"]))
    assert set(PAGES) - {"README.md", "index.md", SKILL.name} <= links
