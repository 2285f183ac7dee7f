"""The whole walk of the resource memory, by real commands: capture, pull, review, search, sync to a file and to PostgreSQL.

``python examples/resources/walk.py`` keeps everything in a temporary folder. ``--postgresql '{"host": "/run/postgresql",
"dbname": "me"}'`` also walks to that server; its password, if any, comes from libpq's own files.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent


def kb(line: str, folder: Path, answer: str = "") -> str:
    """Show the command line, run it on the walk's own store, show what it prints; 9 (held back until reviewed) is fine."""
    print(f"$ kb {line}", flush=True)
    words = [sys.executable, "-m", "kbtasks", *shlex.split(line), "--store", "memory.db"]
    done = subprocess.run(words, cwd=folder, input=answer, capture_output=True, encoding="utf-8", check=False)
    if done.returncode not in (0, 9):
        sys.exit(done.stderr)
    if "--json" not in words:  # the key of a configuration is another in every folder
        print("".join(each for each in done.stdout.splitlines(keepends=True) if not each.startswith("key: ")), end="")
    return done.stdout


def write(folder: Path, name: str, value: object) -> None:
    """Write a configuration or a file of the walk."""
    (folder / name).write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")


def reviewed(item: dict[str, object]) -> dict[str, object]:
    """What an agent answers after reading a record; here nothing is known but the words."""
    guards = {key: item[key] for key in ("id", "sourceRevision", "resourceRevision")}
    return {**guards, "summary": "A fictional saved post.", "purpose": "", "useWhen": [], "limitations": ["Fictional."]}


def walk(folder: Path, server: dict[str, object] | None) -> None:
    """Every step once; ``server`` holds the connection fields of a postgresql provider."""
    kb("resource.capture --bookmarks bookmarks.json", folder)
    source = {"kind": "command", "scope": "personal", "provider": "demo", "account": "me", "pagination": "cursor",
              "incremental": "rescan", "command": [sys.executable, str(HERE / "source_adapter.py"), str(folder / "saved.json")]}  # fmt: skip
    saved = {
        "id": "7",
        "url": "https://birds.example/7",
        "title": "Owls in snow",
        "text": "Owls hear mice under snow. 雪",
    }
    write(folder, "saved.json", [{**saved, "updatedAt": "2026-10-01T00:00:00.000Z"}])
    write(folder, "source.json", source)
    kb("resource.pull --source-config source.json", folder)
    pending = json.loads(kb("resource.pending --json", folder))["items"]
    kb("resource.distill -", folder, json.dumps([reviewed(item) for item in pending]))
    kb("resource.search owls in snow", folder)
    write(folder, "file.json", {"kind": "file", "scope": "personal", "path": str(folder / "copy.json")})
    kb("sync --all --provider-config file.json --dry-run", folder)
    kb("sync --all --provider-config file.json", folder)
    kb("sync.verify --provider-config file.json", folder)
    if server is not None:
        write(folder, "pg.json", {"kind": "postgresql", "scope": "personal", "namespace": "mine", **server})
        kb("sync.prepare --provider-config pg.json", folder)
        kb("sync --all --provider-config pg.json", folder)
        kb("sync.verify --provider-config pg.json", folder)
        kb("resource.search owls in snow --provider-config pg.json", folder)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary).resolve()
        place.chmod(0o700)
        (place / "bookmarks.json").write_bytes((HERE / "bookmarks.json").read_bytes())
        walk(place, json.loads(sys.argv[2]) if sys.argv[1:2] == ["--postgresql"] else None)
