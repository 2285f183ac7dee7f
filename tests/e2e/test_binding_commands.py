"""The binding's commands as a person and a script use them: own launcher, exit codes, documents that fit their schemas."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.foreign import Bench
from support.installed import install

from kbtasks import schema

Kb = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def bin_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(Path(os.path.realpath(tmp_path_factory.mktemp("installed"))))


class Desk:
    """A project and a vault, with an installed ``kb``."""

    def __init__(self, folder: Path, bin_folder: Path) -> None:
        self.bench = Bench(folder, bound=False)
        self.bin = bin_folder

    def __call__(self, *words: str, code: int = 0, input: str | None = None) -> dict[str, Any]:
        """Run ``kb WORDS --json`` in the project: its document, checked against its schema."""
        done = subprocess.run(
            [str(self.bin / "kb"), *words, "--json"], cwd=self.bench.project, input=input, text=True,
            env={"HOME": self.bench.place.home, "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}, capture_output=True,
            timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == code, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        document: dict[str, Any] = json.loads(done.stdout)
        assert schema.problems(document["schema"].split("/")[1], document) == []
        return document


@pytest.fixture
def desk(tmp_path: Path, bin_folder: Path) -> Desk:
    return Desk(tmp_path, bin_folder)


def listing(vault: Path) -> list[str]:
    return sorted(str(path.relative_to(vault)) for path in vault.rglob("*"))


def test_the_whole_way_with_our_own_launcher(desk: Desk) -> None:
    vault = desk.bench.vault
    assert desk("bind.status", code=4)["error"]["code"] == "not-bound"
    binding = desk("bind", "--vault", "../vault")
    pin = binding["pin"]
    assert pin["program"]["path"] == str(desk.bin / "kb-recall")
    assert pin["interpreters"][0]["written"] == str(desk.bin / "python")
    assert pin["environment"]["path"] == str(desk.bin.parent / "pyvenv.cfg")
    assert pin["boot"]
    assert {Path(root).name for root in pin["packages"]["roots"]} >= {"kbtasks", "yaml"}
    assert not any(Path(root).name == "rich" for root in pin["packages"]["roots"]), "kb-recall loads no rich"
    assert binding["changed"]
    assert not desk("bind", "--vault", "../vault")["changed"]

    before = listing(vault)
    found = desk("bind.search", "三", "--limit", "3")
    assert found["hits"] == []
    found = desk("bind.search", "parser retries", "--limit", "3")
    assert [hit["path"] for hit in found["hits"]] == ["retries.md"]
    assert "再試行" in found["hits"][0]["text"]
    assert "historical" in found["notice"]
    assert listing(vault) == before, "a search leaves nothing in the vault"
    (vault / "later.md").write_text("Written later: parser retries.")
    assert len(desk("bind.search", "parser retries")["hits"]) == 2
    assert desk("bind.status")["ok"]

    note = "Parser retries stop after three attempts.\r\n"
    shown = desk("promote", "t-41", "--body-file", "-", "--session", "s-7", "--dry-run", input=note)
    assert shown["command"][0] == str(desk.bin / "python")
    assert not (vault / shown["path"]).exists()
    saved = desk("promote", "t-41", "--body-file", "-", "--session", "s-7", input=note)
    assert saved["saved"]
    assert (vault / saved["path"]).read_text().endswith(shown["text"])
    assert not desk("promote", "t-41", "--body-file", "-", "--session", "s-7", input=note)["saved"]
    assert desk("bind.search", "stop after three attempts")["total"] == 2
    assert desk("bind.search", "kb-promoted")["total"] == 1
    [receipt] = desk("promote.receipts")["receipts"]
    assert (receipt["status"], receipt["vault_state"]) == ("confirmed", "present")
    (vault / saved["path"]).unlink()
    [receipt] = desk("promote.receipts")["receipts"]
    assert (receipt["vault_state"], "--again" in receipt["next"]) == ("missing", True)
    error = desk("promote", "t-41", "--body-file", "-", "--session", "s-7", input=note, code=5)["error"]
    assert error["details"]["vault_state"] == "missing"
    assert desk("promote", "t-41", "--body-file", "-", "--session", "s-7", "--again", input=note)["saved"]
    assert desk("promote.recover")["receipts"] == []


def test_a_changed_file_behind_the_unchanged_launcher_is_drift_until_rebound(desk: Desk) -> None:
    desk("bind", "--vault", "../vault")
    source = next((desk.bin.parent / "lib").glob("python3*")) / "site-packages" / "kbtasks" / "recall.py"
    text = source.read_text()
    try:
        source.write_text(text + "\n# upgraded\n")
        status = desk("bind.status", code=6)
        assert [fact["fact"] for fact in status["facts"] if fact["state"] != "ok"] == ["packages.sha256"]
        assert status["next"] == "kb bind.rebind"
        error = desk("bind.search", "retries", code=6)["error"]
        assert (error["code"], error["details"]["fact"]) == ("drift", "packages.sha256")
        assert [change["fact"] for change in desk("bind.rebind", "--dry-run")["changes"]] == ["packages.sha256"]
        assert desk("bind.rebind")["revision"] == 2
        assert desk("bind.search", "retries")["total"] == 1
        assert [entry["action"] for entry in desk("bind.log")["entries"]] == ["rebind", "bind"]
    finally:
        source.write_text(text)


def test_lists_and_removal(desk: Desk) -> None:
    assert desk("bind.list")["bindings"] == []
    assert not (Path(desk.bench.place.home) / ".local").exists(), "asking makes no store"
    desk("bind", "--vault", "../vault")
    store = Path(desk.bench.place.home) / ".local" / "share" / "kbtasks"
    assert (store.stat().st_mode & 0o777, (store / "bindings.db").stat().st_mode & 0o777) == (0o700, 0o600)
    assert [entry["project"] for entry in desk("bind.list")["bindings"]] == [str(desk.bench.project)]
    assert len(list((store / "index").iterdir())) == 1
    assert desk("bind.remove", code=2)["error"]["next"] == "kb bind.remove --revision 1"
    assert desk("bind.remove", "--revision", "1")["removed"]
    assert list((store / "index").iterdir()) == []
    assert desk("bind.log", "--all")["total"] == 2
    assert desk("bind.search", "x", code=4)["error"]["code"] == "not-bound"
    assert desk("bind", "--vault", "../vault")["revision"] == 3 - 1


def test_errors_have_codes_and_exit_codes(desk: Desk) -> None:
    bench = desk.bench
    for words, code, name in (
        (("bind",), 2, "usage"),
        (("bind", "--vault", "../absent"), 4, "not-found"),
        (("bind", "--vault", "../vault", "--program", "no-such-program"), 4, "not-found"),
        (("bind", "--vault", "../vault", "--program", "./finder"), 2, "usage"),
        (("bind", "--vault", "../vault", "--start", "sideways"), 2, "usage"),
        (("bind", "--vault", "../vault", "--revision", "4"), 5, "conflict"),
        (("bind.search", "x", "--limit", "17"), 2, "usage"),
        (("bind.search", "--query=-x"), 2, "usage"),
        (("bind.search", "x", "--project", "/etc"), 2, "usage"),
        (("promote", "a b", "--body-file", "-"), 2, "usage"),
        (("promote", "t", "--body-file", "absent.md"), 4, "not-found"),
        (("promote.recover", "ffff"), 4, "not-found"),
        (("task.note", "t", "--title", "T"), 2, "usage"),
        (("bind.recent", "--limit", "33"), 2, "usage"),
    ):
        assert desk(*words, code=code, input="A note.\n")["error"]["code"] == name, words
    desk("bind", "--vault", "../vault", "--program", str(bench.program))
    bench.mode("exec:sys.exit('closed today')")
    error = desk("bind.search", "x", code=10)["error"]
    assert (error["code"], "closed today" in error["message"]) == ("program-failed", True)
    assert desk("promote", "t", "--body-file", "-", input="A note.\n", code=5)["error"]["code"] == "refused"
    bench.mode("exec:print('no json'); sys.exit(0)")
    assert desk("bind.search", "x", code=10)["error"]["code"] == "bad-output"
    error = desk("promote", "t", "--body-file", "-", input="A note.\n", code=7)["error"]
    assert error["code"] == "uncertain"
    assert schema.problems("promotion-receipt", error["details"]["receipt"]) == []
    assert desk("promote.receipts")["receipts"][0]["status"] == "uncertain"
    assert desk("promote.recover", error["details"]["receipt"]["request"][:9])["receipts"][0]["status"] == "not_started"


def test_an_answer_keeps_its_form_within_max_bytes(desk: Desk) -> None:
    for number in range(16):
        (desk.bench.vault / f"n{number}.md").write_text('common \\ " \t words ' * 100)
    desk("bind", "--vault", "../vault", "--program", str(desk.bench.program))
    for limit in ("3000", "1200"):
        found = desk("bind.search", "common", "--limit", "16", "--max-bytes", limit)
        assert found["truncated"]
        assert len(json.dumps(found, ensure_ascii=False, separators=(",", ":")).encode()) <= int(limit)
