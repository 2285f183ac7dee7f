"""The long form of the kill test of the resource memory: ``python bench/torture_resources.py [ROUNDS] [SEED]``."""

from __future__ import annotations

import sys
from pathlib import Path


def torture(rounds: int = 500, seed: int = 1) -> None:
    """Kill commands on a resource store at random steps, ``rounds`` times, and check every invariant after each.

    Raises AssertionError where one broke; prints progress and how often each command was killed.
    """
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
    from support.resource_torture import torture as run

    killed = run(rounds, seed, say=lambda line: print(line, flush=True))
    print(
        f"{rounds} rounds, seed {seed}: every invariant held; killed "
        + ", ".join(f"{kind} {n}" for kind, n in sorted(killed.items()))
    )


if __name__ == "__main__":
    torture(*map(int, sys.argv[1:3]))
