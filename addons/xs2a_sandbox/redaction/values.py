"""Redacts a single value, by its kind and its name."""

import re
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from threading import Lock, get_ident
from typing import NamedTuple
from urllib.parse import quote, unquote, unquote_plus

from xs2a_sandbox.documents.formats import is_ip, is_uuid
from xs2a_sandbox.redaction import allowlist, vocabulary
from xs2a_sandbox.redaction.marked_members import NONE, MarkedMembers
from xs2a_sandbox.redaction.pseudonyms import Pseudonyms, compact_iban, compact_pan, splice
from xs2a_sandbox.redaction.rules import Action, RedactionRules
from xs2a_sandbox.redaction.vocabulary import is_words

_SPOTS = re.compile(
    r"""(?P<kept>\b\d{4}-\d\d-\d\d(?:[T\ ]\d\d:[\d:.]+(?:Z|[+-]\d\d:?\d\d)?)?\b
                |\b[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}\b
                |\b(?:NO_PROXY=)?127(?:\.\d{1,3}){3}(?::\d{1,5})?\b(?![.:]\d)
                |\bXS2A\d{3}[A-Z]\b)
    |(?P<label>\b(?i:bearer|basic)\ +|(?i:token|passw(?:or)?d|secret|otp|pin)\b["']?\s*[=:]\s*["']?)
        (?P<secret>[^\s"',;]+)
    |(?P<url>(?<![\w<.])(?:https?:/)?/(?=[\w/])[^\s"'<>()\[\],]+)
    |(?P<iban>\b[A-Za-z]{2}\d{2}(?:\ ?[A-Za-z0-9]{4}){2,7}(?:\ ?[A-Za-z0-9]{1,4})?\b)
    |\b(?P<host>\d{1,3}(?:\.\d{1,3}){3}|localhost)(?P<port>:\d{1,5})\b(?![.:]\d)
    |(?P<value>[^\s@"'<>(),;:=]{1,64}@[^\s@"'<>(),;:=]+
        |\b\d{1,3}(?:\.\d{1,3}){3}\b
        |\b[A-Za-z0-9_+/=-]{0,64}\d(?:[\ .-]?\d){5,}[A-Za-z0-9_+/=-]*
        |(?=[^\s\d]{0,200}\d)[A-Za-z0-9_+/=-]{16,})""",
    re.ASCII | re.VERBOSE,
)


class Traits(NamedTuple):
    """What is known about a member because of its name."""

    is_secret: bool
    is_personal: bool
    is_page: bool
    is_birth_or_position: bool
    is_device: bool
    is_quantity: bool
    is_event: bool
    is_code: bool
    is_identifier: bool
    is_url: bool
    is_prose: bool
    is_plain: bool
    """Whether this is a name, and not data used as a name, whatever was replaced before."""

    @property
    def action_below(self) -> Action | None:
        """`replace` for a member about a birth or a position, because numbers below it would otherwise be kept."""
        return "replace" if self.is_birth_or_position else None


def in_words(text: str, censor: "ValueRedactor") -> str:
    """Redact a string, but keep words of the vocabulary. Values replaced elsewhere get the same pseudonyms here."""
    return splice(
        text, censor.remembered.spans(text, whole=True), lambda part: _replace_spots(part, censor, words=True)
    )


def without_data(text: str, censor: "ValueRedactor") -> str:
    """Replace only accounts, addresses, numbers, links, and values replaced elsewhere; keep all other words.

    This is weaker, and meant for text that the user wants to keep.
    """
    return censor.remembered.replace(_replace_spots(text, censor, words=False))


def _replace_spots(text: str, censor: "ValueRedactor", *, words: bool) -> str:
    between = partial(_between, censor=censor) if words else str
    pieces, done = [], 0
    for spot in _SPOTS.finditer(text):
        pieces += [between(text[done : spot.start()]), _spot(spot, censor, words=words)]
        done = spot.end()
    return "".join([*pieces, between(text[done:])])


def _spot(spot: re.Match[str], censor: "ValueRedactor", *, words: bool) -> str:
    text = spot[0]
    if spot["kept"]:
        return censor.value(text) if allowlist.is_long_ago(text) else text
    if censor.is_trusted(text):
        return text
    if spot["iban"]:
        # Words after an account number look like parts of it.
        end = next((end for end in range(len(text), 14, -1) if compact_iban(text[:end])), len(text))
        if end == len(text) and not compact_iban(text) and words:
            return _between(text, censor)
        return censor.value(text[:end]) + _replace_spots(text[end:], censor, words=words)
    if spot["port"]:
        return _replace_spots(spot["host"], censor, words=words) + spot["port"]
    if spot["secret"]:
        return spot["label"] + censor.drop(spot["secret"])
    return censor.url(text) if spot["url"] else censor.value(text)


def _between(text: str, censor: "ValueRedactor") -> str:
    """Redact a string without accounts, links and dates."""
    spans = ((start, end, text[start:end]) for start, end in vocabulary.find_strange(text, running=True))
    strange = (span for span in spans if not (censor.is_trusted(span[2]) or censor.is_of_the_interface(span[2])))
    return splice(text, ((start, end, censor.shape(words)) for start, end, words in strange))


LETTERS_OF_AN_ID = 14
"""So many letters can be an id, although none of them is a digit."""
_SHORTEST, _LONGEST = 5, 200
"""The shortest and longest remembered texts: shorter ones occur everywhere, longer ones are not names or numbers."""


class Remembered:
    """Maps the last `limit` replaced texts, ignoring case, to their pseudonyms."""

    def __init__(self, limit: int = 10_000) -> None:
        self._limit = limit
        self._lock = Lock()  # recordings are written in other threads
        self._order: deque[str] = deque()
        self._by_start: dict[str, dict[str, str]] = {}

    def add(self, text: str, pseudonym: str) -> None:
        text = _lower(text.strip())
        if not _SHORTEST <= len(text) <= _LONGEST or is_words(text):
            return
        with self._lock:
            if text not in self._by_start.get(text[:_SHORTEST], ()):
                if len(self._order) >= self._limit:
                    self._forget(self._order.popleft())
                self._order.append(text)
            self._by_start.setdefault(text[:_SHORTEST], {})[text] = pseudonym.strip()

    def knows(self, text: str) -> bool:
        text = _lower(text.strip())
        return text in self._by_start.get(text[:_SHORTEST], ())

    def occurs_in(self, text: str) -> bool:
        with self._lock:
            return next(self._occurrences(text), None) is not None

    def replace(self, text: str) -> str:
        """Return the text with pseudonyms for all remembered texts in it."""
        return splice(text, self.spans(text))

    def spans(self, text: str, *, whole: bool = False) -> list[tuple[int, int, str]]:
        """Return the places of remembered strings with their pseudonyms. With `whole`, only complete words."""
        spans: list[tuple[int, int, str]] = []
        with self._lock:
            for start, original, pseudonym in self._occurrences(text):
                end = start + len(original)
                if start >= (spans[-1][1] if spans else 0) and not (whole and _inside_a_word(text, start, end)):
                    spans.append((start, end, pseudonym))
        return spans

    def _occurrences(self, text: str) -> Iterator[tuple[int, str, str]]:
        """Yield start, text and pseudonym of each occurrence. If several have the same start, the longest is first."""
        if not self._by_start:
            return
        text = _lower(text)
        for start in range(len(text) - _SHORTEST + 1):
            for original in sorted(self._by_start.get(text[start : start + _SHORTEST], ()), key=len, reverse=True):
                if text.startswith(original, start):
                    yield start, original, self._by_start[original[:_SHORTEST]][original]

    def _forget(self, text: str) -> None:
        same_start = self._by_start[text[:_SHORTEST]]
        del same_start[text]
        if not same_start:
            del self._by_start[text[:_SHORTEST]]


def _inside_a_word(text: str, start: int, end: int) -> bool:
    return text[start - 1 : start].isalnum() or text[end : end + 1].isalnum()


def _lower(text: str) -> str:
    """Return the text in lower case with all characters at the same positions, because some have two in lower case."""
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


DROPPED = "dropped"

_URL = re.compile(
    r"(?:(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<authority>[^/?#]*))?(?P<path>[^?#]*)"
    r"(?:\?(?P<query>[^#]*))?(?:#(?P<fragment>.*))?"
)
_LOOKS_LIKE_URL = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*://|/)[!#-;=?-~]*")
_ABSOLUTE = re.compile(r"https?://[!-#%-;=?-~]+")
_BLANK = re.compile(r"\s")
_NO_BLANKS = re.compile(r"[!-~]*")
_HOST = re.compile(r"([A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?", re.ASCII)
_LOOPBACK = re.compile(r"127\.\d+\.\d+\.\d+|::1|localhost", re.ASCII)
_SMALL_NUMBER = re.compile(r"-?(?:\d{1,4}|\d{1,7}\.\d{1,3})", re.ASCII)
"""A count or an amount. With more decimals it may be a position."""
_DECIMAL = re.compile(r"-?\d{1,7}[.,]\d{2}", re.ASCII)
"""An amount as text."""
_DIGIT = re.compile(r"\d")
_ADDRESS_PART = re.compile(r'[^\s,;="\[\]]+')
_FORWARDED = frozenset("for by host proto http https unknown".split())
_AUTHORISATION = frozenset("code state session sid".split())
"""Parameters that are credentials, while JSON members with these names are not."""
_SEPARATORS = re.compile(r"[\s;,=]+")
_NAME_SEPARATORS = re.compile(r"[./\[\]]")
_HEADER_NAME = re.compile(r"X(?:-[A-Z][A-Za-z]{1,19}){1,4}", re.ASCII)
_MOST_NAMES = 10_000
_SECRET = 8
"""The least length of a word in a dropped value that is removed elsewhere, too: the token in `Bearer 2fa81bc0`."""
_DEEPEST = 3
"""The deepest nesting of links that is redacted."""


class ValueRedactor:
    """Replaces or drops values.

    `words` are those of the interface, `unchanged` texts stay as they are, and `remembered` are texts replaced before.
    Calls `tell` with each replaced value and its pseudonym, but not with dropped values.
    """

    pseudonyms: type[Pseudonyms] = Pseudonyms

    def __init__(
        self,
        key: bytes,
        rules: RedactionRules,
        words: Collection[str] = (),
        unchanged: Collection[str] = (),
        marked: MarkedMembers = NONE,
    ) -> None:
        self._marked = marked
        self.tell: Callable[[str, str], None] | None = None
        self._silent: set[int] = set()
        self._counts: Counter[int] = Counter()
        self._names: set[str] = set()
        self._lock = Lock()  # recordings and logs are written in different threads
        self._rules = rules
        self._hosts: frozenset[str] = frozenset()
        self._pseudonyms = self.pseudonyms(key, {part for text in unchanged for part in (text, *_parts(text))})
        # Recorded rules that are older than the user's have pseudonyms of the words.
        is_old = self._pseudonyms.unchanged.__contains__
        self._kept = frozenset(word for word in rules.words if not is_old(self._pseudonyms.text(word)))
        self._words = self._kept.union(words)
        self.remembered = Remembered()
        self._traits = lru_cache(4096)(self._find_traits)

    def traits(self, name: str) -> Traits:
        return self._traits(name) if len(name) <= allowlist.LONGEST else self._find_traits(name)

    def _find_traits(self, name: str) -> Traits:
        return Traits(
            is_secret=self.is_secret(name),
            is_personal=self.is_personal(name),
            is_page=self.is_page(name),
            is_birth_or_position=allowlist.is_birth(name) or allowlist.is_position(name),
            is_device=allowlist.is_device(name),
            is_quantity=allowlist.is_quantity(name),
            is_event=allowlist.is_event(name),
            is_code=allowlist.is_code(name),
            is_identifier=allowlist.is_identifier(name),
            is_url=allowlist.is_url(name),
            is_prose=allowlist.is_prose(name),
            is_plain=allowlist.is_name(name) and not any(map(_DIGIT.search, allowlist.readings(name))),
        )

    def trust(self, bank: str) -> str:
        """Trust the host and the path of a bank's URL from now on. Returns the URL without a password."""
        parts = _URL.match(bank)
        if not parts or not parts["authority"]:
            return self.drop(bank)
        authority = parts["authority"].rpartition("@")[2]
        host, words = authority.lower(), {unquote(segment) for segment in parts["path"].split("/")}
        if host not in self._hosts or not words <= self._words:
            with self._lock:
                self._words |= words
                self._hosts |= {host, host.rpartition(":")[0] or host}
        return f"{parts['scheme']}://{authority}{parts['path']}"

    def trust_path(self, target: str, method: str) -> None:
        """Keep, from now on, the words of the interface in the path of a request to the bank."""
        segments = [unquote(segment) for segment in target.partition("?")[0].split("/")]
        words = {segments[place] for place in self._find_words(segments, method) if segments[place]}
        if not words <= self._words:
            with self._lock:
                self._words |= words

    def _find_words(self, segments: Sequence[str], method: str = "") -> set[int]:
        """Return the places of words of the interface. Many letters that an answer has told before are an id."""
        return {
            place
            for place in allowlist.find_words(segments, method)
            if len(segments[place]) < LETTERS_OF_AN_ID or not self.remembered.knows(segments[place])
        }

    def is_trusted(self, host: str) -> bool:
        low = host.lower()
        return low in self._hosts or _LOOPBACK.fullmatch(low.rpartition(":")[0] or low) is not None

    def is_of_the_interface(self, text: str) -> bool:
        """Return whether the text is a word or code of the interface."""
        return text in self._words

    def is_unchanged(self, text: str) -> bool:
        """Return whether the text is one of those that stay as they are."""
        return text in self._pseudonyms.unchanged

    def member(
        self,
        name: str,
        text: str,
        action: Action | None = None,
        *,
        secret: bool = False,
        exact: bool = False,
        depth: int = 0,
    ) -> str:
        """Redact a string with this name. `exact` means that the user's rule with `action` names this place itself."""
        if action == "keep" and exact:
            return text
        if action == "drop" or secret or self.traits(name).is_secret:
            return self.drop(text)
        if action == "keep":
            return text if self.remembered.knows(text) else self.remembered.replace(text)
        return self.replace(text) if action == "replace" else self.by_name(name, text, depth)

    def by_name(self, name: str, text: str, depth: int) -> str:
        """Redact a string with this name that no rule matches and that is not a credential."""
        traits = self.traits(name)
        if allowlist.is_bic(name, text) or (traits.is_quantity and allowlist.is_amount(text)):
            return text if not self.remembered.knows(text) else self.shape(text)
        if traits.is_birth_or_position or (traits.is_device and is_uuid(text)):
            return self.replace(text)
        if traits.is_event and allowlist.is_moment(text):
            return text
        if traits.is_personal:
            return self._of_a_person(text, depth)
        if self._quotes_names(text):
            return text
        if traits.is_code:
            return text if allowlist.is_code_value(text) else self.redact_carefully(text)
        if traits.is_identifier:
            return self.identifier(text, depth)
        if traits.is_url and _NO_BLANKS.fullmatch(text):
            return self.url(text, depth)
        if traits.is_prose and " " in text:
            return self.prose(text)
        return self.value(text, depth)

    def number(
        self, name: str, text: str, action: Action | None = None, *, secret: bool = False, exact: bool = False
    ) -> str:
        """Redact a JSON number, as it was written."""
        if action == "keep" and exact:
            return text
        if action == "drop" or secret or self.traits(name).is_secret:
            return self._note_left_out(text, "0")
        if action == "keep" or (action is None and self.is_harmless(name, text)):
            return text
        return self._note_made(text, self._pseudonyms.pan(text) if text.isdecimal() else self._pseudonyms.number(text))

    def is_harmless(self, name: str, number: str) -> bool:
        """Return whether a number with this name stays."""
        traits = self.traits(name)
        if traits.is_birth_or_position or traits.is_personal:
            return False
        return bool(_SMALL_NUMBER.fullmatch(number)) or (traits.is_quantity and allowlist.is_amount(number))

    def name(self, text: str) -> str:
        """Return the name of a member or parameter.

        Data used as a name, such as an IBAN with its balance, is redacted.
        """
        if self.is_unchanged(text):
            return text
        if self.traits(text).is_plain:
            self.note_name(text)
            return text
        # An ordinary word does not become personal because it was replaced as somebody's name once.
        numbered = (reading for reading in allowlist.readings(text) if _DIGIT.search(reading))
        if not allowlist.is_name(text) or any(map(self.remembered.occurs_in, numbered)):
            return self.value(text)
        self.note_name(text)
        return text

    def note_name(self, name: str) -> None:
        """Keep, from now on, values that only quote this name of a member, parameter or header."""
        if len(self._names) < _MOST_NAMES:
            self._names.add(name.lower())

    def _quotes_names(self, text: str) -> bool:
        """Return whether the text consists of kept names (`account.iban`), or is the name of a header (`X-Qwlk`)."""
        if _HEADER_NAME.fullmatch(text):
            return not self.remembered.knows(text)
        parts = [part for part in _NAME_SEPARATORS.split(text.lower()) if part and not part.isdecimal()]
        return bool(parts) and self._names.issuperset(parts) and not self.remembered.knows(text)

    def value(self, text: str, depth: int = 0) -> str:
        """Redact a string of which only the kind is known."""
        if _DECIMAL.fullmatch(text) and not self.remembered.knows(text):
            return text
        return self._of_a_person(text, depth) if _BLANK.search(text) else self._redact_piecewise(text, depth)

    def _of_a_person(self, text: str, depth: int = 0) -> str:
        """Redact a string in which even ordinary words may identify somebody."""
        kept = self._of_its_kind(text, depth)
        return self.shape(text) if kept is None else kept

    def _redact_piecewise(self, text: str, depth: int = 0) -> str:
        """Keep words, and redact the parts between signs separately, such as an id in `AIS:4711-0815`."""
        kept = self._of_its_kind(text, depth)
        if kept is not None:
            return kept
        if text in self._kept:
            return text
        if not vocabulary.has_words(text):
            return self.shape(text)
        strange = vocabulary.find_strange(text)
        return splice(text, ((start, end, self._of_a_person(text[start:end], depth)) for start, end in strange))

    def _of_its_kind(self, text: str, depth: int) -> str | None:
        """Redact a string of a special kind, or return None if it is an ordinary string."""
        if self.is_unchanged(text):
            return text
        match _form_of(text) if len(text) <= allowlist.LONGEST else _form_of.__wrapped__(text):
            case "plain":
                return text
            case "uuid":
                # A UUID of a device is also replaced at other places.
                return self.remembered.replace(text) if self.remembered.knows(text) else text
            case "date":
                return self._note_made(text, self._pseudonyms.date(text))
            case "iban":
                return self._note_made(text, self._pseudonyms.iban(text))
            case "ip":
                return self._note_made(text, self._pseudonyms.ip(text))
            case "pan":
                return self._note_made(text, self._pseudonyms.pan(text))
            case "link":
                return self.url(text, depth)
        return None

    def identifier(self, text: str, depth: int = 0) -> str:
        """Redact an id in the same way in paths, links and bodies."""
        return (
            text if self.is_of_the_interface(text) or vocabulary.is_bare(text) else self._redact_piecewise(text, depth)
        )

    def shape(self, text: str) -> str:
        return self._note_made(text, self._pseudonyms.text(text))

    def drop(self, text: str) -> str:
        for part in _SEPARATORS.split(text):
            if len(part) >= _SECRET and _DIGIT.search(part):
                self.remembered.add(part, DROPPED)
        return self._note_left_out(text, DROPPED) if text else text

    def unknown(self, text: str) -> str:
        """Drop a string of which nothing is known.

        A link is redacted as elsewhere, and an id from an earlier answer has its pseudonym.
        """
        if self.remembered.knows(text):
            return self._note_left_out(text, self.remembered.replace(text))
        if _ABSOLUTE.fullmatch(text):
            with self.silence():
                return self.url(text)
        return self.drop(text)

    def replace(self, text: str) -> str:
        """Replace also kinds that are normally kept: moments, amounts, UUIDs."""
        if allowlist.is_moment(text):
            return self._note_made(text, self._pseudonyms.date(text))
        if allowlist.is_amount(text) and not compact_pan(text):
            return self._note_made(text, self._pseudonyms.number(text))
        return self.shape(text) if allowlist.is_plain(text) else self._of_a_person(text)

    def redact_carefully(self, text: str) -> str:
        """Redact a string at a harmless place: words and short numbers stay."""
        is_harmless = vocabulary.is_bare(text) or (allowlist.is_moment(text) and not allowlist.is_long_ago(text))
        return text if is_harmless else self._redact_piecewise(text)

    def prose(self, text: str) -> str:
        """Redact text for people, such as an error text.

        It may quote anything, so its values are not passed to `tell`.
        """
        if self.is_unchanged(text):
            return text
        with self.silence():
            return in_words(text, self)

    def expect_visit(self, link: str) -> None:
        """Note a link for payment users."""

    @contextmanager
    def silence(self) -> Iterator[None]:
        """Do not call `tell` for values that this thread redacts within the context."""
        thread = get_ident()
        was_silent = thread in self._silent
        self._silent.add(thread)
        try:
            yield
        finally:
            if not was_silent:
                self._silent.discard(thread)

    def is_secret(self, name: str) -> bool:
        """Return whether values with this name, including everything in them, are credentials."""
        return name.lower() in self._marked.secret or allowlist.is_secret(name)

    def is_personal(self, name: str) -> bool:
        """Return whether values with this name are personal."""
        return name.lower() in self._marked.personal or allowlist.is_personal(name)

    def is_page(self, name: str) -> bool:
        """Return whether members with this name are links for payment users."""
        return name.lower() in self._marked.pages or allowlist.is_page(name)

    def spots(self, text: str) -> str:
        """Replace only account numbers, cards and e-mail addresses, except for those that stay as they are."""
        return self._note_made(text, self._pseudonyms.spots(text))

    def addresses(self, text: str) -> str:
        """Redact a header with a list of IP addresses."""
        if self.is_unchanged(text):
            return text
        return _ADDRESS_PART.sub(lambda part: part[0] if part[0].lower() in _FORWARDED else self.value(part[0]), text)

    def url(self, text: str, depth: int = 0) -> str:
        """Redact path and query of a URL. The scheme and the bank's host stay."""
        if self.is_unchanged(text):
            return text
        parts = _URL.fullmatch(text)
        if depth > _DEEPEST or not parts or not self.looks_into(parts["scheme"] or "http"):
            return self.shape(text)
        scheme, authority, path, query, fragment = parts.groups()
        start = f"{scheme}://{self.host(authority)}" if scheme else ""
        segments = path.split("/")
        is_of_the_bank = not scheme or self.is_trusted(authority.rpartition("@")[2])
        kept = self._find_words(segments) if is_of_the_bank else ()
        path = "/".join(
            segment if place in kept else self._segment(segment, depth) for place, segment in enumerate(segments)
        )
        end = "".join(
            f"{mark}{self.query(part, depth)}" for mark, part in (("?", query), ("#", fragment)) if part is not None
        )
        return start + path + end

    def looks_into(self, scheme: str) -> bool:
        """Return whether links with this scheme have a host, a path and a query."""
        return scheme.lower() in ("http", "https")

    def query(self, text: str, depth: int = 0) -> str:
        """Redact a query, without the `?`."""
        return "&".join(
            self._parameter(pair, self._rules.queries.get, depth, keeps_numbers=True) for pair in text.split("&")
        )

    def field(self, name: str, text: str) -> str:
        """Redact a field of a form."""
        return self.member(name, text, self._rules.members.get(name.lower()), secret=name.lower() in _AUTHORISATION)

    def form(self, text: str) -> str:
        return "&".join(self._parameter(pair, self._rules.members.get, 0) for pair in text.split("&"))

    def host(self, authority: str) -> str:
        """Redact a host, keep its port, and drop user and password. Only the bank's hosts and this machine stay."""
        user, at, host = authority.rpartition("@")
        if at:
            self.drop(user)
        fits = _HOST.fullmatch(host)
        if not host or self.is_trusted(host):
            return host
        if not fits:
            return self.shape(host)
        name, port = fits[1].strip("[]"), fits[2] or ""
        if self.is_trusted(name) or _LOOPBACK.fullmatch(name) or self.is_unchanged(host) or self.is_unchanged(name):
            return host
        if is_ip(name):
            address = self.value(name)
            return (f"[{address}]" if ":" in address else address) + port
        return self._note_made(name, self._pseudonyms.host(name)) + port

    def _segment(self, written: str, depth: int) -> str:
        text = unquote(written)
        new = self.identifier(text, depth + 1)
        return written if new == text else quote(new, safe="!$&'()*+,;=:@~")

    def _parameter(
        self, written: str, rule: Callable[[str], Action | None], depth: int, *, keeps_numbers: bool = False
    ) -> str:
        raw_name, equals, raw_text = written.partition("=")
        name, text = unquote_plus(raw_name), unquote_plus(raw_text)
        if not equals:
            new = self.value(name, depth + 1)
            return written if new == name else quote(new, safe="")
        new_name, action = self.name(name), rule(name.lower())
        secret = name.lower() in _AUTHORISATION or self.traits(name).is_secret
        is_small = keeps_numbers and action is None and not secret and _SMALL_NUMBER.fullmatch(text)
        is_kept = is_small and self.is_harmless(name, text)
        new = text if is_kept else self.member(name, text, action, secret=secret, depth=depth + 1)
        return "=".join(
            (
                raw_name if new_name == name else quote(new_name, safe=""),
                raw_text if new == text else quote(new, safe="".join(mark for mark in ":/" if mark in raw_text)),
            )
        )

    @property
    def count(self) -> int:
        """The number of values that this thread has replaced or dropped."""
        return self._counts[get_ident()]

    def _note_made(self, text: str, new: str) -> str:
        if new != text and self.tell and get_ident() not in self._silent:
            self.tell(text, new)
        return self._note_left_out(text, new)

    def _note_left_out(self, text: str, new: str) -> str:
        if new != text:
            with self._lock:
                self._counts[get_ident()] += 1
            self.remembered.add(text, new)
        return new


@lru_cache(4096)
def _form_of(text: str) -> str | None:
    """Return the special kind of a string, or None for an ordinary string."""
    if allowlist.is_plain(text):
        return "uuid" if is_uuid(text) else "plain"
    if allowlist.is_long_ago(text):
        return "date"
    if compact_iban(text):
        return "iban"
    if ("." in text or ":" in text) and is_ip(text):
        return "ip"
    if compact_pan(text):
        return "pan"
    return "link" if is_link(text) else None


def is_link(text: str) -> bool:
    return _LOOKS_LIKE_URL.fullmatch(text) is not None


def _parts(text: str) -> Iterator[str]:
    """Yield the parts of a link that are redacted separately."""
    if _LOOKS_LIKE_URL.fullmatch(text):
        path, _, rest = text.partition("?")
        parts = _URL.match(text)
        if parts and parts["authority"]:
            yield parts["authority"].partition(":")[0]
        yield from map(unquote, path.split("/"))
        yield from (unquote_plus(part) for pair in re.split("[?&#]", rest) for part in pair.partition("=")[::2])
