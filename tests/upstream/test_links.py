import gzip
import json
import zlib
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xs2a_sandbox.http import Response
from xs2a_sandbox.http.body import LARGEST
from xs2a_sandbox.upstream.links import rewrite

BANK = "https://xs2a.bank.example/psd2"
CLIENT = "http://127.0.0.1:8081/s/a"
JSON = ("Content-Type", "application/json")


def moved(body: str, *headers: tuple[str, str]) -> str:
    return rewrite(Response(200, (JSON, *headers), body.encode()), BANK, CLIENT).body.decode()


@pytest.mark.parametrize(
    ("link", "there"),
    [
        (BANK, CLIENT),
        (BANK + "/", CLIENT + "/"),
        (BANK + "/v1/consents/%2f?a=b#c", CLIENT + "/v1/consents/%2f?a=b#c"),
        (BANK + "?a", CLIENT + "?a"),
        ("https://xs2a.bank.example:443/psd2/v1", CLIENT + "/v1"),
        ("HTTPS://XS2A.Bank.Example/psd2/v1", CLIENT + "/v1"),
        ("https://xs2a.bank.example:/psd2/v1", CLIENT + "/v1"),
    ],
)
def test_a_link_to_the_bank_points_to_the_sandbox(link: str, there: str) -> None:
    headers = (("Location", link), ("content-location", link), JSON)
    response = rewrite(Response(201, headers, json.dumps({"_links": {"self": link}}).encode()), BANK, CLIENT)

    assert response.headers == (("Location", there), ("content-location", there), JSON)
    assert json.loads(response.body) == {"_links": {"self": there}}


def test_endpoints_of_an_oauth_server_point_to_the_sandbox() -> None:
    server = {"issuer": BANK, "token_endpoint": BANK + "/token", "jwks_uri": BANK + "/keys"}
    server["mtls_endpoint_aliases"] = {"token_endpoint": BANK + "/mtls"}
    assert json.loads(moved(json.dumps(server))) == {
        "issuer": BANK,
        "token_endpoint": CLIENT + "/token",
        "jwks_uri": CLIENT + "/keys",
        "mtls_endpoint_aliases": {"token_endpoint": CLIENT + "/mtls"},
    }


@pytest.mark.parametrize(
    "link",
    [
        "/v1/consents/1",
        "v1",
        "",
        "http://xs2a.bank.example/psd2/v1",
        "https://xs2a.bank.example:8443/psd2/v1",
        "https://xs2a.bank.example.evil.example/psd2",
        "https://login.bank.example/psd2/v1",
        "https://xs2a.bank.example/psd2x/v1",
        "https://xs2a.bank.example/PSD2/v1",
        "https://xs2a.bank.example/",
        "https://xs2a.bank.example@evil.example/psd2/v1",
        "https://me@xs2a.bank.example/psd2/v1",
        "https://xs2a.bank.example\\.evil.example/psd2",
        "//xs2a.bank.example/psd2/v1",
        "https://other.example/?" + BANK,
        " " + BANK,
    ],
)
def test_a_link_to_another_host_is_kept(link: str) -> None:
    response = Response(302, (("Location", link), JSON), json.dumps({"_links": {"a": {"href": link}}}).encode())

    assert rewrite(response, BANK, CLIENT) is response


@pytest.mark.parametrize("url", ["https://bank.example", "https://bank.example/", "https://BANK.example:443"])
def test_links_are_rewritten_for_a_bank_at_the_root_of_its_host(url: str) -> None:
    headers = (("Location", "https://bank.example/v1?a"),)

    assert rewrite(Response(302, headers), url, CLIENT + "/").headers == (("Location", CLIENT + "/v1?a"),)


def test_other_headers_are_kept() -> None:
    response = Response(200, (("ASPSP-SCA-Redirect", BANK), ("Link", f"<{BANK}>"), ("X-Location", BANK)))

    assert rewrite(response, BANK, CLIENT) is response


@pytest.mark.parametrize(
    "body",
    [
        '{"_links": {"self": {"href": "%s"}}}',
        '{"_Left": {"scaRedirect": {"href": "%s/v1"}}}',
        '{"_links": {"scaRedirect": "%s"}}',
        '{"accounts": [{"a": 1}, {"_links": {"item": [{"href": "%s"}, {"href": "/v1"}]}}]}',
        '[{"_links":{"a":{"b":{"href":"%s"}}}}]',
        '{"_links": {"a": ["%s"]}}',
        '{"x": {"_links": {}, "_Left": {"next": {"name": "n", "href": "%s"}}}}',
        '{"_links": {"self": {"href": "/v1"}}, "_links": {"self": {"href": "%s"}}}',
        '{"\\u005flinks": {"a": {"hr\\u0065f": "%s"}}}',
        '{"onayAdresi": "%s/onay/1"}',
        '{"Links": {"Next": "%s?page=2"}, "Meta": {}}',
        '["%s"]',
        '"%s"',
    ],
)
def test_links_are_rewritten_wherever_they_are(body: str) -> None:
    assert moved(body % BANK) == body % CLIENT


@pytest.mark.parametrize(
    "body",
    [
        '{"type": "%s/errors/1", "title": "Wrong"}',
        '{"iss": "%s", "aud": ["%s"]}',
        '{"\\u0069ss": "%s"}',
        '{"_links": {"%s": {"href": "/v1"}}}',
        '{"a": "{\\"_links\\": {\\"self\\": \\"%s\\"}}"}',
    ],
)
def test_names_of_members_and_of_things_are_not_rewritten(body: str) -> None:
    body = body.replace("%s", BANK)
    assert moved(body) == body


def test_escapes_are_decoded_in_the_rewritten_part_and_kept_after_it() -> None:
    start, rest = r"https:\/\/xs2a.b\u0061nk.example\/psd2", r"\/v1\u003Fa=\"\ud83d\ude00"
    body = '{"_links": {"self": "HERE"}}'

    assert moved(body.replace("HERE", start + rest)) == body.replace("HERE", CLIENT + rest)


@pytest.mark.parametrize(
    "body",
    [
        b'{"_links": {"self": "%b"}',
        b'{"_links": {"self": "%b"}} {}',
        b'\xef\xbb\xbf{"_links": {"self": "%b"}}',
        b'{"_links": {"self": "%b"}, "a": "\xff"}',
        b'{"_links": {"self": "%b", "a": "\n"}}',
        b"[" * 100_000 + b'{"_links": {"self": "%b"}}' + b"]" * 100_000,
    ],
)
def test_an_invalid_json_body_is_kept(body: bytes) -> None:
    response = Response(200, (JSON,), body % BANK.encode())

    assert rewrite(response, BANK, CLIENT) is response


@pytest.mark.parametrize("kind", ["text/html", "application/xml", None])
def test_a_body_not_declared_as_json_is_kept(kind: str | None) -> None:
    headers = (("Content-Type", kind),) if kind else ()
    response = Response(200, headers, b'{"_links": {"self": "%b"}}' % BANK.encode())

    assert rewrite(response, BANK, CLIENT) is response


def test_other_media_types_of_json_are_rewritten() -> None:
    response = Response(200, (("content-type", "application/hal+JSON"),), b'{"_links": {"a": "%b"}}' % BANK.encode())

    assert rewrite(response, BANK, CLIENT).body == b'{"_links": {"a": "%b"}}' % CLIENT.encode()


def test_the_length_of_a_changed_body_is_left_to_the_door() -> None:
    body = b'{"_links": {"self": "%b"}}' % BANK.encode()
    headers = (("Content-Length", str(len(body))), JSON, ("Digest", "x"))

    assert rewrite(Response(200, headers, body), BANK, CLIENT).headers == (JSON, ("Digest", "x"))


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [
        ("gzip", gzip.compress),
        ("GZip", lambda body: gzip.compress(body[:9]) + gzip.compress(body[9:])),
        ("x-gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("deflate", lambda body: zlib.compress(body, wbits=-15)),
        ("identity", bytes),
    ],
)
def test_links_in_compressed_bodies_are_rewritten(encoding: str, pack: Any) -> None:
    def answer(link: str) -> Response:
        body = pack(b'{"_links": {"self": "%b"}}' % link.encode())
        return Response(200, (JSON, ("Content-Encoding", encoding), ("Content-Length", str(len(body)))), body)

    without = answer("/v1")
    response = rewrite(answer(BANK), BANK, CLIENT)

    assert (response.headers, response.body) == ((JSON,), b'{"_links": {"self": "%b"}}' % CLIENT.encode())
    assert rewrite(without, BANK, CLIENT) is without


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", b"no gzip"),
        ("gzip", b""),
        ("gzip", gzip.compress(b'{"_links": {"self": "%b"}}' % BANK.encode())[:-4]),
        ("gzip", gzip.compress(b'{"_links": {"self": "%b"}}' % BANK.encode()) + b"more"),
        (
            "gzip",
            gzip.compress(b'{"_links": {"self": "%b"}, "a": "%b"}' % (BANK.encode(), b"x" * LARGEST)),
        ),
        ("br", b'{"_links": {"self": "%b"}}' % BANK.encode()),
    ],
    # Compressed bodies contain the time of day, so they cannot be file names.
    ids=["no gzip", "empty", "cut off", "with more behind it", "too large", "brotli"],
)
def test_a_body_that_cannot_be_unpacked_is_kept(encoding: str, body: bytes) -> None:
    response = Response(200, (JSON, ("Content-Encoding", encoding)), body)

    assert rewrite(response, BANK, CLIENT) is response


def test_only_the_headers_of_a_streamed_answer_are_rewritten() -> None:
    async def rest() -> AsyncGenerator[bytes]:
        yield b""

    body = b'{"_links": {"self": "%b"}}' % BANK.encode()
    coming = rest()
    response = rewrite(Response(200, (("Location", BANK), JSON), body, rest=coming), BANK, CLIENT)

    assert (response.body, response.rest) == (body, coming)
    assert response.headers[0] == ("Location", CLIENT)


SPACE = st.sampled_from(["", " ", "\r\n\t"])
NAMES = st.sampled_from(["_links", "href", "type", "issuer", "scaRedirect", "\U0001f600", '"', ""])
HEADS = st.sampled_from([BANK, BANK, BANK + "x", "http://xs2a.bank.example/psd2", ""])
TAILS = st.sampled_from(["", "/", "/v1?a=\\", '/"\U0001f600\n\x00']) | st.text(max_size=5).map(lambda text: "/" + text)


def _numbers(text: str) -> str:
    units = text.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02X}{units[at + 1]:02x}" for at in range(0, len(units), 2))


WRITTEN = st.sampled_from(
    [
        lambda text: json.dumps(text)[1:-1],
        lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
        lambda text: json.dumps(text)[1:-1].replace("/", "\\/"),
        _numbers,
    ]
)
"""Notations of the same text inside a JSON string."""


@st.composite
def values(draw: st.DrawFn, depth: int = 4, is_link: bool = True) -> tuple[str, str]:
    """Draw a JSON text and its rewritten form. `is_link` says whether a string here is a link."""
    kind = draw(st.sampled_from(["object", "object", "array", "string", "other"] if depth else ["string", "other"]))
    if kind == "other":
        text = draw(st.sampled_from(["null", "true", "-0.0", "1.10e+5", "123456789012345678901234567890"]))
        return text, text
    if kind == "string":
        start, write = draw(HEADS), draw(WRITTEN)
        head, tail = write(start), draw(WRITTEN)(draw(TAILS))
        return f'"{head}{tail}"', f'"{CLIENT if is_link and start == BANK else head}{tail}"'
    before, then = [], []
    for _ in range(draw(st.sampled_from([2, 1, 3, 0]))):
        space, around = draw(SPACE), draw(SPACE)
        key, below = "", is_link
        if kind == "object":
            name = draw(NAMES)
            key = f'"{draw(WRITTEN)(name)}"{space}:{space}'
            below = name not in ("type", "issuer")
        old, new = draw(values(depth - 1, below))
        before.append(f"{around}{key}{old}{space}")
        then.append(f"{around}{key}{new}{space}")
    left, right = "[]" if kind == "array" else "{}"
    return f"{left}{','.join(before)}{right}", f"{left}{','.join(then)}{right}"


@given(values())
def test_everything_except_links_is_kept_byte_for_byte(one: tuple[str, str]) -> None:
    before, then = (f'[{{}},{text},"{url}"]' for text, url in ((one[0], BANK), (one[1], CLIENT)))
    json.loads(then)

    assert moved(before) == then
