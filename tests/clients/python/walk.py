"""The sequence of requests in ../README.md.

`send` is a client: it takes method, path, headers and body, and returns a step with `status`, `version` and `body`.
`send_on_new_connection` does the same on a new connection.
"""

import json
import os
import uuid
from collections.abc import Callable
from typing import Any

ACCOUNT = "AT459880000010204711"
PAYMENTS = "/v1/payments/sepa-credit-transfers"

type Send = Callable[[str, str, dict[str, str], bytes | None], dict[str, Any]]


def walk(send: Send, send_on_new_connection: Send) -> None:
    def get(path: str, *, consent: str | None = None, send: Send = send) -> dict[str, Any]:
        headers = {"X-Request-ID": str(uuid.uuid4())}
        if consent:
            headers["Consent-ID"] = consent
        return send("GET", path, headers, None)

    def post(path: str, body: dict[str, Any]) -> dict[str, Any]:
        headers = {
            "X-Request-ID": str(uuid.uuid4()),
            "Content-Type": "application/json",
            "PSU-IP-Address": "192.0.2.7",
            "TPP-Redirect-URI": "https://tpp.example/back",
        }
        return send("POST", path, headers, encoded(body))

    steps: dict[str, Any] = {}
    steps["consent"] = post(
        "/v1/consents",
        {
            "access": {"balances": [{"iban": ACCOUNT}], "transactions": [{"iban": ACCOUNT}]},
            "recurringIndicator": True,
            "validUntil": "9999-12-31",
            "frequencyPerDay": 4,
        },
    )
    consent = steps["consent"]["body"]["consentId"]
    status = f"/v1/consents/{consent}/status"
    steps["consent-status"] = get(status)
    steps["accounts"] = get("/v1/accounts/?withBalance=true", consent=consent)
    steps["transactions"] = get(f"/v1/accounts/{ACCOUNT}/transactions?bookingStatus=both", consent=consent)

    payment = {
        "endToEndIdentification": "walk",
        "debtorAccount": {"iban": ACCOUNT, "currency": "EUR"},
        "instructedAmount": {"amount": "12.30", "currency": "EUR"},
        "creditorAccount": {"iban": "AT359850700040087109"},
        "creditorAgent": "ESELATW1XXX",
        "creditorName": "Café Eselsohr",
        "remittanceInformationStructured": {"reference": "RF-2210"},
        "padding": "",
    }
    steps["payment"] = post(PAYMENTS, payment)
    steps["payment-status"] = get(f"{PAYMENTS}/{steps['payment']['body']['paymentId']}/status")

    steps["error"] = get("/v1/accounts/?withBalance=false", consent="00000000-0000-4000-8000-000000000000")
    for step, size in (("largest", 1048576), ("too-large", 1048577)):
        steps[step] = post(PAYMENTS, payment | {"padding": "x" * (size - len(encoded(payment)))})

    steps["new"] = [get(status, send=send_on_new_connection)["status"] for _ in range(int(os.environ["NEW"]))]
    steps["kept"] = [get(status)["status"] for _ in range(int(os.environ["KEPT"]))]
    print(json.dumps(steps))


def encoded(body: dict[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode()
