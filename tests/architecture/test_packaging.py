"""The published archives contain what users need, and the container's steps work. Both tests need a package index."""

import ast
import http.client
import json
import os
import re
import shlex
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import Message
from importlib.metadata import packages_distributions, version
from pathlib import Path
from shutil import copy2, copytree, ignore_patterns

import pytest
from packaging.requirements import Requirement
from tools import bounds, licenses

from xs2a_sandbox import __version__
from xs2a_sandbox.config import Settings

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {n: v for n, v in os.environ.items() if not n.startswith("XS2A_SANDBOX_") and n != "PYTHONPATH"}
OF_TESTS = {"httpcore", "httpx", "pytest", "requests", "urllib3"}
"""Packages that the pytest plugin imports only if tests use them, so they are installed then."""

JUNK = ignore_patterns("__pycache__", "*.py[cod]")
DATA = ["cassettes", "schemas", "docs"]


def run(*words: str | Path, at: Path, **environment: str) -> str:
    done = subprocess.run(
        words, cwd=at, env=ENVIRONMENT | environment, capture_output=True, text=True, timeout=900, check=False
    )
    if "No matching distribution found" in done.stderr or "Could not find a version" in done.stderr:
        pytest.skip("there is no package index: " + done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def files(directory: str) -> set[str]:
    found = (path for path in (ROOT / directory).rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(ROOT).as_posix() for path in found}


# --- archives


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Build the wheel and the sdist."""
    place = tmp_path_factory.mktemp("archives")
    run(sys.executable, "-m", "venv", "--without-pip", "venv", at=place)
    python = place / "venv" / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "hatchling", at=place)
    run(python, "-m", "hatchling", "build", "-d", place / "dist", at=ROOT)
    (wheel,) = (place / "dist").glob("*.whl")
    (sdist,) = (place / "dist").glob("*.tar.gz")
    return wheel, sdist


def test_the_wheel_contains_the_package_and_its_data(archives: tuple[Path, Path]) -> None:
    wheel, _ = archives
    assert wheel.name == f"xs2a_sandbox-{__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
        metadata = archive.read(f"xs2a_sandbox-{__version__}.dist-info/METADATA").decode()
    modules = {name.removeprefix("addons/") for name in files("addons/xs2a_sandbox")}
    data = {f"xs2a_sandbox/{name}" for directory in DATA for name in files(directory)}
    about = {name for name in held if ".dist-info/" in name}
    assert modules | data == held - about
    terms = {"LICENSE", "requirements/licenses.md"}
    assert {f"xs2a_sandbox-{__version__}.dist-info/licenses/{name}" for name in terms} <= about
    assert "License-Expression: Apache-2.0" in metadata


def test_a_wheel_can_be_built_from_the_sdist(archives: tuple[Path, Path]) -> None:
    _, sdist = archives
    top = f"xs2a_sandbox-{__version__}"
    with tarfile.open(sdist) as archive:
        held = set(archive.getnames())
    needed = {
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "Makefile",
        *files("requirements"),
        *files("addons"),
        *files("cassettes"),
        *files("schemas"),
        *files("docs"),
    }
    assert not {name for name in needed if f"{top}/{name}" not in held}
    assert not {name for name in held if "__pycache__" in name or "/.venv/" in name}


def test_the_package_declares_all_its_imports() -> None:
    """The test environment has more packages, so it would hide a missing dependency."""
    imported = set()
    for file in (ROOT / "addons").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                imported.add(node.module.partition(".")[0])
    third_party = imported - sys.stdlib_module_names - {"xs2a_sandbox"}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    lines = [*project["dependencies"], *extras["faker"], *extras["lsp"], *extras["mcp"], *extras["otel"]]
    declared = {normal(re.split(r"[\[<>=~! ]", line)[0]) for line in lines}
    distributions = packages_distributions()
    missing = {
        name for name in third_party - OF_TESTS if not declared & {normal(d) for d in distributions.get(name, [name])}
    }
    assert {"mitmproxy", "yaml", "click"} <= third_party
    assert not missing


def test_dependencies_with_unstable_internals_have_an_upper_bound_and_none_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    ranges = {normal(one.name): one.specifier for one in map(Requirement, project["dependencies"])}
    data = {"certifi", "pycountry", "schwifty", "tzdata"}

    assert {name for name, ends in ranges.items() if "<" not in {one.operator for one in ends}} == data
    assert not [name for name, ends in ranges.items() if {one.operator for one in ends} - {">=", "<"}]
    for name in ("mitmproxy", "aiohttp"):
        major, minor = version(name).split(".")[:2]
        assert ranges[name].contains(version(name))
        assert not ranges[name].contains(f"{major}.{int(minor) + 1}")


@pytest.mark.parametrize(("name", "extra"), [("run", False), ("dev", True)])
def test_the_lock_contains_the_declared_dependencies_with_hashes(name: str, extra: bool) -> None:
    """Run `make lock` if this test fails."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    assert extras["dev"][0] == "xs2a-sandbox[faker,test]"
    declared = project["dependencies"] + (extras["dev"][1:] + extras["faker"] + extras["test"] if extra else [])
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    locked = dict(re.findall(r"^([a-z0-9.-]+)==([^ ;]+)", text, re.MULTILINE))

    assert not [one for one in map(Requirement, declared) if not one.specifier.contains(locked[normal(one.name)])]
    assert len(re.findall(r"--hash=sha256:[0-9a-f]{64}", text)) >= len(locked)
    assert "/" not in re.sub("^#.*", "", text, flags=re.MULTILINE), "an address or a path"


def test_the_licenses_match_the_locked_packages() -> None:
    """Run `make licenses` if this test fails."""
    packages = licenses.locked((ROOT / "requirements" / "run.txt").read_text())
    rows = [line.strip("| ").split(" | ") for line in licenses.LIST.read_text().splitlines() if line.startswith("| ")]
    listed = {licenses.Locked(name, version): license for name, version, license in rows[2:]}

    assert len(packages) > len(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"])
    assert sorted(listed) == sorted(packages)
    assert licenses.LIST.read_text() == licenses.page(listed)
    assert listed[licenses.Locked("mitmproxy", version("mitmproxy"))].startswith("MIT")
    assert not [package.name for package, license in listed.items() if not license]


@pytest.mark.parametrize(
    ("fields", "license"),
    [
        ({"License-Expression": "MIT", "License": "other"}, "MIT"),
        ({"License": "BSD-3-Clause", "Classifier": "License :: OSI Approved :: BSD License"}, "BSD-3-Clause"),
        (
            {"License": "Copyright somebody, " * 9, "Classifier": "License :: OSI Approved :: MIT License"},
            "MIT License",
        ),
        ({"License": "UNKNOWN", "Classifier": "License :: OSI Approved"}, ""),
        ({}, ""),
    ],
)
def test_a_license_is_read_from_the_most_reliable_metadata_field(fields: dict[str, str], license: str) -> None:
    metadata = Message()
    for name, value in fields.items():
        metadata[name] = value
    assert licenses.license(metadata) == license


def test_a_range_starts_with_the_tested_version() -> None:
    installed = {"one": "1.2.0", "two": "2.1", "three": "3"}
    assert bounds.complaints(["one>=1.2,<2"], installed.__getitem__) == []
    assert bounds.complaints(["one>=1.2,<2", "two>=2,<3", "three"], installed.__getitem__) == [
        "pyproject.toml: two<3,>=2 is tested only from 2.1 on; raise the lower bound to it",
        "pyproject.toml: three is tested only from 3 on; raise the lower bound to it",
    ]


def normal(distribution: str) -> str:
    return re.sub("[-_.]+", "-", distribution).lower()


# --- the container


def instructions() -> list[tuple[str, str]]:
    """Return the instructions of the Dockerfile, as (word, rest)."""
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in lines)]


def stages() -> list[list[tuple[str, str]]]:
    found: list[list[tuple[str, str]]] = []
    for word, rest in instructions():
        if word == "FROM":
            found.append([])
        found[-1].append((word, rest))
    return found


def copied() -> list[tuple[list[str], str]]:
    return [(rest.split()[:-1], rest.split()[-1]) for word, rest in stages()[0] if word == "COPY"]


def test_the_image_is_small_and_runs_without_rights() -> None:
    build, final = stages()
    base = r"python:3\.13-slim(@sha256:[0-9a-f]{64})?"
    assert re.fullmatch(f"{base} AS build", dict(build)["FROM"])
    assert re.fullmatch(base, dict(final)["FROM"])
    words = [word for word, _ in final]
    user = dict(final)["USER"]
    assert user not in ("root", "0")
    assert words.index("USER") < words.index("ENTRYPOINT")
    assert [rest for word, rest in final if word == "COPY"] == ["--from=build /opt/xs2a-sandbox /opt/xs2a-sandbox"]
    assert json.loads(dict(final)["ENTRYPOINT"]) == ["xs2a-sandbox"]
    assert json.loads(dict(final)["CMD"]) == ["serve"]
    defaults = {str(Settings.__dataclass_fields__[name].default) for name in ("proxy_port", "port", "tls_port")}
    assert set(dict(final)["EXPOSE"].split()) == defaults


@pytest.mark.parametrize("language", ["python", "java"])
def test_the_testcontainers_snippets_use_this_image(language: str) -> None:
    page = (ROOT / "docs/docker.md").read_text()
    (snippet,) = re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (exposed,) = [rest.split() for word, rest in stages()[1] if word == "EXPOSE"]
    (ports,) = re.findall(r"xposed_?[pP]orts\((.+?)\)", snippet)
    assert ports.split(", ") == exposed
    assert set(re.findall(r"\b\d{4}\b", snippet)) <= set(exposed)
    assert set(re.findall(r"\bXS2A_SANDBOX_\w+", snippet)) <= {
        f"XS2A_SANDBOX_{name.upper()}" for name in Settings.__dataclass_fields__
    }
    (path,) = re.findall(r'"(/\w+/\w+)"', snippet)
    assert path == "/_sandbox/ready"
    if language == "python":
        compile(snippet, "docs/docker.md", "exec")


def test_no_copied_file_is_ignored() -> None:
    ignored = (ROOT / ".dockerignore").read_text().split("\n")
    allowed = {line.removeprefix("!") for line in ignored if line.startswith("!")}
    sources = {name for names, _ in copied() for name in names}
    assert "*" in ignored
    assert sources == allowed
    assert all((ROOT / name).exists() for name in sources)


@pytest.mark.slow
def test_the_steps_of_the_image_build_a_working_sandbox(tmp_path: Path) -> None:
    """Run the steps with a directory of the test instead of the image's /opt.

    Dependencies are not installed again, but taken from the environment of the tests.
    """
    source, prefix, data, empty = (tmp_path / name for name in ("source", "opt", "data", "sandbox"))
    source.mkdir()
    empty.mkdir()
    for names, target in copied():
        for name in names:
            if (ROOT / name).is_dir():
                copytree(ROOT / name, source / target, ignore=JUNK)
            else:
                copy2(ROOT / name, source / target)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    steps = [rest for word, rest in stages()[0] if word == "RUN"]
    for step in steps:
        if "--require-hashes" in step:
            continue
        step = step.replace("/opt/xs2a-sandbox", shlex.quote(str(prefix)))
        run("sh", "-ec", step.replace(" install ", " install --no-deps "), at=source, PATH=path)
    assert len(steps) == 3
    (packages,) = prefix.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(
        "\n".join({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})
    )
    installed = run(prefix / "bin" / "python", "-c", "import xs2a_sandbox; print(xs2a_sandbox.__file__)", at=empty)
    assert installed.startswith(str(packages))

    final = {"XS2A_SANDBOX_CONFDIR": str(data), "PATH": f"{prefix}/bin{os.pathsep}{os.environ['PATH']}"}
    assert run("xs2a-sandbox", "--version", at=empty, **final).split()[-1] == __version__
    listed = json.loads(run("xs2a-sandbox", "testdata", "--json", at=empty, **final))
    consent = next(entry["id"] for entry in listed["consents"] if entry["role"] == "authorised")
    with served(empty, final) as port:
        headers = {"X-Request-ID": "99391c7e-ad88-49ec-a2ad-99ddcb1f7721"}
        assert response(port, f"/v1/consents/{consent}/status", headers) == (200, b'{"consentStatus":"valid"}')
        health = dict(stages()[1])["HEALTHCHECK"].partition("CMD ")[2]
        run(*json.loads(health), at=empty, **final, XS2A_SANDBOX_PORT=str(port))
    assert (data / "mitmproxy-ca-cert.pem").is_file()
    with pytest.raises(AssertionError):
        run(*json.loads(health), at=empty, **final, XS2A_SANDBOX_PORT=str(port))


def response(port: int, target: str, headers: dict[str, str]) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", target, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


@contextmanager
def served(at: Path, environment: dict[str, str]) -> Iterator[int]:
    """Serve on all interfaces, as in the container, and yield the port of the base URL."""
    ports = {f"XS2A_SANDBOX_{name}": "0" for name in ("PORT", "PROXY_PORT", "TLS_PORT")}
    with subprocess.Popen(
        ["xs2a-sandbox", "serve"],
        cwd=at,
        env=ENVIRONMENT | environment | ports | {"XS2A_SANDBOX_HOST": "0.0.0.0"},
        executable=f"{environment['PATH'].split(os.pathsep)[0]}/xs2a-sandbox",
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout
            url = next((line for line in process.stdout if line.startswith("base URL")), "")
            match = re.search(r":(\d+)$", url.strip())
            assert match, "the sandbox did not start"
            yield int(match[1])
        finally:
            process.terminate()
            process.communicate(timeout=30)
        assert process.returncode == 0
