"""Words of one interface (headers, members, states, links, products) must leave the package: the list only shrinks.

`python -m tests.architecture.test_interface_words` lowers the numbers of files that contain fewer words, but never
raises them. If you rename a file, change its name in the list by hand.
"""

import re
from pathlib import Path

LIST = Path(__file__).with_name("interface_words.txt")
PACKAGE = Path(__file__).resolve().parents[2] / "addons" / "xs2a_sandbox"
WORDS = re.compile(
    "|".join(
        r"""
        Consent-ID consent-id PSU-ID psu-id PSU-IP-Address TPP-[A-Za-z-]+ bookingStatus scaStatus transactionStatus
        consentStatus tppMessages account-id payment-product authorisationId basketId frequencyPerDay validUntil
        scaRedirect instructedAmount debtorAccount creditorAccount consentId paymentId recurringIndicator withBalance
        dateFrom dateTo bookingDate transactionId transactionAmount balanceAmount balanceType creditorName debtorName
        remittanceInformation[A-Za-z]* endToEndIdentification requestedExecutionDate resourceId scaMethods
        authenticationMethodId chosenScaMethod psuIdentified psuAuthenticated scaMethodSelected terminatedByTpp
        partiallyAuthorised availableAccounts[A-Za-z]* allPsd2 bankOffered updatePsu[A-Za-z]*
        startAuthorisation[A-Za-z]* scaOAuth _links sepa-credit-transfers bulk-payments periodic-payments
        forwardAvailable interimAvailable
        """.split()
    )
)


def count() -> dict[str, int]:
    """Return the number of these words in each file that contains any."""
    found = {
        file.relative_to(PACKAGE).as_posix(): len(WORDS.findall(file.read_text())) for file in PACKAGE.rglob("*.py")
    }
    return {file: number for file, number in sorted(found.items()) if number}


def listed() -> dict[str, int]:
    return {file: int(number) for file, number in map(str.split, LIST.read_text().splitlines())}


def test_no_file_contains_more_interface_words_than_before() -> None:
    before = listed()
    more = {file: number for file, number in count().items() if number > before.get(file, 0)}
    assert not more, f"the package must not contain interface words; these files have more than in {LIST.name}: {more}"


def test_the_list_shrinks_with_the_words() -> None:
    now = count()
    fewer = {file: now.get(file, 0) for file, number in listed().items() if now.get(file, 0) < number}
    assert not fewer, f"update {LIST.name} with `python -m {__name__}`, because these files have fewer words: {fewer}"


if __name__ == "__main__":
    before = listed()
    fewer = {file: min(number, before[file]) for file, number in count().items() if file in before}
    LIST.write_text("".join(f"{file} {number}\n" for file, number in fewer.items()))
