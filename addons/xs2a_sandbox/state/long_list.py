"""Lists of ids in the state. To add an id costs the same however long the list is.

A list is a document with its newest ids and the number of full pages before them. Each full page is a document, too.
"""

from collections.abc import Sequence

from xs2a_sandbox.state.store import Document, Transaction

_PAGE = 32
_EMPTY: Document = {"ids": [], "pages": 0}


def read(state: Transaction, collection: str, name: str) -> list[str]:
    """Return the ids in the list, the oldest first."""
    last = state.get_own(collection, name) or _EMPTY
    pages = (state.get_own(*_page(collection, name, number)) for number in range(last["pages"]))
    return [id for page in (*pages, last) if page for id in page["ids"]]


def add(state: Transaction, collection: str, name: str, id: str) -> None:
    last = state.get_own(collection, name) or _EMPTY
    if len(last["ids"]) >= _PAGE:
        state.put(*_page(collection, name, last["pages"]), {"ids": last["ids"]})
        last = {"ids": [], "pages": last["pages"] + 1}
    state.put(collection, name, {**last, "ids": [*last["ids"], id]})


def replace(state: Transaction, collection: str, name: str, ids: Sequence[str]) -> None:
    # Earlier pages stay and are written again when the list has grown, because a deleted document takes memory, too.
    state.put(collection, name, {"ids": list(ids), "pages": 0})


def _page(collection: str, name: str, number: int) -> tuple[str, str]:
    return f"{collection}-pages", f"{name}|{number}"
