"""Child processes: what they get, what is kept of their output, and that nothing of them is left on any path."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from support.processes import appears, gone, mark, marked

from kbtasks import process
from kbtasks.errors import Conflict, ProcessNotStarted, ProcessOverflow, ProcessTimeout, ProcessUnproven
from kbtasks.process import Completed, Identity, run

ENV = {"PATH": "/usr/bin:/bin"}
REPOSITORY = Path(process.__file__).parent.parent


def sh(script: str, *words: str, **options: Any) -> Completed:
    """Run a shell script with the short limits of these tests."""
    given = {"cwd": "/", "env": ENV, "timeout": 20.0, "max_stdout": 65536, **options}
    return run(["/bin/sh", "-c", script, "sh", *words], **given)


def test_success_failure_and_signal_are_told_apart() -> None:
    assert (sh("echo out; echo err >&2").stdout, sh("echo err >&2").stderr) == (b"out\n", b"err\n")
    assert sh("exit 3").status == 3
    assert sh("kill -9 $$").status == -9


def test_missing_program_was_never_started() -> None:
    for argv in (["/no/such/program"], ["no-such-program"], ["/etc/passwd"], ["/bin/echo", "a\0b"]):
        with pytest.raises(ProcessNotStarted):
            run(argv, cwd="/", env=ENV, timeout=20, max_stdout=10)
    with pytest.raises(ProcessNotStarted, match="cwd"):
        run(["/bin/true"], cwd="/no/such/folder", env=ENV, timeout=20, max_stdout=10)


def test_a_name_is_never_found_in_the_working_directory(tmp_path: Path) -> None:
    (tmp_path / "tool").write_text("#!/bin/sh\necho trapped\n")
    (tmp_path / "tool").chmod(0o755)
    for path in ("", ":", ".", f":.:{os.path.relpath(tmp_path)}"):
        with pytest.raises(ProcessNotStarted):
            run(["tool"], cwd=str(tmp_path), env={"PATH": path}, timeout=20, max_stdout=10)
    assert run(["tool"], cwd="/", env={"PATH": f".:{tmp_path}"}, timeout=20, max_stdout=10).stdout == b"trapped\n"


def test_child_gets_only_what_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEMO_API_KEY", "dummy")
    code = (
        "import json,os,resource;print(json.dumps([dict(os.environ),os.getcwd(),os.getsid(0)==os.getpid(),"
        "[f for f in os.listdir('/proc/self/fd') if os.path.exists('/proc/self/fd/'+f)],"
        "os.read(0,9).decode(),resource.getrlimit(resource.RLIMIT_CORE)]))"
    )
    argv = [sys.executable, "-I", "-S", "-c", code]
    with open("/etc/passwd") as other:
        os.set_inheritable(other.fileno(), True)
        done = run(argv, cwd=str(tmp_path), env={"ONE": "1", "LC_ALL": "C.UTF-8"}, timeout=20, max_stdout=65536)
    env, cwd, leader, handles, stdin, core = json.loads(done.stdout)
    assert env == {"ONE": "1", "LC_ALL": "C.UTF-8"}
    assert (cwd, leader, handles, stdin, core) == (str(tmp_path), True, ["0", "1", "2"], "", [0, 0])


def test_input_of_any_size_and_a_child_that_does_not_read_it() -> None:
    data = bytes(range(256)) * 2000
    assert sh("cat", input=data, max_stdout=len(data)).stdout == data
    assert sh("echo x", input=data).stdout == b"x\n"
    assert sh("cat", input=b"").stdout == b""


def test_pipe_signal_is_not_ignored_in_the_child() -> None:
    assert sh("(yes; echo $? >&2) | head -1").stderr == b"141\n"


def test_exactly_the_limit_passes_and_one_more_does_not() -> None:
    assert len(sh("head -c 65536 /dev/zero").stdout) == 65536
    with pytest.raises(ProcessOverflow, match="65536"):
        sh("head -c 65537 /dev/zero; sleep 100")


def test_stderr_keeps_its_tail_and_may_have_a_limit() -> None:
    done = sh("head -c 300000 /dev/zero >&2; echo last >&2", max_stderr=100)
    assert len(done.stderr) == 100
    assert done.stderr.endswith(b"last\n")
    assert len(sh("head -c 1000 /dev/zero >&2", stderr_limit=1000).stderr) == 1000
    with pytest.raises(ProcessOverflow) as caught:
        sh("while :; do echo noise >&2; done", stderr_limit=100_000)
    assert caught.value.details["stream"] == "stderr"
    assert caught.value.details["words"].endswith("noise")


def test_both_streams_flooding_never_deadlock() -> None:
    with pytest.raises(ProcessOverflow):
        sh("yes >&2 & yes", stderr_limit=1 << 20)


LEFTOVERS = {
    "a child that holds the pipe": "sh -c 'sleep 300; :' {mark} & sleep 0.05",
    "a child that lets go of the pipe": "sh -c 'sleep 300; :' {mark} </dev/null >/dev/null 2>&1 & sleep 0.05",
    "a setsid child": "setsid sh -c 'sleep 300; :' {mark} </dev/null >/dev/null 2>&1 & sleep 0.1",
    "a setsid child that holds the pipe": "setsid sh -c 'sleep 300; :' {mark} & sleep 0.1",
    "a daemon of a daemon": "setsid sh -c 'setsid sh -c \"sleep 300; :\" {mark} & :' & sleep 0.1",
    "a child deaf to signals": "sh -c 'trap \"\" TERM HUP INT; sleep 300; :' {mark} & sleep 0.05",
    "a stopped child": "sh -c 'kill -STOP $$; :' {mark} & sleep 0.05",
}


@pytest.mark.parametrize("kind", sorted(LEFTOVERS))
def test_success_with_leftovers_ends_them(kind: str) -> None:
    word = mark()
    done = sh(LEFTOVERS[kind].format(mark=word) + "; echo done")
    assert (done.status, done.stdout) == (0, b"done\n")
    assert done.leftovers >= 1
    assert marked(word) == []


@pytest.mark.parametrize("kind", sorted(LEFTOVERS))
def test_timeout_and_overflow_end_everything(kind: str) -> None:
    word = mark()
    with pytest.raises(ProcessTimeout):
        sh(LEFTOVERS[kind].format(mark=word) + "; sleep 300", timeout=0.5)
    assert marked(word) == []
    with pytest.raises(ProcessOverflow):
        sh(LEFTOVERS[kind].format(mark=word) + "; yes", max_stdout=1000)
    assert marked(word) == []


def test_a_process_that_keeps_replacing_itself_is_caught() -> None:
    word = mark()
    comet = "import os,time\nwhile 1:\n    if os.fork(): os._exit(0)\n    os.setsid(); time.sleep(0.002)\n"
    done = run([sys.executable, "-I", "-S", "-c", comet, word], cwd="/", env=ENV, timeout=20, max_stdout=100)
    assert done.leftovers >= 1
    assert marked(word) == []


def test_clean_exit_after_closing_its_pipes_is_not_a_kill() -> None:
    assert sh("exec >&- 2>&-; sleep 0.2; exit 5").status == 5


def test_deadline_counts_a_child_that_closed_its_pipes() -> None:
    with pytest.raises(ProcessTimeout):
        sh("exec >&- 2>&-; sleep 300", timeout=0.3)


def test_identity_is_known_before_the_child_executes(tmp_path: Path) -> None:
    seen: list[Identity] = []

    def before(identity: Identity) -> None:
        assert identity.alive()
        seen.append(identity)

    done = sh("echo $$", before_exec=before)
    assert done.stdout == f"{seen[0].pid}\n".encode()
    assert not seen[0].alive()
    assert not Identity(os.getpid(), "1", process.boot_identity()).alive()
    assert not Identity(os.getpid(), "-", "another boot").alive()
    assert not Identity(0, "-", process.boot_identity()).alive()


def test_what_the_callbacks_raise_ends_the_child(tmp_path: Path) -> None:
    def refuse(*_: object) -> None:
        raise Conflict(message="no")

    with pytest.raises(Conflict):
        sh('touch "$1"', str(tmp_path / "ran"), before_exec=refuse)
    assert not (tmp_path / "ran").exists()
    word = mark()
    with pytest.raises(Conflict):
        sh("sleep 300; :", word, after_exec=refuse)
    assert marked(word) == []


def test_binary_and_script_start_from_descriptors(tmp_path: Path) -> None:
    program = tmp_path / "tool"
    program.write_bytes(Path("/bin/sh").read_bytes())
    program.chmod(0o755)
    binary = os.open(program, os.O_RDONLY)
    script = os.memfd_create("script")
    try:
        os.write(script, b'echo "verified $1"; ls /proc/self/fd\n')
        program.unlink()
        program.write_text("#!/bin/sh\necho swapped\n")
        program.chmod(0o755)
        argv = [str(program), "SCRIPT", "word"]
        done = run(argv, executable=binary, held={1: script}, cwd="/", env=ENV, timeout=20, max_stdout=1000)
    finally:
        os.close(binary)
        os.close(script)
    assert done.stdout == b"verified word\n0\n1\n2\n3\n"  # 3 is the listing's own


def test_a_child_that_kills_its_supervisor_is_reported_and_ended() -> None:
    word = mark()
    with pytest.raises(ProcessUnproven):
        sh("kill -9 $PPID; sleep 300; :", word)
    assert gone(word)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_our_own_end_ends_the_child(tmp_path: Path, number: int) -> None:
    word = mark()
    ready = tmp_path / "ready"
    code = (
        "import sys; from kbtasks.process import run; run(['/bin/sh', '-c', 'setsid sh -c \"sleep 300; :\" '"
        "+ sys.argv[1] + ' & sleep 0.1; touch \"$1\"; sleep 300', 'sh', sys.argv[2], sys.argv[1]], cwd='/', "
        "env={'PATH': '/usr/bin:/bin'}, timeout=300, max_stdout=10)"
    )
    ours = subprocess.Popen([sys.executable, "-c", code, word, str(ready)], cwd=REPOSITORY, stderr=subprocess.DEVNULL)
    assert appears(ready)
    ours.send_signal(number)
    assert ours.wait(20) != 0
    assert gone(word)


def test_threads_do_not_see_each_others_children_and_nothing_leaks() -> None:
    before = (len(os.listdir("/proc/self/fd")), threading.active_count())
    words = [mark() for _ in range(6)]
    outcomes: list[object] = [None] * len(words)

    def work(index: int) -> None:
        try:
            outcomes[index] = sh("sleep 0.2; echo $1", words[index], timeout=0.05 if index == 3 else 20.0).stdout
        except ProcessTimeout:
            outcomes[index] = "timeout"

    threads = [threading.Thread(target=work, args=(index,)) for index in range(len(words))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes == ["timeout" if index == 3 else f"{word}\n".encode() for index, word in enumerate(words)]
    assert (len(os.listdir("/proc/self/fd")), threading.active_count()) == before
    listing = subprocess.run(["/bin/ps", "--ppid", str(os.getpid()), "-o", "stat="], capture_output=True, check=False)
    assert b"Z" not in listing.stdout


def test_it_works_with_the_standard_descriptors_closed(tmp_path: Path) -> None:
    out = tmp_path / "out"
    code = (
        "import os, sys\nfor number in (0, 1, 2): os.close(number)\nfrom kbtasks.process import run\n"
        "done = run(['/bin/cat'], cwd='/', env={}, timeout=20, max_stdout=100, input=b'through')\n"
        "handle = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)\nos.write(handle, done.stdout)\n"
    )
    assert subprocess.run([sys.executable, "-c", code, str(out)], cwd=REPOSITORY, check=False).returncode == 0
    assert out.read_bytes() == b"through"


def test_descriptors_are_passed_on_under_their_own_numbers() -> None:
    reading, writing = os.pipe()
    try:
        os.write(writing, b"handed over\n")
        os.close(writing)
        assert sh(f"cat /proc/self/fd/{reading}", pass_fds=[reading]).stdout == b"handed over\n"
    finally:
        os.close(reading)


def test_systems_without_waitid_reap_the_child_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    from kbtasks import supervisor

    monkeypatch.delattr(os, "waitid")
    child = subprocess.Popen(["/bin/sh", "-c", "exit 7"])
    ended: list[int] = []
    while not supervisor._exited(child.pid, ended):
        pass
    assert ended == [7]
    child.returncode = 7
