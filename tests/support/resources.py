"""A resource store to test with: commands run in this process, records, adapters as real programs."""

from __future__ import annotations

import io
import json
import os
import stat
import sys
from pathlib import Path
from typing import Any

from kbtasks import cli, schema

EXAMPLE: dict[str, Any] = {
    "source": {"provider": "web", "id": "fictional-dialog-guide", "url": "https://example.com/dialog-guide"},
    "title": "Fictional accessible dialog guide",
    "text": "A fictional reference about keyboard focus and dialog accessibility.",
    "summary": "A sample checklist, not a real product recommendation.",
    "purpose": "Review keyboard behavior in React dialogs",
    "useWhen": ["React dialog accessibility review"],
    "limitations": ["Fictional test resource; not independently verified"],
    "savedReason": None,
    "updatedAt": "2026-10-07T00:00:00.000Z",
}
EXAMPLE_ID = "resource_e6030e7a46ceae274d1f608ea3873d83ecbb532113359bbcce333adfce358a56"
COMPAT = "--exit-compat"


def record(identity: str = "1", **changes: Any) -> dict[str, Any]:
    """A small valid resource of provider ``demo``."""
    return {
        "source": {"provider": "demo", "id": identity, "url": f"https://birds.example/{identity}"},
        "title": f"Item {identity}",
        "text": f"Text of item {identity}",
        "summary": "",
        "purpose": "",
        "useWhen": [],
        "limitations": [],
        "savedReason": None,
        "updatedAt": "2026-05-01T08:00:00.000Z",
        **changes,
    }


class Memory:
    """A store in ``folder`` and the commands on it, run in this process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = folder / "private" / "store.db"
        self.words = ("--store", str(self.store))
        self.files = 0

    def file(self, content: Any, name: str = "") -> str:
        """A file in the folder with ``content`` (JSON unless text or bytes); its path."""
        self.files += 1
        path = self.folder / (name or f"input-{self.files}.json")
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return str(path)

    @staticmethod
    def read(path: str | Path) -> Any:
        """The JSON document at ``path``."""
        return json.loads(Path(path).read_text(encoding="utf-8"))

    def run(self, *words: str, input: Any = None, store: bool = True) -> tuple[int, str, str]:
        """Exit code, stdout and stderr of ``kb WORDS``."""
        data = input if isinstance(input, bytes) else json.dumps(input).encode() if input is not None else b""
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
        stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(data)), encoding="utf-8")  # type: ignore[arg-type]
        old = sys.stdout, sys.stderr, sys.stdin
        sys.stdout, sys.stderr, sys.stdin = out, err, stdin
        try:
            code = cli.run([*words, *(self.words if store else ())])
        finally:
            sys.stdout, sys.stderr, sys.stdin = old
        out.flush()
        err.flush()
        texts = [stream.buffer.getvalue().decode("utf-8") for stream in (out, err)]  # type: ignore[attr-defined]
        assert "Traceback" not in texts[1]
        assert "This is a bug" not in "".join(texts), texts
        return code, texts[0], texts[1]

    def __call__(self, *words: str, code: int = 0, input: Any = None, store: bool = True) -> dict[str, Any]:
        """The JSON document of ``kb WORDS --json``, checked against its schema; the exit code must be ``code``."""
        got, out, err = self.run(*words, "--json", input=input, store=store)
        assert got == code, (got, out, err)
        document = json.loads(out)
        assert isinstance(document, dict)
        name = document["schema"].split("/")[1]
        assert schema.problems(name, document) == []
        return document

    def compat(self, *words: str, code: int = 0, input: Any = None) -> dict[str, Any]:
        """The document of the compatible form."""
        got, out, err = self.run(*words, COMPAT, input=input)
        assert got == code, (got, out, err)
        document = json.loads(out)
        assert isinstance(document, dict)
        assert "schema" not in document
        assert out == json.dumps(document, indent=2, ensure_ascii=False) + "\n"
        return document

    def put(self, *resources: dict[str, Any], code: int = 0) -> dict[str, Any]:
        """Put resources."""
        return self("resource.put", "-", input=list(resources) if len(resources) > 1 else resources[0], code=code)

    def get(self, identity: str) -> dict[str, Any]:
        """The stored resource without the document's schema."""
        document = self("resource.get", identity)
        del document["schema"]
        return document

    def titles(self) -> list[str]:
        """Titles of all records, in the order of their last write, latest first."""
        return [item["title"] for item in self("resource.list", "--limit", "1000")["resources"]]

    def program(self, code: str, name: str = "") -> str:
        """An executable Python program; its path. ``request`` is the request, ``answer(**parts)`` prints and ends."""
        self.files += 1
        path = self.folder / (name or f"adapter-{self.files}.py")
        path.write_text(f"#!{sys.executable} -I\n{_PRELUDE}{code}\n", encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    def command_provider(self, code: str, *arguments: str, **more: Any) -> str:
        """The configuration file of a command provider that runs ``code``."""
        command = [self.program(code), *arguments]
        return self.file({"kind": "command", "scope": "personal", "namespace": "test", "command": command, **more})

    def file_provider(self, name: str = "target.json") -> tuple[str, Path]:
        """The configuration file of a file provider, and the file it names."""
        target = self.folder / name
        return self.file({"kind": "file", "scope": "personal", "path": str(target)}), target

    def source(self, code: str, *arguments: str, **more: Any) -> str:
        """The configuration file of a source that runs ``code``."""
        config = {
            "kind": "command",
            "scope": "personal",
            "provider": "demo",
            "account": "@me",
            "pagination": "single",
            "incremental": "rescan",
            "command": [self.program(code), *arguments],
            **more,
        }
        return self.file(config)


_PRELUDE = """
import json, os, sys, time
request = json.loads(sys.stdin.buffer.readline() or b"null")
def answer(**parts):
    base = {"protocol": request["protocol"], "ok": True}
    if request["operation"] == "fetch":
        base |= {"provider": request["provider"], "account": request["account"], "items": [], "nextCursor": None,
                 "checkpoint": None, "coverage": "full"}
    elif request["operation"] != "search":
        base |= {"id": request["id"], "revision": request["revision"]}
    print(json.dumps(base | parts))
    sys.exit(0)
def item(n, **parts):
    return {"id": str(n), "url": f"https://birds.example/{n}", "title": f"Item {n}", "text": f"Text of item {n}",
            "updatedAt": None} | parts
"""
#: A memory service in one JSON file: put by id, delete, search by containing a word. Its argument is the file.
SERVICE = """
path = sys.argv[1]
held = json.load(open(path)) if os.path.exists(path) else {}
if request["operation"] == "upsert":
    held[request["id"]] = request["resource"]
elif request["operation"] == "delete":
    held.pop(request["id"], None)
else:
    words = request["query"].lower().split()
    found = [r for r in held.values() if any(w in json.dumps(r).lower() for w in words)]
    answer(resources=found[: request["limit"]])
with open(path + ".tmp", "w") as file:
    json.dump(held, file)
os.replace(path + ".tmp", path)
answer()
"""


def modes(*paths: Path) -> list[int]:
    """Permission bits of ``paths``."""
    return [stat.S_IMODE(os.stat(path).st_mode) for path in paths]
