import pytest

from xs2a_sandbox.tpp import organisation_identifier


@pytest.mark.parametrize("text", ["PSDAT-FMA-123456", "PSDDE-BAFIN-10012345", "PSDBE-NBB-0479.197.205"])
def test_an_identifier_is_read_and_written(text: str) -> None:
    identifier = organisation_identifier.parse(text)

    assert identifier
    assert str(identifier) == text
    assert identifier.authority_id == f"{text[3:5]}-{text.split('-')[1]}"


@pytest.mark.parametrize(
    "text", ["", "PSDAT-FMA-", "PSDAT-F-1", "PSDat-FMA-1", "VATAT-U12345678", "PSDAT-FMA-1 2", "PSDAT_FMA_1"]
)
def test_an_invalid_identifier_is_none(text: str) -> None:
    assert organisation_identifier.parse(text) is None


def test_an_invented_identifier_depends_on_the_name() -> None:
    one = organisation_identifier.invent("My TPP")

    assert organisation_identifier.parse(one)
    assert organisation_identifier.invent("my tpp") == one != organisation_identifier.invent("Another")
