import ssl
from pathlib import Path

from cryptography.hazmat.primitives.serialization import pkcs12

from tests.support.certificates import ca, der, issued
from xs2a_sandbox.tpp import certificate, key_files


def test_both_files_contain_certificate_and_key_and_are_readable_only_by_the_owner(tmp_path: Path) -> None:
    made = issued()
    as_pem, as_pkcs12 = key_files.write(tmp_path, "qwac", made, [ca().certificate], "geheim")

    ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(as_pem)
    archive = pkcs12.load_pkcs12(as_pkcs12.read_bytes(), b"geheim")
    assert archive.cert
    assert (archive.cert.certificate, archive.cert.friendly_name) == (made.certificate, b"qwac")
    assert [one.certificate for one in archive.additional_certs] == [ca().certificate]
    assert list(certificate.from_pem(as_pem.read_bytes())) == [der(made)]
    assert {file.stat().st_mode & 0o777 for file in (as_pem, as_pkcs12)} == {0o600}
