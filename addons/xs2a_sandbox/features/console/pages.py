"""The pages of the console."""

from collections.abc import Awaitable, Callable, Mapping

from xs2a_sandbox.features.console.bank import bank, document
from xs2a_sandbox.features.console.beside import beside
from xs2a_sandbox.features.console.breakpoints import breakpoints, held
from xs2a_sandbox.features.console.callbacks import callbacks
from xs2a_sandbox.features.console.exchange import exchange
from xs2a_sandbox.features.console.faults import faults
from xs2a_sandbox.features.console.recordings import recordings
from xs2a_sandbox.features.console.rules import rules
from xs2a_sandbox.features.console.runs.campaigns import campaign, campaign_report, campaigns
from xs2a_sandbox.features.console.runs.comparisons import comparison, comparison_report
from xs2a_sandbox.features.console.session_pages import sessions, time
from xs2a_sandbox.features.console.test_data import saved_test_data
from xs2a_sandbox.features.console.traffic import events, traffic
from xs2a_sandbox.features.console.visit import ConsoleVisit
from xs2a_sandbox.http import Response

Page = Callable[[ConsoleVisit], Awaitable[Response]]

PAGES: Mapping[tuple[str, int], Page] = {
    ("", 0): traffic,
    ("events", 1): events,
    ("exchanges", 2): exchange,
    ("beside", 1): beside,
    ("bank", 1): bank,
    ("bank", 2): saved_test_data,
    ("bank", 3): document,
    ("time", 1): time,
    ("rules", 1): rules,
    ("faults", 1): faults,
    ("breakpoints", 1): breakpoints,
    ("breakpoints", 2): held,
    ("callbacks", 1): callbacks,
    ("campaigns", 1): campaigns,
    ("campaigns", 2): campaign,
    ("campaigns", 3): campaign_report,
    ("recordings", 1): recordings,
    ("comparisons", 2): comparison,
    ("comparisons", 3): comparison_report,
    ("sessions", 1): sessions,
}
"""The pages by the first segment below `/_sandbox/console` and the number of segments."""
