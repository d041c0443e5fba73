import gc
import json
import re
import shlex
import subprocess
import sys
import types
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.cli.test_testdata import LOADED, VALID
from tests.support.engine_client import an_engine
from tests.support.turns import few
from xs2a_sandbox import __version__, errors
from xs2a_sandbox.bank import loading
from xs2a_sandbox.bundled import scenarios
from xs2a_sandbox.cli import main as cli
from xs2a_sandbox.config import Settings
from xs2a_sandbox.config import settings as config
from xs2a_sandbox.engine import build as assembly
from xs2a_sandbox.errors import Problem, Unreadable
from xs2a_sandbox.features.authoring import lint
from xs2a_sandbox.journal.log_line import LogEntry


def run(*words):
    return CliRunner().invoke(cli.cli, words, prog_name="xs2a-sandbox")


def addresses(home):
    return types.SimpleNamespace(
        proxy="http://127.0.0.1:18080",
        direct="http://127.0.0.1:18081",
        tls="https://127.0.0.1:18443",
        ca_file=home / "my ca.pem",
    )


@pytest.fixture
def serving(home, monkeypatch):
    """Replace the doors by a function that announces itself, logs one exchange, and records the settings."""
    served = types.SimpleNamespace()

    async def serve(settings, *, built, ready, on_exchange, **options):
        served.settings, served.options = settings, options
        built(an_engine(testdata=LOADED))
        ready(addresses(home))
        on_exchange(LogEntry("ci", "GET", "/v1/accounts", 200, 1.5, "handler", "list-accounts"))

    monkeypatch.setattr("xs2a_sandbox.doors.serving.serve", serve)
    return served


class TestServe:
    def test_record_is_serve_in_mode_record(self, serving, home):
        assert run("record", "--bank", "https://bank.example", "--to", "tape", "--no-redact").exit_code == 0
        assert serving.settings == Settings(mode="record", bank="https://bank.example", to=home / "tape")
        assert serving.options["redact"] is False
        assert run("serve").exit_code == 0
        assert serving.options["redact"] is True
        assert run("record").exit_code == 2

    def test_flags_become_settings(self, serving, home):
        (home / "a").mkdir()
        (home / "b").mkdir()
        words = "--host 0.0.0.0 --proxy-port 0 --port 1 --tls-port off --dialect d --cassettes a --cassettes b --reset"
        more = "--state memory: --confdir c --public-url http://x --proxy-auth u:p --no-debug-headers --log-format json"
        assert run("serve", *words.split(), *more.split()).exit_code == 0
        assert serving.settings == Settings(
            host="0.0.0.0",
            proxy_port=0,
            port=1,
            tls_port=None,
            dialect="d",
            cassettes=(home / "a", home / "b"),
            state="memory:",
            reset=True,
            confdir=home / "c",
            public_url="http://x",
            proxy_auth="u:p",
            debug_headers=False,
            log_format="json",
        )

    def test_without_flags_the_file_and_the_defaults_apply(self, serving, home):
        (home / config.FILE).write_text("debug_headers: false\nport: 5\n")
        assert run("serve").exit_code == 0
        assert serving.settings == Settings(port=5, debug_headers=False)

    def test_addresses_state_and_an_example_are_printed(self, serving, home):
        output = run("serve").stdout
        for part in ("http://127.0.0.1:18080", "http://127.0.0.1:18081", "https://127.0.0.1:18443", "my ca.pem"):
            assert part in output
        assert f"{home}/.xs2a-sandbox/state.db (new)" in output
        command = next(line for line in output.splitlines() if "curl" in line)
        assert shlex.split(command) == [
            *["curl", "--cacert", f"{home}/my ca.pem", "-x", "http://127.0.0.1:18080"],
            *["-H", "X-Request-ID: 99391c7e-ad88-49ec-a2ad-99ddcb1f7721"],
            f"https://bank.example/v1/consents/{VALID}/status",
        ]
        assert output.splitlines()[-1].endswith(" ci GET /v1/accounts 200 1.5ms handler list-accounts")

    def test_output_as_lines_of_json(self, serving, home):
        first, second = map(json.loads, run("serve", "--log-format", "json").stdout.splitlines())
        assert first["proxy"] == "http://127.0.0.1:18080"
        assert second["rule"] == "list-accounts"

    def test_coverage_is_printed_to_standard_error_at_the_end(self, serving, home):
        assert "exercised" not in run("serve").stderr
        result = run("serve", "--coverage")
        assert result.exit_code == 0
        assert re.match(r"operations: 0 of \d+ exercised, never:\n  ", result.stderr)
        output = json.loads(run("serve", "--coverage", "--log-format", "json").stderr)
        assert output["operations"]["exercised"] == 0

    def test_a_closed_output_does_not_stop_serve(self, serving, home, monkeypatch):
        say = cli.click.echo

        def broken(text, **options):
            if "list-accounts" in text:
                raise BrokenPipeError
            say(text, **options)

        monkeypatch.setattr(cli.click, "echo", broken)
        assert run("serve").exit_code == 0


class TestMistakes:
    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (["serve", "--port", "x"], '--port: must be a port from 0 to 65535 (0 picks a free one), not "x"'),
            (["serve", "--cassettes", "nowhere"], "--cassettes: must be folders that exist"),
            (["serve", "--mode", "record"], "mode record needs the bank's URL: set --bank URL"),
            (["serve", "--threads", "2"], "No such option"),
            (["nothing"], "unknown command 'nothing'"),
            (["serv"], "unknown command 'serv'; did you mean 'serve'?"),
            (["lint", "nowhere"], "does not exist"),
            (["lint", "--format", "xml"], "is not one of"),
            (["init"], "Missing argument"),
        ],
    )
    def test_mistakes_are_reported_with_status_2(self, home, words, said):
        result = run(*words)
        assert result.exit_code == 2
        assert "Error: " in result.stderr
        assert said in result.stderr
        assert "Traceback" not in result.output

    def test_mistakes_in_the_environment(self, home, monkeypatch):
        monkeypatch.setenv("XS2A_SANDBOX_PROT", "1")
        result = run("testdata")
        assert result.exit_code == 2
        assert result.stderr == "Error: XS2A_SANDBOX_PROT: unknown setting; did you mean XS2A_SANDBOX_PORT?\n"

    def test_an_interrupt_exits_with_130(self, home, monkeypatch):
        def interrupted(*anything):
            raise KeyboardInterrupt

        monkeypatch.setattr(config, "load", interrupted)
        result = run("testdata")
        assert (result.exit_code, result.output) == (130, "")


class TestLint:
    @pytest.fixture
    def found(self, home, monkeypatch):
        problems: list[Problem] = []
        monkeypatch.setattr(lint, "check", lambda settings, paths, warn: problems)
        monkeypatch.setattr(loading, "layers", lambda settings: [[home / "own"]])
        (home / "own").mkdir()
        (home / "own/a.yaml").touch()
        (home / "own/b.yaml").touch()
        (home / "own/c.txt").touch()
        return problems

    def test_no_problems(self, found, home):
        # Two cassettes and the bundled test data; a file that is named twice counts once.
        result = run("lint", "own")
        assert (result.exit_code, result.stdout) == (0, "no problems in 3 files\n")
        (home / "d.yaml").touch()
        assert run("lint", "d.yaml").stdout == "no problems in 4 files\n"
        assert json.loads(run("lint", "own", "--format", "json").stdout) == []

    def test_problems_as_text(self, found):
        found.append(Problem(Path("own/a.yaml"), 3, 5, "duplicate-key", "twice", "    a: 1"))
        result = run("lint", "own")
        assert (result.exit_code, result.stdout) == (
            1,
            "own/a.yaml:3:5: error duplicate-key: twice\n        a: 1\n        ^\n",
        )

    def test_problems_as_json(self, found):
        found.append(Problem(Path("own/a.yaml"), 3, 5, "duplicate-key", "twice", "    a: 1"))
        result = run("lint", "--format", "json")
        assert result.exit_code == 1
        assert json.loads(result.stdout) == [
            {"file": "own/a.yaml", "line": 3, "column": 5, "code": "duplicate-key", "text": "twice"}
            | {"source": "    a: 1"}
        ]

    def test_the_flag_json_is_a_short_form(self, found):
        found.append(Problem(Path("own/a.yaml"), 3, 5, "duplicate-key", "twice", "    a: 1"))
        assert run("lint", "--json").stdout == run("lint", "--format", "json").stdout

    def test_cassettes_in_other_folders(self, home):
        (home / "mine").mkdir()
        (home / "mine/bad.yaml").write_text("cassette: 1\nrules: 1\n")
        assert run("lint").exit_code == 0
        result = run("lint", "--cassettes", "mine")
        assert result.exit_code == 1
        assert "mine/bad.yaml:2:8: error wrong-type" in result.stdout

    def test_problems_as_github_annotations(self, found, home):
        found.append(Problem(home / "own/a,b:c.yaml", 3, 5, "tag", "100% wrong:\nreally, so"))
        assert run("lint", "--format", "github").stdout == (
            "::error file=own/a%2Cb%3Ac.yaml,line=3,col=5,title=tag::100%25 wrong:%0Areally, so\n"
        )

    def test_an_unreadable_file_is_reported_as_a_problem(self, found, monkeypatch):
        def unreadable(settings, paths, warn):
            raise Unreadable([Problem(Path("x.yaml"), 1, 1, "syntax", "no")])

        monkeypatch.setattr(lint, "check", unreadable)
        result = run("lint")
        assert (result.exit_code, result.stdout) == (1, "x.yaml:1:1: error syntax: no\n")


class TestCoverage:
    def test_coverage_of_the_examples(self, home):
        result = run("coverage")
        assert result.exit_code == 0
        assert re.match(r"operations: \d+ of \d+ exercised, never:\n", result.stdout)
        output = json.loads(run("coverage", "--json").stdout)
        assert {*output} == {"operations", "rules", "errors"}
        assert "account-list" not in [one["id"] for one in output["operations"]["never"]]

    def test_coverage_of_additional_files(self, home):
        (home / "mine.yaml").write_text(
            "cassette: 1\nrules:\n  - {id: mine, match: {path: /a}, respond: {text: a}, examples: [EXAMPLE]}\n"
        )
        before = json.loads(run("coverage", "--json").stdout)["rules"]
        assert "mine.yaml" in run("coverage", "mine.yaml").stderr  # EXAMPLE is not a valid example
        mended = (home / "mine.yaml").read_text().replace("EXAMPLE", "{request: {}, expect: {status: 200}}")
        (home / "mine.yaml").write_text(mended)
        after = json.loads(run("coverage", "mine.yaml", "--json").stdout)["rules"]
        assert (after["total"], after["exercised"]) == (before["total"] + 1, before["exercised"] + 1)


class TestNewCase:
    def test_new_case_writes_a_case_without_lint_problems(self, home):
        result = run("new-case", "POST", "/v1/payments/sepa-credit-transfers", "--status", "403")
        assert (result.exit_code, result.stdout.split()[0]) == (0, "cassettes/cases/initiate-payment-403.yaml")
        assert run("lint").exit_code == 0

    def test_mistakes_in_the_request(self, home):
        result = run("new-case", "GET", "/v1/acounts")
        assert result.exit_code == 2
        assert "GET /v1/accounts (account-list)" in result.stderr
        assert run("new-case", "GET", "/v1/accounts", "--status", "999").exit_code == 2


class TestInit:
    def test_init_writes_files_and_prints_the_next_step(self, home):
        result = run("init", "new/place")
        assert result.exit_code == 0
        assert "new/place" in result.stdout
        assert config.load({}, {}, home / "new/place") == Settings()

    @pytest.mark.parametrize("name", few(scenarios(), list(scenarios())[:2]))
    def test_init_with_a_scenario_adds_its_case(self, home, monkeypatch, name):
        assert run("init", "new", "--scenario", name).exit_code == 0
        monkeypatch.chdir(home / "new")
        assert run("lint").exit_code == 0
        text = Path(f"cassettes/cases/{name}.yaml").read_text()
        schema = re.match(r"# yaml-language-server: \$schema=(\S+)\n", text)
        assert Path("cassettes/cases", schema[1]).is_file()

    def test_an_unknown_scenario(self, home):
        result = run("init", "new", "--scenario", "nope")
        assert result.exit_code == 2
        assert "there is no scenario 'nope'; the scenarios are consent-revoked, " in result.stderr
        assert not (home / "new").exists()

    def test_an_existing_file_is_named(self, home):
        (home / "xs2a-sandbox.yaml").write_text("port: 1")
        result = run("init", ".")
        assert result.exit_code == 2
        assert "  xs2a-sandbox.yaml\n" in result.stderr
        assert [path.name for path in home.iterdir()] == ["xs2a-sandbox.yaml"]


class TestProgram:
    def python(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=60)

    def test_run_as_a_module(self):
        done = self.python("-m", "xs2a_sandbox", "--version")
        assert (done.returncode, done.stdout) == (0, f"xs2a-sandbox {__version__}\n")

    @pytest.mark.parametrize("words", [["--help"], ["serve", "--help"], ["testdata", "--json"]])
    def test_commands_without_the_proxy_do_not_import_its_libraries(self, home, words):
        code = (
            "import sys\nfrom xs2a_sandbox.cli.main import cli\n"
            f"cli({words!r}, standalone_mode=False)\n"
            "loaded = {name.partition('.')[0] for name in sys.modules}\n"
            "sys.exit(' '.join(loaded & {'mitmproxy', 'httptools', 'aiohttp'}) or 0)"
        )
        done = self.python("-c", code)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout


@pytest.mark.parametrize("words", [("serve",), ("lint",), ("campaign", "--", "true"), ("derive", ".")])
def test_windows_is_reported_before_anything_starts(words, monkeypatch):
    monkeypatch.setattr(errors.sys, "platform", "win32")

    result = run(*words)

    assert result.exit_code == 2
    assert "Error: xs2a-sandbox runs on Linux and macOS" in result.output
    assert "WSL 2" in result.output


def test_windows_is_reported_to_tests_in_the_same_process(monkeypatch, tmp_path):
    monkeypatch.setattr(errors.sys, "platform", "win32")

    with pytest.raises(errors.ConfigError, match="runs on Linux and macOS"):
        assembly.build(Settings(state="memory:", confdir=tmp_path))


def test_a_failed_start_leaves_the_garbage_collector_enabled(home):
    result = run("serve", "--port", "none")

    assert result.exit_code == 2
    assert gc.isenabled()
