"""What a bound search costs over the bare program: CPU seconds of whole processes, median of several runs.

    python bench/bound_search.py VAULT [ROUNDS]

Binds the kb-recall beside the running interpreter to VAULT in a private store, then runs the same query through
``kb bind.search`` and by the very command line that it starts. Prints times, ratio and bytes.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

QUERIES = ("plugin", '"community plugins" theme', "obsidian", "zzzqqq")


def cpu(argv: list[str], cwd: Path, env: dict[str, str]) -> tuple[float, float, bytes]:
    """CPU seconds and wall seconds of one process with its children, and what it printed."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(argv, cwd=cwd, env=env, capture_output=True, check=False)
    after, end = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    if done.returncode != 0:
        sys.exit(done.stdout.decode() + done.stderr.decode())
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used, end - start, done.stdout


def child_command(project: Path, store: Path, query: str) -> list[str]:
    """The command line that a bound search starts, its program by path."""
    from kbtasks.binding.bound import command_line
    from kbtasks.binding.search import search_words
    from kbtasks.binding.stored import Place, require_binding
    from kbtasks.binding.verify import verify

    place = Place(uid=os.getuid(), home="/nowhere", search_path="", store=str(store))
    with place.registry() as registry:
        pin = require_binding(registry, str(project))["pin"]
        with verify(pin, uid=place.uid, memory=registry) as verified:
            return command_line(verified, place.store, search_words(query, pin["vault"]["path"], 16))[0]


def main() -> None:
    """Measure and print one line per query."""
    from kbtasks.binding.bound import FIXED_ENV

    vault, rounds = Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 9
    kb = str(Path(sys.executable).with_name("kb"))
    with tempfile.TemporaryDirectory() as folder:
        base = Path(os.path.realpath(folder))
        project, store = base / "project", base / "store"
        (project / ".git").mkdir(parents=True)
        env = {"HOME": str(base / "home"), "PATH": "/usr/bin:/bin"}
        at = ["--store", str(store)]
        used, _, _ = cpu([kb, "bind", "--vault", str(vault), *at], project, env)
        print(f"bind, with the first index: {used:.2f} s of CPU")
        time.sleep(2.5)  # hashes of files younger than two seconds are not remembered
        for query in QUERIES:
            bound = [kb, "bind.search", query, "--limit", "16", "--json", *at]
            bare = child_command(project, store, query)
            cpu(bound, project, env)
            runs = []
            for _ in range(rounds):  # in turn, so that a busy machine burdens both alike
                one, wall, out = cpu(bound, project, env)
                two, _, answer = cpu(bare, vault, FIXED_ENV)
                runs.append((one, two, wall))
            one, two, wall = (statistics.median(column) for column in zip(*runs, strict=True))
            hits = len(json.loads(out)["hits"])
            print(
                f"{query!r}: {hits} hits, bound {one * 1000:.0f} ms, bare {two * 1000:.0f} ms, over it "
                f"{(one - two) * 1000:.0f} ms of CPU; wall {wall * 1000:.0f} ms; program printed {len(answer)} bytes"
            )


if __name__ == "__main__":
    main()
