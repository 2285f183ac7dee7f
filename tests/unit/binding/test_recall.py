"""``kb-recall``: the two command lines and nothing else, nothing written in the vault by a search, notes created once."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support import nobody
from support.cli import kb

from kbtasks import recall
from kbtasks.errors import AlreadyExists, KbError, NotFound, UsageError

REPOSITORY = Path(recall.__file__).parents[1]


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    root = Path(os.path.realpath(tmp_path)) / "vault"
    (root / "deep").mkdir(parents=True)
    (root / "retries.md").write_text(
        "---\ntags: [parser]\n---\n# Parser retries\n\nThey stop after three attempts. 再試行 🪶\n"
    )
    (root / "deep" / "start.md").write_text("# Start\n\nArt is not here. Retries of the parser are.\n")
    return root


def words(query: str, root: Path, limit: int = 8) -> list[str]:
    return ["search", query, "--root", str(root), "--mode", "exact", "--no-history", "--no-graph", "--limit", str(limit),
            "--json"]  # fmt: skip


def creation(root: Path, body: Path, id: str = "promoted-x", title: str = "T", tag: str = "kb-promoted") -> list[str]:
    return ["note", "create", id, "--title", title, "--type", "note", "--tag", tag, "--body-file", str(body),
            "--root", str(root), "--json"]  # fmt: skip


def state(root: Path) -> dict[str, tuple[object, ...]]:
    """Every file and folder below ``root`` with all that a write would change."""
    found = {}
    for path in sorted([root, *root.rglob("*")]):
        stat = path.lstat()
        changed = 0 if path.name.endswith("-wal") else stat.st_ctime_ns  # SQLite re-owns it whenever root opens it
        found[str(path)] = (stat.st_ino, stat.st_size, stat.st_mtime_ns, changed, stat.st_mode)
    return found


def start(argv: list[str], **options: object) -> subprocess.CompletedProcess[bytes]:
    code = "from kbtasks.recall import main; main()"
    env = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(REPOSITORY), "LC_ALL": "C.UTF-8"}
    return subprocess.run([sys.executable, "-c", code, *argv], env=env, capture_output=True, check=False, **options)  # type: ignore[call-overload,no-any-return]


def paths(answer: dict[str, object]) -> list[str]:
    return [hit["path"] for hit in answer["hits"]]  # type: ignore[attr-defined]


def test_a_search_names_notes_lines_and_text(vault: Path) -> None:
    answer = recall.run(words("再試行 🪶", vault))
    [hit] = answer["hits"]
    assert (hit["path"], hit["id"], hit["title"], hit["tags"]) == (
        "retries.md",
        "retries",
        "Parser retries",
        ["parser"],
    )
    assert "再試行 🪶" in hit["snippet"]
    assert sorted(paths(recall.run(words("parser retries", vault)))) == ["deep/start.md", "retries.md"]
    assert paths(recall.run(words("art", vault))) == ["deep/start.md"], "not in Start"
    assert paths(recall.run(words("nothing holds this", vault))) == []
    assert len(recall.run(words("parser", vault, 1))["hits"]) == 1


def test_a_search_writes_nothing_and_sees_every_change(vault: Path) -> None:
    before = state(vault)
    assert paths(recall.run(words("three attempts", vault))) == ["retries.md"]
    assert state(vault) == before, "without an index"
    assert kb("refresh", "--root", str(vault), cwd=vault).returncode == 0 or (vault / ".kbtasks").exists()
    before = state(vault)
    assert paths(recall.run(words("three attempts", vault))) == ["retries.md"]
    assert state(vault) == before, "with a fresh index"
    (vault / "new.md").write_text("three attempts, newly written")
    (vault / "deep" / "start.md").unlink()
    before = state(vault)
    assert sorted(paths(recall.run(words("three attempts", vault)))) == ["new.md", "retries.md"]
    assert paths(recall.run(words("art", vault))) == []
    assert state(vault) == before, "with a stale index"
    index = vault / ".kbtasks" / "index.db"
    index.write_bytes(b"garbage" * 1000)
    before = state(vault)
    assert sorted(paths(recall.run(words("three attempts", vault)))) == ["new.md", "retries.md"]
    assert state(vault) == before, "with a damaged index"


def test_the_same_answer_with_and_without_an_index(vault: Path) -> None:
    for number in range(30):
        (vault / f"n{number}.md").write_text(f"# Note {number}\n\nparser word{number % 3} retries\n")
    queries = ("parser", "parser retries", "word1", '"parser word2"', "n7", "Note 7", "#parser")
    without = [recall.run(words(query, vault, 16))["hits"] for query in queries]
    kb("refresh", "--root", str(vault), cwd=vault)
    with_index = [recall.run(words(query, vault, 16)) for query in queries]
    assert [answer["hits"] for answer in with_index] == without


def test_an_index_written_meanwhile_is_read_again(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kb("refresh", "--root", str(vault), cwd=vault)
    asked = []
    real = recall._search

    def disturbed(root: str, cache: str, query: str, limit: int, *, read_only: bool) -> dict[str, object]:
        asked.append(cache)
        answer = real(root, cache, query, limit, read_only=read_only)
        if len(asked) < 3:
            os.utime(vault / ".kbtasks" / "index.db")
        return answer

    monkeypatch.setattr(recall, "_search", disturbed)
    assert paths(recall.run(words("three attempts", vault))) == ["retries.md"]
    assert [Path(cache).name for cache in asked] == [".kbtasks", ".kbtasks", "none"]


@pytest.mark.parametrize(
    "change",
    [
        lambda line: line[:1],
        lambda line: [],
        lambda line: line[:-1],
        lambda line: [*line, "--verbose"],
        lambda line: [*line, "--json"],
        lambda line: [*line, "extra"],
        lambda line: ["search", "-v", *line[2:]],
        lambda line: [word.replace("exact", "hybrid") for word in line],
        lambda line: [word for word in line if word != "--no-graph"],
        lambda line: [word for word in line if word != "--no-history"],
        lambda line: ["0" if word == "8" else word for word in line],
        lambda line: ["101" if word == "8" else word for word in line],
        lambda line: ["٣" if word == "8" else word for word in line],
        lambda line: ["9" * 5000 if word == "8" else word for word in line],
        lambda line: ["list", *line[1:]],
    ],
)
def test_other_command_lines_are_refused(vault: Path, change: object) -> None:
    with pytest.raises(UsageError):
        recall.run(change(words("parser", vault)))  # type: ignore[operator]


def test_a_root_that_is_no_absolute_folder_is_refused(vault: Path) -> None:
    for root in ("vault", str(vault / "absent"), str(vault / "retries.md"), ""):
        line = words("parser", vault)
        line[3] = root
        with pytest.raises(NotFound):
            recall.run(line)


def test_a_note_is_created_once_and_never_over_another(vault: Path, tmp_path: Path) -> None:
    body = tmp_path / "body.md"
    body.write_text("A decision. 再 🪶\n\n---\nSource: task `t`.\n")
    first = recall.run(creation(vault, body))
    data = (vault / "promoted-x.md").read_bytes()
    assert first == {"changed": True, "path": "promoted-x.md", "revision": "sha256:" + hashlib.sha256(data).hexdigest()}
    assert data.decode().startswith("---\ntitle: T\ntype: note\ntags:")
    assert data.endswith(body.read_bytes())
    assert recall.run(creation(vault, body)) == {**first, "changed": False}
    for other, reason in (
        (creation(vault, body, title="U"), "title differs"),
        (creation(vault, body, tag="other"), "tag is missing"),
    ):
        with pytest.raises(AlreadyExists, match=reason):
            recall.run(other)
    body.write_text("Another.\n")
    with pytest.raises(AlreadyExists, match="text differs"):
        recall.run(creation(vault, body))
    assert (vault / "promoted-x.md").read_bytes() == data


@pytest.mark.parametrize("id", ["../out", "/etc/x", ".hidden", "a/../../b", "a\0b", "absent/x", "", "a\nb"])
def test_no_note_outside_the_vault(vault: Path, tmp_path: Path, id: str) -> None:
    body = tmp_path / "body.md"
    body.write_text("x")
    before = sorted(tmp_path.rglob("*.md"))
    with pytest.raises(KbError):
        recall.run(creation(vault, body, id=id))
    assert sorted(tmp_path.rglob("*.md")) == before


def test_as_a_process(vault: Path) -> None:
    done = start(words("再試行 🪶", vault))
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["hits"][0]["path"] == "retries.md"
    done = start(["search", "x"])
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"kb-recall: --root is missing\n"


def test_a_late_search_says_so_itself(vault: Path) -> None:
    code = "import sys; from kbtasks import recall; recall.SEARCH_SECONDS = 0.001; recall.main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *words("parser", vault)], cwd=REPOSITORY, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (10, b"")
    assert done.stderr == b"kb-recall: the search took longer than 0.001 s; an index makes it quick: kb refresh\n"


def test_a_pipe_as_body_and_a_full_output_end_it_in_one_line(vault: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(UsageError, match="not a regular file"):
        recall.run(creation(vault, pipe))
    if os.path.exists("/dev/full"):
        with open("/dev/full", "wb") as full:
            code = "from kbtasks.recall import main; main()"
            argv = [sys.executable, "-c", code, *words("parser", vault)]
            done = subprocess.run(argv, cwd=REPOSITORY, stdout=full, stderr=subprocess.PIPE, check=False)
        assert (done.returncode, done.stderr) == (10, b"kb-recall: No space left on device\n")


def test_no_task_runner_is_loaded(vault: Path) -> None:
    code = (
        "import sys, json; from kbtasks import recall; recall.run(json.loads(sys.argv[1]));"
        "print(*{name.split('.')[0] for name in sys.modules})"
    )
    line = json.dumps(words("parser", vault))
    done = subprocess.run(
        [sys.executable, "-c", code, line], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert not loaded & {"invoke", "doit", "jsonschema", "rich", "sqlite_utils", "rapidfuzz", "numpy", "mcp", "lxml"}


def test_an_answer_stays_within_64_kib(tmp_path: Path) -> None:
    root = Path(os.path.realpath(tmp_path)) / "v"
    folder = root
    for _ in range(15):
        folder = folder / ("é" * 120)
        folder.mkdir(parents=True)
    for number in range(16):
        tags = "\n".join(f"  - tag{'🪶' * 30}{tag}" for tag in range(60))
        (folder / f"{number}.md").write_text(f"---\ntags:\n{tags}\n---\nparser " + "再" * 1500)
    data = recall.to_bytes(recall.run(words("parser", root, 16)))
    assert len(data) <= 65_536
    answer = json.loads(data)
    assert answer["truncated"]
    assert answer["total"] == 16
    assert answer["hits"]


def test_a_vault_without_write_rights_is_searched() -> None:
    python = nobody.interpreter()
    with nobody.folder() as base:
        root = base / "vault"
        root.mkdir()
        (root / "a.md").write_text("parser retries")
        root.chmod(0o555)
        code = "from kbtasks.recall import main; main()"
        done = nobody.run(python, "-c", code, *words("retries", root), cwd=base, home=base)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["hits"][0]["path"] == "a.md"


def test_an_index_that_another_process_holds_open_is_read_and_left_alone(vault: Path) -> None:
    import sqlite3

    kb("refresh", "--root", str(vault), cwd=vault)
    other = sqlite3.connect(vault / ".kbtasks" / "index.db")
    other.execute("PRAGMA wal_autocheckpoint = 0")
    other.execute("CREATE TABLE held (x)")
    other.commit()
    assert (vault / ".kbtasks" / "index.db-wal").stat().st_size > 0
    before = state(vault)
    assert paths(recall.run(words("three attempts", vault))) == ["retries.md"]
    assert state(vault) == before
    for name in ("index.db-wal", "index.db"):  # as a killed process leaves it: a log, and nobody who keeps its map
        (vault / "copy").mkdir(exist_ok=True)
        (vault / "copy" / name).write_bytes((vault / ".kbtasks" / name).read_bytes())
    other.close()
    for name in ("index.db-wal", "index.db-shm", "index.db"):
        (vault / ".kbtasks" / name).unlink(missing_ok=True)
    for name in ("index.db-wal", "index.db"):
        (vault / "copy" / name).rename(vault / ".kbtasks" / name)
    (vault / "copy").rmdir()
    before = state(vault)
    assert paths(recall.run(words("three attempts", vault))) == ["retries.md"]
    assert state(vault) == before
