"""A dialect is derived from a recorded journey through a bank of UK Open Banking, without a word about the interface.

Another journey, with other accounts and amounts, then gets the bank's answers and passes through the bank's states.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import pytest
import requests
from click.testing import CliRunner

from tests.families.test_uk_open_banking import AISP, APP, JWS, PISP, initiation, link_for
from tests.support.serving import served
from xs2a_sandbox.cli.main import cli

CONSENTS = f"{AISP}/account-access-consents"
MANDATES, ORDERS = f"{PISP}/domestic-payment-consents", f"{PISP}/domestic-payments"
_ID = re.compile(r"[0-9a-f-]{36}|[0-9]{5}")


@dataclass
class Journey:
    """An app that reads accounts and pays with its API at `api`. The customer decides at `pages`.

    `answers` are the statuses and error codes of all requests, and `lives` the states that each thing showed.
    """

    api: str
    pages: str
    answers: list[tuple[str, int, str]] = field(default_factory=list)
    lives: dict[str, list[str]] = field(default_factory=dict)

    def ask(self, method: str, path: str, token: str, json: Any = None, **sent: Any) -> Any:
        headers = {"x-fapi-interaction-id": str(uuid4()), "Authorization": f"Bearer {token}", "x-jws-signature": JWS}
        answer = requests.request(method, self.api + path, headers=headers, json=json, timeout=60, **sent)
        value = answer.json() if answer.content else {}
        data, errors = value.get("Data") or {}, value.get("Errors") or [{}]
        self.answers.append((f"{method} {_ID.sub('*', path)}", answer.status_code, errors[0].get("ErrorCode", "")))
        if "Status" in data:
            self.lives.setdefault(data.get("DomesticPaymentId") or data["ConsentId"], []).append(data["Status"])
        return data

    def get_token(self, **form: str) -> str:
        form = {"client_id": "tpp", "client_secret": "secret", **form}
        answer = requests.post(f"{self.api}/token", form, timeout=60)
        self.answers.append(("token", answer.status_code, ""))
        return str(answer.json().get("access_token"))

    def decide(self, consent: str, scope: str, decision: str = "approve") -> str:
        """Let the customer decide, and return the app's token for the consent."""
        link = {**link_for(consent, scope), "decide": decision}
        page = requests.get(f"{self.pages}/sca/auth", link, allow_redirects=False, timeout=60)
        shown = requests.get(f"{self.pages}/sca/{page.headers['Location']}", allow_redirects=False, timeout=60)
        back = parse_qs(urlsplit(shown.headers["Location"]).query)
        if "code" not in back:
            return ""
        return self.get_token(grant_type="authorization_code", code=back["code"][0], redirect_uri=APP)

    def walk(self, number: int, amount: str, other: str) -> "Journey":
        """Read accounts, and pay from the account with this number in the list. Errors happen on the way."""
        own = self.get_token(grant_type="client_credentials", scope="accounts")
        rights = ["ReadAccountsDetail", "ReadBalances", "ReadTransactionsDetail"]
        consent = self.agree(CONSENTS, own, {"Permissions": rights})
        for token in (own, "unknown"):
            self.ask("GET", f"{AISP}/accounts", token)
        reader = self.decide(consent, "accounts")
        self.ask("GET", f"{CONSENTS}/{consent}", own)
        listed = self.ask("GET", f"{AISP}/accounts", reader)["Account"][number]
        account, payer = listed["AccountId"], listed["Account"][1]["Identification"]
        for place in ("", "/balances", "/transactions"):
            self.ask("GET", f"{AISP}/accounts/{account}{place}", reader)
        self.ask("GET", f"{AISP}/accounts/99999", reader)
        self.ask("GET", f"{CONSENTS}/nobody", own)
        self.ask("POST", CONSENTS, own, {"Data": {"Permissions": ["Everything"]}, "Risk": {}})
        declined = self.agree(CONSENTS, own, {"Permissions": rights[:1]})
        self.decide(declined, "accounts", "decline")
        self.ask("GET", f"{CONSENTS}/{declined}", own)
        self.pay(payer, amount, other)
        self.ask("GET", f"{AISP}/accounts/{account}/balances", reader)
        self.ask("DELETE", f"{CONSENTS}/{consent}", own)
        self.ask("GET", f"{CONSENTS}/{consent}", own)
        self.ask("GET", f"{AISP}/accounts", reader)
        return self

    def agree(self, path: str, token: str, data: Any) -> str:
        """Create a consent, read it, and return its id."""
        id = self.ask("POST", path, token, {"Data": data, "Risk": {}}).get("ConsentId", "none")
        self.ask("GET", f"{path}/{id}", token)
        return str(id)

    def pay(self, payer: str, amount: str, other: str) -> None:
        own = self.get_token(grant_type="client_credentials", scope="payments")
        debtor = {"SchemeName": "UK.OBIE.IBAN", "Identification": payer}
        order, another = (initiation(value, DebtorAccount=debtor) for value in (amount, other))
        consent = self.agree(MANDATES, own, {"Initiation": order})
        self.ask("POST", ORDERS, own, {"Data": {"ConsentId": consent, "Initiation": order}, "Risk": {}})
        token = self.decide(consent, "payments")
        self.ask("GET", f"{MANDATES}/{consent}", own)
        self.ask("GET", f"{MANDATES}/{consent}/funds-confirmation", token)
        for initiated in (another, order, order):
            sent = {"Data": {"ConsentId": consent, "Initiation": initiated}, "Risk": {}}
            if paid := self.ask("POST", ORDERS, token, sent).get("DomesticPaymentId"):
                self.ask("GET", f"{ORDERS}/{paid}", own)
        self.ask("GET", f"{MANDATES}/{consent}", own)
        declined = self.agree(MANDATES, own, {"Initiation": another})
        self.decide(declined, "payments", "decline")
        self.ask("GET", f"{MANDATES}/{declined}", own)


@pytest.mark.slow
@pytest.mark.parametrize("flags", [["--no-redact"], []], ids=["as it was", "redacted"])
def test_another_journey_passes_through_the_states_of_the_bank(
    flags: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(tmp_path / "bank", "--dialect", "obie-4.0") as bank:
        with served(tmp_path, "--mode", "record", "--bank", bank.direct, "--to", "tape", *flags) as recorder:
            Journey(recorder.direct, bank.direct).walk(0, "10.00", "30.00")
        expected = Journey(bank.direct, bank.direct).walk(1, "12.34", "7.00")
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli, ["derive", "--dialect", "mine", "tape", "--confdir", "conf"])
    assert result.exit_code == 0, result.output
    assert "nearest: obie-4.0 " in result.output
    assert "not learned" not in result.output
    with served(tmp_path, "--dialect", "mine") as mine:
        journey = Journey(mine.direct, mine.direct).walk(1, "12.34", "7.00")
    assert list(journey.lives.values()) == list(expected.lives.values())
    assert sorted(map(set, expected.lives.values()), key=sorted) == [
        {"ACSC"}, {"AUTH", "AWAU", "CANC"}, {"AUTH", "AWAU", "COND"}, {"AWAU", "RJCT"}, {"AWAU", "RJCT"},
    ]  # fmt: skip
    assert journey.answers == expected.answers
