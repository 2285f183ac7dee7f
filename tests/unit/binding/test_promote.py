"""Saving a note back with real programs: what is confirmed, refused, uncertain or not started, and what is in the receipt."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from support.foreign import Bench
from support.processes import appears, gone, mark, marked

from kbtasks.binding import bound, receipts
from kbtasks.binding.promote import plan, promote
from kbtasks.binding.promotion import Promotion, normalised_note
from kbtasks.binding.recover import recover
from kbtasks.errors import (
    Busy,
    Conflict,
    Drift,
    KbError,
    NotBound,
    ProcessNotStarted,
    Refused,
    Uncertain,
)

REPOSITORY = Path(bound.__file__).parents[2]
NOTE = "Parser retries stop after three attempts. 再試行 🪶"


def made(bench: Bench, text: str = NOTE, **values: Any) -> Promotion:
    given = {
        "project": str(bench.project),
        "task": "t-1",
        "session": "s-1",
        "title": "Retries",
        "tags": ["kb-promoted"],
    }
    return Promotion(note=normalised_note(text.encode(), what="note"), **{**given, **values})


def receipt_of(bench: Bench, promotion: Promotion) -> dict[str, Any]:
    with bench.place.registry() as registry:
        found = receipts.load(registry, promotion.request)
    assert found is not None
    return found


def notes(bench: Bench) -> list[str]:
    return sorted(name for name in os.listdir(bench.vault) if name.startswith("promoted-"))


def bodies(bench: Bench) -> list[str]:
    return sorted(name for name in os.listdir(bench.store / "promotions") if name.endswith(".md"))


def shorten(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    monkeypatch.setitem(bound.run_bound.__kwdefaults__, "seconds", seconds)  # type: ignore[index]


def test_saved_confirmed_and_the_same_again_starts_nothing(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    promotion = made(bench)
    receipt, new = promote(bench.place, promotion)
    data = (bench.vault / promotion.path).read_bytes()
    assert new
    assert data.decode().endswith("\n\n" + promotion.text)
    assert "t-1" in promotion.text
    assert "s-1" in promotion.text
    assert (receipt["status"], receipt["ended"], receipt["before"]) == ("confirmed", True, "absent")
    assert receipt["revision"] == "sha256:" + __import__("hashlib").sha256(data).hexdigest()
    assert receipt["process"]["pid"] == bench.calls[0][3]
    again, new = promote(bench.place, promotion)
    assert (again, new) == (receipt, False)
    assert len(bench.calls) == 1
    assert bodies(bench) == [], "the text is dropped once it is confirmed"
    assert (bench.store / "promotions").stat().st_mode & 0o777 == 0o700


def test_the_command_the_environment_and_the_working_directory(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    promotion = made(bench, title="A -- title; $(touch pwned)", tags=["one", "two"])
    promote(bench.place, promotion)
    words, env, cwd, _ = bench.calls[0]
    body = str(bench.store / "promotions" / (promotion.request + ".md"))
    assert words == [
        "note", "create", promotion.note_id, "--title", "A -- title; $(touch pwned)", "--type", "note", "--tag", "one",
        "--tag", "two", "--body-file", body, "--root", str(bench.vault), "--json",
    ]  # fmt: skip
    assert env == ["HRANESS_SUPPORT_AUDIENCE", "LANG", "LC_ALL", "NO_COLOR", "PATH"]
    assert cwd == str(bench.vault)


def test_a_dry_run_shows_everything_and_does_nothing(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    promotion = made(bench)
    found = plan(bench.place, promotion)
    assert (found.path, found.text, found.receipt) == (promotion.path, promotion.text, None)
    assert found.command[1:4] == [str(bench.program), "note", "create"]
    assert bench.calls == []
    assert notes(bench) == []
    assert not (bench.store / "promotions").exists()


def test_two_notes_for_one_task_and_one_note_for_two_tasks(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    for promotion in (made(bench), made(bench, "Another."), made(bench, task="t-2")):
        promote(bench.place, promotion)
    assert len(notes(bench)) == 3


def test_after_an_upgrade_and_a_rebind_it_is_still_one_note(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    promote(bench.place, made(bench))
    bench.program.write_text(bench.program.read_text() + "# upgraded\n")
    with pytest.raises(Drift):
        promote(bench.place, made(bench))
    bench.bind(revision=1)
    receipt, new = promote(bench.place, made(bench))
    assert (receipt["status"], new) == ("confirmed", False)
    assert len(notes(bench)) == 1


def test_an_unbound_project_cannot_promote(tmp_path: Path) -> None:
    bench = Bench(tmp_path, bound=False)
    with pytest.raises(NotBound):
        promote(bench.place, made(bench))
    assert not (bench.store / "promotions").exists()


# --- outcomes ---


def test_a_timeout_is_uncertain_with_everything_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(tmp_path)
    shorten(monkeypatch, 1.0)
    word = mark()
    bench.mode(f"exec:os.system('setsid sh -c \"sleep 300; :\" {word} & sleep 300')")
    with pytest.raises(Uncertain) as caught:
        promote(bench.place, made(bench))
    assert caught.value.exit_code == 7
    receipt = receipt_of(bench, made(bench))
    assert (receipt["status"], receipt["ended"]) == ("uncertain", True)
    assert "did not finish within" in receipt["reason"]
    identity = receipts.process_of(receipt)
    assert identity is not None
    assert not identity.alive()
    assert marked(word) == []
    assert len(bodies(bench)) == 1, "kept until it is decided"


UNCLEAR = {
    "exec:sys.exit(0)": "not JSON",
    "exec:print('{}');sys.exit(0)": "another path",
    "exec:print('[]');sys.exit(0)": "not an object",
    "exec:print('x'*70000);sys.exit(0)": "more than 65536",
    "exec:print(json.dumps(dict(path=words[2]+'.md')));sys.exit(0)": "states no revision",
    "exec:print(json.dumps(dict(path=words[2]+'.md',revision='sha256:'+'A'*64)));sys.exit(0)": "states no revision",
    "exec:print(json.dumps(dict(path=words[2]+'.md',revision='sha256:'+'a'*64)));sys.exit(0)": "not in the vault",
    "exec:print(json.dumps(dict(path='../'+words[2]+'.md',revision='sha256:'+'a'*64)));sys.exit(0)": "another path",
    "after:os.kill(os.getpid(), 9)": "status -9",
    "after:sys.exit(3)": "status 3",
    "after:open(path,'a').write('more')": "not the one whose revision",
    "after:body='other';data=b'other text';open(path,'wb').write(data)": "does not hold the note",
    "after:os.unlink(path)": "not in the vault",
    "after:os.rename(path, path+'2'); os.symlink(path+'2', path)": "not the one whose revision",
}


@pytest.mark.parametrize("mode", sorted(UNCLEAR))
def test_whatever_is_no_proof_is_uncertain(tmp_path: Path, mode: str) -> None:
    bench = Bench(tmp_path)
    bench.mode(mode)
    with pytest.raises(Uncertain) as caught:
        promote(bench.place, made(bench))
    assert UNCLEAR[mode] in caught.value.message
    assert str(caught.value.next).startswith("kb promote.recover ")
    assert caught.value.details["receipt"] == receipt_of(bench, made(bench))
    assert receipt_of(bench, made(bench))["status"] == "uncertain"


def test_a_no_that_changed_nothing_is_refused_with_its_words(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.mode("exec:sys.exit('the vault is \\x1b[31mclosed')")
    with pytest.raises(Refused) as caught:
        promote(bench.place, made(bench))
    assert caught.value.exit_code == 5
    assert "the vault is [31mclosed" in caught.value.message
    assert receipt_of(bench, made(bench))["status"] == "refused"
    bench.mode("")
    assert promote(bench.place, made(bench))[0]["attempts"] == 2


def test_an_existing_different_file_is_never_overwritten(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    promotion = made(bench)
    (bench.vault / promotion.path).write_text("mine")
    with pytest.raises(Refused, match="exists already"):
        promote(bench.place, promotion)
    assert (bench.vault / promotion.path).read_text() == "mine"
    assert receipt_of(bench, promotion)["status"] == "refused"


def test_a_program_that_cannot_start_is_not_started(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    broken = bench.folder / "broken"
    broken.write_bytes(b"\x7fELF not really")
    broken.chmod(0o755)
    bench.bind(revision=1, program=str(broken))
    with pytest.raises(ProcessNotStarted) as caught:
        promote(bench.place, made(bench))
    assert caught.value.exit_code == 10
    receipt = receipt_of(bench, made(bench))
    assert (receipt["status"], receipt["process"], receipt["ended"]) == ("not_started", None, True)


def test_a_program_swapped_while_it_starts_saves_nothing_unseen(tmp_path: Path) -> None:
    bench = Bench(tmp_path, bound=False)
    bench.bind(start="path")
    bench.mode(f"exec:os.rename({str(bench.program)!r}, {str(bench.program)!r} + '.old')")
    with pytest.raises(Uncertain, match="is changed"):
        promote(bench.place, made(bench))
    assert receipt_of(bench, made(bench))["status"] == "uncertain"


# --- again ---


def test_retry_from_each_status_converges_on_one_note(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    promotion = made(bench)
    for mode, status in (
        ("exec:sys.exit('no')", "refused"),
        ("exec:sys.exit(0)", "uncertain"),
        ("after:sys.exit(0)", "uncertain"),
        ("", "confirmed"),
    ):
        bench.mode(mode)
        try:
            promote(bench.place, promotion)
        except KbError:
            pass
        assert receipt_of(bench, promotion)["status"] == status
    assert notes(bench) == [promotion.path]
    assert receipt_of(bench, promotion)["attempts"] == 4


def test_a_note_that_landed_unconfirmed_and_was_edited_since(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    promotion = made(bench)
    bench.mode("after:sys.exit(0)")
    with pytest.raises(Uncertain):
        promote(bench.place, promotion)
    bench.mode("")
    (bench.vault / promotion.path).write_text("edited by hand")
    with pytest.raises(Refused):
        promote(bench.place, promotion)
    assert (bench.vault / promotion.path).read_text() == "edited by hand"


def test_a_confirmed_note_deleted_or_edited_since(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    promotion = made(bench)
    receipt, _ = promote(bench.place, promotion)
    (bench.vault / promotion.path).unlink()
    assert receipts.vault_state(receipt) == "missing"
    with pytest.raises(Conflict, match="deleted since") as caught:
        promote(bench.place, promotion)
    assert "--again" in str(caught.value.next)
    again, new = promote(bench.place, promotion, again=True)
    assert (again["status"], new, again["attempts"]) == ("confirmed", True, 2)
    with (bench.vault / promotion.path).open("a") as file:
        file.write("A later thought.\n")
    assert receipts.vault_state(again) == "changed"
    for flag in (False, True):
        with pytest.raises(Conflict, match="edited since"):
            promote(bench.place, promotion, again=flag)
    assert (bench.vault / promotion.path).read_text().endswith("A later thought.\n")


def test_two_at_once_are_one_note_and_one_start(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.mode("exec:time.sleep(0.3)")
    outcomes: list[bool] = []
    threads = [threading.Thread(target=lambda: outcomes.append(promote(bench.place, made(bench))[1])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == [False, False, False, True]
    assert len(bench.calls) == 1
    assert len(notes(bench)) == 1


def test_an_earlier_attempt_that_still_runs_is_waited_for_and_then_busy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kbtasks.binding import promote as module
    from kbtasks.process import boot_identity
    from kbtasks.supervisor import start_identity

    bench = Bench(tmp_path)
    promotion = made(bench)
    monkeypatch.setattr(module, "GONE_SECONDS", 0.2)
    other = subprocess.Popen(["/bin/sleep", "300"])
    process = {"pid": other.pid, "start": start_identity(other.pid), "boot": boot_identity()}

    def prepared(process: dict[str, Any] | None) -> None:
        with bench.place.registry(must_write=True) as registry:
            fresh = receipts.new_receipt(promotion, str(bench.vault), "absent", None)
            receipts.save(registry, fresh, process=process, ended=False)

    try:
        prepared(process)
        with pytest.raises(Busy):
            promote(bench.place, promotion)
        with pytest.raises(Busy):
            recover(bench.place, str(bench.project), "")
        assert bench.calls == []
        prepared({**process, "start": "1"})  # the number was given to another process since
        assert promote(bench.place, promotion)[1]
        prepared({**process, "boot": "before the reboot"})
        assert promote(bench.place, promotion)[1]
        prepared(None)  # died before it was started
        assert promote(bench.place, promotion)[1]
    finally:
        other.kill()
        other.wait()
    assert len(notes(bench)) == 1


# --- recovery ---


@pytest.mark.parametrize(
    ("mode", "meanwhile", "status"),
    [
        ("exec:sys.exit(0)", None, "not_started"),
        ("after:sys.exit(0)", None, "confirmed"),
        ("after:sys.exit(0)", "edited", "refused"),
        ("after:os.kill(os.getpid(), 9)", None, "confirmed"),
    ],
)
@pytest.mark.parametrize("body_kept", [True, False])
def test_recovery_decides_by_looking(
    tmp_path: Path, mode: str, meanwhile: str | None, status: str, body_kept: bool
) -> None:
    bench = Bench(tmp_path)
    promotion = made(bench)
    bench.mode(mode)
    with pytest.raises(Uncertain):
        promote(bench.place, promotion)
    if meanwhile is not None:
        (bench.vault / promotion.path).write_text(meanwhile)
    if not body_kept:
        (bench.store / "promotions" / (promotion.request + ".md")).unlink()
    calls = len(bench.calls)
    [decided] = recover(bench.place, str(bench.project), promotion.request[:12])
    assert (decided["status"], decided["recovered"]) == (status, True)
    assert len(bench.calls) == calls, "nothing is started"
    if status == "confirmed":
        assert receipts.vault_state(decided) == "present"
    assert recover(bench.place, str(bench.project), "") == []
    assert recover(bench.place, str(bench.project), "promoted-" + promotion.request) == [decided]


def test_receipts_are_listed_and_a_damaged_row_does_not_hide_the_others(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    for number in range(3):
        promote(bench.place, made(bench, f"Note {number}."))
    with bench.place.registry(must_write=True) as registry:
        registry.connection.execute(
            "UPDATE receipt SET payload = '{' WHERE request = ?", (made(bench, "Note 1.").request,)
        )
        found, total, damaged = receipts.listed(registry, str(bench.project), 10)
    assert (len(found), total, damaged) == (2, 3, 1)
    with pytest.raises(Conflict, match="damaged"):
        promote(bench.place, made(bench, "Note 1."))


# --- interruption, full disk ---


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_our_own_interruption_is_recorded_and_ends_the_program(tmp_path: Path, number: int) -> None:
    bench = Bench(tmp_path)
    word = mark()
    ready = bench.folder / "ready"
    bench.mode(f"exec:os.system('setsid sh -c \"sleep 300; :\" {word} & touch {ready}; sleep 300')")
    (bench.project / "note.md").write_text(NOTE)
    argv = [sys.executable, "-m", "kbtasks", "promote", "t-1", "--body-file", "note.md", "--session", "s-1",
            "--store", str(bench.store), "--json"]  # fmt: skip
    env = {**os.environ, "HOME": bench.place.home, "PYTHONPATH": str(REPOSITORY)}
    ours = subprocess.Popen(argv, cwd=bench.project, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert appears(ready)
    ours.send_signal(number)
    out, err = ours.communicate(timeout=20)
    assert ours.returncode == 130, out + err
    assert b"Traceback" not in err
    assert gone(word)
    receipt = receipt_of(bench, made(bench))
    assert (receipt["status"], receipt["reason"], receipt["ended"]) == ("uncertain", "interrupted", True)
    [decided] = recover(bench.place, str(bench.project), "")
    assert decided["status"] == "not_started"


def test_a_full_disk_starts_nothing_it_could_not_record(tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("needs root, to mount a small file system")
    bench = Bench(tmp_path)
    small = bench.folder / "small"
    small.mkdir(mode=0o700)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=72k,mode=0700", "tmpfs", str(small)], check=False)
    if mounted.returncode != 0:
        pytest.skip("cannot mount a small file system here")
    try:
        bench.place.store = str(small / "store")
        bench.bind()
        with (small / "fill").open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"x" * 512)
            except OSError:
                pass
        with pytest.raises(KbError) as caught:
            promote(bench.place, made(bench))
        assert caught.value.code in {"private-state", "busy"}
        assert bench.calls == []
        (small / "fill").unlink()
        assert promote(bench.place, made(bench))[0]["status"] == "confirmed"
    finally:
        subprocess.run(["umount", str(small)], check=False)


def test_a_vault_that_cannot_be_written_is_a_refusal(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.mode("exec:raise OSError(30, 'Read-only file system')")
    with pytest.raises(Refused, match="Read-only file system"):
        promote(bench.place, made(bench))
    assert notes(bench) == []
