"""A bare name found in the vault, in the current folder or through PATH: never run, never bound."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.cli import kb
from support.foreign import Bench

TRAPS = ("qmd", "rg", "git", "pdftotext", "kb-recall", "env", "python3", "sh")


@pytest.mark.parametrize("inside", ["project", "trap"])
def test_nothing_of_a_trap_folder_runs(tmp_path: Path, inside: str) -> None:
    bench = Bench(tmp_path, bound=False)
    ran = bench.folder / "ran"
    trap = bench.project / "trap"
    trap.mkdir()
    for name in TRAPS:
        (trap / name).write_text(f"#!/bin/sh\ntouch {ran}\n")
        (trap / name).chmod(0o755)
    cwd = bench.project if inside == "project" else trap
    note = bench.folder / "note.md"
    note.write_text("A decision.\n")
    common = ("--project", str(bench.project), "--store", str(bench.store), "--json")
    for path in (":.:trap:/usr/bin:/bin", ""):
        env = {"HOME": bench.place.home, "PATH": path}
        for words in (
            ("bind", "--vault", str(bench.vault), "--program", str(bench.program)),
            ("bind", "--vault", str(bench.vault), "--program", "qmd"),
            ("bind", "--vault", str(bench.vault), "--program", "./qmd"),
            ("bind.status",),
            ("bind.search", "retries"),
            ("promote", "t-1", "--body-file", str(note)),
            ("promote.receipts",),
            ("bind.recent",),
        ):
            done = kb(*words, *common, cwd=cwd, env=env)
            assert done.returncode in {0, 2, 4, 5}, done.stdout
            assert "Traceback" not in done.stderr
    assert not ran.exists()


def test_a_program_inside_the_vault_is_refused(tmp_path: Path) -> None:
    bench = Bench(tmp_path, bound=False)
    trap = bench.vault / "qmd"
    trap.write_text("#!/bin/sh\necho\n")
    trap.chmod(0o755)
    done = kb("bind", "--vault", str(bench.vault), "--program", str(trap), "--store", str(bench.store), "--json",
              cwd=bench.project, env={"HOME": bench.place.home})  # fmt: skip
    assert done.returncode == 5
    assert "lies in the vault" in done.stdout
