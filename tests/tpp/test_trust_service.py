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


def test_the_ca_is_created_once_and_readable_only_by_its_owner(service: TrustService) -> None:
    ca = service.ca(NOW)

    assert service.ca(NOW).certificate == ca.certificate
    assert service.ca(NOW).key.private_numbers() == ca.key.private_numbers()
    assert (service.folder / "ca.pem").stat().st_mode & 0o077 == 0
    assert service.folder.stat().st_mode & 0o077 == 0
    assert service.folder.parent.stat().st_mode & 0o077 == 0


def test_without_a_ca_nothing_is_trusted(service: TrustService) -> None:
    assert service.trust() == Trust()
    assert not service.folder.exists()


def test_changes_of_the_register_and_the_revocation_list_apply_at_once(service: TrustService) -> None:
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


def test_a_ca_can_revoke_only_its_own_certificates(service: TrustService) -> None:
    with pytest.raises(ConfigError, match="only that CA can revoke it"):
        service.revoke(certificate.read(der(issued())), NOW)


@pytest.mark.parametrize("name", ["ca.pem", "register.json", "revoked.pem"])
def test_an_error_names_an_invalid_file(service: TrustService, name: str) -> None:
    service.ca(NOW)
    (service.folder / name).write_text("[1]")

    with pytest.raises(ConfigError, match=rf"{FOLDER}/{name} is no"):
        service.trust()


def test_an_error_names_a_broken_key(service: TrustService) -> None:
    service.ca(NOW)
    file = service.folder / "ca.pem"
    file.write_text(file.read_text().replace("M", "N", 20))

    with pytest.raises(ConfigError, match="is not a CA with its key"):
        service.ca(NOW)
