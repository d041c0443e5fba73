"""The section `authorisation`: the things that customers authorise, the approaches, the pages, and OAuth."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from xs2a_sandbox.cassette.dialect.sca_pages import DEFAULT, bundled_pages
from xs2a_sandbox.cassette.dialect.sections import Sections
from xs2a_sandbox.cassette.evaluation.expressions import ROOTS, Render, compile_text
from xs2a_sandbox.cassette.evaluation.values import to_text
from xs2a_sandbox.cassette.model import Pointer
from xs2a_sandbox.documents.schema_errors import did_you_mean
from xs2a_sandbox.errors import ExpressionError, Problem

SECTION = "authorisation"
ON_PAGES = ("redirect", "oauth")
"""The approaches that send the customer to the bank's pages."""
ID = "id"
"""The placeholder in a page's address for the id of the authorised resource."""

_STRUCTURE = frozenset({"of", "code", "scopes", "endpoint"})
_OF_FAMILY = frozenset({"page", "rows"})
"""Keys of the section and of a family that are not options."""
_NAME = r"[\w.~-]+"
_ADDRESS = re.compile(rf"({_NAME}(?:/{_NAME})*)\?(.+)", re.ASCII)
_PARAMETER = re.compile(rf"({_NAME})=\{{(\w+)\}}", re.ASCII)

_UNRESERVED = re.compile(_NAME, re.ASCII)
"""A text that is the same when percent-encoded."""


@dataclass(frozen=True, slots=True)
class PageAddress:
    """A page below `/sca/`: the segments of its path, and the member that supplies each query parameter."""

    path: tuple[str, ...]
    parameters: Mapping[str, str]
    form: str
    """The address with a `%s` for each value."""

    @classmethod
    def parse(cls, text: str) -> "PageAddress":
        """Parse an address such as `consents?consent_id={id}`. Raises ValueError with the mistake."""
        address = _ADDRESS.fullmatch(text)
        pairs = [_PARAMETER.fullmatch(part) for part in address[2].split("&")] if address else []
        if address is None or None in pairs:
            raise ValueError("the address of a page must be a path with parameters, such as consents?consent_id={id}")
        parameters = [(pair[1], pair[2]) for pair in pairs if pair]
        if len(dict(parameters)) != len(parameters):
            raise ValueError("each parameter can occur only once")
        if [word for _, word in parameters].count(ID) != 1:
            raise ValueError("one parameter must be {id}, the id of the authorised resource")
        form = f"{address[1]}?{'&'.join(f'{name}=%s' for name, _ in parameters)}"
        return cls(tuple(address[1].split("/")), dict(parameters), form)

    def fill(self, id: str, resource: Mapping[str, Any]) -> str:
        """Return the address for this resource, relative to `/sca/`."""
        values = [id if word == ID else to_text(resource.get(word)) for word in self.parameters.values()]
        if not _UNRESERVED.fullmatch("".join(values)):
            values = [quote(value, safe="") for value in values]
        return self.form % tuple(values)


@dataclass(frozen=True, slots=True)
class Authorisable:
    """Authorisation of one family. `rows` are labels and texts that its page shows in addition to its own."""

    options: Mapping[str, Any]
    page: PageAddress | None = None
    rows: tuple[tuple[Render | str, Render | str], ...] = ()


@dataclass(frozen=True, slots=True)
class ScopeOfTokens:
    """The paths that tokens with the scope may access: those that contain one of these segments.

    `text` is the scope's name on the login page. The name of the scope may end in `*`, which matches every ending.
    """

    name: str
    paths: tuple[str, ...]
    text: str | None = None

    def is_meant(self, word: str) -> bool:
        return word.startswith(self.name[:-1]) if self.name.endswith("*") else word == self.name


@dataclass(frozen=True, slots=True)
class OAuthEndpoint:
    """The authorisation endpoint of OAuth.

    `finds` maps a family to an expression for the id of the authorised resource. `pushed` is an expression for the
    parameters that the app has pushed before (RFC 9126), which override those of the link.

    A request that asks only for scopes in `login` is only a login.
    """

    path: tuple[str, ...]
    needs_challenge: bool
    needs_scope: bool
    finds: Mapping[str, Render | str]
    login: frozenset[str]
    otherwise: str
    pushed: Render | str | None = None


@dataclass(frozen=True, slots=True)
class Authorisation:
    """The section of all layers. Families missing in `of` cannot be authorised.

    `code` is the name of the query parameter that comes back with a redirect and has to be confirmed.
    """

    of: Mapping[str, Authorisable] = field(default_factory=dict)
    code: str = "code"
    scopes: tuple[ScopeOfTokens, ...] = ()
    endpoint: OAuthEndpoint | None = None

    def options(self, family: str) -> Mapping[str, Any]:
        return self.of[family].options if family in self.of else {}

    def scopes_of(self, text: str) -> Iterator[ScopeOfTokens]:
        """Return the scopes in a string of space-separated words."""
        words = text.split()
        return (scope for scope in self.scopes if any(map(scope.is_meant, words)))


def read(sections: Sections) -> tuple[Authorisation, list[Problem]]:
    """Return the section merged from all layers, and the problems found in it."""
    reader = _Reader(sections)
    return reader.authorisation(sections.get(SECTION)), reader.problems


class _Reader:
    """Compiles the section and collects problems."""

    def __init__(self, sections: Sections) -> None:
        self.problems: list[Problem] = []
        self._sections = sections

    def authorisation(self, spec: Mapping[str, Any]) -> Authorisation:
        usual = {name: value for name, value in spec.items() if name not in _STRUCTURE}
        families = {name: self._family(name, {**usual, **own}) for name, own in spec.get("of", {}).items()}
        endpoint = self._endpoint(spec["endpoint"]) if "endpoint" in spec else None
        self._check_paths(families, endpoint)
        scopes = tuple(self._scope(name, scope) for name, scope in spec.get("scopes", {}).items())
        return Authorisation(families, spec.get("code", "code"), scopes, endpoint)

    def _scope(self, name: str, spec: Mapping[str, Any]) -> ScopeOfTokens:
        texts, text = bundled_pages().texts[DEFAULT], spec.get("text")
        if text is not None and text not in texts:
            wrong = f"unknown page text {text!r}{did_you_mean(text, texts)}"
            self._note(("scopes", name, "text"), "wrong-value", wrong)
        return ScopeOfTokens(name, tuple(spec.get("paths", ())), text if text in texts else None)

    def _family(self, name: str, spec: Mapping[str, Any]) -> Authorisable:
        at: Pointer = ("of", name)
        options = {key: value for key, value in spec.items() if key not in _OF_FAMILY}
        page = None
        if "page" in spec:
            try:
                page = PageAddress.parse(spec["page"])
            except ValueError as error:
                self._note((*at, "page"), "page", str(error))
        elif approaches := [one for one in ON_PAGES if one in options.get("approaches", ON_PAGES)]:
            text = f"it can be authorised by {' and '.join(approaches)}, which needs a page; set page"
            self._note(at, "page", f"{text}, or choose other approaches")
        rows = tuple(
            (
                self._compile(row["label"], (*at, "rows", number, "label"), ROOTS | {"resource"}),
                self._compile(row["text"], (*at, "rows", number, "text"), ROOTS | {"resource"}),
            )
            for number, row in enumerate(spec.get("rows", ()))
        )
        return Authorisable(options, page, rows)

    def _endpoint(self, spec: Mapping[str, Any]) -> OAuthEndpoint:
        finds = {
            family: self._compile(text, ("endpoint", "finds", family), ROOTS)
            for family, text in spec.get("finds", {}).items()
        }
        return OAuthEndpoint(
            tuple(spec.get("path", "authorize").split("/")),
            spec.get("pkce", "required") == "required",
            spec.get("scope", "required") == "required",
            finds,
            frozenset(spec.get("login", ())),
            spec.get("otherwise", "the request names no resource that can be authorised"),
            self._compile(spec["pushed"], ("endpoint", "pushed"), ROOTS) if spec.get("pushed") else None,
        )

    def _check_paths(self, families: Mapping[str, Authorisable], endpoint: OAuthEndpoint | None) -> None:
        """Report pages that share a path, because requests for them could not be distinguished."""
        first: dict[tuple[str, ...], str] = {endpoint.path: "the authorisation endpoint"} if endpoint else {}
        for name, family in families.items():
            if family.page and (other := first.setdefault(family.page.path, name)) != name:
                text = f"the path {'/'.join(family.page.path)} is also the path of {other}; choose another one"
                self._note(("of", name, "page"), "page", text)

    def _compile(self, text: str, pointer: Pointer, roots: frozenset[str]) -> Render | str:
        try:
            return compile_text(text, roots)
        except ExpressionError as error:
            self._note(pointer, "expression", str(error))
            return text

    def _note(self, pointer: Pointer, code: str, text: str) -> None:
        self.problems.append(self._sections.problem((SECTION, *pointer), code, text))
