"""The table of settings: complete, documented, and parsed as documented."""

import json
from datetime import datetime
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from tools.generate import ROOT, settings

from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.config import Settings
from xs2a_sandbox.config.table import BY_NAME
from xs2a_sandbox.errors import ConfigError

SCHEMA = json.loads((bundled("schemas") / "config.schema.json").read_text())


def test_a_new_setting_gets_its_row_and_others_keep_their_words():
    page = (ROOT / "docs" / "command-line.md").read_text()
    rows = page.splitlines(keepends=True)
    without = "".join(row for row in rows if not row.startswith(("| `coverage` |", "| `on_expiry` |")))
    again = settings.page(without.replace("| `host` | `--host HOST`", "| `host` | `--hots H`"))
    for name in ("coverage", "on_expiry"):
        assert f" | {BY_NAME[name].doc}" in next(row for row in again.splitlines() if row.startswith(f"| `{name}` |"))
    assert len(again.splitlines()) == len(rows)
    assert rows[80] in again


def test_defaults_agree():
    defaults = Settings()
    for name, schema in SCHEMA["properties"].items():
        if "default" in schema:
            read = BY_NAME[name].kind.read(schema["default"], Path("/"))
            assert read == getattr(defaults, name), name


def test_the_variable_follows_from_the_name():
    assert BY_NAME["proxy_port"].variable == "XS2A_SANDBOX_PROXY_PORT"


@pytest.mark.parametrize(
    ("name", "written", "value"),
    [
        ("port", 0, 0),
        ("port", "65535", 65535),
        ("tls_port", "off", None),
        ("reset", True, True),
        ("reset", "Yes", True),
        ("reset", "0", False),
        ("confdir", "../b", Path("/a/b")),
        ("confdir", "/x/./y", Path("/x/y")),
        ("frozen_at", "2026-11-21T09:00", datetime.fromisoformat("2026-11-21T09:00+01:00")),
        ("state", "memory:", "memory:"),
        ("state", "sqlite:c.db", "sqlite:/a/here/c.db"),
        ("public_url", "https://x.example:9443/y/", "https://x.example:9443/y"),
        ("hosts", ["API.bank.example", "[::1]"], ("api.bank.example", "::1")),
        ("base_path", "", ""),
        ("proxy_auth", "ci:a:b", "ci:a:b"),
        ("mode", "compare", "compare"),
        ("noise_reads", "off", 0),
        ("app_command", "pytest 'my tests' -q", ("pytest", "my tests", "-q")),
        ("noise_reads", 10, 10),
        ("report", ["/a.html", "/b.xml"], (Path("/a.html"), Path("/b.xml"))),
        ("report", "/a.json:/b.json", (Path("/a.json"), Path("/b.json"))),
    ],
)
def test_what_is_written_is_read(name, written, value):
    assert BY_NAME[name].kind.read(written, Path("/a/here")) == value


@pytest.mark.parametrize(
    ("name", "written"),
    [
        *(("port", wrong) for wrong in ("", "-1", "65536", "1.0", "off", "٣")),
        *(("reset", wrong) for wrong in ("", "maybe", 2)),
        *(("frozen_at", wrong) for wrong in ("", "now", "09:00", "2026-02-29", "1969-01-01", "3000-01-01")),
        *(("state", wrong) for wrong in ("", "sqlite:", "sqlite::memory:", "redis:x")),
        *(("public_url", wrong) for wrong in ("x", "ftp://x", "http://", "http://x?a=1", "http://me@x", "http://x:0")),
        *(("base_path", wrong) for wrong in ("/", "xs2a", "/xs2a/", "/a b")),
        *(("proxy_auth", wrong) for wrong in ("user", ":pass", "user:", "us er:pass")),
        *(("hosts", wrong) for wrong in (["a b"], [""])),
        ("testdata", "no-such-file.yaml"),
        ("cassettes", ["no-such-folder"]),
        ("dialect", "../other"),
        ("log_format", "TEXT"),
        *(("app_command", wrong) for wrong in ("", "  ", "pytest 'tests", "a\0b")),
        *(("noise_reads", wrong) for wrong in ("", "-1", 11, "many")),
        *(("report", wrong) for wrong in (["a.pdf"], ["no-such-folder/a.json"])),
        ("ignore", ["no-such-file.yaml"]),
        ("answer_from", "both"),
    ],
)
def test_what_it_is_not_expected_to_be_is_refused(name, written):
    with pytest.raises(ValueError):  # noqa: PT011 - the table says what is expected, the error says nothing
        BY_NAME[name].kind.read(written, Path("/a/here"))


@pytest.mark.parametrize("alone", [{"client_cert_header": "X-Cert"}, {"client_cert_from": (ip_network("10.0.0.0/8"),)}])
def test_a_header_of_certificates_is_believed_of_somebody_or_not_read(alone: dict[str, Any]):
    with pytest.raises(ConfigError, match="client_cert_header and client_cert_from need each other"):
        Settings(**alone)


def test_networks_are_read():
    read = BY_NAME["client_cert_from"].kind.read

    assert read("127.0.0.1,10.0.0.0/8", Path()) == (ip_network("127.0.0.1"), ip_network("10.0.0.0/8"))
    assert read(["::1"], Path()) == (ip_network("::1"),)
    with pytest.raises(ValueError, match="host bits"):
        read("10.0.0.1/8", Path())
