"""Run a few lines of Python in a separate process that can import the package and the tests."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import xs2a_sandbox

_PATHS = (Path(__file__).parents[2], Path(xs2a_sandbox.__file__).parents[1])


def program(lines: str, *arguments: str) -> subprocess.Popen[str]:
    """Start a program. Its output can be read from `stdout`."""
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(lines), *arguments],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, _PATHS))},
        stdout=subprocess.PIPE,
        text=True,
    )
