"""CPU and memory of the foundation as whole cold processes, interleaved with ripgrep, qmd and a bare Python.

    python bench/foundation.py VAULT --rounds 7 [--qmd FOLDER] [--notes 6500] [--write docs/benchmarks.md]

VAULT is copied first (with --notes a vault is generated instead). FOLDER is where ``npm install @tobilu/qmd better-sqlite3@12``
was run. The commands take turns, so that whatever else the machine does falls on all of them alike; figures are medians of user
and system time of the process and its children, and the highest resident set of any of them.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent))

from generated import make_vault

BEGIN, END = "<!-- bench:foundation:start -->", "<!-- bench:foundation:end -->"
WORD = "template"


class Measured:
    """What the runs of one command cost: CPU seconds and peak resident bytes of each."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.seconds: list[float] = []
        self.bytes = 0

    @property
    def cpu(self) -> float:
        return median(self.seconds)


def run(argv: list[str], env: dict[str, str], cwd: Path, expected: tuple[int, ...]) -> tuple[float, int]:
    """Run a command to its end: CPU seconds of it and its children, peak resident bytes."""
    child = subprocess.Popen(
        argv, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert child.stdout is not None
    output = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in expected:
        raise SystemExit(f"{argv} ended with {child.returncode}:\n{output.decode(errors='replace')[-2000:]}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def commands(
    vault: Path, place: Path, qmd: Path | None
) -> list[tuple[str, list[str], Callable[[], None], tuple[int, ...]]]:
    """(name, command line, what to do before, allowed exit codes) of every row of the table."""
    kb = str(Path(sys.executable).with_name("kb"))
    cache = ["--root", str(vault), "--cache", str(place / "cache")]
    cold = ["--root", str(vault), "--cache", str(place / "cold")]

    def nothing() -> None:
        pass

    def no_index() -> None:
        shutil.rmtree(place / "cold", ignore_errors=True)

    rows = [
        ("python -c pass", [sys.executable, "-c", "pass"], nothing, (0,)),
        ("kb --version", [kb, "--version"], nothing, (0,)),
        (f"rg -c {WORD}", ["rg", "-c", WORD, str(vault)], nothing, (0, 1)),
        ("kb search (keyword)", [kb, *cache, "search", WORD], nothing, (0,)),
        ("kb search --mode exact", [kb, *cache, "search", WORD, "--mode", "exact"], nothing, (0,)),
        ("kb refresh, nothing changed", [kb, *cache, "refresh"], nothing, (0,)),
        ("kb refresh, from nothing", [kb, *cold, "refresh"], no_index, (0,)),
    ]
    if qmd is not None:
        program = str(qmd / "node_modules" / ".bin" / "qmd")

        def no_collection() -> None:
            shutil.rmtree(place / "qmd-cold", ignore_errors=True)
            (place / "qmd-cold").mkdir()

        cold_env = ["env", f"XDG_CACHE_HOME={place / 'qmd-cold'}", f"XDG_CONFIG_HOME={place / 'qmd-cold'}"]
        rows += [
            ("qmd search", [program, "search", WORD], nothing, (0,)),
            ("qmd update, nothing changed", [program, "update"], nothing, (0,)),
            (
                "qmd collection add",
                [*cold_env, program, "collection", "add", str(vault), "--name", "v"],
                no_collection,
                (0,),
            ),
        ]
    return rows


RATIOS = (
    ("cold build", "kb refresh, from nothing", "qmd collection add", 0.4),
    ("nothing-changed refresh", "kb refresh, nothing changed", "qmd update, nothing changed", 0.2),
    ("keyword search", "kb search (keyword)", "rg -c", 1.2),
    ("exact search", "kb search --mode exact", "rg -c", 1.6),
    ("keyword search", "kb search (keyword)", "qmd search", 0.3),
    ("kb --version", "kb --version", "python -c pass", 2.0),
)


def table(measured: dict[str, Measured], notes: int, rounds: int) -> str:
    """The figures as Markdown."""
    lines = [
        f"{notes} notes, {rounds} rounds, medians.",
        "",
        "| command | CPU ms | peak MB |",
        "|---|---|---|",
        *(f"| `{each.name}` | {each.cpu * 1000:.0f} | {each.bytes / 1e6:.0f} |" for each in measured.values()),
        "",
        "| what | against | ratio | aim |",
        "|---|---|---|---|",
    ]
    for what, one, other, aim in RATIOS:
        peer = next((each for name, each in measured.items() if name.startswith(other)), None)
        if peer is not None:
            lines.append(f"| {what} | `{peer.name}` | {measured[one].cpu / peer.cpu:.2f} | {aim} |")
    return "\n".join(lines)


def main() -> None:
    """Measure and print; with --write also put the table between the marks of a page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("vault", nargs="?", type=Path)
    parser.add_argument("--notes", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--qmd", type=Path)
    parser.add_argument("--write", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kb-bench-") as folder:
        place = Path(folder)
        vault = place / "vault"
        if given.notes:
            make_vault(vault, given.notes)
        else:
            shutil.copytree(given.vault, vault)
        env = {
            "PATH": os.environ["PATH"],
            "HOME": folder,
            # an installed package has its compiled modules beside it; here they are kept apart, made by the first round
            "PYTHONPYCACHEPREFIX": str(place / "pyc"),
            "XDG_CACHE_HOME": str(place / "qmd"),
            "XDG_CONFIG_HOME": str(place / "qmd"),
        }
        rows = commands(vault, place, given.qmd)
        if given.qmd is not None:
            program = str(given.qmd / "node_modules" / ".bin" / "qmd")
            run([program, "collection", "add", str(vault), "--name", "v"], env, vault, (0,))
        measured = {name: Measured(name) for name, *_ in rows}
        for turn in range(given.rounds + 1):
            for name, argv, before, expected in rows:
                before()
                seconds, size = run(argv, env, vault, expected)
                if turn:  # the first round fills the page cache and makes the index
                    measured[name].seconds.append(seconds)
                    measured[name].bytes = max(measured[name].bytes, size)
        text = table(measured, sum(1 for _ in vault.rglob("*.md")), given.rounds)
    print(text)
    if given.write is not None:
        page = given.write.read_text(encoding="utf-8")
        head, _, rest = page.partition(BEGIN)
        given.write.write_text(head + BEGIN + "\n" + text + "\n" + END + rest.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    main()
