"""The files of `deploy/`, read: nothing here can run containers."""

import configparser
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import jinja2
import pytest
import yaml

from xs2a_sandbox.config import Settings
from xs2a_sandbox.config.settings import load
from xs2a_sandbox.config.table import BY_NAME

DEPLOY = Path(__file__).parents[2] / "deploy"
PORTS = {"8080", "8081", "8443"}
VARIABLES = {setting.variable for setting in BY_NAME.values() if setting.flag}


def test_the_ports_are_the_usual_ones() -> None:
    usual = Settings()
    assert {str(usual.proxy_port), str(usual.port), str(usual.tls_port)} == PORTS


# -- systemd


def unit() -> configparser.RawConfigParser:
    parser = configparser.RawConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read(DEPLOY / "systemd" / "xs2a-sandbox.service")
    return parser


def test_the_units_settings_are_settings(tmp_path: Path) -> None:
    text = (DEPLOY / "systemd" / "xs2a-sandbox.service").read_text()
    environ = dict(re.findall(r"^Environment=(\w+)=(.*)$", text, re.MULTILINE))

    settings = load({}, environ, tmp_path)

    assert settings.workers == 2
    assert settings.confdir == Path("/var/lib") / unit()["Service"]["StateDirectory"]


def test_the_unit_lets_the_first_process_end_the_workers() -> None:
    service = unit()["Service"]
    assert service["ExecStart"].endswith("/xs2a-sandbox serve")
    assert service["KillMode"] == "mixed"
    assert float(service["TimeoutStopSec"]) > 15  # what the supervisor waits for them


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze")
def test_systemd_knows_every_line_of_the_unit(tmp_path: Path) -> None:
    file = tmp_path / "xs2a-sandbox.service"
    text = (DEPLOY / "systemd" / "xs2a-sandbox.service").read_text()
    file.write_text(text.replace("/opt/xs2a-sandbox/bin/xs2a-sandbox", shutil.which("true") or "/bin/true"))

    done = subprocess.run(["systemd-analyze", "verify", file], capture_output=True, text=True, check=False)

    assert "xs2a-sandbox.service" not in done.stderr


# -- Compose


@pytest.fixture(scope="module")
def compose() -> Any:
    return yaml.safe_load((DEPLOY / "compose" / "compose.yaml").read_text())


def test_both_sandboxes_are_one(compose: Any, tmp_path: Path) -> None:
    one, other = (compose["services"][name] for name in ("sandbox-1", "sandbox-2"))
    assert one["environment"] == other["environment"]
    assert one["volumes"] == other["volumes"]
    environ = {name: re.sub(r"\$\{\w+:-(.*)\}", r"\1", value) for name, value in one["environment"].items()}
    assert load({}, environ, tmp_path).state == "redis://redis:6379/0"


def test_what_is_named_is_there(compose: Any) -> None:
    for service in compose["services"].values():
        assert set(service.get("depends_on", ())) <= set(compose["services"])
        named = {volume.partition(":")[0] for volume in service["volumes"] if not volume.startswith((".", "$"))}
        assert named <= set(compose["volumes"])
        for volume in service["volumes"]:
            if volume.startswith("./"):
                assert (DEPLOY / "compose" / volume.partition(":")[0]).is_file()


def test_redis_keeps_what_was_acknowledged(compose: Any) -> None:
    command = " ".join(compose["services"]["redis"]["command"])
    assert "--appendonly yes --appendfsync always" in command
    assert "noeviction" in command


def test_haproxy_passes_each_port_on_and_asks_who_is_ready(compose: Any) -> None:
    lines = [line.split() for line in (DEPLOY / "compose" / "haproxy.cfg").read_text().splitlines()]
    assert ["mode", "tcp"] in lines
    assert {line[1][1:] for line in lines if line[:1] == ["bind"]} == PORTS
    servers = {line[2] for line in lines if line[:1] == ["server"]}
    assert servers == {f"{name}:{port}" for name in ("sandbox-1", "sandbox-2") for port in PORTS}
    (check,) = (line for line in lines if line[:2] == ["http-check", "send"])
    assert check[check.index("uri") + 1] == "/_sandbox/ready"
    # The host is the sandbox's own, or it would be refused.
    assert check[-2:] == ["Host", "localhost"]
    published = {port.split(":")[1] for port in compose["services"]["haproxy"]["ports"]}
    assert published == PORTS


@pytest.mark.skipif(shutil.which("haproxy") is None, reason="there is no haproxy")
def test_haproxy_takes_its_file() -> None:
    file = DEPLOY / "compose" / "haproxy.cfg"
    done = subprocess.run(["haproxy", "-c", "-f", file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# -- Helm


def rendered(name: str, **values: Any) -> list[Any]:
    """The documents of a template, made by Jinja of what of Helm's language the templates use."""
    chart = DEPLOY / "helm"
    own = yaml.safe_load((chart / "values.yaml").read_text())
    for key, value in values.items():
        own[key] = {**own[key], **value} if isinstance(value, dict) else value
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined)
    environment.filters |= {
        "quote": lambda value: yaml.safe_dump(str(value), default_style='"').strip(),
        "toYaml": lambda value: yaml.safe_dump(value),
        "nindent": lambda text, width: "\n" + "".join(f"{' ' * width}{line}\n" for line in text.splitlines()),
    }
    meta = yaml.safe_load((chart / "Chart.yaml").read_text())
    text = environment.from_string(_as_jinja((chart / "templates" / name).read_text())).render(
        Values=own, Release={"Name": "bank"}, Chart={"AppVersion": meta["appVersion"]}
    )
    return [document for document in yaml.safe_load_all(text) if document]


def _as_jinja(text: str) -> str:
    open_blocks: list[str] = []

    def action(match: re.Match[str]) -> str:
        start, words = match[1], match[2].strip()
        trimmed = f"{{%{start}"
        if words.startswith("if "):
            open_blocks.append("if")
            return f"{trimmed} if {_paths(words[3:])} %}}"
        if words.startswith("range "):
            open_blocks.append("for")
            names, _, over = words.removeprefix("range ").partition(":=")
            return f"{trimmed} for {names.replace('$', '')} in {_paths(over.strip())}.items() %}}"
        if words == "else":
            return f"{trimmed} else %}}"
        if words == "end":
            return f"{trimmed} end{open_blocks.pop()} %}}"
        words = re.sub(r"^toYaml (\S+)", r"\1 | toYaml", words.replace("$", ""))
        words = re.sub(r"\| (nindent|default) (\S+)", r"| \1(\2)", words)
        return f"{{{{{start} {_paths(words).replace('default(', 'default(boolean=true, default_value=')} }}}}"

    return re.sub(r"\{\{(-?) (.*?) \}\}", action, text)


def _paths(words: str) -> str:
    return re.sub(r"(?<![\w)])\.(?=[A-Z])", "", words)


def test_the_chart_makes_replicas_that_are_one(tmp_path: Path) -> None:
    deployment, service = rendered("sandbox.yaml", settings={"XS2A_SANDBOX_SEED": "spring"})

    assert (deployment["kind"], service["kind"]) == ("Deployment", "Service")
    assert deployment["spec"]["replicas"] == 2
    pod = deployment["spec"]["template"]
    assert deployment["spec"]["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    assert service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
    (sandbox,) = pod["spec"]["containers"]
    environ = {one["name"]: one["value"] for one in sandbox["env"]}
    assert environ.keys() <= VARIABLES
    assert environ["XS2A_SANDBOX_SEED"] == "spring"
    del environ["XS2A_SANDBOX_SEED"]
    assert load({}, environ, tmp_path).state == "redis://bank-redis:6379/0"
    assert {str(port["containerPort"]) for port in sandbox["ports"]} == PORTS
    assert {str(port["port"]) for port in service["spec"]["ports"]} == PORTS
    assert {port["targetPort"] for port in service["spec"]["ports"]} == {port["name"] for port in sandbox["ports"]}
    assert sandbox["livenessProbe"]["httpGet"]["path"] == "/_sandbox/health"
    assert sandbox["readinessProbe"]["httpGet"]["path"] == "/_sandbox/ready"


def test_the_chart_mounts_what_it_names() -> None:
    for more in ({}, {"settingsConfigMap": "mine"}):
        deployment, _ = rendered("sandbox.yaml", **more)
        pod = deployment["spec"]["template"]["spec"]
        volumes = {volume["name"] for volume in pod["volumes"]}
        mounts = {
            mount["name"] for one in (*pod["initContainers"], *pod["containers"]) for mount in one["volumeMounts"]
        }
        assert mounts == volumes


def test_the_chart_takes_a_redis_that_is_there() -> None:
    stateful, service = rendered("redis.yaml")
    assert (stateful["kind"], service["metadata"]["name"]) == ("StatefulSet", "bank-redis")
    assert stateful["spec"]["template"]["spec"]["containers"][0]["args"][:4] == [
        *("--appendonly", "yes"),
        *("--appendfsync", "always"),
    ]

    assert rendered("redis.yaml", redis={"urlSecret": "mine"}) == []
    deployment, _ = rendered("sandbox.yaml", redis={"urlSecret": "mine"})
    state = deployment["spec"]["template"]["spec"]["containers"][0]["env"][0]
    assert state["valueFrom"]["secretKeyRef"] == {"name": "mine", "key": "url"}
