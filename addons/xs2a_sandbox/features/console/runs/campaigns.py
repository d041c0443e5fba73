"""Campaigns against this sandbox: start one, watch it, and replay its findings."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from xs2a_sandbox.config import Settings
from xs2a_sandbox.config.readers import parse_duration
from xs2a_sandbox.control.shapes import ExchangeSummary
from xs2a_sandbox.errors import Refused, UserMistake, body_invalid
from xs2a_sandbox.features.console.runs.background import BackgroundRun
from xs2a_sandbox.features.console.runs.report_page import REPORT, show_report
from xs2a_sandbox.features.console.visit import ConsoleVisit, prefix_of, wrong_field
from xs2a_sandbox.http import Response
from xs2a_sandbox.state.session import DEFAULT
from xs2a_sandbox.wording import say_count

if TYPE_CHECKING:
    from xs2a_sandbox.features.campaign.campaign import FaultResult, RunExchanges
    from xs2a_sandbox.features.campaign.left_out import LeftOutGroup

_FIELDS = ("jobs", "budget", "choose")
_RESULTS = "results.jsonl"
_ALL = 100_000
"""More exchanges than any journal keeps."""
_SHOWN = 20
"""The number of exchanges of a run that are listed. The page Traffic lists all."""


async def campaigns(visit: ConsoleVisit) -> Response:
    problem, sent = "", {name: visit.form.get(name, "").strip() for name in _FIELDS}
    if visit.is_sent:
        try:
            run = await visit.commands.campaigns.start(_compose(visit, read_options(sent)), sent)
            return visit.go(f"campaigns/{run.name}")
        except (Refused, UserMistake) as mistake:
            problem = str(mistake)
    runs = visit.commands.campaigns.list_runs()
    return visit.page(
        "campaigns.html",
        "Campaigns",
        409 if problem else 200,
        problem=problem,
        wrong=wrong_field(problem, _FIELDS, sent),
        sent=sent,
        command=join(visit.settings.app_command),
        directory=Path.cwd(),
        folder=visit.commands.campaigns.folder,
        runs=[_summary(run) for run in runs],
        is_running=visit.commands.campaigns.is_active,
    )


async def campaign(visit: ConsoleVisit) -> Response:
    """Return the whole page, or with `part=true` only the part that changes during the campaign."""
    run, problem = visit.commands.campaigns.find(visit.names[1]), ""
    if visit.is_sent:
        try:
            match visit.form.get("do"):
                case "stop":
                    visit.commands.campaigns.stop(run)
                case "replay":
                    await _replay(visit, run, visit.form.get("finding", ""))
                case _:
                    raise body_invalid("do must be stop or replay")
            return visit.go(f"campaigns/{run.name}")
        except (Refused, UserMistake) as mistake:
            problem = str(mistake)
    groups = await _groups(visit, run, _results(run))
    replays = [one["replay"] for group in groups for one in group["faults"] if one["replay"]]
    values = {
        **_summary(run),
        "groups": groups,
        "left_out": _left_out(run),
        "most": _SHOWN,
        "is_live": run.is_running or any(replay.is_running for replay in replays),
    }
    if visit.query.get("part") == "true":
        return visit.part("campaign_parts.html", **values)
    return visit.page("campaign.html", "Campaigns", 409 if problem else 200, problem=problem, **values)


async def campaign_report(visit: ConsoleVisit) -> Response:
    return show_report(visit.commands.campaigns.find(visit.names[1]), visit.names[2])


def read_options(sent: Mapping[str, str]) -> list[str]:
    """Return the flags for the fields `jobs`, `budget` and `choose`. Raises Refused."""
    jobs = sent["jobs"] or "1"
    if not (jobs.isascii() and jobs.isdigit() and 1 <= int(jobs[:3]) <= 64):
        raise body_invalid(f"jobs must be a number from 1 to 64, not {jobs[:20]!r}")
    options = [f"--jobs={jobs}"]
    if sent["budget"]:
        try:
            parse_duration(sent["budget"])
        except ValueError as error:
            raise body_invalid(f"budget: {error}") from None
        options.append(f"--budget={sent['budget']}")
    if sent["choose"]:
        options.append(f"--choose={sent['choose']}")
    return options


def _compose(visit: ConsoleVisit, options: Sequence[str], only: Path | None = None) -> Callable[[Path], list[str]]:
    return compose(visit.settings, visit.commands.address, options, only)


def compose(
    settings: Settings, address: str, options: Sequence[str], only: Path | None = None
) -> Callable[[Path], list[str]]:
    """Return a function that composes the words of `campaign` for a folder, with the sandbox at this address.

    Raises Refused if no command is set.
    """
    from xs2a_sandbox.cli.flags import as_flags
    from xs2a_sandbox.features.campaign.commands import OF_THE_BANK

    command = settings.app_command
    if not command:
        text = "No command is set that runs your app's tests: set app_command in xs2a-sandbox.yaml, and start again."
        raise Refused(409, "command-missing", text)
    bank = as_flags(settings, *OF_THE_BANK)

    def words(folder: Path) -> list[str]:
        where = ["--url", address, "--confdir", str(settings.confdir), *bank]
        results = ["--only", str(only)] if only else ["--to", str(folder), "--report", str(folder / REPORT)]
        return ["campaign", *where, *results, *options, "--", *command]

    return words


async def _replay(visit: ConsoleVisit, run: BackgroundRun, name: str) -> None:
    """Try the fault of a finding again. Raises Refused."""
    files = {file.name: file for file in (run.folder / "findings").glob("*.yaml")}
    if name not in files:
        raise Refused(404, "finding-unknown", "No finding with this name can be replayed.")
    place = f"{run.name}/replays/{files[name].stem}"
    await visit.commands.campaigns.start(_compose(visit, (), files[name]), {"finding": name}, place)


def _results(run: BackgroundRun) -> list["FaultResult"]:
    """Return the results of faults that were reached."""
    from xs2a_sandbox.features.campaign import kept_results

    return [result for result in kept_results.read(run.folder / _RESULTS) if result.is_reached]


def _left_out(run: BackgroundRun) -> list["LeftOutGroup"]:
    from xs2a_sandbox.features.campaign import kept_results
    from xs2a_sandbox.features.campaign.left_out import group_left_out

    return [] if run.is_running else group_left_out(kept_results.read_left_out(run.folder / _RESULTS))


def _summary(run: BackgroundRun) -> dict[str, Any]:
    results = _results(run)
    found = sum(bool(result.findings) for result in results)
    return {
        "run": run,
        "tried": say_count(len(results), "fault"),
        "found": found,
        "failed": not (run.is_running or run.is_stopped) and run.status != (1 if found else 0),
        "has_report": (run.folder / REPORT).exists(),
    }


async def _groups(visit: ConsoleVisit, run: BackgroundRun, results: Sequence["FaultResult"]) -> list[dict[str, Any]]:
    """Return the findings, grouped like in the reports. Each fault of a group has its exchanges and its replay."""
    from xs2a_sandbox.features.campaign.reports.table import groups

    grouped = groups(results)
    listed = (await visit.ask("GET", f"journal?limit={_ALL}"))["exchanges"] if grouped else []
    return [
        {
            "title": group.title,
            "call": group.call,
            "mistakes": group.mistakes,
            "faults": [_fault(visit, run, result, listed) for result in group.results],
        }
        for group in grouped
    ]


def _fault(
    visit: ConsoleVisit, run: BackgroundRun, result: "FaultResult", listed: Sequence[ExchangeSummary]
) -> dict[str, Any]:
    from xs2a_sandbox.features.campaign import finding_file
    from xs2a_sandbox.features.campaign.fault_sentences import describe
    from xs2a_sandbox.features.campaign.reports.table import exits

    file = run.folder / "findings" / finding_file.name_of(result)
    return {
        "name": file.name,
        "fault": result.fault,
        "sentence": describe(result.fault, result.order),
        "exits": exits(result),
        "runs": _runs(result.exchanges, listed) if result.exchanges else [],
        "command": finding_file.read_replay(file) if file.exists() else "",
        "replay": visit.commands.campaigns.read(f"{run.name}/replays/{file.stem}"),
    }


def _runs(exchanges: "RunExchanges", listed: Sequence[ExchangeSummary]) -> list[dict[str, Any]]:
    """Return the exchanges of the run with the fault and of the run after it, if the journal still has them."""
    same = [
        one
        for one in listed
        if one["session"] == exchanges.session and exchanges.first <= one["number"] <= exchanges.last
    ]
    if not same or (same[0]["number"], same[0]["time"]) != (exchanges.first, exchanges.time):
        return []
    after = exchanges.after or exchanges.last + 1
    runs = [("The run with the fault", [one for one in same if one["number"] < after], exchanges.fault)]
    runs += [("The run after it, without the fault", [one for one in same if one["number"] >= after], None)]
    return [
        {
            "title": title,
            "exchanges": [{**one, "path": _path_in(one)} for one in there],
            "hit": hit,
            "traffic": _traffic(exchanges.session, there[0]["number"], there[-1]["number"], hit),
        }
        for title, there, hit in runs
        if there
    ]


def _path_in(exchange: ExchangeSummary) -> str:
    return exchange["target"].removeprefix(f"/s/{exchange['session']}")


def _traffic(session: str, first: int, last: int, opened: int | None) -> str:
    """Return the address of these exchanges in the traffic."""
    search = f"session:{session} number:>={first} number:<={last}"
    shown = {} if opened is None else {"open": opened}
    return f"{prefix_of(DEFAULT)}/?{urlencode({'search': search, **shown})}"
