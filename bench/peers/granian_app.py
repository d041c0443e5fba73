"""The same rules as Python code behind granian: the maximum rate of Python on one core."""

import json
import os
import re
from pathlib import Path
from uuid import uuid4

WORK = json.loads(Path(os.environ["WORKLOAD"]).read_text())
CONSENT, LIST, PAYMENT = WORK["consent"]["path"], WORK["list"]["path"], WORK["payment"]["path"]
CONSENT_BODY, LIST_BODY, READ_BODY = (WORK[name]["body"].encode() for name in ("consent", "list", "read"))
PAYMENT_BODY = WORK["payment"]["body"]
QUERY = {f"{name}={value}" for name, value in WORK["list"]["query"].items()}
AMOUNT = re.compile(r"\d{1,14}(\.\d{1,2})?")
HEADERS = [("content-type", "application/json")]
JOURNEY = WORK["journey"]
CONSENTS, ACCOUNTS, STATUS = "/v1/consents", "/v1/accounts", "/status"
STATUS_BODY, ACCOUNTS_BODY, PAYMENT_STATUS_BODY = (
    JOURNEY[name].encode() for name in ("consentStatus", "accounts", "paymentStatus")
)
consents: dict[str, dict] = {}
payments: dict[str, dict] = {}


async def app(scope, protocol):
    path = scope.path
    if scope.method == "GET":
        if path == CONSENT:
            protocol.response_bytes(200, HEADERS, CONSENT_BODY)
        elif path == LIST:
            consent = scope.headers.get("consent-id")
            fits = set(scope.query_string.split("&")) >= QUERY
            fits = fits and (consent == WORK["list"]["consent"] or consent in consents)
            protocol.response_bytes(200 if fits else 404, HEADERS, LIST_BODY if fits else b"{}")
        elif path == ACCOUNTS:
            fits = scope.headers.get("consent-id") in consents
            protocol.response_bytes(200 if fits else 404, HEADERS, ACCOUNTS_BODY if fits else b"{}")
        else:
            place = path.removesuffix(STATUS)
            folder, _, id = place.rpartition("/")
            if folder == CONSENTS:
                kept, body = id in consents, STATUS_BODY
            else:
                kept, body = folder == PAYMENT and id in payments, READ_BODY if place == path else PAYMENT_STATUS_BODY
            protocol.response_bytes(200 if kept else 404, HEADERS, body if kept else b"{}")
        return
    if scope.method == "DELETE":
        kept = path.startswith(PAYMENT + "/") and payments.pop(path[len(PAYMENT) + 1 :], None)
        protocol.response_empty(204 if kept else 404, [])
        return
    sent = json.loads(await protocol())
    if path == CONSENTS:
        id = str(uuid4())
        consents[id] = sent
        protocol.response_bytes(200, HEADERS, JOURNEY["consent"].replace("{id}", id).encode())
        return
    if (
        path != PAYMENT
        or not AMOUNT.fullmatch(sent["instructedAmount"]["amount"])
        or not (sent["debtorAccount"]["iban"] and sent["creditorAccount"]["iban"])
    ):
        protocol.response_bytes(400, HEADERS, b"{}")
        return
    id = str(uuid4())
    payments[id] = sent
    protocol.response_bytes(200, HEADERS, PAYMENT_BODY.replace("{id}", id).encode())
