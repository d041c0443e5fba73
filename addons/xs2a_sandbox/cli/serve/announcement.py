"""The first lines of `serve`: the addresses of the doors, the state of an earlier run, and a command to try."""

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from xs2a_sandbox.config import RealBank, Settings
from xs2a_sandbox.errors import ConfigError, StoreUnavailable
from xs2a_sandbox.http.origin import is_local
from xs2a_sandbox.plugins import plugins
from xs2a_sandbox.state.redis_url import RedisUrl, is_in_redis

if TYPE_CHECKING:
    from xs2a_sandbox.control.front_page import Addresses, FrontPage

_REQUEST_ID = "99391c7e-ad88-49ec-a2ad-99ddcb1f7721"


def announcement(
    settings: Settings,
    addresses: "Addresses",
    state: str,
    consent: str | None,
    links: Mapping[str, str] = MappingProxyType({}),
    loop: str | None = None,
    cassettes: Sequence[str] = (),
) -> str:
    """Return a few lines of text, or one line of JSON if that is the log's format.

    `links` are the links that features add. `cassettes` are the folders and files that `--verbose` lists.
    """
    command = curl(settings, addresses, consent)
    banks = [bank for bank in settings.real_banks() if bank.url]
    if settings.log_format == "json":
        return json.dumps(
            {
                "proxy": addresses.proxy,
                "direct": addresses.direct,
                "tls": addresses.tls,
                "ca_file": str(addresses.ca_file),
                "state": state,
                "console": None,
                **links,
                "loop": loop,
                "dialect": settings.dialect,
                "frozen_at": settings.frozen_at.isoformat() if settings.frozen_at else None,
                "quirks": [file.stem for file in settings.quirk],
                "features": list(plugins().features),
                "plugins": list(plugins().loaded.values()),
                "banks": [{"url": bank.url, "hosts": bank.host_names, "mode": bank.mode} for bank in banks],
                "try": command,
                **({"cassettes": list(cassettes)} if cassettes else {}),
            }
        )
    # Not imported above, because other commands need this module without the doors.
    from xs2a_sandbox.doors.serving import USUAL_LOOP

    lines = [
        f"proxy     {addresses.proxy}",
        f"base URL  {addresses.direct}",
        *([f"          {addresses.tls}"] if addresses.tls else []),
        f"CA file   {addresses.ca_file}",
        f"state     {state}",
        *(f"{name:<9} {link}" for name, link in links.items()),
        f"docs      {addresses.direct}/_sandbox/docs/",
        # The usual event loop tells the user nothing.
        *([f"loop      {loop}"] if loop and loop != USUAL_LOOP else []),
        f"dialect   {settings.dialect}",
        *([f"clock     frozen at {settings.frozen_at.isoformat()}"] if settings.frozen_at else []),
        *([f"quirks    {', '.join(file.stem for file in settings.quirk)}"] if settings.quirk else []),
        *(f"cassettes {place}" for place in cassettes),
        *(f"bank      {bank.url} {_modes(bank)}" for bank in banks),
        *(f"plugin    {text}" for text in plugins().loaded.values()),
        *(["", "Try it:", f"  {command}"] if command else []),
    ]
    return "\n".join([*lines, ""])


def front_page(settings: Settings, addresses: "Addresses", consent: str | None) -> "FrontPage":
    """Return the same content for browsers."""
    from xs2a_sandbox.control.front_page import FrontPage

    banks = [bank for bank in settings.real_banks() if bank.url]
    return FrontPage(addresses, curl(settings, addresses, consent), banks, local=is_local(settings.host))


def exposure(settings: Settings) -> str | None:
    """Return a warning if other machines can reach the sandbox, or None."""
    if is_local(settings.host):
        return None
    where = "every address of this machine" if settings.host in ("0.0.0.0", "::") else settings.host
    banks = [bank.url for bank in settings.real_banks() if bank.url and bank.can_be_asked]
    way = f", including its connection to {', '.join(banks)} with your certificates and recordings" if banks else ""
    proxy = "" if settings.proxy_auth else "; --proxy-auth USER:PASS makes the proxy require a password"
    anyone = f"listening on {where}: anyone who can reach it can use the sandbox{way}{proxy}"
    return f"{anyone}; --host 127.0.0.1 restricts it to this machine"


def _modes(bank: RealBank) -> str:
    # Users who configure a bank expect requests to go there.
    modes = ", ".join([f"mode {bank.mode}", *(f"{path}: {mode}" for path, mode in bank.modes)])
    return f"({modes})" if bank.can_be_asked else f"gets no requests ({modes}; --mode spy, record or compare)"


def found_state(settings: Settings) -> str:
    """Describe the state that an earlier run has left, and how to start again without it.

    Raises:
        UserMistake: the file is not a state, or cannot be read.
    """
    kind, _, name = settings.state.partition(":")
    if kind == "memory":
        return "in memory, lost when the sandbox stops"
    if is_in_redis(settings.state):
        return _describe_shared(RedisUrl.read(settings.state).text)
    file = Path(name)
    try:
        is_new = not file.is_file() or file.stat().st_size == 0
    except OSError as error:
        text = f"the state {file} cannot be read: {error.strerror}. Choose another file with --state"
        raise ConfigError(text) from None
    if is_new:
        return f"{file} (new)"
    if settings.reset:
        return f"{file} (reset)"
    from xs2a_sandbox.state.sqlite import SqliteStore, is_damage, unusable

    store = SqliteStore(file)
    try:
        counts = store.counts()
    except StoreUnavailable as error:
        if error.__cause__ and is_damage(error.__cause__):
            raise unusable(file, error.__cause__) from None
        return f"{file} (cannot be counted: {error})"
    finally:
        store.close()
    # Names with an underscore belong to the sandbox itself.
    kept = [f"{count} {collection}" for collection, count in sorted(counts.items()) if not collection.startswith("_")]
    content = ", ".join(kept) or "nothing yet"
    return f"{file} contains {content}; start with --reset to delete it"


def _describe_shared(place: str) -> str:
    return f"{place}, shared by all sandboxes that use it; start with --reset to delete its content"


def find_valid_consent(collections: Mapping[str, Mapping[str, Any]]) -> str | None:
    consents = collections.get("consents", {})
    return next((id for id, consent in consents.items() if consent.get("role") == "authorised"), None)


def curl(settings: Settings, addresses: "Addresses", consent: str | None) -> str | None:
    """Return a complete shell command. With `--proxy-auth`, curl prompts for the password, which is not printed.

    None without a consent, and in mode record, because the bank does not know the sandbox's consent.
    """
    if consent is None or settings.mode == "record":
        return None
    host = settings.hosts[0] if settings.hosts else "bank.example"
    words = ["curl", "--cacert", str(addresses.ca_file), "-x", addresses.proxy]
    if settings.proxy_auth:
        words += ["-U", settings.proxy_auth.partition(":")[0]]
    words += ["-H", f"X-Request-ID: {_REQUEST_ID}", f"https://{host}{settings.base_path}/v1/consents/{consent}/status"]
    return shlex.join(words)
