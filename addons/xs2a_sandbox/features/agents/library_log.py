"""Keeps the log of the library out of the sandbox's log."""

import logging
import os
from types import ModuleType


def silence_library(library: ModuleType) -> None:
    """Drop what the library logs: every request, and errors together with what was sent.

    It logs some of that without a name of its own, directly on the root logger.
    """
    logging.getLogger(library.__name__).setLevel(logging.CRITICAL)
    folder = os.path.dirname(str(library.__file__))
    logging.getLogger().addFilter(lambda record: not record.pathname.startswith(folder))
