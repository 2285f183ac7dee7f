"""CPU of backlinks, links, context and list on a generated vault, as whole cold processes, beside one that only sweeps.

    python bench/graph.py --notes 100000 --rounds 9

The commands take turns, so that whatever else the machine does falls on all of them alike. Figures are medians of user and system time.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent))

from generated import make_vault, name

SWEEP = (
    "import sys\nfrom kbtasks.command import Context\nfrom kbtasks.index.view import open_view\n"
    "with open_view(sys.argv[1], sys.argv[1] + '/.kbtasks') as view:\n    view.connection.execute('SELECT 1').fetchone()\n"
)


def environment(folder: str) -> dict[str, str]:
    """The environment of an installed program: its modules are compiled once, here into ``folder``."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPYCACHEPREFIX": folder}


def cpu(words: list[str], root: Path, env: dict[str, str]) -> float:
    """Milliseconds of user and system time of one process and what it started; its exit code must be 0 or 3."""
    before = getrusage(RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, *words], cwd=root, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False
    )
    after = getrusage(RUSAGE_CHILDREN)
    assert done.returncode in (0, 3), done.stderr.decode()
    return 1000 * (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)


def commands(notes: int) -> dict[str, list[str]]:
    """The lines that are measured."""
    start = ["-m", "kbtasks"]
    near, hub = name(notes // 2), name(7)
    lines = {
        "sweep only": ["-c", SWEEP, "."],
        "backlinks (a note with few)": [*start, "backlinks", near, "--root", ".", "--json"],
        "backlinks (a hub, first 100)": [*start, "backlinks", hub, "--root", ".", "--json"],
        "links --depth 1": [*start, "links", near, "--root", ".", "--json"],
        "links --depth 3": [*start, "links", near, "--depth", "3", "--root", ".", "--json"],
        "context (no note matches)": [*start, "context", "packages/none/x.py", "--root", ".", "--repo", ".", "--json"],
        "context (500 notes match)": [
            *start,
            "context",
            "packages/p0/src/m0/x.py",
            "--root",
            ".",
            "--repo",
            ".",
            "--json",
        ],
        "relation.list": [*start, "relation.list", near, "--root", ".", "--json"],
    }
    from kbtasks.tasks.table import TABLE

    if "list" in TABLE:
        lines["list --limit 50"] = [*start, "list", "--limit", "50", "--root", ".", "--json"]
    return lines


def main() -> None:
    """Make the vault, build its index once, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notes", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument(
        "--folder", type=Path, default=None, help="Where the vault is made, or lies from an earlier run."
    )
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as spare:
        root = given.folder or Path(spare) / "kb"
        if not root.is_dir():
            make_vault(root, given.notes)
        lines = commands(given.notes)
        env = environment(str(Path(spare) / "compiled"))
        print(f"first build of the index: {cpu(lines['sweep only'], root, env) / 1000:.1f} s of CPU", flush=True)
        taken: dict[str, list[float]] = {what: [] for what in lines}
        for words in lines.values():
            cpu(words, root, env)
        for _ in range(given.rounds):
            for what, words in lines.items():
                taken[what].append(cpu(words, root, env))
        floor = median(taken["sweep only"])
        print(f"{given.notes} notes, median CPU of {given.rounds} processes\n")
        print("| command | ms | above the sweep |\n|---|---|---|")
        for what, times in taken.items():
            print(f"| {what} | {median(times):.0f} | {median(times) - floor:+.0f} |")


if __name__ == "__main__":
    main()
