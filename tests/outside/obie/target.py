"""The banks that the scripts can run against: a dialect, its way of approval, and the suite's configuration."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

FAMILIES = Path(__file__).parents[2] / "families"


@dataclass(frozen=True)
class Target:
    dialect: str
    approves: Mapping[str, Mapping[str, str | Sequence[str]]]
    """For each step of the bank's pages, the fields that the customer fills in. Other fields keep their values."""
    debtor: tuple[str, str, str]
    """Scheme, identification and name of an account of this customer."""
    cassettes: Path | None = None
    """The folder with the dialect, unless it is bundled."""
    client: tuple[str, str] = ("tpp", "secret")
    redirect: str = "https://tpp.example/back"
    configuration: Mapping[str, str] = field(default_factory=dict)

    def words(self) -> dict[str, str]:
        """Return the suite's configuration, under the names used by the scripts."""
        scheme, identification, name = self.debtor
        return {
            "x-fapi-financial-id": "0015800000jf9gGAAQ",
            "x-fapi-customer-ip-address": "203.0.113.7",
            "instructedAmountValue": "1.00",
            "instructedAmountCurrency": "GBP",
            "currencyOfTransfer": "USD",
            "creditorScheme": "UK.OBIE.SortCodeAccountNumber",
            "creditorIdentification": "20202010981789",
            "creditorName": "Dr Foo",
            "internationalCreditorScheme": "UK.OBIE.IBAN",
            "internationalCreditorIdentification": "GB29NWBK60161331926819",
            "internationalCreditorName": "ACME Inc",
            "cbpiiDebtorAccountSchemeName": scheme,
            "cbpiiDebtorAccountIdentification": identification,
            "cbpiiDebtorAccountName": name,
            "transactionFromDate": "2016-01-01T10:40:00+02:00",
            "transactionToDate": "2099-12-31T10:40:00+02:00",
            "requestedExecutionDateTime": "$fn:nextDayDateTime(2006-01-02T15:04:05Z07:00)",
            "firstPaymentDateTime": "$fn:nextDayDateTime(2006-01-02T15:04:05Z07:00)",
            "payment_frequency": "WEEK",
            "payment_frequency_count_per_period": "1",
            "payment_frequency_point_in_time": "00",
            **self.configuration,
        }


DEFAULT = Target(
    "obie-4.0",
    approves={"login": {"customer": "grace"}},
    debtor=("UK.OBIE.IBAN", "GB33BUKB20201555555555", "Bills"),
)
CORE = replace(DEFAULT, dialect="uk-open-banking-4.0", cassettes=FAMILIES / "uk-open-banking/cassettes")
TARGETS = {target.dialect: target for target in (DEFAULT, CORE)}
