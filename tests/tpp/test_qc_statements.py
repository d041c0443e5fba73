import pytest
from hypothesis import given
from hypothesis import strategies as st

from xs2a_sandbox.tpp import qc_statements
from xs2a_sandbox.tpp.qc_statements import ROLES, SEAL, WEB

AUTHORITY = {"authority_name": "Financial Market Authority", "authority": "AT-FMA"}


def test_written_statements_are_read() -> None:
    content = qc_statements.write(WEB, [ROLES["PISP"], ROLES["AISP"]], **AUTHORITY)

    assert qc_statements.read(content) == (True, (WEB,), ("PISP", "AISP"), "Financial Market Authority", "AT-FMA")


def test_a_certificate_can_have_no_statement_about_payment_services() -> None:
    content = qc_statements.write(SEAL, None, authority_name="", authority="", is_qualified=False)

    assert qc_statements.read(content) == (False, (SEAL,), None, "", "")


@pytest.mark.parametrize(
    ("roles", "mistake"),
    [
        ([], "names no role"),
        (
            [(ROLES["PISP"][0], "PSP_AI")],
            r"name 'PSP_AI' for the role 0\.4\.0\.19495\.1\.2; the correct name is PSP_PI",
        ),
        ([("0.4.0.19495.1.9", "PSP_XX")], r"has the role 0\.4\.0\.19495\.1\.9, which does not exist"),
    ],
)
def test_unknown_roles_are_errors(roles: list[tuple[str, str]], mistake: str) -> None:
    with pytest.raises(ValueError, match=mistake):
        qc_statements.read(qc_statements.write(WEB, roles, **AUTHORITY))


def test_an_unspecified_role_is_not_a_role() -> None:
    content = qc_statements.write(WEB, [("0.4.0.19495.1.0", "Unspecified")], **AUTHORITY)

    assert qc_statements.read(content).roles == ()


@given(st.binary(max_size=200), st.integers(0, 200))
def test_any_other_content_is_unreadable(noise: bytes, at: int) -> None:
    good = qc_statements.write(WEB, [ROLES["PISP"]], **AUTHORITY)
    for content in (noise, good[:at], good[:at] + noise + good[at + len(noise) :]):
        try:
            qc_statements.read(content)
        except ValueError as error:
            assert str(error).startswith("its ")  # noqa: PT017
