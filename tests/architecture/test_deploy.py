"""The files of `deploy/`. They are only parsed, because the tests cannot run containers."""

import configparser
import os
import re
import shutil
import subprocess
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import jinja2
import pytest
import redis
import yaml

from tests.support.redis_server import free_port, needs_redis
from xs2a_sandbox.config import Settings
from xs2a_sandbox.config.settings import load
from xs2a_sandbox.config.table import BY_NAME

DEPLOY = Path(__file__).parents[2] / "deploy"
PORTS = {"8080", "8081", "8443"}
VARIABLES = {setting.variable for setting in BY_NAME.values() if setting.flag}


def test_the_ports_are_the_defaults() -> None:
    usual = Settings()
    assert {str(usual.proxy_port), str(usual.port), str(usual.tls_port)} == PORTS


# -- systemd


def unit() -> configparser.RawConfigParser:
    parser = configparser.RawConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read(DEPLOY / "systemd" / "xs2a-sandbox.service")
    return parser


def test_the_unit_uses_existing_settings(tmp_path: Path) -> None:
    text = (DEPLOY / "systemd" / "xs2a-sandbox.service").read_text()
    environ = dict(re.findall(r"^Environment=(\w+)=(.*)$", text, re.MULTILINE))

    settings = load({}, environ, tmp_path)

    assert settings.workers == 2
    assert settings.confdir == Path("/var/lib") / unit()["Service"]["StateDirectory"]


def test_the_unit_lets_the_supervisor_stop_the_workers() -> None:
    service = unit()["Service"]
    assert service["ExecStart"].endswith("/xs2a-sandbox serve")
    assert service["KillMode"] == "mixed"
    assert float(service["TimeoutStopSec"]) > 15  # how long the supervisor waits for its workers


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze")
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    file = tmp_path / "xs2a-sandbox.service"
    text = (DEPLOY / "systemd" / "xs2a-sandbox.service").read_text()
    file.write_text(text.replace("/opt/xs2a-sandbox/bin/xs2a-sandbox", shutil.which("true") or "/bin/true"))

    done = subprocess.run(["systemd-analyze", "verify", file], capture_output=True, text=True, check=False)

    assert "xs2a-sandbox.service" not in done.stderr


# -- Compose


@pytest.fixture(scope="module")
def compose() -> Any:
    return yaml.safe_load((DEPLOY / "compose" / "compose.yaml").read_text())


def test_both_sandboxes_share_settings_and_state(compose: Any, tmp_path: Path) -> None:
    one, other = (compose["services"][name] for name in ("sandbox-1", "sandbox-2"))
    assert one["environment"] == other["environment"]
    assert one["volumes"] == other["volumes"]
    environ = {name: re.sub(r"\$\{\w+:-(.*)\}", r"\1", value) for name, value in one["environment"].items()}
    assert load({}, environ, tmp_path).state == "redis://redis:6379/0"


def test_the_compose_file_refers_to_existing_services_volumes_and_files(compose: Any) -> None:
    for service in compose["services"].values():
        assert set(service.get("depends_on", ())) <= set(compose["services"])
        named = {volume.partition(":")[0] for volume in service["volumes"] if not volume.startswith((".", "$"))}
        assert named <= set(compose["volumes"])
        for volume in service["volumes"]:
            if volume.startswith("./"):
                assert (DEPLOY / "compose" / volume.partition(":")[0]).is_file()


def test_redis_loses_no_acknowledged_write(compose: Any) -> None:
    command = " ".join(compose["services"]["redis"]["command"])
    assert "--appendonly yes --appendfsync always" in command
    assert "noeviction" in command


def test_haproxy_forwards_each_port_and_checks_readiness(compose: Any) -> None:
    lines = [line.split() for line in (DEPLOY / "compose" / "haproxy.cfg").read_text().splitlines()]
    assert ["mode", "tcp"] in lines
    assert {line[1][1:] for line in lines if line[:1] == ["bind"]} == PORTS
    servers = {line[2] for line in lines if line[:1] == ["server"]}
    assert servers == {f"{name}:{port}" for name in ("sandbox-1", "sandbox-2") for port in PORTS}
    (check,) = (line for line in lines if line[:2] == ["http-check", "send"])
    assert check[check.index("uri") + 1] == "/_sandbox/ready"
    # The health check sends a host name of the sandbox, because the sandbox refuses any other.
    assert check[-2:] == ["Host", "localhost"]
    published = {port.split(":")[1] for port in compose["services"]["haproxy"]["ports"]}
    assert published == PORTS


@pytest.mark.skipif(shutil.which("haproxy") is None, reason="there is no haproxy")
def test_haproxy_accepts_its_configuration() -> None:
    file = DEPLOY / "compose" / "haproxy.cfg"
    done = subprocess.run(["haproxy", "-c", "-f", file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# -- Helm


def rendered(name: str, **values: Any) -> list[Any]:
    """Render a template of the chart. Jinja implements the part of Helm's language that the templates use."""
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


def test_the_replicas_of_the_chart_share_settings_and_state(tmp_path: Path) -> None:
    deployment, service = rendered("sandbox.yaml", settings={"XS2A_SANDBOX_SEED": "spring"})

    assert (deployment["kind"], service["kind"]) == ("Deployment", "Service")
    assert deployment["spec"]["replicas"] == 2
    pod = deployment["spec"]["template"]
    assert deployment["spec"]["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    assert service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
    (sandbox,) = pod["spec"]["containers"]
    password, *env = sandbox["env"]
    assert password["valueFrom"]["secretKeyRef"] == {"name": "xs2a-sandbox-redis", "key": "password"}
    environ = {one["name"]: one["value"].replace("$(REDIS_PASSWORD)", "5e3f") for one in env}
    assert environ.keys() <= VARIABLES
    assert environ["XS2A_SANDBOX_SEED"] == "spring"
    del environ["XS2A_SANDBOX_SEED"]
    assert load({}, environ, tmp_path).state == "redis://:5e3f@bank-redis:6379/0"
    assert {str(port["containerPort"]) for port in sandbox["ports"]} == PORTS
    assert {str(port["port"]) for port in service["spec"]["ports"]} == PORTS
    assert {port["targetPort"] for port in service["spec"]["ports"]} == {port["name"] for port in sandbox["ports"]}
    assert sandbox["livenessProbe"]["httpGet"]["path"] == "/_sandbox/health"
    assert sandbox["readinessProbe"]["httpGet"]["path"] == "/_sandbox/ready"


def test_the_chart_mounts_the_files_that_it_refers_to() -> None:
    for more in ({}, {"settingsConfigMap": "mine"}):
        deployment, _ = rendered("sandbox.yaml", **more)
        pod = deployment["spec"]["template"]["spec"]
        volumes = {volume["name"] for volume in pod["volumes"]}
        mounts = {
            mount["name"] for one in (*pod["initContainers"], *pod["containers"]) for mount in one["volumeMounts"]
        }
        assert mounts == volumes


def test_the_chart_can_use_an_existing_redis() -> None:
    stateful, service, _ = rendered("redis.yaml")
    assert (stateful["kind"], service["metadata"]["name"]) == ("StatefulSet", "bank-redis")
    assert stateful["spec"]["template"]["spec"]["containers"][0]["args"][:4] == [
        *("--appendonly", "yes"),
        *("--appendfsync", "always"),
    ]

    assert rendered("redis.yaml", redis={"urlSecret": "mine"}) == []
    deployment, _ = rendered("sandbox.yaml", redis={"urlSecret": "mine"})
    state = deployment["spec"]["template"]["spec"]["containers"][0]["env"][0]
    assert state["valueFrom"]["secretKeyRef"] == {"name": "mine", "key": "url"}


def test_the_charts_redis_requires_a_password_and_accepts_only_the_sandboxes(tmp_path: Path) -> None:
    stateful, _, policy = rendered("redis.yaml")
    pod = stateful["spec"]["template"]
    (redis,) = pod["spec"]["containers"]
    assert redis["env"][0]["valueFrom"]["secretKeyRef"] == {"name": "xs2a-sandbox-redis", "key": "password"}
    assert policy["spec"]["podSelector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    assert policy["spec"]["policyTypes"] == ["Ingress", "Egress"]
    assert "egress" not in policy["spec"]
    (allowed,) = policy["spec"]["ingress"]
    deployment, _ = rendered("sandbox.yaml")
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    (peer,) = allowed["from"]
    assert peer["podSelector"]["matchLabels"].items() <= labels.items()
    assert {port["port"] for port in allowed["ports"]} <= {port["name"] for port in redis["ports"]}


def test_containers_of_the_chart_have_limits_and_no_privileges() -> None:
    (stateful, *_), (deployment, _) = rendered("redis.yaml"), rendered("sandbox.yaml")
    for pod in (one["spec"]["template"]["spec"] for one in (stateful, deployment)):
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert pod["automountServiceAccountToken"] is False
        assert all("memory" in container["resources"]["limits"] for container in pod["containers"])
        for container in (*pod.get("initContainers", ()), *pod["containers"]):
            assert container["securityContext"]["allowPrivilegeEscalation"] is False
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}


@needs_redis
def test_the_charts_redis_starts_with_its_command_and_refuses_clients_without_password(tmp_path: Path) -> None:
    stateful, *_ = rendered("redis.yaml")
    (container,) = stateful["spec"]["template"]["spec"]["containers"]
    port = free_port()
    command = [*container["command"], *container["args"], "--port", str(port), "--dir", str(tmp_path)]
    environ = {"PATH": os.environ["PATH"], "REDISCLI_AUTH": "5e3f"}
    with subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL) as process:
        try:
            with redis.Redis(port=port, password="5e3f") as known, redis.Redis(port=port) as unknown:
                end = monotonic() + 20
                while not answers(known):
                    assert monotonic() < end
                    sleep(0.05)
                with pytest.raises(redis.AuthenticationError):
                    unknown.ping()
                assert known.config_get("appendfsync") == {"appendfsync": "always"}
        finally:
            process.terminate()
        assert process.wait(20) == 0, "the shell that started Redis is stopped, not Redis itself"


def answers(client: "redis.Redis") -> bool:
    try:
        return bool(client.ping())
    except redis.ConnectionError:
        return False


# -- pinned versions


def test_actions_and_images_are_pinned_by_digest(compose: Any) -> None:
    root = DEPLOY.parent
    workflows = [root / "action.yml", *(root / ".github").rglob("*.yml")]
    actions = [one for file in workflows for one in re.findall(r"uses: (\S+)", file.read_text())]
    assert len(actions) > 20
    assert [one for one in actions if not one.startswith("./") and not re.search(r"@[0-9a-f]{40}$", one)] == []
    bases = re.findall(r"^FROM (\S+)", (root / "Dockerfile").read_text(), re.MULTILINE)
    images = [service["image"] for service in compose["services"].values() if "$" not in service["image"]]
    chart = yaml.safe_load((DEPLOY / "helm" / "values.yaml").read_text())
    for image in (*bases, *images, chart["redis"]["image"]):
        assert re.search(r"@sha256:[0-9a-f]{64}$", image), image
