"""New IBANs of invented accounts."""

from random import Random

import pytest

from xs2a_sandbox.documents.formats import is_iban
from xs2a_sandbox.features.console.test_data.ibans import make_iban


@pytest.mark.parametrize(
    ("like", "bank"),
    [
        ("AT459880000010204711", "98800"),
        ("DE30999888770012345678", "99988877"),
        ("GB33BUKB20201555555555", "BUKB202015"),
        ("FR1420041010050500013M02606", "2004101005"),
        ("NL91ABNA0417164300", "ABNA"),
    ],
)
def test_an_iban_is_valid_and_of_the_same_bank(like: str, bank: str) -> None:
    made = [make_iban(like, Random(seed)) for seed in range(20)]
    assert all(map(is_iban, made))
    assert {(iban[:2], iban[4 : 4 + len(bank)]) for iban in made} == {(like[:2], bank)}
    assert len(set(made)) == 20
    assert make_iban(like, Random(3)) == made[3]
