"""Connect with the package enablebanking-sdk, which checks the types of all members, and print all that it reads.

Variables: BASE_URL is the sandbox, APPLICATION the id of the application.
"""

import json
import os
from urllib.parse import parse_qsl, urlsplit

from bank_page import approve, new_key
from enablebanking_sdk.constants import PSUType
from enablebanking_sdk.service import EnableBankingIntegration, EnableBankingService

integration = EnableBankingIntegration(os.environ["BASE_URL"], os.environ["APPLICATION"], new_key().decode())
service = EnableBankingService(integration)
(bank,) = service.get_aspsps("FI", PSUType.PERSONAL)
started = service.start_user_session(bank, "state", "https://tpp.example/back", "en", PSUType.PERSONAL, "customer-1")
session = service.authorize_user_session(dict(parse_qsl(urlsplit(approve(started.url)).query))["code"])
entries, balances = {}, {}
for account in session.accounts:
    iban = service.get_account_details(account.uid).account_id.iban
    entries[iban] = [entry.entry_reference for entry in service.get_account_transactions(account.uid)]
    balances[iban] = service.get_account_balances(account.uid).balances[0].balance_amount.amount
print(json.dumps({"entries": entries, "balances": balances}))
