"""The tools for agents. They call the control interface and the commands, and have no logic of their own."""

import asyncio
import re
import secrets
import time
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta

from xs2a_sandbox.bank import loading
from xs2a_sandbox.bank.domain.documents import State
from xs2a_sandbox.cli import explain as explanations
from xs2a_sandbox.cli.journal import format_exchange, list_exchanges
from xs2a_sandbox.control import journal
from xs2a_sandbox.control.client import Client
from xs2a_sandbox.control.shapes import DescribedRequest, FaultOrder, FaultShape
from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.features.agents.context import Context
from xs2a_sandbox.features.agents.tool import Tool
from xs2a_sandbox.features.console.documents import AVAILABLE, MACHINES, row
from xs2a_sandbox.features.console.runs import campaigns, comparisons
from xs2a_sandbox.features.console.runs.background import BackgroundCommands, BackgroundRun
from xs2a_sandbox.features.pytest.controls import Controls, refuse_to_begin
from xs2a_sandbox.wording import say_count

Session = Annotated[str, Meta(description="name of the session")]
Wait = Annotated[int, Meta(ge=0, le=50, description="seconds to wait for the end")]

_COLLECTIONS = {"customers": "psus"}
"""The collections whose name differs from the word for them."""
_LONGEST = 12_000
"""The most characters of an exchange."""
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_PAUSE = 0.2


def start_session(context: Context, name: Session = "", reset: bool = False) -> dict[str, Any]:
    """Begin a session: a bank of its own, with fresh test data. Returns the base URL for the app.

    Without a name a new session is made. reset=true deletes everything that a named session has stored.
    """
    name = name or f"agent-{secrets.token_hex(4)}"
    client = context.client(name)
    if reset:
        client.reset()
    now, documents = client.clock(), client.collections()
    return {
        "session": name,
        "base_url": f"{context.base_url}/s/{name}",
        "or_header": f"X-Sandbox-Session: {name}",
        "now": now["now"],
        "documents": {collection: len(those) for collection, those in documents.items()},
    }


def list_items(
    context: Context,
    what: Literal[
        "operations",
        "errors",
        "customers",
        "accounts",
        "consents",
        "payments",
        "mandates",
        "baskets",
        "authorisations",
        "exchanges",
        "faults",
        "sessions",
    ],
    search: Annotated[
        str, Meta(description="text to look for; for exchanges also 'status:4xx op:initiate-payment is:error'")
    ] = "",
    limit: Annotated[int, Meta(ge=1, le=500)] = 100,
    session: Session = "",
) -> Any:
    """List what the bank has, newest first, or the app's last exchanges. Without session: those of all sessions."""
    client = context.client(session)
    match what:
        case "operations" | "errors":
            found: list[Any] = list(client.dialect()[what])
        case "exchanges":
            listed = client.journal(search=search, limit=limit)
            return "\n".join([*list_exchanges(listed), f"{listed['found']} found"])
        case "faults":
            found = list(client.faults()["faults"])
        case "sessions":
            found = list(client.sessions()["sessions"])
        case _:
            collection = _COLLECTIONS.get(what, what)
            state = _read_state(client)
            documents = state.get(collection, {})
            found = [_row(collection, id, document, state) for id, document in reversed(documents.items())]
    fitting = [one for one in found if search.casefold() in str(one).casefold()]
    return {"found": len(fitting), what: fitting[:limit]}


def explain_request(
    context: Context,
    method: str,
    url: Annotated[str, Meta(description="a path such as /v1/accounts, or a whole URL")],
    headers: dict[str, str | list[str]] | None = None,
    body: Annotated[Any, Meta(description="JSON, or text")] = None,
    session: Session = "",
) -> str:
    """Explain which answer a request would get, and why, without sending it."""
    request: DescribedRequest = {"method": method.upper(), "url": url, "headers": headers, "body": body}
    return explanations.text(context.client(session).explain(request))


def why_did_it_fail(
    context: Context,
    exchange: Annotated[int, Meta(ge=0, description="number in the journal")] = 0,
    id: Annotated[str, Meta(description="of a consent, payment, basket or authorisation")] = "",
    session: Session = "",
) -> str:
    """Explain a failed request of the app, or the state of a consent or payment with all requests about it.

    Without exchange and id: the last request that failed.
    """
    client = context.client(session)
    if exchange:
        return _explain_exchange(client, exchange)
    if id:
        return _explain_document(client, id)
    failed = [one for search in ("is:error", "is:faulted") for one in client.journal(search=search)["exchanges"]]
    if not failed:
        return "No request has failed. A payment or consent can also fail later: list them, and give its id."
    return _explain_exchange(client, max(one["number"] for one in failed))


def make_case(
    context: Context,
    rule: Annotated[str, Meta(description="YAML: a rule, a list of rules, or a cassette")] = "",
    exchange: Annotated[int, Meta(ge=0, description="instead of a rule: the exchange to repeat, by number")] = 0,
    name: Annotated[str, Meta(description="of the new file in cassettes/cases, such as tax-office")] = "",
) -> str:
    """Write a case into cassettes/cases, where it takes effect at once. It is checked and its examples are run first.

    A rule: {id, doc, match: {operation, headers, body: {/pointer: {gt: "100"}}}, respond: {status, body}, examples:
    [{request: {headers, body}, expect: {status}}]}. The resource xs2a://docs/rules has the details.
    """
    from xs2a_sandbox.features.authoring import new_case

    if bool(rule) == bool(exchange):
        raise UserMistake("give either rule or exchange")
    if rule:
        written = new_case.write_rules(context.settings, rule, _new_file(name))
    else:
        client = replace(context.client(), number=Decimal)
        entry = journal.read(client.exchange(exchange, plain=True))
        written = new_case.write_exchange(context.settings, entry, _new_file(name) if name else None)
    return f"{written} written and checked. A sandbox that was started in {Path.cwd()} uses it within half a second."


def plant_fault(context: Context, fault: FaultOrder, session: Session = "") -> FaultShape:
    """Make requests of the app fail, or the next decision of a customer (sca).

    Example: {"operation": "initiate-payment", "status": 503, "after": true, "next": 1}
    """
    return context.client(session).add_fault(fault)


def delete_faults(context: Context, id: str = "", session: Session = "") -> str:
    """Delete one fault, or all faults of the session."""
    client = context.client(session)
    if id:
        client.delete_fault(id)
        return f"{id} deleted"
    return f"{say_count(client.clear_faults()['deleted'], 'fault')} deleted"


def decide(
    context: Context,
    id: Annotated[str, Meta(description="of an authorisation, consent, payment or basket")],
    decision: Literal["approve", "decline", "timeout", "error"],
    session: Session = "",
) -> str:
    """Decide an authorisation for the customer. Returns the new status."""
    controls = Controls(context.client(session).ask, refuse_to_begin)
    return f"{id} is {controls.decide(id, decision)}"


def move_clock(
    context: Context,
    by: Annotated[str, Meta(description="span such as 90d, 12h or -1d")] = "",
    to: Annotated[str, Meta(description="stop the clock at a time such as 2027-01-02T09:00")] = "",
    real: Annotated[bool, Meta(description="return to the real time")] = False,
    session: Session = "",
) -> dict[str, Any]:
    """Move the session's clock; consents expire and payments are executed on the way. Without arguments: show it."""
    if bool(by) + bool(to) + real > 1:
        raise UserMistake("give only one of by, to and real")
    client = context.client(session)
    if by:
        client.move_clock(by)
    elif to:
        client.set_clock(frozen=to)
    elif real:
        client.set_clock(real=True)
    return {**client.clock(), **client.due()}


async def run_campaign(
    context: Context,
    run: Annotated[str, Meta(description="show this campaign instead of starting one")] = "",
    stop: Annotated[bool, Meta(description="stop the campaign in run")] = False,
    choose: Annotated[str, Meta(description="only faults with this text in their name or place")] = "",
    budget: Annotated[str, Meta(description="start no run after this time, such as 5m")] = "",
    wait: Wait = 20,
) -> dict[str, Any]:
    """Run the app's tests again and again, each time with one fault, and report mistakes of the app.

    The tests are the command in the setting app_command. Ask again with run until running is false.
    """
    if run:
        return await _follow(context.campaigns, run, stop, wait)
    options = campaigns.read_options({"jobs": "", "budget": budget, "choose": choose})
    words = campaigns.compose(context.settings, context.address, options)
    begun = await context.campaigns.start(words, {"jobs": "1", "budget": budget, "choose": choose})
    return await _follow(context.campaigns, begun.name, False, wait)


async def compare(
    context: Context,
    exchange: Annotated[int, Meta(ge=0, description="compare this exchange with the real bank of the settings")] = 0,
    allow_writes: Annotated[bool, Meta(description="the bank may get a POST, PUT, PATCH or DELETE")] = False,
    recording: Annotated[str, Meta(description="compare this recording (or `all`) with the sandbox")] = "",
    run: Annotated[str, Meta(description="show this comparison of a recording")] = "",
    wait: Wait = 20,
) -> Any:
    """Show where the sandbox and a real bank differ. Only a bank in the settings is ever asked."""
    if bool(exchange) + bool(recording) + bool(run) != 1:
        raise UserMistake("give exactly one of exchange, recording and run")
    if exchange:
        return await asyncio.to_thread(context.client().compare_exchange, exchange, allow_writes=allow_writes)
    if recording:
        name = "" if recording == "all" else recording
        played = comparisons.find_recording(context.settings, name)
        words = comparisons.compose(context.settings, ["--offline", str(played)])
        run = (await context.comparisons.start(words, {"recording": name, "bank": "", "writes": False})).name
    return await _follow(context.comparisons, run, False, wait)


def lint(context: Context) -> str:
    """Check the cassettes and test data of the user, and run all their examples."""
    from xs2a_sandbox.features.authoring.commands import check_files

    problems, files = check_files(context.settings, ())
    return "\n".join(map(str, problems)) or f"no problems in {say_count(len(files), 'file')}"


TOOLS = {
    tool.name: tool
    for tool in (
        Tool(start_session),
        Tool(list_items, reads=True),
        Tool(explain_request, reads=True),
        Tool(why_did_it_fail, reads=True),
        Tool(make_case),
        Tool(plant_fault),
        Tool(delete_faults),
        Tool(decide),
        Tool(move_clock),
        Tool(run_campaign),
        Tool(compare),
        Tool(lint, reads=True),
    )
}


def _new_file(name: str) -> Path:
    """Return the path of a new case. Raises UserMistake if it exists."""
    if not _NAME.fullmatch(name):
        raise UserMistake(f"name must be words in lower case joined by -, such as tax-office, not {name[:60]!r}")
    file = Path.cwd() / loading.OWN / loading.CASES / f"{name}.yaml"
    if file.exists():
        raise UserMistake(f"{file} already exists: choose another name, or edit the file")
    return file


def _read_state(client: Client) -> dict[str, dict[str, Any]]:
    return {**client.collections(redacted=True), AVAILABLE: {**client.available()["available"]}}


def _row(collection: str, id: str, document: Any, state: State) -> dict[str, str]:
    """Return the entry of a list as the console shows it, without empty members."""
    shown = row(collection, id, document, state)
    names = ("id", "name", "status", "meaning", "created", "references", "details")
    return {name: shown[name] for name in names if shown[name]}


def _explain_exchange(client: Client, number: int) -> str:
    text = "\n".join(format_exchange(client.exchange(number)))
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]}\n… (the resource xs2a://journal/{number} has all of it)"
    return f"{text}\n\nWhy, in the current state:\n\n{explanations.text(client.explain_exchange(number))}"


def _explain_document(client: Client, id: str) -> str:
    id = id.lower()
    state = _read_state(client)
    collection = next((name for name in MACHINES if id in state.get(name, ())), None)
    if collection is None:
        raise UserMistake(f"the session has no consent, payment, basket or authorisation {id}: list_items shows them")
    lines = [_sentence(collection, id, state[collection][id], state)]
    lines += [
        _sentence("authorisations", authorisation, document, state)
        for authorisation, document in state.get("authorisations", {}).items()
        if document.get("resource") == id
    ]
    listed = client.journal(text=id, limit=20)
    lines += ["", "Requests about it, oldest first:", *list_exchanges(listed)]
    if failed := [one["number"] for one in listed["exchanges"] if one["status"] >= 400 or one["fault"]]:
        last = failed[-1]
        lines += ["", f"The last of them that failed, exchange {last}:", "", _explain_exchange(client, last)]
    return "\n".join(lines)


def _sentence(collection: str, id: str, document: Mapping[str, Any], state: State) -> str:
    shown = row(collection, id, document, state)
    created = f"created {shown['created']}" if shown["created"] else ""
    more = "; ".join(filter(None, (shown["meaning"], shown["details"], created)))
    return f"{collection} {id}: {shown['name']}, {shown['status']} ({more})"


async def _follow(commands: BackgroundCommands, name: str, stop: bool, wait: int) -> dict[str, Any]:
    """Return the state of a run when it ends, but after `wait` seconds at the latest."""
    run, until = commands.find(name), time.monotonic() + wait
    if stop:
        commands.stop(run)
    while run.is_running and time.monotonic() < until:
        await asyncio.sleep(_PAUSE)
        run = commands.find(name)
    return _describe_run(run)


def _describe_run(run: BackgroundRun) -> dict[str, Any]:
    progress = run.progress and {"done": run.progress.done, "of": run.progress.of, "seconds_left": run.progress.left}
    return {
        "run": run.name,
        "running": run.is_running,
        "exit_status": run.status,
        "progress": progress,
        "folder": str(run.folder),
        "output": run.output,
    }
