import ssl
from pathlib import Path
from typing import Any

import pytest

from far_bank import Authority
from xs2a_sandbox import trust
from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.real_bank import RealBank


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
    return trust.context(RealBank("https://bank.example", **named))


def test_a_bank_is_verified_by_default(files: dict[str, Path]) -> None:
    context = made(files)

    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2
    assert context.verify_flags & ssl.VERIFY_X509_STRICT


def test_a_ca_of_its_own_is_the_only_one(files: dict[str, Path]) -> None:
    (known,) = made(files, ca="ca").get_ca_certs()

    assert known["subject"] == ((("commonName", "far-bank"),),)


def test_strictness_can_be_switched_off_and_verification_cannot(files: dict[str, Path]) -> None:
    context = made(files, tls_strict=False)

    assert not context.verify_flags & ssl.VERIFY_X509_STRICT
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname


def test_the_oldest_version_is_a_setting(files: dict[str, Path]) -> None:
    assert made(files, tls_minimum="1.3").minimum_version is ssl.TLSVersion.TLSv1_3


def test_it_is_made_once(files: dict[str, Path]) -> None:
    assert made(files, ca="ca") is made(files, ca="ca")


def test_a_key_with_its_password_is_loaded(files: dict[str, Path]) -> None:
    made(files, client_cert="hidden certificate", client_key="encrypted", client_key_password="secret")


@pytest.mark.parametrize(
    ("settings", "file", "text"),
    [
        ({"ca": "missing"}, "missing", "cannot be read: No such file or directory. Name another file: `ca`"),
        ({"ca": "directory"}, "directory", "cannot be read: Is a directory"),
        ({"ca": "key"}, "key", "holds no certificate in PEM"),
        ({"ca": "nonsense"}, "nonsense", "holds no certificate in PEM"),
        ({"client_cert": "missing", "client_key": "key"}, "missing", "Name another file: `client_cert`"),
        ({"client_cert": "key", "client_key": "key"}, "key", "holds no certificate in PEM"),
        ({"client_cert": "certificate", "client_key": "missing"}, "missing", "Name another file: `client_key`"),
        ({"client_cert": "certificate", "client_key": "nonsense"}, "nonsense", "holds no private key"),
        ({"client_cert": "certificate"}, "certificate", "holds no private key"),
        ({"client_cert": "certificate", "client_key": "other"}, "other", "is not that of the certificate"),
        ({"client_cert": "hidden certificate", "client_key": "encrypted"}, "encrypted", "is encrypted"),
        (
            {"client_cert": "hidden certificate", "client_key": "encrypted", "client_key_password": "wrong-one"},
            "encrypted",
            "cannot be decrypted with this `client_key_password`",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_named(
    files: dict[str, Path], settings: dict[str, str], file: str, text: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        made(files, **settings)

    assert str(files[file]) in str(caught.value)
    assert text in str(caught.value)
    assert "wrong-one" not in str(caught.value)
