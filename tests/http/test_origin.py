"""The destination of a request: scheme, host and port are compared as they would be without the sandbox."""

import ipaddress

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from yarl import URL

from xs2a_sandbox.config import RealBank
from xs2a_sandbox.config.real_bank import BankHost
from xs2a_sandbox.http import Headers, Request
from xs2a_sandbox.http.origin import PORTS, Origin, destinations, host_of, split_authority, url

SCHEMES = st.sampled_from(["http", "https"])
LABELS = st.text("abcdefghijklmnopqrstuvwxyz0123456789-", min_size=1, max_size=6)
NAMES = st.lists(LABELS, min_size=1, max_size=3).map(".".join)
HOSTS = st.one_of(
    NAMES,
    st.ip_addresses(v=4).map(str),
    st.ip_addresses(v=6).map(lambda ip: f"[{ip}]"),
    st.ip_addresses(v=6).map(lambda ip: f"[{ipaddress.IPv6Address(ip).exploded}]"),
)
NEAR_PORTS = st.one_of(st.sampled_from([80, 443, 8080, 8443]), st.integers(1, 65535))
PORT_TEXTS = st.one_of(st.just(""), st.just(":"), NEAR_PORTS.map(lambda port: f":{port}"))


@given(SCHEMES, HOSTS, PORT_TEXTS)
def test_an_origin_is_parsed_as_by_another_library(scheme: str, host: str, port: str) -> None:
    origin = Origin.parse(f"{scheme}://{host}{port}/psd2?a=b#c")
    assert origin
    theirs = URL(f"{scheme}://{host}{port.removesuffix(':') if port == ':' else port}/")
    theirs_host = theirs.host or ""
    if ":" in theirs_host:
        theirs_host = str(ipaddress.IPv6Address(theirs_host))
    assert (origin.scheme, origin.host, origin.port) == (theirs.scheme, theirs_host, theirs.port)


@given(SCHEMES, HOSTS, PORT_TEXTS, st.data())
def test_case_and_a_default_port_make_no_difference(scheme: str, host: str, port: str, data: st.DataObject) -> None:
    origin = Origin.of(scheme, host + port)
    assert origin
    written = data.draw(st.sampled_from([str(origin), str(origin).upper(), f"{scheme}://{host.upper()}{port}"]))
    assert Origin.parse(written) == origin


@given(st.tuples(SCHEMES, NAMES, NEAR_PORTS), st.tuples(SCHEMES, NAMES, NEAR_PORTS))
def test_a_bank_matches_only_its_own_scheme_host_and_port(
    bank: tuple[str, str, int], requested: tuple[str, str, int]
) -> None:
    scheme, host, port = requested
    request = Request("GET", "/", Headers([("Host", f"{host}:{port}")]), host=host, port=port, scheme=scheme)
    assert RealBank(f"{bank[0]}://{bank[1]}:{bank[2]}").is_named_by(request) == (bank == requested)


@given(NAMES, st.none() | NEAR_PORTS, SCHEMES, NAMES, st.none() | NEAR_PORTS)
def test_an_entry_of_hosts_applies_to_one_port(
    entry: str, entry_port: int | None, scheme: str, host: str, port: int | None
) -> None:
    written = entry if entry_port is None else f"{entry}:{entry_port}"
    authority = host if port is None else f"{host}:{port}"
    request = Request("GET", "/", Headers([("Host", authority)]), host=host, port=port, scheme=scheme)
    same = (entry, entry_port or PORTS[scheme]) == (host, port or PORTS[scheme])
    assert RealBank("https://elsewhere.invalid", hosts=(BankHost(written),)).is_named_by(request) == same


@given(NAMES, NAMES, st.sampled_from(["host", "Host", "tunnel"]))
def test_a_request_that_names_two_hosts_matches_neither(one: str, other: str, where: str) -> None:
    assume(one != other)
    headers, tunnel = [("Host", one)], None
    if where == "tunnel":
        tunnel = f"{other}:443"
    else:
        headers.append((where, other))
    request = Request("GET", "/", Headers(headers), host=one, scheme="https", tunnel=tunnel)
    for bank in (RealBank(f"https://{one}"), RealBank(f"https://{other}")):
        assert not bank.is_named_by(request)
    assert RealBank(f"https://{one}", hosts=(BankHost(other),)).is_named_by(request)


@pytest.mark.parametrize(
    "authority",
    [
        "",
        ":443",
        "bank.example:0",
        "bank.example:65536",
        "bank.example:+443",
        "bank.example:4 43",
        "bank.example:٤٤٣",
        "bank.example:443:443",
        "me@bank.example",
        "bank.example:443@evil.example",
        "bank.example/x",
        "bank.example?x",
        "bank.example#x",
        "bank.example\\x",
        "bank.example evil.example",
        "bank.example\x00",
        "bank.example,evil.example",
        "[::1",
        "::1",
        "[::g]",
        "[127.0.0.1]",
        "[::1%25lo]",
    ],
)
def test_an_invalid_authority_matches_no_bank(authority: str) -> None:
    request = Request("GET", "/", Headers([("Host", authority)]), host="bank.example", scheme="https")
    assert not RealBank("https://bank.example", hosts=(BankHost("bank.example"),)).is_named_by(request)
    # RFC 3986 allows commas in a name, but no host has such a name.
    assert "," in authority or Origin.of("https", authority) is None


@pytest.mark.parametrize("url", ["", "null", "bank.example", "ftp://bank.example", "https:bank.example", "file:///x"])
def test_a_string_that_is_not_a_web_url_has_no_origin(url: str) -> None:
    assert Origin.parse(url) is None


@pytest.mark.parametrize(
    ("entry", "host"),
    [("bank.example", "bank.example"), ("bank.example:8443", "bank.example"), ("::1", "::1"), ("[::1]:9", "::1")],
)
def test_an_entry_has_its_host(entry: str, host: str) -> None:
    assert host_of(entry) == host


@pytest.mark.parametrize(
    ("origin", "text"),
    [
        (Origin("https", "bank.example", 443), "https://bank.example"),
        (Origin("http", "bank.example", 443), "http://bank.example:443"),
        (Origin("http", "::1", 80), "http://[::1]"),
        (Origin("http", "::1", 9), "http://[::1]:9"),
    ],
)
def test_an_origin_is_written_as_by_browsers(origin: Origin, text: str) -> None:
    assert str(origin) == text


def test_the_port_of_the_host_header_counts_by_default() -> None:
    request = Request("GET", "/", Headers([("Host", "bank.example:9443")]), host="bank.example", scheme="https")
    assert destinations(request) == {Origin("https", "bank.example", 9443)}


def test_without_a_host_header_the_requested_name_counts() -> None:
    assert destinations(Request("GET", "/", host="::1", port=9)) == {Origin("http", "::1", 9)}


def test_an_ipv6_address_is_split_in_canonical_form() -> None:
    assert split_authority("[0:0:0:0:0:0:0:1]:443") == ("::1", 443)


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", "http://127.0.0.1:1"),
        ("0.0.0.0", "http://127.0.0.1:1"),
        ("::", "http://[::1]:1"),
        ("::1", "http://[::1]:1"),
        ("sandbox.local", "http://sandbox.local:1"),
    ],
)
def test_typed_addresses_are_completed(host: str, expected: str) -> None:
    assert url("http", host, 1) == expected
