"""A record/replay HTTP proxy sandbox that answers like a bank's PSD2 XS2A interface.

`Sandbox` is what the pytest fixtures give, for annotations; `Client` controls a sandbox that runs; `UserMistake` is
raised for whatever the user can mend. `verify` raises `WrongSignature` unless the bank has signed an answer.
"""

from typing import TYPE_CHECKING, Any

from xs2a_sandbox.errors import SandboxError, UserMistake, WrongSignature

if TYPE_CHECKING:
    from xs2a_sandbox.control.client import Client
    from xs2a_sandbox.features.pytest.sandbox import Sandbox
    from xs2a_sandbox.features.pytest.verification import verify

__all__ = ["Client", "Sandbox", "SandboxError", "UserMistake", "WrongSignature", "__version__", "verify"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Each of them brings much along, which the command line must not wait for."""
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
