"""The same rules as Python code, behind granian: the limit of what Python can answer on a core."""

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
payments: dict[str, dict] = {}


async def app(scope, protocol):
    path = scope.path
    if scope.method == "GET":
        if path == CONSENT:
            protocol.response_bytes(200, HEADERS, CONSENT_BODY)
        elif path == LIST:
            fits = set(scope.query_string.split("&")) >= QUERY
            fits = fits and scope.headers.get("consent-id") == WORK["list"]["consent"]
            protocol.response_bytes(200 if fits else 404, HEADERS, LIST_BODY if fits else b"{}")
        else:
            kept = path.startswith(PAYMENT + "/") and path[len(PAYMENT) + 1 :] in payments
            protocol.response_bytes(200 if kept else 404, HEADERS, READ_BODY if kept else b"{}")
        return
    payment = json.loads(await protocol())
    if (
        path != PAYMENT
        or not AMOUNT.fullmatch(payment["instructedAmount"]["amount"])
        or not (payment["debtorAccount"]["iban"] and payment["creditorAccount"]["iban"])
    ):
        protocol.response_bytes(400, HEADERS, b"{}")
        return
    id = str(uuid4())
    payments[id] = payment
    protocol.response_bytes(200, HEADERS, PAYMENT_BODY.replace("{id}", id).encode())
