"""A record/replay HTTP proxy sandbox that answers like a bank's PSD2 XS2A interface.

`Sandbox` is what the pytest fixtures give, for annotations; `UserMistake` is raised for whatever the user can mend.
"""

from typing import TYPE_CHECKING, Any

from xs2a_sandbox.errors import SandboxError, UserMistake

if TYPE_CHECKING:
    from xs2a_sandbox.testing.sandbox import Sandbox

__all__ = ["Sandbox", "SandboxError", "UserMistake", "__version__"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """`Sandbox` brings the whole engine along, which the command line must not wait for."""
    if name == "Sandbox":
        from xs2a_sandbox.testing.sandbox import Sandbox

        return Sandbox
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
