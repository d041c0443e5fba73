"""Plugins: installed packages that add to the sandbox, by the entry point group `xs2a_sandbox` (docs/plugins.md)."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:
    import click

    from xs2a_sandbox.bank.admission import Check
    from xs2a_sandbox.cassette.handler import Handler
    from xs2a_sandbox.config.modes import Mode
    from xs2a_sandbox.control.api import Control
    from xs2a_sandbox.control.route import ControlRoute
    from xs2a_sandbox.engine.route import Destination
    from xs2a_sandbox.engine.routing import Takes
    from xs2a_sandbox.engine.stack import Parts, Stack
    from xs2a_sandbox.journal.log_line import LogEntry

GROUP = "xs2a_sandbox"

NAMES = {"commands": "name", "handlers": "name", "checks": "name", "modes": "name", "control_routes": "path"}
"""The attribute by which what a hook adds is known; what other hooks add are functions."""

hookspec = pluggy.HookspecMarker(GROUP)
hookimpl = pluggy.HookimplMarker(GROUP)
"""Marks a function of a plugin as one of `Hooks`."""


class Hooks:
    """All that a plugin may add. Each hook is called once in a process, when what it adds is first wanted."""

    @hookspec
    def commands(self) -> "Iterable[click.Command]":
        """Commands of the command line."""
        return ()

    @hookspec
    def handlers(self) -> "Iterable[Handler]":
        """Handlers and actions that cassettes name."""
        return ()

    @hookspec
    def checks(self) -> "Iterable[Check]":
        """Checks of every request, which the setting `checks` names."""
        return ()

    @hookspec
    def modes(self) -> "Iterable[Mode]":
        """Values of the setting `mode`, with what follows from them."""
        return ()

    @hookspec
    def paths(self) -> "Iterable[Callable[[Parts, Stack], tuple[Takes, Destination]]]":
        """Destinations below `/_sandbox/`, each with what it takes."""
        return ()

    @hookspec
    def control_routes(self) -> "Iterable[ControlRoute[Control]]":
        """Routes of the control interface."""
        return ()

    @hookspec
    def listeners(self) -> "Iterable[Callable[[LogEntry], None]]":
        """Functions that are told of every exchange that the log has a line for."""
        return ()


@dataclass(frozen=True, slots=True)
class Plugins:
    """`loaded` are the names of plugins, with their versions; `failed` those that cannot be used, with the reason."""

    manager: pluggy.PluginManager
    loaded: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    _added: dict[str, list[Any]] = field(default_factory=dict)

    def added(self, hook: str) -> list[Any]:
        """All that plugins add by the hook; what a plugin fails at is left out, and `failed` says why."""
        if hook not in self._added:
            self._added[hook] = self._call(hook)
        return self._added[hook]

    def _call(self, hook: str) -> list[Any]:
        found: list[Any] = []
        for implementation in reversed(getattr(self.manager.hook, hook).get_hookimpls()):
            try:
                added = list(implementation.function())
                for one in added:
                    if not (hasattr(one, NAMES[hook]) if hook in NAMES else callable(one)):
                        raise TypeError(f"{one!r} is nothing that this hook can add")
                found += added
            except Exception as error:
                self.failed[implementation.plugin_name] = f"{hook}: {_text(error)}"
        return found


@cache
def plugins() -> Plugins:
    """The plugins that are installed. One that cannot be loaded costs what it would have added, and nothing else."""
    manager = pluggy.PluginManager(GROUP)
    manager.add_hookspecs(Hooks)
    found = Plugins(manager)
    for entry in sorted(metadata.entry_points(group=GROUP)):
        name = entry.dist.name if entry.dist else entry.name
        try:
            manager.register(entry.load(), entry.name)
            manager.check_pending()
        except Exception as error:
            manager.set_blocked(entry.name)
            found.failed[entry.name] = _text(error)
        else:
            found.loaded[entry.name] = f"{name} {entry.dist.version}" if entry.dist else name
    return found


def _text(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
