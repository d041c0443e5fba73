from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.support.certificates import der, issued
from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.tpp import certificate
from xs2a_sandbox.tpp.trust_service import FOLDER, Provider, Trust, TrustService

NOW = datetime.now(UTC)


@pytest.fixture
def service(tmp_path: Path) -> TrustService:
    return TrustService(tmp_path / "conf")


def test_the_ca_is_made_once_and_is_its_owners(service: TrustService) -> None:
    ca = service.ca(NOW)

    assert service.ca(NOW).certificate == ca.certificate
    assert service.ca(NOW).key.private_numbers() == ca.key.private_numbers()
    assert (service.folder / "ca.pem").stat().st_mode & 0o077 == 0
    assert service.folder.stat().st_mode & 0o077 == 0
    assert service.folder.parent.stat().st_mode & 0o077 == 0


def test_nobody_is_trusted_before_there_is_a_ca(service: TrustService) -> None:
    assert service.trust() == Trust()
    assert not service.folder.exists()


def test_the_register_and_the_list_of_the_revoked_are_believed_at_once(service: TrustService) -> None:
    ca = service.ca(NOW)
    one, two = issued(by=ca), issued(by=ca)
    before = service.trust()
    service.register("PSDAT-FMA-123456", Provider("My TPP"))
    service.revoke(certificate.read(der(one)), NOW)
    service.revoke(certificate.read(der(two)), NOW)
    after = service.trust()

    assert (before.providers, before.revoked) == ({}, frozenset())
    assert after.authorities == (ca.certificate,)
    assert after.providers == {"PSDAT-FMA-123456": Provider("My TPP")}
    assert {serial for _, serial in after.revoked} == {x.certificate.serial_number for x in (one, two)}


def test_only_its_own_certificates_are_revoked(service: TrustService) -> None:
    with pytest.raises(ConfigError, match="only that can revoke it"):
        service.revoke(certificate.read(der(issued())), NOW)


@pytest.mark.parametrize("name", ["ca.pem", "register.json", "revoked.pem"])
def test_a_file_that_is_something_else_is_named(service: TrustService, name: str) -> None:
    service.ca(NOW)
    (service.folder / name).write_text("[1]")

    with pytest.raises(ConfigError, match=rf"{FOLDER}/{name} is no"):
        service.trust()


def test_a_broken_key_is_named(service: TrustService) -> None:
    service.ca(NOW)
    file = service.folder / "ca.pem"
    file.write_text(file.read_text().replace("M", "N", 20))

    with pytest.raises(ConfigError, match="is not a CA with its key"):
        service.ca(NOW)
