"""`make model`: histories of the bank for any length of time, each compared with the model, with statistics at the end.

python -m tests.model.run [--minutes 30] [--seed N] [--steps 40]
"""

import argparse
import random
import sys
import time

from hypothesis import core
from hypothesis.stateful import run_state_machine_as_test

from tests.model.histories import FIGURES, Difference
from tests.model.test_model import Histories, profile

ROUND = 25
"""The number of histories with one seed."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.model.run", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32), help="of the first round")
    parser.add_argument("--steps", type=int, default=40, help="in a history, at most")
    options = parser.parse_args()
    begun, seed = time.monotonic(), options.seed
    try:
        while time.monotonic() < begun + 60 * options.minutes:
            core.global_force_seed = seed
            run_state_machine_as_test(
                Histories, settings=profile(max_examples=ROUND, stateful_step_count=options.steps)
            )
            seed += 1
    except Difference as difference:
        print(f"\nThe sandbox and its model differ: {difference}\n")
        print(f"Again: python -m tests.model.run --seed {seed} --steps {options.steps}")
        return 1
    finally:
        report(time.monotonic() - begun, options.seed)
    return 0


def report(seconds: float, seed: int) -> None:
    """Return the steps and comparisons, the transitions, and the steps with an undefined outcome."""
    totals = ("histories", "steps", "requests", "explained", "compared", "left out")
    print(f"{seconds / 60:.1f} minutes from seed {seed}: " + ", ".join(f"{FIGURES[name]:,} {name}" for name in totals))
    titles = {"": "steps", "moved": "moves", "unsaid": "left out, as nobody says"}
    for kind, title in titles.items():
        figures = sorted(
            (name.removeprefix(f"{kind}: "), number)
            for name, number in FIGURES.items()
            if name not in totals and name.partition(": ")[0] == (kind or name)
        )
        print(f"{title}: " + ", ".join(f"{number:,} {name}" for name, number in figures))


if __name__ == "__main__":
    sys.exit(main())
