"""Puts words back where a redacted recording has their pseudonyms, if it still shows them elsewhere."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from urllib.parse import urlsplit

from xs2a_sandbox.features.derive.unknown.recorded.names import is_id
from xs2a_sandbox.features.derive.unknown.recorded.places import leaves
from xs2a_sandbox.http import Headers, body
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.redaction.allowlist import is_kept_segment
from xs2a_sandbox.redaction.body import note_of
from xs2a_sandbox.redaction.values import DROPPED, LETTERS_OF_AN_ID
from xs2a_sandbox.redaction.vocabulary import is_words


def restore_words(entries: Sequence[Exchange]) -> tuple[Exchange, ...]:
    """Return the exchanges with words in place of their pseudonyms in paths, links and errors."""
    words = {**_find_words(entries), **_find_header_names(entries), **_find_pages(entries)}
    return tuple(_replace_words(entry, words) for entry in entries) if words else tuple(entries)


def _find_words(entries: Sequence[Exchange]) -> dict[str, str]:
    """Return words by their pseudonyms: `/wqnz/k6hc0ps2n` was `/slip/k6hc0ps2n` if requests call it `slip`.

    A pseudonym is as long as its word. Names of members are never redacted, so they are not pseudonyms.
    """
    if not any(any(value == DROPPED for _, value in entry.headers) or note_of(entry.answer_body) for entry in entries):
        return {}
    names: dict[str, str] = {}
    before: dict[str, str] = {}
    members: set[str | int] = set()
    for entry in entries:
        for content in (entry.body, entry.answer_body):
            members |= {step for place, _ in leaves(body.read(content).value) for step in place}
        for place, value in leaves(body.read(entry.body).value):
            if isinstance(value, str) and is_id(value) and place:
                names.setdefault(value, str(place[-1]))
        paths = [entry.target, entry.answer_headers.get("location") or ""]
        for word, id in (pair for path in paths for pair in pairwise(urlsplit(path).path.split("/"))):
            before.setdefault(id, word)
    before = {id: word for id, word in before.items() if word not in members}
    return _find_kept(entries) | {
        word: names[id]
        for id, word in before.items()
        if id in names and len(word) == len(names[id]) > 2 and word.islower() and not is_words(word)
    }


def _find_kept(entries: Sequence[Exchange]) -> dict[str, str]:
    """Return words by their pseudonyms where a link to the same address keeps the word."""
    paths = [urlsplit(entry.target).path.split("/") for entry in entries]
    places = [(path, at, is_kept_segment(path, at)) for path in paths for at in range(1, len(path) - 1)]
    hidden = {path[at] for path, at, is_kept in places if not is_kept and path[at].isalpha() and is_id(path[at + 1])}
    asked = {(*path[:at], path[at + 1]): path[at] for path, at, _ in places if path[at] in hidden}
    kept: dict[str, str] = {}
    for entry in entries:
        for _, value in leaves(body.read(entry.answer_body).value):
            link = urlsplit(value).path.split("/") if isinstance(value, str) and value.count("/") > 1 else []
            for at in range(1, len(link) - 1):
                word = asked.get((*link[:at], link[at + 1]))
                if word and word != link[at] and len(word) == len(link[at]) and link[at] not in hidden:
                    kept[word] = link[at]
    return kept


def _find_header_names(entries: Sequence[Exchange]) -> dict[str, str]:
    """Return names of headers by their pseudonyms in errors about requests without them.

    A pseudonym has the form of the name. Once a request had the header, redaction knows that it is a name.
    """
    every = {name for entry in entries for name, _ in entry.headers if "-" in name}
    names: dict[str, str] = {}
    for entry in entries if any(entry.redactions for entry in entries) else ():
        own = {name.lower() for name, _ in entry.headers}
        lacking = {_form(name): name for name in every if name.lower() not in own}
        told = leaves(body.read(entry.answer_body).value) if entry.status >= 400 else ()
        for text in {value for _, value in told if isinstance(value, str) and not is_words(value)} - every:
            if name := lacking.get(_form(text)):
                names[text] = name
    return names


def _find_pages(entries: Sequence[Exchange]) -> dict[str, str]:
    """Return last words of paths by their pseudonyms in paths of pages: redaction keeps them in the path of a form."""
    if not any(entry.redactions for entry in entries):
        return {}
    words: dict[str, str] = {}
    for at, page in enumerate(entries):
        *above, last = urlsplit(page.target).path.split("/")
        forms = (entry.target.split("/") for entry in entries[at + 1 :] if entry.method == "POST")
        word = next((path[-1] for path in forms if path[:-1] == above), "")
        is_page = page.method == "GET" and above and (len(above[-1]) >= LETTERS_OF_AN_ID or is_id(above[-1]))
        if is_page and len(word) == len(last) and word != last and last.isalpha() and last.islower():
            words[last] = word
    return {last: word for last, word in words.items() if not is_words(last)}


def _form(text: str) -> str:
    return re.sub(r"[a-z]", "a", re.sub(r"[A-Z]", "A", text))


def _replace_words(entry: Exchange, words: Mapping[str, str]) -> Exchange:
    every = "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
    known = re.compile(rf"(?<![A-Za-z])(?:{every})(?![A-Za-z])")

    def change(text: str) -> str:
        return known.sub(lambda found: words[found[0]], text)

    def change_bytes(content: bytes) -> bytes:
        try:
            return change(content.decode()).encode()
        except UnicodeDecodeError:
            return content

    return replace(
        entry,
        target=change(entry.target),
        body=change_bytes(entry.body),
        answer_headers=Headers((name, change(value)) for name, value in entry.answer_headers),
        answer_body=change_bytes(entry.answer_body),
    )
