"""The bank's customers, accounts, consents and payments: the layer below the state.

Dates count from the session's start.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from xs2a_sandbox.bank import recipes
from xs2a_sandbox.cassette.evaluation.expressions import Scope, compile_value, render
from xs2a_sandbox.clock import REAL
from xs2a_sandbox.documents import yaml_reader
from xs2a_sandbox.documents.document import Document
from xs2a_sandbox.documents.formats import as_kept, is_iban
from xs2a_sandbox.documents.json_schema import bundled_schema
from xs2a_sandbox.documents.yaml_reader import complaints
from xs2a_sandbox.errors import ExpressionError, Problem, Unreadable
from xs2a_sandbox.state.store import Collections

UNKNOWN = "unknown"
_BY_UUID = ("cards", "consents", "payments")
_KEPT_DAYS = 8
_LIKE_AN_IBAN = re.compile(r"[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}")
_FUNCTIONS = frozenset({"today"})
"""The only function that is available before there is a request."""


@dataclass(slots=True)
class Overlay:
    """Merged test data files, not compiled.

    `origins` are the files of the entries by collection and id; `idle` are nulls that remove nothing.
    """

    collections: dict[str, dict[str, Any]] = field(default_factory=dict)
    origins: dict[tuple[str, str], Document] = field(default_factory=dict)
    idle: list[tuple[Document, str, str]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def add(self, document: Document) -> None:
        if document.value.get("replace"):
            self.collections, self.origins, self.idle = {}, {}, []
        for name, entries in document.value.items():
            if name not in ("testdata", "replace"):
                self._merge(name, entries or {}, document)

    def _merge(self, name: str, entries: Mapping[str, Any], source: Document) -> None:
        into = self.collections.setdefault(name, {})
        for written, entry in entries.items():
            id = as_kept(written) if name in _BY_UUID else written
            if entry is not None:
                into[id] = entry
                self.origins[name, id] = source
            elif into.pop(id, None) is None:
                self.idle.append((source, name, written))


@dataclass(slots=True)
class TestData:
    """Collections of documents by id. Dates are expressions; `at` computes them for a day."""

    __test__ = False  # not a test class, although the name looks like one

    collections: Mapping[str, Mapping[str, Any]]
    unknown_consents: tuple[str, ...]
    _days: dict[date, Collections] = field(default_factory=dict)

    def at(self, day: date) -> Collections:
        """Return the collections as seen by a session that starts on that day."""
        if day not in self._days:
            while len(self._days) >= _KEPT_DAYS:
                self._days.pop(next(iter(self._days)))
            scope = {"today": lambda days=0: (day + timedelta(days=days)).isoformat()}
            self._days[day] = {
                name: {id: _render(name, id, entry, scope, day) for id, entry in entries.items()}
                for name, entries in self.collections.items()
            }
        return self._days[day]

    def texts(self) -> frozenset[str]:
        """Return all texts in the collections, including ids."""
        return frozenset(_texts(self.at(REAL.today())))


def _render(name: str, id: str, entry: Any, scope: Scope, day: date) -> Any:
    """Return a document of that day. Only accounts have recipes."""
    rendered = render(entry, scope)
    return recipes.follow(id, rendered, day) if name == "accounts" else rendered


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from value
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


def load(files: Sequence[Path], *, is_sound: bool = False) -> TestData:
    """Load test data. Each file is merged by id over those before it; null removes, `replace: true` starts empty.

    Files that are known to be sound are not checked.

    Raises:
        Unreadable: with every problem of every file.
    """
    over = overlay(files, is_sound=is_sound)
    merged, origins, problems = over.collections, over.origins, over.problems
    if not problems:
        problems += _read_recipes(merged, origins)
    if not problems and not is_sound:
        problems += _find_dangling(merged, origins)
    collections = {name: _compile(name, entries, origins, problems) for name, entries in merged.items()}
    if problems:
        raise Unreadable(problems)
    consents = merged.get("consents", {})
    unknown = tuple(id for id, consent in consents.items() if consent["role"] == UNKNOWN)
    for id in unknown:
        del collections["consents"][id]
    return TestData(collections, unknown)


def overlay(files: Sequence[Path], *, is_sound: bool = False) -> Overlay:
    """Merge files. The result contains the problems of invalid files, but none of their data."""
    over = Overlay()
    for file in files:
        try:
            document = yaml_reader.read(file, folder=file.parent)
            _expect_testdata(document)
        except Unreadable as error:
            over.problems += error.problems
            continue
        if not is_sound and (
            mistakes := [*complaints(document, bundled_schema("testdata")), *_find_misspelt(document)]
        ):
            over.problems += mistakes
        else:
            over.add(document)
    return over


_DOCUMENTS = {
    "psus": "psuEntry",
    "accounts": "accountEntry",
    "cards": "cardEntry",
    "payees": "payeeEntry",
    "consents": "consentEntry",
    "payments": "paymentEntry",
}
_LISTED = {"accounts": "entry", "cards": "cardUse"}
"""The schema definitions of documents, and of the entries in their lists."""
_NEARLY = 0.8
"""The similarity of two names from which on one is considered a misspelling of the other."""


def _find_misspelt(document: Document) -> Iterator[Problem]:
    """Yield a problem for each member that is nearly a known one. Other unknown members belong to the user."""
    definitions = bundled_schema("testdata").document["$defs"]
    for pointer, definition, entry in _documents(document.value):
        names = definitions[definition]["properties"].keys()
        for member in entry.keys() - names:
            if close := get_close_matches(member, sorted(names - entry.keys()), 1, _NEARLY):
                text = f"unknown key {member}; did you mean {close[0]}?"
                yield document.problem((*pointer, member), "unknown-key", text, key=True)


def _documents(data: Mapping[str, Any]) -> Iterator[tuple[tuple[str | int, ...], str, Mapping[str, Any]]]:
    """Yield the documents and the entries of their lists, each with its place and definition."""
    for name, definition in _DOCUMENTS.items():
        documents = data.get(name)
        for id, document in documents.items() if isinstance(documents, dict) else ():
            if isinstance(document, dict):
                yield (name, id), definition, document
                lists = document.get("entries") if name in _LISTED else None
                for kind, listed in lists.items() if isinstance(lists, dict) else ():
                    for position, item in enumerate(listed) if isinstance(listed, list) else ():
                        if isinstance(item, dict):
                            yield (name, id, "entries", kind, position), _LISTED[name], item


def _compile(
    name: str,
    entries: Mapping[str, Any],
    origins: Mapping[tuple[str, str], Document],
    problems: list[Problem],
) -> dict[str, Any]:
    compiled = {}
    for id, entry in entries.items():

        def report(pointer: tuple[str | int, ...], text: str, id: str = id) -> None:
            problems.append(origins[name, id].problem((name, id, *pointer), "expression", text))

        compiled[id] = compile_value(entry, frozenset(), report, _FUNCTIONS)
    return compiled


def _read_recipes(merged: dict[str, dict[str, Any]], origins: Mapping[tuple[str, str], Document]) -> Iterator[Problem]:
    """Make the IBANs of recipes, and yield a problem for each recipe that cannot be followed."""
    accounts = merged.get("accounts", {})
    for id, account in accounts.items():
        origin = origins["accounts", id]
        if (recipe := recipes.recipe_of(account)) and (text := recipes.check_recipe(recipe)):
            yield origin.problem(("accounts", id, recipes.ENTRIES, recipes.RECIPE), "wrong-value", text)
        if isinstance(written := account.get(recipes.IBAN), Mapping):
            try:
                accounts[id] = {**account, recipes.IBAN: recipes.make_iban(written[recipes.RECIPE])}
            except ExpressionError as error:
                place = ("accounts", id, recipes.IBAN, recipes.RECIPE, "country")
                yield origin.problem(place, "wrong-value", str(error))


def is_account_key(id: str) -> bool:
    """Return whether an account may have this key, which is its IBAN if it looks like one."""
    return _LIKE_AN_IBAN.fullmatch(id) is None or is_iban(id)


def _find_dangling(
    merged: Mapping[str, Mapping[str, Any]], origins: Mapping[tuple[str, str], Document]
) -> list[Problem]:
    problems = []
    accounts, psus = merged.get("accounts", {}), merged.get("psus", {})
    for id, consent in merged.get("consents", {}).items():
        for position, account in enumerate(consent.get("accounts", ())):
            if account not in accounts:
                text = f"the bank has no account {account}"
                place = ("consents", id, "accounts", position)
                problems.append(origins["consents", id].problem(place, "unknown-account", text))
    for id, card in merged.get("cards", {}).items():
        if card["account"] not in accounts:
            text = f"the bank has no account {card['account']}"
            problems.append(origins["cards", id].problem(("cards", id, "account"), "unknown-account", text))
    for id, account in accounts.items():
        if not is_account_key(id):
            text = f"the key {id} looks like an IBAN, but its check digits are wrong"
            problems.append(origins["accounts", id].problem(("accounts", id), "wrong-value", text, key=True))
        if account["psuId"] not in psus:
            text = f"unknown customer {account['psuId']!r}: add it under psus"
            problems.append(origins["accounts", id].problem(("accounts", id, "psuId"), "unknown-psu", text))
        for position, psu in enumerate(account.get("signatories", ())):
            if psu not in psus:
                text = f"unknown customer {psu!r}: add it under psus"
                place = ("accounts", id, "signatories", position)
                problems.append(origins["accounts", id].problem(place, "unknown-psu", text))
    return problems


def _expect_testdata(document: Document) -> None:
    first = next(iter(document.value), None) if isinstance(document.value, dict) else None
    if first != "testdata":
        hint = "; use --cassettes DIR for cassettes" if first == "cassette" else ""
        raise Unreadable(
            [document.problem((), "no-testdata", f"the first key of a test data file must be `testdata: 2`{hint}")]
        )
    if document.value["testdata"] == 1:
        text = (
            "this is version 1 of the test data format, in which the members of accounts and cards have other "
            "names: use the current"
        )
        raise Unreadable([document.problem(("testdata",), "old-testdata", f"{text} names, and write `testdata: 2`")])
