"""The plugin of docs/plugins.md, installed as pip would install it, and plugins that fail."""

import json
import os
import re
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tests.support.doors import wait_until
from tests.support.far_bank import FarBank
from tests.support.serving import served
from xs2a_sandbox.plugins import Hooks

PAGE = (Path(__file__).parents[2] / "docs/plugins.md").read_text()

type Install = Callable[..., None]


def block(language: str) -> str:
    (text,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return str(text)


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Install a module as the distribution that a pyproject.toml describes, where subprocesses find it."""
    place = tmp_path / "site-packages"
    place.mkdir()
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(place), *filter(None, [os.environ.get("PYTHONPATH")])]))

    def install(code: str, project: str = block("toml")) -> None:
        told = tomllib.loads(project)["project"]
        name, version = told["name"], told["version"]
        entries = "".join(f"{entry} = {module}\n" for entry, module in told["entry-points"]["xs2a_sandbox"].items())
        (module,) = told["entry-points"]["xs2a_sandbox"].values()
        (place / f"{module}.py").write_text(textwrap.dedent(code))
        info = place / f"{module}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        (info / "entry_points.txt").write_text(f"[xs2a_sandbox]\n{entries}")

    return install


def command(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "xs2a_sandbox", *arguments], cwd=cwd, capture_output=True, text=True)


def test_the_documented_plugin_adds_the_documented_parts(install: Install, tmp_path: Path) -> None:
    install(block("python"))
    cases = tmp_path / "cassettes/cases"
    cases.mkdir(parents=True)
    (cases / "points.yaml").write_text(block("yaml"))

    listed = json.loads(command("plugins", "--json", cwd=tmp_path).stdout)
    assert listed["loaded"] == ["acme-bank 1.0"]
    assert listed["added"] == {
        "commands": ["acme"],
        "handlers": ["acme.points"],
        "checks": ["acme-channel"],
        "modes": ["closed"],
    }
    assert command("acme", cwd=tmp_path).stdout == "Acme Bank is here\n"
    assert "Greet from the plugin" in command("--help", cwd=tmp_path).stdout
    assert command("lint", cwd=tmp_path).returncode == 0

    with served(tmp_path, settings={"checks": ["acme-channel"]}) as sandbox:
        assert "plugin    acme-bank 1.0" in sandbox.output
        usual = {"X-Request-ID": "99391c7e-ad88-49ec-a2ad-99ddcb1f7721", "PSU-IP-Address": "192.0.2.1"}
        answer = httpx.post(f"{sandbox.direct}/v1/points", headers=usual, json={"iban": "AT611904300234573201"})
        assert (answer.status_code, answer.json()) == (200, {"points": 1})
        assert answer.headers["x-sandbox-source"] == "handler"
        refused = httpx.get(f"{sandbox.direct}/v1/accounts", headers=usual)
        assert "the header Acme-Channel is missing" in refused.text
        heard = httpx.get(f"{sandbox.direct}/v1/accounts", headers={**usual, "Acme-Channel": "app"})
        assert "Acme-Channel" not in heard.text


def test_a_mode_of_a_plugin_answers_for_a_bank_and_is_explained(install: Install, tmp_path: Path) -> None:
    install(block("python"))
    with FarBank() as bank, served(tmp_path, "--bank", bank.url, "--mode", "closed") as sandbox:
        answer = httpx.get(f"{sandbox.direct}/v1/accounts")
        assert (answer.status_code, answer.json()) == (503, {"message": "closed for today"})
        assert answer.headers["x-sandbox-rule"] == "acme-closed"
        assert bank.seen == []
        token = {"Authorization": f"Bearer {sandbox.token}"}
        asked = {"method": "GET", "url": "/v1/accounts"}
        explained = httpx.post(f"{sandbox.direct}/_sandbox/explain", headers=token, json=asked).json()
        assert explained["message"] == "the bank is closed for today (mode closed)"


def test_a_mode_that_needs_no_bank_needs_no_url(install: Install, tmp_path: Path) -> None:
    install(block("python"))
    with served(tmp_path, "--mode", "closed") as sandbox:
        assert httpx.get(f"{sandbox.direct}/v1/accounts").json() == {"message": "closed for today"}


def test_other_hooks_are_called(install: Install, tmp_path: Path) -> None:
    install(
        """
        from xs2a_sandbox.plugin import Answer, ControlRoute, hookimpl, json_answer

        heard = []

        class Heard:
            async def answer(self, route):
                return Answer(json_answer({"heard": heard}))

            def explain(self, route, documents):
                raise NotImplementedError

        @hookimpl
        def listeners():
            return [lambda entry: heard.append(entry.path)]

        @hookimpl
        def paths():
            return [lambda parts, stack: (lambda request, segments: segments == ("_sandbox", "heard"), Heard())]

        @hookimpl
        def control_routes():
            work = lambda control, request: (200, {"count": len(heard)})
            return [ControlRoute("GET", "count", "count", "How many were heard", work, {200: dict})]
        """
    )
    with served(tmp_path) as sandbox:
        httpx.get(f"{sandbox.direct}/v1/accounts")
        assert httpx.get(f"{sandbox.direct}/_sandbox/heard").json() == {"heard": ["/v1/accounts"]}
        assert httpx.get(f"{sandbox.direct}/_sandbox/count").status_code == 401
        token = {"Authorization": f"Bearer {sandbox.token}"}
        assert httpx.get(f"{sandbox.direct}/_sandbox/count", headers=token).json()["count"] >= 1


BROKEN = {
    "import": ("import nothing_of_this_name", "ModuleNotFoundError: No module named 'nothing_of_this_name'"),
    "unknown hook": (
        "from xs2a_sandbox.plugin import hookimpl\n\n@hookimpl\ndef handles():\n    return []\n",
        "PluginValidationError",
    ),
    "hook": (
        "from xs2a_sandbox.plugin import hookimpl\n\n@hookimpl\ndef handlers():\n    return 1 / 0\n",
        "handlers: ZeroDivisionError: division by zero",
    ),
    "no handler": (
        "from xs2a_sandbox.plugin import hookimpl\n\n@hookimpl\ndef handlers():\n    return 'ab'\n",
        "handlers: TypeError: this hook cannot add 'a'",
    ),
}


@pytest.mark.parametrize(("code", "reason"), BROKEN.values(), ids=BROKEN)
def test_a_failing_plugin_does_not_affect_the_others(install: Install, tmp_path: Path, code: str, reason: str) -> None:
    install(code)
    listed = command("plugins", cwd=tmp_path)
    assert listed.returncode == 1
    assert f"acme-bank cannot be used: {reason}" in listed.stderr


def test_a_sandbox_serves_without_a_failing_plugin(install: Install, tmp_path: Path) -> None:
    code, reason = BROKEN["hook"]
    install(code)
    with served(tmp_path) as sandbox:
        assert reason in sandbox.warning("the plugin acme-bank cannot be used")
        assert httpx.get(f"{sandbox.direct}/_sandbox/health").status_code == 200


PARTS = """
from xs2a_sandbox.plugin import RunPart, hookimpl

class Failing(RunPart):
    pass

def failing(name):
    def fail(*_):
        raise LookupError(f"no {name}")
    return fail

for name in ("begin", "open", "links", "add", "end", "sum_up"):
    setattr(Failing, name, failing(name))

def fail(settings):
    return 1 / 0

@hookimpl
def run_parts():
    return [Failing, fail]
"""


def test_a_failing_part_of_a_run_does_not_affect_the_others(install: Install, tmp_path: Path) -> None:
    install(PARTS)
    with served(tmp_path) as sandbox:
        assert "console   http" in sandbox.output
        assert httpx.get(f"{sandbox.direct}/v1/accounts").status_code == 400
        wait_until(lambda: "LookupError: no add" in sandbox.warnings)
        for reason in ("LookupError: no begin", "LookupError: no open", "ZeroDivisionError"):
            assert reason in sandbox.warnings
        wait_until(lambda: any(" /v1/accounts " in line for line in sandbox.out))
        assert sandbox.stop() == 0


def test_a_plugin_with_the_name_of_a_feature_does_not_replace_it(install: Install, tmp_path: Path) -> None:
    install(block("python"), block("toml").replace("acme-bank = ", "console = "))
    listed = json.loads(command("plugins", "--json", cwd=tmp_path).stdout)
    assert "console" in listed["features"]
    assert listed["loaded"] == ["acme-bank 1.0"]
    assert command("console", "--help", cwd=tmp_path).returncode == 0


def test_a_name_that_is_already_used_is_a_mistake(install: Install, tmp_path: Path) -> None:
    install(block("python").replace("acme.points", "accounts.list"))
    done = command("lint", cwd=tmp_path)
    assert done.returncode == 2
    assert "a plugin has a handler accounts.list, but this name is already taken" in done.stderr


CONFIGURED = """
from xs2a_sandbox.plugin import ControlRoute, hookimpl

own = []

@hookimpl
def configure(settings):
    if settings.get("channel", "app") not in ("app", "web"):
        raise ValueError("channel is app or web")
    own[:] = [dict(settings)]

@hookimpl
def control_routes():
    return [ControlRoute("GET", "own", "own", "Its settings", lambda control, request: (200, own), {200: list})]
"""


def test_a_plugin_gets_its_settings(install: Install, tmp_path: Path) -> None:
    install(CONFIGURED)
    listed = command("plugins", "--json", cwd=tmp_path)
    assert (listed.returncode, json.loads(listed.stdout)["added"]) == (0, {"control_routes": ["own"]})
    with served(tmp_path, settings={"plugins": {"acme-bank": {"channel": "web"}}}) as sandbox:
        token = {"Authorization": f"Bearer {sandbox.token}"}
        assert httpx.get(f"{sandbox.direct}/_sandbox/own", headers=token).json() == [{"channel": "web"}]


WRONG = {
    "of no plugin": ("acme-bnak: {}", "no plugin acme-bnak is installed; did you mean acme-bank?"),
    "refused": ("acme-bank: {channel: fax}", "the plugin acme-bank cannot use its settings: channel is app or web"),
    "no object": ("acme-bank: web", 'error wrong-type: must be a mapping, not "web"'),
}


@pytest.mark.parametrize(("line", "mistake"), WRONG.values(), ids=WRONG)
def test_settings_that_no_plugin_uses_are_a_mistake(install: Install, tmp_path: Path, line: str, mistake: str) -> None:
    install(CONFIGURED)
    (tmp_path / "xs2a-sandbox.yaml").write_text(f"plugins:\n  {line}\n")
    done = command("serve", "--port", "0", "--proxy-port", "0", "--confdir", str(tmp_path / "conf"), cwd=tmp_path)
    assert done.returncode == 2
    assert mistake in done.stderr


STOPPING = {
    "a mode of the sandbox": (
        'Mode("simulate", print)',
        "a plugin adds the mode simulate, but this name is already taken",
    ),
    "no maker": ('Mode("closed")', "the plugin's mode closed failed to load"),
}


@pytest.mark.parametrize(("mode", "mistake"), STOPPING.values(), ids=STOPPING)
def test_an_invalid_mode_is_a_mistake(install: Install, tmp_path: Path, mode: str, mistake: str) -> None:
    install(f"from xs2a_sandbox.plugin import Mode, hookimpl\n\n@hookimpl\ndef modes():\n    return [{mode}]\n")
    done = command("serve", "--port", "0", "--proxy-port", "0", "--confdir", str(tmp_path / "conf"), cwd=tmp_path)
    assert done.returncode == 2
    assert mistake in done.stderr
    assert "Traceback" not in done.stderr


def test_without_plugins_the_list_reports_none(tmp_path: Path) -> None:
    assert command("plugins", cwd=tmp_path).stdout.endswith("\nno plugin is installed\n")


def test_the_page_names_every_hook() -> None:
    hooks = {name for name in vars(Hooks) if not name.startswith("_")}
    assert set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)) == hooks
