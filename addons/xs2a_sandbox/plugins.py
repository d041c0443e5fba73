"""Features of the sandbox and installed packages, which extend it through hooks (docs/plugins.md).

Features are the folders of `features/`, each with a module `feature`. Packages have an entry point in the group
`xs2a_sandbox`.
"""

import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, Protocol

import pluggy

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

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
"""The prefix of the names of features, so that no plugin has the same name."""

NAMES = {"commands": "name", "handlers": "name", "checks": "name", "modes": "name", "control_routes": "path"}
"""The attribute that names the additions of each hook. The additions of other hooks are functions."""

hookspec = pluggy.HookspecMarker(GROUP)
hookimpl = pluggy.HookimplMarker(GROUP)
"""Marks a function of a plugin as an implementation of one of the `Hooks`."""


class Hooks(Protocol):
    """The extensions that features and plugins can add. Each hook is called once per process, when first needed."""

    @hookspec
    def configure(self, settings: Mapping[str, Any]) -> None:
        """Configure the plugin with its own settings, before the sandbox uses its additions.

        Raises ValueError if they are invalid.
        """

    @hookspec
    def commands(self) -> "Iterable[click.Command]":
        """Return commands of the command line."""

    @hookspec
    def handlers(self) -> "Iterable[Handler]":
        """Return handlers and actions for cassettes."""

    @hookspec
    def checks(self) -> "Iterable[Check]":
        """Return checks of every request, which the setting `checks` can name."""

    @hookspec
    def modes(self) -> "Iterable[Mode]":
        """Return values of the setting `mode`, with their properties."""

    @hookspec
    def paths(self) -> "Iterable[Callable[[Parts, Stack], tuple[Takes, Destination]]]":
        """Return destinations below `/_sandbox/`, each with the paths that it handles."""

    @hookspec
    def control_routes(self) -> "Iterable[ControlRoute[Control]]":
        """Return routes of the control interface."""

    @hookspec
    def listeners(self) -> "Iterable[Callable[[LogEntry], None]]":
        """Return functions to call with every logged exchange."""

    @hookspec
    def run_parts(self) -> "Iterable[Callable[[Settings], RunPart]]":
        """Return functions that create the parts of a run of `serve`."""


@dataclass(frozen=True, slots=True)
class Plugins:
    """The loaded features and plugins.

    - `features`: names of the features that could be loaded
    - `loaded`: the loaded plugins, with their versions
    - `failed`: features and plugins that cannot be used, with the reason
    """

    manager: pluggy.PluginManager
    features: list[str] = field(default_factory=list)
    loaded: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    _added: dict[str, dict[str, list[Any]]] = field(default_factory=dict)

    def collect(self, hook: str) -> list[Any]:
        """Return everything that the hook adds, features first. A plugin that fails is skipped and is in `failed`."""
        return [one for added in self.collect_by_plugin(hook).values() for one in added]

    def collect_by_plugin(self, hook: str) -> dict[str, list[Any]]:
        """Return what the hook adds, by the name of the feature or plugin. Names of features start with `FEATURE`."""
        if hook not in self._added:
            self._added[hook] = self._call(hook)
        return self._added[hook]

    def configure(self, settings: Mapping[str, Mapping[str, Any]]) -> None:
        """Give each plugin its settings. Raises ValueError if a plugin cannot use them."""
        for implementation in self.manager.hook.configure.get_hookimpls():
            name = implementation.plugin_name
            try:
                implementation.function(settings.get(name, {}))
            except Exception as error:
                raise ValueError(f"the plugin {name} cannot use its settings: {error}") from error

    def describe_failures(self) -> list[str]:
        """Return a line of text for each feature or plugin that cannot be used."""
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
                        raise TypeError(f"this hook cannot add {one!r}")
                found[name] = added
            except Exception as error:
                self.failed[name] = f"{hook}: {_describe(error)}"
        return found


@cache
def plugins() -> Plugins:
    """Load the features and the installed plugins. Those that cannot be loaded are skipped."""
    found = Plugins(pluggy.PluginManager(GROUP))
    found.manager.add_hookspecs(Hooks)
    for module in iter_modules(import_module(_FEATURES).__path__):
        if _register(found, FEATURE + module.name, partial(import_module, f"{_FEATURES}.{module.name}.feature")):
            found.features.append(module.name)
    for entry in _find_entry_points() if _may_have_entry_points() else ():
        if _register(found, entry.name, entry.load):
            dist = entry.dist
            found.loaded[entry.name] = f"{dist.name} {dist.version}" if dist else entry.name
    return found


def _find_entry_points() -> "list[EntryPoint]":
    from importlib.metadata import entry_points

    return sorted(entry_points(group=GROUP))


def _may_have_entry_points() -> bool:
    """Return whether an installed package names our group. Reading only these files is much faster than importlib."""
    group = f"[{GROUP}]".encode()
    for place in map(Path, dict.fromkeys(sys.path)):
        if place.is_file():
            return True  # a zip file, which importlib can read
        for file in (*place.glob("*.dist-info/entry_points.txt"), *place.glob("*.egg-info/entry_points.txt")):
            with suppress(OSError):
                if group in file.read_bytes():
                    return True
    return False


def _register(found: Plugins, name: str, load: Callable[[], Any]) -> bool:
    """Return whether the plugin could be registered."""
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
