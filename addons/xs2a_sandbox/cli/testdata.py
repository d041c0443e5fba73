"""`testdata`: lists what a client needs to know about the simulated bank."""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click

from xs2a_sandbox.cli.flags import bank_flags
from xs2a_sandbox.cli.help import command, json_option
from xs2a_sandbox.config import load_settings

_TITLES = {"balance": "available"}
"""The titles of columns that are not the names of the members in JSON."""

Collections = Mapping[str, Mapping[str, Any]]


@command(section="Inspect", examples=("xs2a-sandbox testdata --dialect obie-4.0", "xs2a-sandbox testdata --json"))
@json_option
@bank_flags
def testdata(as_json: bool, **flags: Any) -> None:
    """List the test data, such as consents, accounts and payments.

    Also lists customers and clients, the TPPs that may request tokens.
    """
    from xs2a_sandbox.bank.loading import load_testdata

    settings = load_settings(flags)
    data = load_testdata(settings)
    listed = _list(data.at(settings.clock.today()), data.unknown_consents)
    if as_json:
        click.echo(json.dumps(listed, ensure_ascii=False, indent=2))
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    # In a pipe, write no frames, and lines that are wide enough for an id with its accounts.
    is_terminal = sys.stdout.isatty()
    console = Console(width=None if is_terminal else 140)
    for title, rows in listed.items():
        table = Table(title=title, title_justify="left", box=box.HEAVY_HEAD if is_terminal else None)
        if not rows:
            continue
        for column in rows[0]:
            table.add_column(_TITLES.get(column, column), overflow="fold")
        for row in rows:
            table.add_row(*(Text(_cell(value)) for value in row.values()))
        console.print(table)


def _list(collections: Collections, unknown_consents: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """Return the test data that a client needs to know, as at the start of a session.

    The balance of an account is the one that limits payments. The bank does not know `unknown_consents`.
    """
    from xs2a_sandbox.bank.domain.accounts import with_id
    from xs2a_sandbox.bank.domain.balances import find_covering_amount

    consents = [
        {"id": id, "role": consent["role"], "accounts": list(consent.get("accounts") or [])}
        for id, consent in collections.get("consents", {}).items()
    ]
    consents += [{"id": id, "role": "unknown", "accounts": []} for id in unknown_consents]
    accounts = [
        {
            "id": id,
            "iban": with_id(id, a).get("iban"),
            "currency": a.get("currency"),
            "name": a.get("name"),
            "balance": find_covering_amount(a.get("balances") or ()),
        }
        | {"psuId": a.get("psuId")}
        for id, a in collections.get("accounts", {}).items()
    ]
    payments = [
        {"id": id, "service": p.get("service"), "product": p.get("product"), "status": p.get("status")}
        for id, p in collections.get("payments", {}).items()
    ]
    psus = [
        {"id": id, "password": psu.get("password"), "otp": psu.get("otp"), "methods": psu.get("methods") or []}
        for id, psu in collections.get("psus", {}).items()
    ]
    clients = [
        {"id": id, "secret": client.get("secret"), "name": client.get("name")}
        for id, client in collections.get("clients", {}).items()
    ]
    return {"consents": consents, "accounts": accounts, "payments": payments, "psus": psus, "clients": clients}


def _cell(value: Any) -> str:
    if isinstance(value, list):
        return "\n".join(str(v["id"]) if isinstance(v, dict) else str(v) for v in value)
    return "" if value is None else str(value)
