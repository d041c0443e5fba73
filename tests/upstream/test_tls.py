import os
import ssl
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import requests
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import pkcs12

from tests.support.certificates import ca, issued
from tests.support.doors import START, wait_until
from tests.support.far_bank import Authority, FarBank, ok
from tests.support.recorded_bank.process import Listener
from tests.support.serving import Serving, served
from xs2a_sandbox.config import RealBank
from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.tpp import key_files
from xs2a_sandbox.upstream import tls


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    directory = tmp_path_factory.mktemp("files")
    authority = Authority(directory)
    certificate, key = authority.issue("tpp")
    _, encrypted = authority.issue("hidden", password="secret")
    _, other = authority.issue("other")
    nonsense = directory / "nonsense.pem"
    nonsense.write_text("-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n")
    return {
        "ca": authority.file,
        "certificate": certificate,
        "key": key,
        "hidden certificate": directory / "hidden.crt",
        "encrypted": encrypted,
        "other": other,
        "nonsense": nonsense,
        "missing": directory / "missing.pem",
        "directory": directory,
    }


def made(files: dict[str, Path], **settings: Any) -> ssl.SSLContext:
    named = {name: files.get(value, value) for name, value in settings.items()}
    return tls.context(RealBank("https://bank.example", **named))


def test_a_bank_is_verified_by_default(files: dict[str, Path]) -> None:
    context = made(files)

    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2
    assert context.verify_flags & ssl.VERIFY_X509_STRICT


def test_banks_with_the_same_settings_share_a_context(files: dict[str, Path]) -> None:
    """Reading the authorities of the system takes longer than most requests."""
    usual = RealBank("https://bank.example")

    assert tls.context(RealBank("https://other.example", mode="spy")) is tls.context(usual)
    settings: tuple[dict[str, Any], ...] = (
        {"ca": files["ca"]},
        {"tls_minimum": "1.3"},
        {"tls_strict": False},
        {"client_cert": files["certificate"], "client_key": files["key"]},
    )
    contexts = {tls.context(replace(usual, **differing)) for differing in ({}, *settings)}
    assert len(contexts) == 5


def test_a_configured_ca_is_the_only_one(files: dict[str, Path]) -> None:
    (known,) = made(files, ca="ca").get_ca_certs()

    assert known["subject"] == ((("commonName", "far-bank"),),)


def test_strictness_can_be_turned_off_but_verification_cannot(files: dict[str, Path]) -> None:
    context = made(files, tls_strict=False)

    assert not context.verify_flags & ssl.VERIFY_X509_STRICT
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname


def test_the_minimum_version_is_a_setting(files: dict[str, Path]) -> None:
    assert made(files, tls_minimum="1.3").minimum_version is ssl.TLSVersion.TLSv1_3


def test_an_encrypted_key_is_loaded(files: dict[str, Path]) -> None:
    made(files, client_cert="hidden certificate", client_key="encrypted", client_key_password="secret")


@pytest.mark.parametrize("password", ["geheim", "pässword 1"])
def test_a_pkcs12_file_is_loaded_with_its_passphrase(tmp_path: Path, password: str) -> None:
    _, archive = key_files.write(tmp_path, "qwac", issued(), [ca().certificate], password)

    tls.context(RealBank("https://bank.example", client_cert=archive, client_key_password=password))
    for wrong, text in (("other", "with this `client_key_password`"), (None, "without a password")):
        with pytest.raises(ConfigError, match=text):
            tls.context(RealBank("https://bank.example", client_cert=archive, client_key_password=wrong))


def test_an_error_names_a_pkcs12_file_without_key_or_certificate(tmp_path: Path) -> None:
    file = tmp_path / "empty.p12"
    hidden = serialization.BestAvailableEncryption(b"x")
    file.write_bytes(pkcs12.serialize_key_and_certificates(b"x", None, None, [ca().certificate], hidden))

    with pytest.raises(ConfigError, match="must contain a certificate and its private key"):
        tls.context(RealBank("https://bank.example", client_cert=file, client_key_password="x"))


@pytest.mark.parametrize(
    ("settings", "file", "text"),
    [
        ({"ca": "missing"}, "missing", "cannot be read: No such file or directory. Set `ca` to another file"),
        ({"ca": "directory"}, "directory", "cannot be read: Is a directory"),
        ({"ca": "key"}, "key", "contains no certificate in PEM"),
        ({"ca": "nonsense"}, "nonsense", "contains no certificate in PEM"),
        ({"client_cert": "missing", "client_key": "key"}, "missing", "Set `client_cert` to another file"),
        ({"client_cert": "key", "client_key": "key"}, "key", "contains no certificate in PEM"),
        ({"client_cert": "certificate", "client_key": "missing"}, "missing", "Set `client_key` to another file"),
        ({"client_cert": "certificate", "client_key": "nonsense"}, "nonsense", "contains no private key"),
        ({"client_cert": "certificate"}, "certificate", "contains no private key"),
        ({"client_cert": "certificate", "client_key": "other"}, "other", "does not belong to the certificate"),
        ({"client_cert": "hidden certificate", "client_key": "encrypted"}, "encrypted", "is encrypted"),
        (
            {"client_cert": "hidden certificate", "client_key": "encrypted", "client_key_password": "wrong-one"},
            "encrypted",
            "cannot be decrypted with this `client_key_password`",
        ),
    ],
)
def test_an_error_names_a_file_that_cannot_be_used(
    files: dict[str, Path], settings: dict[str, str], file: str, text: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        made(files, **settings)

    assert str(files[file]) in str(caught.value)
    assert text in str(caught.value)
    assert "wrong-one" not in str(caught.value)


def test_the_systems_cas_are_trusted_regardless_of_the_environment(
    files: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(files["ca"]))
    monkeypatch.setenv("SSL_CERT_DIR", str(files["directory"]))
    tls._context.cache_clear()
    context = made(files)
    assert all("far-bank" not in str(ca) for ca in context.get_ca_certs())


def a_place(file: Path, folder: Path) -> ssl.DefaultVerifyPaths:
    return ssl.DefaultVerifyPaths(None, None, "SSL_CERT_FILE", str(file), "SSL_CERT_DIR", str(folder))


def test_the_cas_of_the_system_are_used_if_there_are_any(
    files: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ssl, "get_default_verify_paths", lambda: a_place(files["ca"], files["missing"]))
    tls._context.cache_clear()
    (known,) = made(files).get_ca_certs()
    assert known["subject"] == ((("commonName", "far-bank"),),)


def test_without_cas_of_the_system_those_of_certifi_are_used(
    files: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ssl, "get_default_verify_paths", lambda: a_place(files["missing"], tmp_path))
    tls._context.cache_clear()
    assert len(made(files).get_ca_certs()) > 50


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    yield
    tls._context.cache_clear()


@pytest.fixture
def hostile(files: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Set the environment of an app, or of somebody who wants to intercept. The folder must stay empty."""
    folder = tmp_path / "hostile"
    folder.mkdir()
    monkeypatch.setenv("SSL_CERT_FILE", str(files["ca"]))
    monkeypatch.setenv("SSL_CERT_DIR", str(files["directory"]))
    monkeypatch.setenv("SSLKEYLOGFILE", str(folder / "keys"))
    monkeypatch.setenv("MITMPROXY_SSLKEYLOGFILE", str(folder / "more-keys"))
    netrc = tmp_path / "netrc"
    netrc.write_text("default login canary password canary-5c1d\n")
    monkeypatch.setenv("NETRC", str(netrc))
    with Listener(0) as proxy:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        yield folder
        assert proxy.connections == 0
    assert not list(folder.iterdir()), "the keys of connections are written to a file"


def get(serving: Serving, road: str, bank: str, path: str) -> requests.Response:
    with requests.Session() as session, patch.dict(os.environ):
        # The client of this test uses it too.
        os.environ.pop("SSLKEYLOGFILE", None)
        session.trust_env = False
        session.verify = str(serving.ca_file)
        if road == "proxy":
            session.proxies = {"http": serving.proxy, "https": serving.proxy}
        base = {"proxy": bank, "tls": serving.tls, "direct": serving.direct}[road]
        return session.get(base.replace("127.0.0.1", "localhost") + path, timeout=START)


@pytest.mark.parametrize(
    "mode", ["spy", *(pytest.param(mode, marks=pytest.mark.slow) for mode in ("record", "compare"))]
)
def test_a_serving_process_uses_only_the_settings(
    files: dict[str, Path], hostile: Path, mode: str, tmp_path: Path
) -> None:
    authority = Authority(tmp_path, "real-bank")
    with FarBank(ok(b"{}"), tls=authority.server("localhost")) as bank:
        entry = {"url": bank.named("localhost"), "ca": str(authority.file)}
        with served(tmp_path, "--mode", mode, "--log-format", "json", settings={"banks": [entry]}) as serving:
            for road in ("proxy", "tls", "direct"):
                answer = get(serving, road, bank.named("localhost"), "/elsewhere")
                assert answer.status_code == (404 if mode == "compare" else 200), answer.text
            wait_until(lambda: len(bank.seen) >= 3)
        assert b"canary-5c1d" not in b"".join(bank.seen)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["spy", "record"])
def test_a_ca_of_the_environment_is_not_trusted(
    files: dict[str, Path], hostile: Path, mode: str, tmp_path: Path
) -> None:
    """The app's variable may name the sandbox's CA or any other; the bank's certificate is from neither."""
    authority = Authority(files["directory"])
    os.environ["SSL_CERT_FILE"] = str(authority.file)
    with FarBank(ok(b"{}"), tls=authority.server("localhost")) as bank:
        flags = ("--mode", mode, "--bank", bank.named("localhost"), "--log-format", "json")
        with served(tmp_path, *flags) as serving:
            answer = get(serving, "direct", "", "/elsewhere")
        assert answer.status_code == 502
        assert "its certificate is not trusted" in answer.text
        assert not bank.seen


@pytest.mark.slow
def test_compare_and_control_commands_use_only_the_settings_too(hostile: Path, tmp_path: Path) -> None:
    authority = Authority(tmp_path, "real-bank")
    with FarBank(ok(b"{}"), tls=authority.server("localhost")) as bank:
        entry = {"url": bank.named("localhost"), "ca": str(authority.file)}
        case = tmp_path / "case.yaml"
        case.write_text(
            "cassette: 1\nrules:\n  - id: mine\n    match: {path: /own}\n    respond: {body: 1}\n"
            "    examples: [{request: {}, expect: {status: 200}}]\n"
        )
        with served(tmp_path, settings={"banks": [entry]}) as serving:
            place = ["--port", serving.direct.rpartition(":")[2], "--confdir", str(serving.confdir)]
            commands = {
                "compare": ["compare", str(case), "--bank", entry["url"], "--confdir", str(serving.confdir)],
                "state": ["state", *place],
                "clock": ["clock", *place],
            }
            for name, words in commands.items():
                command = [sys.executable, "-m", "xs2a_sandbox", *words]
                done = subprocess.run(command, capture_output=True, text=True, timeout=START, cwd=tmp_path, check=False)
                assert done.returncode == (1 if name == "compare" else 0), done.stderr
                assert name != "compare" or "not answered" not in done.stdout
        assert len(bank.seen) > 0
