"""The sandbox and the settings that tools and resources use."""

from dataclasses import dataclass, field, replace

from xs2a_sandbox.config import Settings
from xs2a_sandbox.control.client import Client
from xs2a_sandbox.features.console.runs.background import BackgroundCommands


@dataclass(frozen=True, slots=True)
class Context:
    """The sandbox at `address`, which apps reach at `base_url`, and the settings of the folder with the user's files.

    `session` is the session of calls that name none. `token` is the admin token, by default the one in `confdir`.
    """

    settings: Settings
    address: str
    base_url: str
    campaigns: BackgroundCommands
    comparisons: BackgroundCommands
    session: str | None = None
    token: str | None = field(default=None, repr=False)

    @classmethod
    def of(cls, settings: Settings, address: str, base_url: str, token: str | None = None) -> "Context":
        # The console uses the same folders, so it shows these runs, too.
        campaigns = BackgroundCommands(settings.confdir / "campaigns", "campaign")
        comparisons = BackgroundCommands(settings.confdir / "comparisons", "comparison")
        return cls(settings, address, base_url, campaigns, comparisons, token=token)

    def in_session(self, session: str | None) -> "Context":
        return replace(self, session=session)

    def client(self, session: str = "") -> Client:
        return Client(self.address, session or self.session, self.token, self.settings.confdir)
