"""What adds to the sandbox by hooks: its own features, and installed packages (docs/plugins.md).

Features are the folders of `features/`, each with a module `feature`. Packages have an entry point in the group
`xs2a_sandbox`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import import_module, metadata
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, Protocol

import pluggy

if TYPE_CHECKING:
    import click

    from xs2a_sandbox.bank.admission import Check
    from xs2a_sandbox.cassette.handler import Handler
    from xs2a_sandbox.cli.serve.run_part import RunPart
    from xs2a_sandbox.config import Settings
    from xs2a_sandbox.config.modes import Mode
    from xs2a_sandbox.control.api import Control
    from xs2a_sandbox.control.route import ControlRoute
    from xs2a_sandbox.engine.route import Destination
    from xs2a_sandbox.engine.routing import Takes
    from xs2a_sandbox.engine.stack import Parts, Stack
    from xs2a_sandbox.journal.log_line import LogEntry

GROUP = "xs2a_sandbox"
_FEATURES = "xs2a_sandbox.features"
FEATURE = "features."
"""How the names of features begin, so that no plugin has the same."""

NAMES = {"commands": "name", "handlers": "name", "checks": "name", "modes": "name", "control_routes": "path"}
"""The attribute by which what a hook adds is known; what other hooks add are functions."""

hookspec = pluggy.HookspecMarker(GROUP)
hookimpl = pluggy.HookimplMarker(GROUP)
"""Marks a function of a plugin as one of `Hooks`."""


class Hooks(Protocol):
    """All that features and plugins may add. Each hook is called once in a process, when its result is first wanted."""

    @hookspec
    def configure(self, settings: Mapping[str, Any]) -> None:
        """Takes the plugin's own settings, before a sandbox uses anything that it has added.

        Raises ValueError for those that it cannot use.
        """

    @hookspec
    def commands(self) -> "Iterable[click.Command]":
        """Commands of the command line."""

    @hookspec
    def handlers(self) -> "Iterable[Handler]":
        """Handlers and actions that cassettes name."""

    @hookspec
    def checks(self) -> "Iterable[Check]":
        """Checks of every request, which the setting `checks` names."""

    @hookspec
    def modes(self) -> "Iterable[Mode]":
        """Values of the setting `mode`, with what follows from them."""

    @hookspec
    def paths(self) -> "Iterable[Callable[[Parts, Stack], tuple[Takes, Destination]]]":
        """Destinations below `/_sandbox/`, each with what it takes."""

    @hookspec
    def control_routes(self) -> "Iterable[ControlRoute[Control]]":
        """Routes of the control interface."""

    @hookspec
    def listeners(self) -> "Iterable[Callable[[LogEntry], None]]":
        """Functions that are told of every exchange that the log has a line for."""

    @hookspec
    def run_parts(self) -> "Iterable[Callable[[Settings], RunPart]]":
        """Makers of what is told of a run of `serve` as it goes."""


@dataclass(frozen=True, slots=True)
class Plugins:
    """What there is.

    - `features`: names of the features that could be loaded
    - `loaded`: the plugins that could be, with their versions
    - `failed`: both that cannot be used, with the reason
    """

    manager: pluggy.PluginManager
    features: list[str] = field(default_factory=list)
    loaded: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    _added: dict[str, dict[str, list[Any]]] = field(default_factory=dict)

    def collect(self, hook: str) -> list[Any]:
        """All that is added by the hook, first by features. What fails at it is left out, and `failed` says why."""
        return [one for added in self.collect_by_plugin(hook).values() for one in added]

    def collect_by_plugin(self, hook: str) -> dict[str, list[Any]]:
        """The same, by the names of those that add it; `FEATURE` begins those of features."""
        if hook not in self._added:
            self._added[hook] = self._call(hook)
        return self._added[hook]

    def configure(self, settings: Mapping[str, Mapping[str, Any]]) -> None:
        """Gives each plugin its settings. Raises ValueError where one cannot use them."""
        for implementation in self.manager.hook.configure.get_hookimpls():
            name = implementation.plugin_name
            try:
                implementation.function(settings.get(name, {}))
            except Exception as error:
                raise ValueError(f"the plugin {name} cannot use its settings: {error}") from error

    def describe_failures(self) -> list[str]:
        """A line of text for each that cannot be used."""
        kinds = {name: "feature" if name.startswith(FEATURE) else "plugin" for name in self.failed}
        return [
            f"the {kinds[name]} {name.removeprefix(FEATURE)} cannot be used: {reason}"
            for name, reason in self.failed.items()
        ]

    def _call(self, hook: str) -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = {}
        for implementation in reversed(getattr(self.manager.hook, hook).get_hookimpls()):
            name = implementation.plugin_name
            try:
                added = list(implementation.function())
                for one in added:
                    if not (hasattr(one, NAMES[hook]) if hook in NAMES else callable(one)):
                        raise TypeError(f"{one!r} is nothing that this hook can add")
                found[name] = added
            except Exception as error:
                self.failed[name] = f"{hook}: {_describe(error)}"
        return found


@cache
def plugins() -> Plugins:
    """The features, and the plugins that are installed. One that cannot be loaded costs only what it would add."""
    found = Plugins(pluggy.PluginManager(GROUP))
    found.manager.add_hookspecs(Hooks)
    for module in iter_modules(import_module(_FEATURES).__path__):
        if _register(found, FEATURE + module.name, partial(import_module, f"{_FEATURES}.{module.name}.feature")):
            found.features.append(module.name)
    for entry in sorted(metadata.entry_points(group=GROUP)):
        if _register(found, entry.name, entry.load):
            dist = entry.dist
            found.loaded[entry.name] = f"{dist.name} {dist.version}" if dist else entry.name
    return found


def _register(found: Plugins, name: str, load: Callable[[], Any]) -> bool:
    """Whether it could be registered."""
    try:
        plugin = load()
        found.manager.register(plugin, name)
    except Exception as error:
        found.failed[name] = _describe(error)
        return False
    try:
        found.manager.check_pending()
    except pluggy.PluginValidationError as error:
        found.manager.unregister(plugin)
        found.failed[name] = _describe(error)
        return False
    return True


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
