"""The words of one interface (headers, members, states, links, products) leave the package: their list only shrinks.

`python -m tests.architecture.test_interface_words` writes it anew where a file has fewer than before, and never more; a
file that gets another name gets it in the list by hand.
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
    """How often the words stand in each file of the package that has any."""
    found = {
        file.relative_to(PACKAGE).as_posix(): len(WORDS.findall(file.read_text())) for file in PACKAGE.rglob("*.py")
    }
    return {file: number for file, number in sorted(found.items()) if number}


def listed() -> dict[str, int]:
    return {file: int(number) for file, number in map(str.split, LIST.read_text().splitlines())}


def test_no_file_has_more_words_of_an_interface_than_it_had() -> None:
    before = listed()
    more = {file: number for file, number in count().items() if number > before.get(file, 0)}
    assert not more, f"the package shall know no interface's words, and here are more than {LIST.name} has: {more}"


def test_the_list_shrinks_with_the_words() -> None:
    now = count()
    fewer = {file: now.get(file, 0) for file, number in listed().items() if now.get(file, 0) < number}
    assert not fewer, f"good: write {LIST.name} anew with `python -m {__name__}`, because these have fewer: {fewer}"


if __name__ == "__main__":
    before = listed()
    fewer = {file: min(number, before[file]) for file, number in count().items() if file in before}
    LIST.write_text("".join(f"{file} {number}\n" for file, number in fewer.items()))
