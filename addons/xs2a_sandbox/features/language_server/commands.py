"""The command `lsp`."""

from importlib.util import find_spec
from typing import Any

from xs2a_sandbox.cli.flags import bank_flags
from xs2a_sandbox.cli.help import command
from xs2a_sandbox.errors import UserMistake


@command(section="Write cases", examples=("xs2a-sandbox lsp", "xs2a-sandbox lsp --dialect berlin-group-1.3"))
@bank_flags
def lsp(**flags: Any) -> None:
    """Run a language server for editors, on standard input and output.

    Editors start it themselves. It reports what `lint` finds, completes keys and names, describes them, and finds
    definitions.
    """
    if find_spec("pygls") is None:
        raise UserMistake("the language server needs pygls: pip install 'xs2a-sandbox[lsp]'")
    from xs2a_sandbox.features.language_server.server import serve

    serve(flags)
