"""The main job, shown: a copy of the example vault is catalogued, cross-linked and searched; then a note is edited."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

VAULT = Path(__file__).resolve().parent / "vault"


def kb(line: str, vault: Path) -> None:
    """Show the command line, run it for real in ``vault``, show its output."""
    print(f"\n$ kb {line}", flush=True)
    done = subprocess.run([sys.executable, "-m", "kbtasks", *shlex.split(line)], cwd=vault, check=False)
    if done.returncode not in (0, 3):
        sys.exit(done.returncode)


def main() -> None:
    """Run the walk on a copy, so that the example stays as it is."""
    with tempfile.TemporaryDirectory() as folder:
        vault = Path(folder) / "vault"
        shutil.copytree(VAULT, vault, ignore=shutil.ignore_patterns(".kbtasks"))
        os.environ["COLUMNS"] = "110"
        found = len(list(vault.rglob("*.md")))
        print(
            f"A copy of examples/vault: {found} Markdown files (AGENTS.md is a guide, templates/ is ignored by its kb.toml)."
        )
        kb("refresh", vault)
        kb("search why does the parser give up --limit 3", vault)
        kb("search 数据库 --mode exact --limit 3", vault)
        kb("backlinks parser-contract", vault)
        print("\n# The faults that the example plants in faults/, all at once:")
        kb("check --limit 5", vault)
        note = vault / "notes" / "backoff.md"
        print("\n# A sentence is added to notes/backoff.md: the next answer knows it, with no refresh in between.")
        note.write_text(note.read_text(encoding="utf-8") + "\nThe pause is drawn from a hat.\n", encoding="utf-8")
        kb('search "drawn from a hat" --mode exact', vault)
        note.write_text(note.read_text(encoding="utf-8") + "It is never the same hat.\n", encoding="utf-8")
        print("\n# Another sentence: only what depends on prose is rebuilt, index.md is not.")
        kb("refresh --explain", vault)
        note.rename(note.with_name("waiting.md"))
        print("\n# A rename changes what links mean: index.md and the backlinks follow.")
        kb("refresh --explain", vault)


if __name__ == "__main__":
    main()
