"""The action for GitHub workflows. Its steps are executed as GitHub's runner executes them."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml
from mitmproxy.certs import CertStore
from mitmproxy.options import CONF_BASENAME, KEY_SIZE

from tests.support.doors import START
from tests.support.recorded_bank.process import with_ca
from tests.support.redis_server import free_port

ROOT = Path(__file__).parents[1]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS: dict[str, dict[str, Any]] = {step["id"]: step for step in ACTION["runs"]["steps"]}
PAGE = (ROOT / "docs/github-action.md").read_text()
_EXPRESSION = re.compile(r"\$\{\{ (\S+) \}\}")


@dataclass(frozen=True)
class Runner:
    """The environment that GitHub's runner gives to a step."""

    folder: Path
    values: Mapping[str, str]

    def run(self, step: str) -> "subprocess.CompletedProcess[str]":
        """Run the step like `shell: bash`. The file `pid` identifies a process in the background."""
        variables = {name: _EXPRESSION.sub(self._value, text) for name, text in STEPS[step]["env"].items()}
        script = self.folder / f"{step}.sh"
        script.write_text(STEPS[step]["run"] + f'\necho "${{sandbox-}}" > {self.folder}/pid\n')
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", str(script)],
            env=os.environ | variables | {"RUNNER_TEMP": str(self.folder), "GITHUB_OUTPUT": str(self.folder / "out")},
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=10 * START,
        )

    def _value(self, match: re.Match[str]) -> str:
        return self.values[match[1]]

    @property
    def outputs(self) -> dict[str, str]:
        return dict(line.split("=", 1) for line in (self.folder / "out").read_text().splitlines())


def inputs(**other: str) -> dict[str, str]:
    """Return the action's defaults with free ports and a longer timeout, updated with `other`."""
    values = {f"inputs.{name}": field["default"] for name, field in ACTION["inputs"].items()}
    ports = {f"inputs.{name}": str(free_port()) for name in ("port", "proxy-port", "tls-port")}
    others = {f"inputs.{name.replace('_', '-')}": value for name, value in other.items()}
    return values | ports | {"inputs.patience": str(int(START))} | others


@contextmanager
def serving(
    folder: Path, with_ca: Callable[[Path], Path] = with_ca, **other: str
) -> Iterator[tuple[Runner, "subprocess.CompletedProcess[str]"]]:
    """Run the step `serve` with the command of this environment. Yield the runner and the completed step."""
    place = folder / "xs2a-sandbox"
    (place / "venv/bin").mkdir(parents=True)
    (place / "venv/bin/xs2a-sandbox").symlink_to(Path(sys.executable).with_name("xs2a-sandbox"))
    with_ca(place / "conf")
    runner = Runner(folder, inputs(**other))
    with ExitStack() as stack:
        completed = runner.run("serve")
        if completed.returncode == 0:
            stack.callback(os.kill, int((folder / "pid").read_text()), signal.SIGTERM)
        yield runner, completed


def test_later_steps_find_a_ready_sandbox_by_its_outputs(tmp_path: Path) -> None:
    with serving(tmp_path, arguments="--dialect berlin-group-1.3\n--state memory:") as (runner, completed):
        assert completed.returncode == 0, completed.stdout + completed.stderr
        outputs = runner.outputs
        bank = requests.Session()
        bank.trust_env = False
        assert bank.get(f"{outputs['url']}/_sandbox/ready", timeout=START).status_code == 200
        consents = {"headers": {"X-Request-ID": "99391c7e-ad88-49ec-a2ad-99ddcb1f7721"}, "json": {}, "timeout": START}
        over_tls = bank.post(f"{outputs['tls-url']}/v1/consents", verify=outputs["ca-file"], **consents)
        bank.proxies = {"https": outputs["proxy"]}
        by_proxy = bank.post("https://bank.example/v1/consents", verify=outputs["ca-file"], **consents)
        assert over_tls.status_code == by_proxy.status_code == 400
        assert over_tls.json()["tppMessages"][0]["code"] == by_proxy.json()["tppMessages"][0]["code"] == "FORMAT_ERROR"
        journal = [outputs["command"], "journal", "--port", outputs["url"].rpartition(":")[2]]
        done = subprocess.run([*journal, "--confdir", outputs["confdir"]], capture_output=True, text=True)
        assert done.stdout.count("/v1/consents") == 2, done.stderr
        assert "/v1/consents" in Path(outputs["log"]).read_text()


def test_a_wrong_flag_fails_the_job_with_the_error_of_the_command(tmp_path: Path) -> None:
    with serving(tmp_path, arguments="--dialect nowhere-1.0") as (_, completed):
        assert completed.returncode == 1
        assert "nowhere-1.0" in completed.stdout
        assert "::error::The sandbox has ended instead of serving" in completed.stdout


def with_own_ca(confdir: Path) -> Path:
    CertStore.create_store(confdir, CONF_BASENAME, KEY_SIZE, organization="another")
    return confdir


def test_another_sandbox_at_the_port_is_not_mistaken_for_this_one(tmp_path: Path) -> None:
    with serving(tmp_path / "first") as (first, completed):
        assert completed.returncode == 0, completed.stdout
        with serving(tmp_path / "second", with_own_ca, port=first.values["inputs.port"]) as (_, completed):
            assert completed.returncode == 1
            assert first.values["inputs.port"] in completed.stdout


def test_a_sandbox_that_is_not_ready_in_time_fails_the_job(tmp_path: Path) -> None:
    with serving(tmp_path, patience="0") as (_, completed):
        assert completed.returncode == 1
        assert "::error::The sandbox is not ready after 0 seconds" in completed.stdout


@pytest.mark.slow
def test_install_uses_the_checked_out_version(tmp_path: Path) -> None:
    values = {"steps.python.outputs.python-path": sys.executable, "github.action_path": str(ROOT)}
    completed = Runner(tmp_path, inputs() | values).run("install")
    assert completed.returncode == 0, completed.stderr
    command = tmp_path / "xs2a-sandbox/venv/bin/xs2a-sandbox"
    linted = subprocess.run([command, "lint"], cwd=tmp_path, capture_output=True, text=True)
    assert linted.returncode == 0, linted.stdout


def test_each_output_is_written_by_the_step_and_each_input_is_used() -> None:
    written = set(re.findall(r'echo "([a-z-]+)=', STEPS["serve"]["run"]))
    assert {field["value"] for field in ACTION["outputs"].values()} == {
        f"${{{{ steps.serve.outputs.{name} }}}}" for name in written
    }
    assert set(ACTION["outputs"]) == written
    used = set(re.findall(r"inputs\.([a-z-]+)", (ROOT / "action.yml").read_text()))
    assert used == set(ACTION["inputs"])


def test_no_step_has_an_expression_in_its_script() -> None:
    assert not [step["id"] for step in STEPS.values() if _EXPRESSION.search(step.get("run", ""))]


def test_the_page_names_each_input_with_its_default_and_each_output() -> None:
    rows = dict(re.findall(r"^\| `([a-z-]+)` \| (.*?) \|", PAGE, re.MULTILINE))
    assert {name: f"`{field['default']}`" if field["default"] else "" for name, field in ACTION["inputs"].items()} == {
        name: rows[name] for name in ACTION["inputs"]
    }
    assert set(rows) == {*ACTION["inputs"], *ACTION["outputs"]}


def test_the_examples_of_the_page_use_existing_inputs_and_outputs() -> None:
    examples = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert len(examples) == 2
    for example in examples:
        (used,) = [step for step in yaml.safe_load(example)["jobs"]["test"]["steps"] if step.get("id") == "bank"]
        assert set(used.get("with", ())) <= set(ACTION["inputs"])
    assert set(re.findall(r"steps\.bank\.outputs\.([a-z-]+)", PAGE)) <= set(ACTION["outputs"])
