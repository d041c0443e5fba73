"""What many sandboxes in one process are built from: files read once, engines made in an instant."""

from collections.abc import Sequence
from dataclasses import dataclass

from xs2a_sandbox import assembly, interface
from xs2a_sandbox.bank import Bank
from xs2a_sandbox.banks import Banks
from xs2a_sandbox.cassette import Cassette
from xs2a_sandbox.config import Settings
from xs2a_sandbox.engine import Engine
from xs2a_sandbox.errors import Unreadable
from xs2a_sandbox.handlers import HANDLERS, RAISES
from xs2a_sandbox.interface import Interface
from xs2a_sandbox.journal import Journal
from xs2a_sandbox.real_bank import RealBank
from xs2a_sandbox.schema import Schemas
from xs2a_sandbox.store import Store
from xs2a_sandbox.testdata import TestData


@dataclass(frozen=True, slots=True, repr=False)
class Blueprint:
    """`layers` are the cassettes that `interface` was made of."""

    settings: Settings
    layers: Sequence[Sequence[Cassette]]
    interface: Interface
    schemas: Schemas
    testdata: TestData

    @classmethod
    def read(cls, settings: Settings) -> "Blueprint":
        """Raises UserMistake, for all mistakes in all files at once."""
        files = assembly.read(settings)
        if files.problems or files.interface is None or files.testdata is None:
            raise Unreadable(files.problems)
        layers = interface.cassettes(files.layers, files.schemas)
        return cls(settings, layers, files.interface, files.schemas, files.testdata)

    def extended(self, layers: Sequence[Sequence[Cassette]]) -> Interface:
        """With more layers over those of the files. Raises Unreadable."""
        return interface.read([*self.layers, *layers], self.schemas, HANDLERS, RAISES)

    def engine(self, said: Interface, store: Store, journal: Journal) -> Engine:
        settings = self.settings
        bank = Bank(said, self.schemas, RealBank(hosts=settings.hosts), base_path=settings.base_path)
        return Engine(
            Banks(bank),
            store,
            self.testdata,
            clock=settings.clock,
            public_url=settings.public_url or f"http://{settings.host}:{settings.port}",
            static_data=settings.static_data,
            ca_file=settings.confdir / assembly.CA_FILE,
            journal=journal,
        )
