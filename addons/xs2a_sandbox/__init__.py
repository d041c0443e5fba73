"""A record/replay HTTP proxy sandbox that answers like a bank's PSD2 XS2A interface.

`Sandbox` is the type of the pytest fixtures, for annotations; `Client` controls a running sandbox; `UserMistake` is
raised for mistakes that the user can fix. `verify` raises `WrongSignature` unless the bank has signed an answer.
"""

from typing import TYPE_CHECKING, Any

from xs2a_sandbox.errors import SandboxError, UserMistake, WrongSignature

if TYPE_CHECKING:
    from xs2a_sandbox.control.client import Client
    from xs2a_sandbox.features.pytest.sandbox import Sandbox
    from xs2a_sandbox.features.pytest.verification import verify

__all__ = ["Client", "Sandbox", "SandboxError", "UserMistake", "WrongSignature", "__version__", "verify"]
__version__ = "1.0.0"


def __getattr__(name: str) -> Any:
    """Import the names only when they are used, because the imports are slow and the command line must not wait."""
    if name == "Sandbox":
        from xs2a_sandbox.features.pytest.sandbox import Sandbox

        return Sandbox
    if name == "Client":
        from xs2a_sandbox.control.client import Client

        return Client
    if name == "verify":
        from xs2a_sandbox.features.pytest.verification import verify

        return verify
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
