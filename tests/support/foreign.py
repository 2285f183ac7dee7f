"""A small foreign search program, as somebody else would write one, and a project to bind it to."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from kbtasks.binding.binding import make_pin, store_binding
from kbtasks.binding.stored import Place

#: Searches by plain substring and creates notes; modes for faults come from a file beside the vault, never the caller.
PROGRAM = """#!{python}
import hashlib, json, os, sys, time
words = sys.argv[1:]
with open({log!r}, "a") as log:
    log.write(json.dumps([words, sorted(os.environ), os.getcwd(), os.getpid()]) + chr(10))
mode = open({mode!r}).read().strip() if os.path.exists({mode!r}) else ""
root = words[words.index("--root") + 1]
if mode.startswith("exec:"):
    exec(mode[5:])
if words[0] == "search":
    query, limit = words[1], int(words[words.index("--limit") + 1])
    hits = []
    for folder, _, names in os.walk(root):
        for name in sorted(names):
            path = os.path.join(folder, name)
            if name.endswith(".md"):
                text = open(path, encoding="utf-8", errors="replace").read()
                if query.casefold() in text.casefold():
                    hits.append(dict(path=os.path.relpath(path, root), title=name[:-3], line=1, snippet=text[:200]))
    print(json.dumps(dict(hits=hits[:limit])))
elif words[:2] == ["note", "create"]:
    name = words[2] + ".md"
    body = open(words[words.index("--body-file") + 1], encoding="utf-8").read()
    tags = [words[i + 1] for i, word in enumerate(words) if word == "--tag"]
    title = words[words.index("--title") + 1]
    data = ("---" + chr(10) + "title: " + json.dumps(title) + chr(10) + "tags: " + json.dumps(tags) + chr(10)
            + "---" + chr(10) + chr(10) + body).encode()
    path = os.path.join(root, name)
    changed = False
    if os.path.exists(path):
        if open(path, "rb").read() != data:
            sys.exit("the note exists already and differs")
    else:
        temporary = path + ".new"
        with open(temporary, "wb") as file:
            file.write(data)
        os.rename(temporary, path)
        changed = True
    if mode.startswith("after:"):
        exec(mode[6:])
    print(json.dumps(dict(changed=changed, path=name, revision="sha256:" + hashlib.sha256(data).hexdigest())))
"""


class Bench:
    """A vault, a project, a foreign program and a private store below one folder.

    mode: what the program does besides: ``exec:CODE`` at its start, ``after:CODE`` when the note is written.
    """

    def __init__(self, folder: Path, *, bound: bool = True, program: str | None = None) -> None:
        self.folder = Path(os.path.realpath(folder))
        self.vault = self.folder / "vault"
        self.project = self.folder / "project"
        self.store = self.folder / "store"
        self.program = self.folder / "tools" / "finder"
        for path in (self.vault, self.project, self.program.parent, self.folder / "home"):
            path.mkdir(mode=0o755, parents=True)
        (self.project / ".git").mkdir()
        (self.vault / "retries.md").write_text("# Retries\n\nParser retries stop after three attempts. 再試行 🪶\n")
        text = PROGRAM.format(python=sys.executable, log=str(self.folder / "log"), mode=str(self.folder / "mode"))
        self.program.write_text(program if program is not None else text)
        self.program.chmod(0o755)
        self.place = Place(
            uid=os.getuid(), home=str(self.folder / "home"), search_path=os.environ["PATH"], store=str(self.store)
        )
        if bound:
            self.bind()

    def bind(self, revision: int | None = None, **options: str) -> dict[str, object]:
        """Bind the program to the project."""
        with self.place.registry(must_write=True) as registry:
            pin = make_pin(
                registry,
                self.place,
                str(self.project),
                vault=str(options.get("vault", self.vault)),
                program=str(options.get("program", self.program)),
                trees=(),
                start=options.get("start", "auto"),
                override=options.get("override", ""),
            )
            return store_binding(registry, str(self.project), pin, revision=revision, action="bind")[0]

    def mode(self, text: str) -> None:
        """What the program does besides from now on."""
        (self.folder / "mode").write_text(text)

    @property
    def calls(self) -> list[list[object]]:
        """What the program saw at each start: words, environment names, working directory, its process number."""
        import json

        log = self.folder / "log"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
