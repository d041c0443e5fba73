"""Run `xs2a-sandbox` in a process with limited open files: `--files SOFT:HARD`."""

import resource
import sys

from xs2a_sandbox.cli.main import main

if __name__ == "__main__":
    place = sys.argv.index("--files")
    soft, hard = (int(number) for number in sys.argv[place + 1].split(":"))
    del sys.argv[place : place + 2]
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    main()
