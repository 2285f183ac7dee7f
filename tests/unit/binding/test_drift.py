"""Every pinned fact, changed on disk one at a time: named, with old and new; and bindings replaced with care."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from pathlib import Path

import pytest
from support.foreign import PROGRAM, Bench

from kbtasks.binding import hashing, identity
from kbtasks.binding.binding import (
    audit_trail,
    make_pin,
    rebind,
    remove_binding,
    store_binding,
)
from kbtasks.binding.search import search
from kbtasks.binding.stored import require_binding
from kbtasks.binding.verify import verify
from kbtasks.errors import Conflict, Drift, KbError, NotBound, UsageError


def drifted(bench: Bench) -> dict[str, str]:
    """State of every fact that is not ok."""
    with bench.place.registry() as registry:
        pin = require_binding(registry, str(bench.project))["pin"]
        with verify(pin, uid=bench.place.uid, memory=registry) as outcome:
            return {fact.name: fact.state for fact in outcome.facts if fact.state != "ok"}


def refused(bench: Bench) -> str:
    """The fact that a search names when it is refused."""
    calls = len(bench.calls)
    with pytest.raises(Drift) as caught:
        search(bench.place, str(bench.project), "retries")
    assert len(bench.calls) == calls, "the program must not run"
    assert caught.value.exit_code == 6
    return str(caught.value.details["fact"])


def test_nothing_drifts_by_itself(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    (bench.vault / "new.md").write_text("a note more")
    assert drifted(bench) == {}
    assert search(bench.place, str(bench.project), "retries")["total"] == 1


def test_changed_program(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.program.write_text(bench.program.read_text() + "# more\n")
    assert drifted(bench) == {"program.sha256": "changed"}
    assert refused(bench) == "program.sha256"


def test_same_size_replacement_with_the_old_times(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    before = bench.program.stat()
    other = bench.program.with_name("other")
    other.write_text(bench.program.read_text().replace("limit", "limlt"))
    other.chmod(0o755)
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    os.replace(other, bench.program)
    assert drifted(bench) == {"program.sha256": "changed"}


def test_missing_unreadable_and_loosened_program(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.program.chmod(0o775)
    assert drifted(bench) == {"program.trust": "changed"}
    assert refused(bench) == "program.trust"
    bench.program.chmod(0o755)
    shutil.move(bench.program, bench.program.with_name("away"))
    assert drifted(bench) == {"program.path": "missing"}
    bench.program.symlink_to("away")
    assert drifted(bench) == {"program.path": "missing"}


def test_interpreter_drift(tmp_path: Path) -> None:
    bench = Bench(tmp_path, bound=False)
    shutil.copy("/bin/sh", bench.folder / "sh")
    bench.program.write_text(f"#!{bench.folder}/sh\necho '{{\"hits\": []}}'\n")
    bench.bind()
    assert search(bench.place, str(bench.project), "x")["hits"] == []
    with open(bench.folder / "sh", "ab") as file:
        file.write(b"\0")
    assert drifted(bench) == {"interpreter.sha256": "changed"}
    assert refused(bench) == "interpreter.sha256"


def test_interpreter_link_that_leads_elsewhere(tmp_path: Path) -> None:
    bench = Bench(tmp_path, bound=False)
    for name in ("one", "two"):
        shutil.copy("/bin/sh", bench.folder / name)
    (bench.folder / "sh").symlink_to("one")
    bench.program.write_text(f"#!{bench.folder}/sh\necho '{{\"hits\": []}}'\n")
    bench.bind()
    (bench.folder / "sh").unlink()
    (bench.folder / "sh").symlink_to("two")
    assert drifted(bench) == {"interpreter.link": "changed"}
    (bench.folder / "sh").unlink()
    assert drifted(bench) == {"interpreter.link": "missing"}


def test_a_later_path_cannot_swap_a_looked_up_interpreter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(tmp_path, bound=False)
    good, evil = bench.folder / "good", bench.folder / "evil"
    for folder in (good, evil):
        folder.mkdir()
    shutil.copy("/bin/sh", good / "finderrun")
    (evil / "finderrun").write_text(f"#!/bin/sh\ntouch {bench.folder}/pwned\n")
    (evil / "finderrun").chmod(0o755)
    bench.program.write_text("#!/usr/bin/env finderrun\necho '{\"hits\": []}'\n")
    bench.place.search_path = str(good)
    bench.bind()
    monkeypatch.setenv("PATH", f"{evil}:{os.environ['PATH']}")
    bench.place.search_path = str(evil)
    assert search(bench.place, str(bench.project), "x")["hits"] == []
    assert not (bench.folder / "pwned").exists()


def test_vault_facts(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.vault.chmod(0o775)
    assert drifted(bench) == {"vault.mode": "changed"}
    assert refused(bench) == "vault.mode"
    bench.vault.chmod(0o700)  # tightened is fine
    assert drifted(bench) == {}
    bench.vault.chmod(0o755)
    shutil.move(bench.vault, bench.folder / "away")
    assert drifted(bench) == {"vault.path": "missing"}
    bench.vault.symlink_to("away")
    assert set(drifted(bench)) >= {"vault.path", "vault.type"}
    assert refused(bench) == "vault.path"


def test_a_folder_above_the_vault_that_was_opened_to_others(tmp_path: Path) -> None:
    bench = Bench(tmp_path, bound=False)
    (bench.folder / "up" / "vault").mkdir(parents=True)
    bench.bind(vault=str(bench.folder / "up" / "vault"))
    (bench.folder / "up").chmod(0o777)
    assert drifted(bench) == {"vault.parents": "changed"}
    assert refused(bench) == "vault.parents"


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to give a folder away")
def test_vault_given_away(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    os.chown(bench.vault, 65534, 65534)
    assert drifted(bench) == {"vault.owner": "changed"}


def test_another_folder_at_the_vaults_path(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    kept = bench.folder / "kept"
    bench.vault.rename(kept)
    bench.vault.mkdir()
    assert drifted(bench) == {"vault.identity": "changed"}
    assert refused(bench) == "vault.identity"
    bench.vault.rmdir()
    kept.rename(bench.vault)
    assert drifted(bench) == {}


def test_a_folder_that_got_the_old_inode_number_is_another_folder(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    if identity.generation(str(bench.vault)) is None:
        pytest.skip("this file system has no inode generations")
    before = bench.vault.stat().st_ino
    for _ in range(20):
        shutil.rmtree(bench.vault)
        bench.vault.mkdir()
        if bench.vault.stat().st_ino == before:
            break
    assert drifted(bench) == {"vault.identity": "changed"}


def test_a_new_device_number_on_the_same_file_system_is_the_same_folder() -> None:
    old = {"device": 1, "inode": 7, "filesystem": "ab", "generation": 3}
    assert identity.same_folder(old, {**old, "device": 2})
    assert not identity.same_folder(old, {**old, "device": 2, "filesystem": "cd"})
    assert not identity.same_folder({**old, "filesystem": None}, {**old, "filesystem": None, "device": 2})
    assert not identity.same_folder(old, {**old, "inode": 8})
    assert not identity.same_folder(old, {**old, "generation": 4})


def test_hashes_are_remembered_only_for_files_that_have_settled(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"one")
    memory: dict[tuple[str, str], str] = {}

    class Memory:
        def recall_hash(self, path: str, stamp: str) -> str | None:
            return memory.get((path, stamp))

        def remember_hash(self, path: str, stamp: str, sha256: str) -> None:
            memory[path, stamp] = sha256

    def hashed() -> str:
        handle = os.open(path, os.O_RDONLY)
        try:
            return hashing.hash_of(handle, str(path), Memory())
        finally:
            os.close(handle)

    first = hashed()
    assert memory == {}, "a file that young could change within its time stamp"
    import time

    now = time.time
    time.time = lambda: now() + 10  # type: ignore[assignment]
    try:
        assert hashed() == first
        assert len(memory) == 1
        path.write_bytes(b"two")  # same size
        assert hashed() != first
        os.utime(path)
        assert hashed() != first
        other = tmp_path / "other"
        other.write_bytes(b"six")
        os.replace(other, path)
        assert hashed() not in {first}
    finally:
        time.time = now  # type: ignore[assignment]


# --- a Python launcher and what it loads ---


def environment(bench: Bench) -> Path:
    """A virtual environment with one installed package whose console script is the program."""
    import subprocess

    env = bench.folder / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(env)], check=True)
    site = next((env / "lib").glob("python3*")) / "site-packages"
    (site / "finder").mkdir()
    (site / "finder" / "__init__.py").write_text("")
    code = PROGRAM.partition("\n")[2].format(log=str(bench.folder / "log"), mode=str(bench.folder / "mode"))
    body = "".join("    " + line + "\n" for line in code.splitlines() if not line.startswith("import "))
    imports = "import hashlib, json, os, sys, time\nfrom finder.words import NOTHING\n"
    (site / "finder" / "main.py").write_text(imports + "def main():\n" + body.replace("words = sys", "words = sys"))
    (site / "finder" / "words.py").write_text("NOTHING = 0\n")
    info = site / "finder-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: finder\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[console_scripts]\nfinder = finder.main:main\n")
    (info / "RECORD").write_text(
        "finder/__init__.py,,\nfinder/main.py,,\nfinder/words.py,,\nfinder-1.0.dist-info/METADATA,,\n"
    )
    (site / "stray.pth").write_text(f"import os; open({str(bench.folder / 'stray')!r}, 'w').close()\n")
    launcher = env / "bin" / "finder"
    launcher.write_text(f"#!{env}/bin/python\nfrom finder.main import main\nmain()\n")
    launcher.chmod(0o755)
    return env


def test_a_python_launcher_is_pinned_with_its_environment_and_packages(tmp_path: Path) -> None:
    bench = Bench(tmp_path, bound=False)
    env = environment(bench)
    site = next((env / "lib").glob("python3*")) / "site-packages"
    pinned = bench.bind(program=str(env / "bin" / "finder"))["pin"]
    assert isinstance(pinned, dict)
    assert pinned["interpreters"][0]["written"] == f"{env}/bin/python"
    assert pinned["interpreters"][0]["path"] == os.path.realpath(sys.executable)
    assert pinned["environment"]["path"] == f"{env}/pyvenv.cfg"
    assert (pinned["start"], pinned["boot"]) == ("descriptor", True)
    (bench.folder / "stray").unlink(missing_ok=True)
    assert search(bench.place, str(bench.project), "retries")["total"] == 1
    assert not (bench.folder / "stray").exists(), "no .pth file runs"
    assert not list(site.rglob("__pycache__")), "compiled files go to the private store"
    assert drifted(bench) == {}

    (site / "finder" / "words.py").write_text("NOTHING = 1\n")  # behind an unchanged launcher
    assert drifted(bench) == {"packages.sha256": "changed"}
    assert refused(bench) == "packages.sha256"
    (site / "finder" / "words.py").write_text("NOTHING = 0\n")
    assert drifted(bench) == {}
    (site / "finder" / "extra.py").write_text("")
    assert drifted(bench) == {"packages.sha256": "changed"}
    (site / "finder" / "extra.py").unlink()
    (env / "pyvenv.cfg").write_text((env / "pyvenv.cfg").read_text() + "include-system-site-packages = true\n")
    assert drifted(bench) == {"environment.sha256": "changed"}
    (env / "pyvenv.cfg").unlink()
    assert drifted(bench) == {"environment.path": "missing"}


def test_a_python_launcher_can_import_nothing_that_is_not_pinned(tmp_path: Path) -> None:
    bench = Bench(tmp_path, bound=False)
    env = environment(bench)
    site = next((env / "lib").glob("python3*")) / "site-packages"
    (site / "unpinned.py").write_text(f"open({str(bench.folder / 'pwned')!r}, 'w').close()\n")
    bench.mode("exec:import unpinned")
    bench.bind(program=str(env / "bin" / "finder"))
    with pytest.raises(KbError, match="No module named 'unpinned'"):
        search(bench.place, str(bench.project), "retries")
    assert not (bench.folder / "pwned").exists()


def test_a_tree_behind_any_launcher_can_be_pinned(tmp_path: Path) -> None:
    bench = Bench(tmp_path, bound=False)
    tree = bench.folder / "lib"
    (tree / "deep").mkdir(parents=True)
    (tree / "deep" / "再.js").write_text("one")
    (tree / "link").symlink_to("deep/再.js")
    with bench.place.registry(must_write=True) as registry:
        pin = make_pin(registry, bench.place, str(bench.project), vault=str(bench.vault), program=str(bench.program),
                       trees=[str(tree)], start="auto", override="")  # fmt: skip
        store_binding(registry, str(bench.project), pin, revision=None, action="bind")
    assert pin["packages"]["files"] == 2
    assert drifted(bench) == {}
    (tree / "deep" / "再.js").write_text("two")
    assert drifted(bench) == {"packages.sha256": "changed"}
    shutil.rmtree(tree)
    assert drifted(bench) == {"packages.path": "missing"}


# --- revisions ---


def test_first_bind_replace_and_the_same_again(tmp_path: Path) -> None:
    bench = Bench(tmp_path, bound=False)
    with pytest.raises(Conflict, match="not bound"):
        bench.bind(revision=1)
    assert bench.bind()["revision"] == 1
    assert bench.bind()["revision"] == 1
    assert bench.bind(revision=1)["revision"] == 1
    other = bench.folder / "other"
    other.mkdir()
    with pytest.raises(Conflict, match="bound already") as caught:
        bench.bind(vault=str(other))
    assert caught.value.next == "to replace it, add --revision 1"
    with pytest.raises(Conflict, match="has revision 1, not 2"):
        bench.bind(vault=str(other), revision=2)
    assert bench.bind(vault=str(other), revision=1)["revision"] == 2
    with pytest.raises(Conflict, match="has revision 2, not 1"):
        bench.bind(revision=1)
    with bench.place.registry() as registry:
        entries, total = audit_trail(registry, str(bench.project), 10)
    assert total == 2
    assert [(entry["action"], entry["revision"]) for entry in entries] == [("bind", 2), ("bind", 1)]
    assert {"fact": "vault.path", "old": str(bench.vault), "new": str(other)} in entries[0]["changes"]


def test_of_two_racing_binds_one_wins(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    for number in range(4):
        (bench.folder / f"v{number}").mkdir()
    outcomes: list[object] = []

    def race(number: int) -> None:
        try:
            outcomes.append(bench.bind(vault=str(bench.folder / f"v{number}"), revision=1)["revision"])
        except Conflict:
            outcomes.append("conflict")

    threads = [threading.Thread(target=race, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(str, outcomes)) == ["2", "conflict", "conflict", "conflict"]


def test_rebind_shows_old_and_new_and_asks_before_another_vault(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    project = str(bench.project)
    bench.program.write_text(bench.program.read_text() + "# upgraded\n")
    with bench.place.registry(must_write=True) as registry:
        old, new, written = rebind(registry, bench.place, project, revision=None, accept_vault=False, dry_run=True)
        assert not written
        assert old["pin"]["program"]["sha256"] != new["pin"]["program"]["sha256"]
        assert require_binding(registry, project)["revision"] == 1
        with pytest.raises(Conflict):
            rebind(registry, bench.place, project, revision=7, accept_vault=False, dry_run=False)
        assert rebind(registry, bench.place, project, revision=1, accept_vault=False, dry_run=False)[1]["revision"] == 2
        assert not rebind(registry, bench.place, project, revision=None, accept_vault=False, dry_run=False)[2]
    assert search(bench.place, project, "retries")["total"] == 1
    bench.vault.rename(bench.folder / "kept")
    bench.vault.mkdir()
    with bench.place.registry(must_write=True) as registry:
        with pytest.raises(Conflict, match="another folder"):
            rebind(registry, bench.place, project, revision=None, accept_vault=False, dry_run=False)
        rebind(registry, bench.place, project, revision=None, accept_vault=True, dry_run=False)
    assert search(bench.place, project, "retries")["total"] == 0


def test_remove_needs_the_revision_and_leaves_a_trail(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    project = str(bench.project)
    with bench.place.registry(must_write=True) as registry:
        with pytest.raises(UsageError, match="needs --revision"):
            remove_binding(registry, project, None, force=False)
        with pytest.raises(Conflict):
            remove_binding(registry, project, 2, force=False)
        assert remove_binding(registry, project, 1, force=False) == 1
        with pytest.raises(NotBound):
            remove_binding(registry, project, 1, force=False)
        assert [entry["action"] for entry in audit_trail(registry, None, 9)[0]] == ["remove", "bind"]
    with pytest.raises(NotBound):
        search(bench.place, project, "retries")


@pytest.mark.parametrize("payload", ["", "[]", "{}", '{"project": "other"}', "x" * 2_000_000])
def test_a_damaged_row_is_named_and_can_be_removed(tmp_path: Path, payload: str) -> None:
    bench = Bench(tmp_path)
    project = str(bench.project)
    with bench.place.registry(must_write=True) as registry:
        registry.connection.execute("UPDATE binding SET payload = ?", (payload,))
        with pytest.raises(Conflict, match="damaged"):
            registry.binding(project)
        remove_binding(registry, project, None, force=True)
    assert bench.bind()["revision"] == 2, "a number that was seen before would let a stale caller replace it"


def test_another_project_is_not_bound(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    (bench.folder / "second").mkdir()
    with pytest.raises(NotBound) as caught:
        search(bench.place, str(bench.folder / "second"), "retries")
    assert caught.value.exit_code == 4


# --- swapped between check and start ---


def test_a_script_swapped_after_the_check_does_not_run(tmp_path: Path) -> None:
    from kbtasks.binding.bound import run_bound
    from kbtasks.binding.search import search_words

    bench = Bench(tmp_path)
    with bench.place.registry() as registry:
        pin = require_binding(registry, str(bench.project))["pin"]
        with verify(pin, uid=bench.place.uid, memory=registry) as verified:
            verified.require()
            evil = bench.program.with_name("evil")
            evil.write_text(f"#!/bin/sh\ntouch {bench.folder}/pwned\n")
            evil.chmod(0o755)
            os.replace(evil, bench.program)
            with pytest.raises(Drift, match="is changed"):
                run_bound(verified, bench.place.store, search_words("retries", str(bench.vault), 8))
    assert not (bench.folder / "pwned").exists()


def test_a_script_rewritten_in_place_after_the_check_does_not_run(tmp_path: Path) -> None:
    from kbtasks.binding.bound import run_bound

    bench = Bench(tmp_path)
    with bench.place.registry() as registry:
        pin = require_binding(registry, str(bench.project))["pin"]
        with verify(pin, uid=bench.place.uid, memory=registry) as verified:
            bench.program.write_text(f"#!{sys.executable}\nopen('{bench.folder}/pwned', 'w')\n")
            with pytest.raises(Drift):
                run_bound(verified, bench.place.store, ["search", "x", "--root", str(bench.vault)])
    assert not (bench.folder / "pwned").exists()


def test_an_interpreter_or_binary_swapped_after_the_check_does_not_run(tmp_path: Path) -> None:
    from kbtasks.binding.bound import run_bound

    bench = Bench(tmp_path, bound=False)
    shutil.copy("/bin/sh", bench.folder / "sh")
    bench.program.write_text(f"#!{bench.folder}/sh\necho '{{\"hits\": []}}'\n")
    bench.bind()
    with bench.place.registry() as registry:
        pin = require_binding(registry, str(bench.project))["pin"]
        with verify(pin, uid=bench.place.uid, memory=registry) as verified:
            (bench.folder / "evil").write_text(f"#!/bin/sh\ntouch {bench.folder}/pwned\n")
            (bench.folder / "evil").chmod(0o755)
            os.replace(bench.folder / "evil", bench.folder / "sh")
            with pytest.raises(Drift):
                run_bound(verified, bench.place.store, ["x"])
    assert not (bench.folder / "pwned").exists()


def test_a_program_started_by_path_that_is_swapped_while_it_runs_gives_no_answer(tmp_path: Path) -> None:
    bench = Bench(tmp_path, bound=False)
    bench.bind(start="path")
    (bench.folder / "mode").write_text(f"exec:os.rename({str(bench.program)!r}, {str(bench.program)!r} + '.old')")
    with pytest.raises(Drift):
        search(bench.place, str(bench.project), "retries")


def test_a_package_swapped_while_the_program_runs_gives_no_answer(tmp_path: Path) -> None:
    bench = Bench(tmp_path, bound=False)
    env = environment(bench)
    words = next((env / "lib").glob("python3*")) / "site-packages" / "finder" / "words.py"
    bench.bind(program=str(env / "bin" / "finder"))
    bench.mode(f"exec:open({str(words)!r}, 'a').write('# swapped')")
    with pytest.raises(Drift, match="packages"):
        search(bench.place, str(bench.project), "retries")


@pytest.mark.skipif(not os.path.exists("/usr/bin/node"), reason="needs Node")
def test_a_node_program_with_modules_beside_it(tmp_path: Path) -> None:
    bench = Bench(tmp_path, bound=False)
    package = bench.folder / "tools" / "package"
    (package / "bin").mkdir(parents=True)
    (package / "lib").mkdir()
    (package / "lib" / "answer.mjs").write_text("export const hits = [{ path: 'retries.md', snippet: '再試行' }];\n")
    entry = package / "bin" / "finder.mjs"
    entry.write_text(
        "#!/usr/bin/env node\nimport { hits } from '../lib/answer.mjs';\nconsole.log(JSON.stringify({ hits }));\n"
    )
    entry.chmod(0o755)
    (bench.folder / "tools" / "linked").symlink_to("package/bin/finder.mjs")
    bench.place.search_path = "/usr/bin"
    with bench.place.registry(must_write=True) as registry:
        pin = make_pin(registry, bench.place, str(bench.project), vault=str(bench.vault), start="auto", override="",
                       program=str(bench.folder / "tools" / "linked"), trees=[str(package)])  # fmt: skip
        store_binding(registry, str(bench.project), pin, revision=None, action="bind")
    assert (pin["start"], pin["program"]["path"]) == ("path", str(entry))
    assert search(bench.place, str(bench.project), "x")["hits"][0]["text"] == "再試行"
    (package / "lib" / "answer.mjs").write_text("export const hits = [];\n")
    assert refused(bench) == "packages.sha256"
