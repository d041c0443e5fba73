"""Guesses what a client has signed, by trying the usual mistakes until one matches."""

import hashlib
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import combinations, islice, permutations, product
from typing import NamedTuple
from urllib.parse import quote, unquote, urlsplit

from xs2a_sandbox.http.reencoded_body import other_bodies
from xs2a_sandbox.signatures.keys import EC, HASHES, PKCS1, PSS, PublicKey, Scheme, signed_hash, verifies
from xs2a_sandbox.signatures.mistakes import SignedText
from xs2a_sandbox.signatures.signing_string import REQUEST_TARGET, SignedMessage, signing_string

_MOST = 20_000
"""The most texts that are tried if a try costs only a hash."""
_MOST_VERIFIED = 300
"""The most texts that are tried if each try costs a verification."""
_PERMUTED = 5
"""The most headers of which all orders are tried."""

_NEVER_SIGNED = ("signature", "x-jws-signature", "tpp-signature-certificate")

type Lines = list[tuple[str, str]]
"""Names and values."""
type Change = Callable[[Lines], Lines]
type Style = Callable[[Lines], str]
type Wrap = Callable[[bytes], bytes]
"""Makes the signed bytes from the signing string: a JWS puts its header before it."""


class Guess[T](NamedTuple):
    """A change and its description, which is empty for no change."""

    words: str
    change: T


def client_signed(
    message: SignedMessage, names: Sequence[str], key: PublicKey, scheme: Scheme, signature: bytes, wrap: Wrap
) -> tuple[SignedText | None, str]:
    """Return the text that the client has signed, if it can be guessed, and otherwise a remark on the key."""
    if scheme.is_rsa and (held := signed_hash(key, signature)):
        # This signature contains the hash of the signed text, so trying a string costs only a hash.
        name, value = held
        taken, algorithm = Scheme(PKCS1, name), HASHES[name].name
        texts = islice(_texts(message, names, pairs=True), _MOST)
        fits = partial(_has_hash, algorithm, value)
        if signed := _first(texts, fits, wrap, "" if taken == scheme else f"it was signed by {taken}"):
            return signed, ""
        return (
            None,
            "the key of the certificate has signed something else, which does not match any of the usual mistakes",
        )
    for other in (scheme, *_other_schemes(scheme)):
        # Trying all texts is worth it only for the requested scheme.
        texts = islice(_texts(message, names, pairs=False), _MOST_VERIFIED if other == scheme else 1)
        fits = partial(verifies, key, other, signature)
        if signed := _first(texts, fits, wrap, "" if other == scheme else f"it was signed by {other}"):
            return signed, ""
    if scheme.kind == PKCS1:
        return None, "it was signed with a key different from the certificate's"
    return (
        None,
        "it was signed with a key different from the certificate's, or does not match any of the usual mistakes",
    )


def _has_hash(algorithm: str, value: bytes, text: bytes) -> bool:
    return hashlib.new(algorithm, text).digest() == value


def _other_schemes(scheme: Scheme) -> list[Scheme]:
    """Return other schemes for the key, if the signature itself does not reveal the scheme."""
    kinds = ((PSS, False),) if scheme.is_rsa else ((EC, False), (EC, True))
    every = (Scheme(kind, name, plain) for kind, plain in kinds for name in ("SHA-256", "SHA-512", "SHA-384"))
    return [scheme_there for scheme_there in every if scheme_there != scheme]


def _first(texts: Iterable[Guess[str]], fits: Callable[[bytes], bool], wrap: Wrap, words: str) -> SignedText | None:
    for difference, text in texts:
        if fits(wrap(text.encode("latin-1", "replace"))):
            reasons = " and ".join(word for word in (words, difference) if word)
            return SignedText(text, reasons or "it is the same text")
    return None


def _texts(message: SignedMessage, names: Sequence[str], *, pairs: bool) -> Iterator[Guess[str]]:
    """Yield strings that may have been signed, the correct one first. With `pairs`, also those with two mistakes."""
    right = [(name, message.value(name) or "") for name in names]
    changes = [*_headers(message, right), *_values(message, right)]
    plain, *styles = _styles(message)
    yield _text(right, [], plain)
    yield from (_text(right, [change], plain) for change in changes)
    yield from (_text(right, [], style) for style in styles)
    yield from _guess_whole(message, names)
    if pairs:
        yield from (_text(right, [change], style) for change, style in product(changes, styles))
        # Values first, because a removed line can no longer have another value.
        yield from (_text(right, [other, one], plain) for one, other in combinations(changes, 2))
    if len(right) <= _PERMUTED:
        for order in permutations(right):
            yield Guess(f"the headers in the order {' '.join(name for name, _ in order)}", plain.change(list(order)))


def _text(lines: Lines, changes: Sequence[Guess[Change]], style: Guess[Style]) -> Guess[str]:
    for change in changes:
        lines = change.change(lines)
    words = [change.words for change in changes]
    return Guess(" and ".join([*words, style.words] if style.words else words), style.change(lines))


def _headers(message: SignedMessage, right: Lines) -> Iterator[Guess[Change]]:
    """Yield changes of the list of headers, or of its order."""
    sent = [name.lower() for name, _ in message.headers]
    yield Guess("the headers in alphabetical order", sorted)
    yield Guess("the headers in the order in which they were sent", partial(_as_sent, sent))
    yield Guess("the headers in reverse order", lambda lines: lines[::-1])
    listed = {name for name, _ in right}
    for name in listed:
        yield Guess(f"without {name}", partial(_without, name))
    targets = [REQUEST_TARGET] if message.method else []
    for name in [*targets, *dict.fromkeys(sent)]:
        if name not in listed and name not in _NEVER_SIGNED:
            line = (name, message.value(name) or "")
            yield Guess(f"with {name} at the end, which is not listed", partial(_with, [], [line]))
            yield Guess(f"with {name} first, which is not listed", partial(_with, [line], []))


def _as_sent(sent: Sequence[str], lines: Lines) -> Lines:
    return sorted(lines, key=lambda line: sent.index(line[0]) if line[0] in sent else -1)


def _without(name: str, lines: Lines) -> Lines:
    return [line for line in lines if line[0] != name]


def _with(before: Lines, after: Lines, lines: Lines) -> Lines:
    return [*before, *lines, *after]


def _values(message: SignedMessage, right: Lines) -> Iterator[Guess[Change]]:
    """Yield changes of a single value."""
    for name, value in right:
        for words, other in _other_values(message, name, value):
            if other != value:
                yield Guess(words, partial(_with_value, name, other))


def _with_value(name: str, value: str, lines: Lines) -> Lines:
    return [(line_name, value if line_name == name else own) for line_name, own in lines]


def _other_values(message: SignedMessage, name: str, value: str) -> Iterator[tuple[str, str]]:
    yield f"an empty {name}", ""
    yield f"{name} in lower case", value.lower()
    yield f"{name} in upper case", value.upper()
    yield f"{name} in quotation marks", f'"{value}"'
    yield f"{name} percent-encoded", quote(value, safe="")
    yield f"{name} without its percent-encoding", unquote(value)
    yield f"{name} without the trailing slash", value.removesuffix("/")
    yield f"{name} with a trailing slash", f"{value}/"
    if name == "digest":
        yield "digest without the name of its algorithm", value.partition("=")[2]
        yield "digest with the name of its algorithm in other letters", value.replace("SHA-", "sha-", 1)
        yield "digest with the name of its algorithm without a hyphen", value.replace("SHA-", "SHA", 1)
        for words, body in other_bodies(message.body):
            yield f"the digest of {words}", f"SHA-256={b64encode(hashlib.sha256(body).digest()).decode()}"
            yield f"the digest of {words}", f"SHA-512={b64encode(hashlib.sha512(body).digest()).decode()}"
        own = hashlib.sha256(message.body)
        yield "the digest in hexadecimal", f"SHA-256={own.hexdigest()}"
        yield "the digest in base64 of its hexadecimal", f"SHA-256={b64encode(own.hexdigest().encode()).decode()}"
        yield "the digest in base64url", f"SHA-256={urlsafe_b64encode(own.digest()).decode()}"
    if name == REQUEST_TARGET:
        method, _, target = value.partition(" ")
        path = target.partition("?")[0]
        own_path = path[path.find("/v1/") :] if "/v1/" in path else path
        yield f"{REQUEST_TARGET} with the method in capitals", f"{method.upper()} {target}"
        yield f"{REQUEST_TARGET} without the query", f"{method} {path}"
        yield f"{REQUEST_TARGET} from /v1 on", f"{method} {own_path}{target[len(path) :]}"
        yield f"{REQUEST_TARGET} without the method", target
        yield f"{REQUEST_TARGET} with its percent-encoding undone", f"{method} {unquote(target)}"
        if message.url:
            host = urlsplit(message.url).netloc
            yield f"{REQUEST_TARGET} with the whole URL", f"{method} {message.url}"
            yield f"{REQUEST_TARGET} with the whole URL, as https", f"{method} https://{host}{target}"
            yield f"{REQUEST_TARGET} with the host", f"{method} {host}{target}"


def _styles(message: SignedMessage) -> list[Guess[Style]]:
    """Return ways to write the lines, the right one first."""
    sent = {name.lower(): name for name, _ in message.headers}

    def make_style(line: str, end: str = "\n", last: str = "") -> Style:
        def write(lines: Lines) -> str:
            names = ((sent.get(name, name), name, value) for name, value in lines)
            return (
                end.join(
                    line.format(sent=as_sent, name=name, upper=name.upper(), value=value)
                    for as_sent, name, value in names
                )
                + last
            )

        return write

    usual = "{name}: {value}"
    return [
        Guess("", make_style(usual)),
        Guess("names of headers as they are sent, not in lower case", make_style("{sent}: {value}")),
        Guess("names of headers in capitals", make_style("{upper}: {value}")),
        Guess("no space after the colons", make_style("{name}:{value}")),
        Guess("names as they are sent, with no space after the colons", make_style("{sent}:{value}")),
        Guess("= instead of a colon and a space", make_style("{name}={value}")),
        Guess("values without names", make_style("{value}")),
        Guess("lines that end with carriage return and line feed", make_style(usual, "\r\n")),
        Guess(
            "lines that all end with carriage return and line feed, the last one too", make_style(usual, "\r\n", "\r\n")
        ),
        Guess("a line end after the last line", make_style(usual, "\n", "\n")),
        Guess("a space after the last line", make_style(usual, "\n", " ")),
        Guess("spaces instead of line ends", make_style(usual, " ")),
        Guess("commas instead of line ends", make_style(usual, ", ")),
        Guess("no line ends at all", make_style(usual, "")),
        Guess("\\n instead of line ends, as two characters", make_style(usual, "\\n")),
    ]


def _guess_whole(message: SignedMessage, names: Sequence[str]) -> Iterator[Guess[str]]:
    """Yield texts that do not consist of lines."""
    text = signing_string(names, message).encode("latin-1", "replace")
    yield Guess("the body, and no headers", message.body.decode("latin-1"))
    yield Guess("only the value of Digest", message.value("digest") or "")
    hashed = hashlib.sha256(text)
    yield Guess("the hash of the signing string, so that it was hashed twice", hashed.digest().decode("latin-1"))
    yield Guess("the hash of the signing string in hexadecimal, so that it was hashed twice", hashed.hexdigest())
    yield Guess("the hash of the signing string in base64", b64encode(hashed.digest()).decode())
    yield Guess("the signing string in base64", b64encode(text).decode())
    yield Guess("the signing string in base64url", urlsafe_b64encode(text).decode().rstrip("="))
