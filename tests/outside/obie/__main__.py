"""Print the result of each script: `python -m tests.outside.obie [--dialect NAME] [--url URL] [--failed]`."""

import argparse
import sys
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.outside.obie.run import CONTRADICTIONS, bank_of, results
from tests.outside.obie.target import DEFAULT, TARGETS


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.outside.obie", description=__doc__.partition(":")[0])
    parser.add_argument("--dialect", choices=TARGETS, default=DEFAULT.dialect)
    parser.add_argument("--url", help="a bank that runs already, instead of one that is started")
    parser.add_argument("--failed", action="store_true", help="only what failed")
    wanted = parser.parse_args()
    target = TARGETS[wanted.dialect]
    with (
        TemporaryDirectory() as directory,
        nullcontext(wanted.url) if wanted.url else bank_of(target, Path(directory)) as url,
    ):
        found = list(results(url, target))
    for result in found:
        if result.why or not wanted.failed:
            print(f"{'failed' if result.why else 'passed'}  {result.id:24} {'; '.join(result.why)}")
    for id, contradiction in CONTRADICTIONS.items():
        print(f"{id} contradicts the OpenAPI: {contradiction.script} {contradiction.openapi}")
    failed = {result.id for result in found if result.why}
    print(f"{len(found) - len(failed)} of {len(found)} scripts passed")
    return int(bool(failed - CONTRADICTIONS.keys()))


if __name__ == "__main__":
    sys.exit(main())
