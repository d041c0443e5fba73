"""The resources for agents: the journal, the dialect and the documentation."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from xs2a_sandbox.cli.journal import format_exchange, list_exchanges
from xs2a_sandbox.documentation import page_names, read_page
from xs2a_sandbox.documents.schema_errors import did_you_mean
from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.features.agents.context import Context
from xs2a_sandbox.http import to_json

_ROOT = "xs2a://"
_TEXT, _JSON, _MARKDOWN = "text/plain", "application/json", "text/markdown"


class Resource(NamedTuple):
    """`uri` can have a parameter in braces."""

    uri: str
    name: str
    description: str
    media_type: str


_OWN = (
    Resource(f"{_ROOT}journal", "journal", "The last requests of the app with their answers, in lines", _TEXT),
    Resource(f"{_ROOT}dialect", "dialect", "The operations and errors of the bank", _JSON),
)
TEMPLATES = (
    Resource(f"{_ROOT}journal/{{number}}", "exchange", "One request and its answer", _TEXT),
    Resource(f"{_ROOT}docs/{{+page}}", "documentation", "A page of the documentation, such as campaign", _MARKDOWN),
)


def list_resources() -> Iterator[Resource]:
    yield from _OWN
    for page in page_names():
        name = page.removesuffix(".md")
        title = (read_page(page) or "").partition("\n")[0].removeprefix("# ")
        yield Resource(f"{_ROOT}docs/{name}", name, title, _MARKDOWN)


def read(context: Context, uri: str) -> tuple[str, str]:
    """Return the content and its media type. Raises UserMistake."""
    kind, _, name = uri.removeprefix(_ROOT).rstrip("/").partition("/")
    match kind:
        case "journal" if not name:
            return "\n".join(list_exchanges(context.client().journal())), _TEXT
        case "journal" if re.fullmatch("[0-9]{1,15}", name):
            return "\n".join(format_exchange(context.client().exchange(int(name)))), _TEXT
        case "dialect" if not name:
            return to_json(context.client().dialect()).decode(), _JSON
        case "docs":
            page = name.removesuffix(".md") or "index"
            if (text := read_page(f"{page}.md")) is not None:
                return text, _MARKDOWN
            names = [known.removesuffix(".md") for known in page_names()]
            raise UserMistake(f"there is no page {page} in the documentation{did_you_mean(page, names)}")
    raise UserMistake(f"there is no resource {uri}: use {', '.join(one.uri for one in (*_OWN, *TEMPLATES))}")
