"""Secrets and loader variables: an allow list, so that no name of the caller's environment reaches the program."""

from __future__ import annotations

from pathlib import Path

from support.cli import kb
from support.foreign import Bench

from .test_case_081 import probe_bench, seen

VARIABLES = {
    "DEMO_API_KEY": "dummy", "AWS_SECRET_ACCESS_KEY": "dummy", "GITHUB_TOKEN": "dummy", "LD_PRELOAD": "/tmp/evil.so",
    "PYTHONPATH": "/tmp/evil", "PYTHONSTARTUP": "/tmp/evil.py", "NODE_OPTIONS": "--require /tmp/evil.js",
    "BASH_ENV": "/tmp/evil.sh", "GIT_SSH_COMMAND": "evil", "PERL5OPT": "-Mevil", "NEW_UNKNOWN_SECRET": "dummy",
}  # fmt: skip


def test_no_variable_and_no_descriptor_is_passed_on(tmp_path: Path) -> None:
    bench: Bench = probe_bench(tmp_path)
    variables = {name: value for name, value in VARIABLES.items() if name != "LD_PRELOAD"}
    with open("/etc/passwd") as leaked:
        import os

        os.set_inheritable(leaked.fileno(), True)
        done = kb("bind.search", "x", "--store", str(bench.store), "--json", cwd=bench.project,
                  env={"HOME": bench.place.home, **variables, "LD_PRELOAD": ""})  # fmt: skip
    assert done.returncode == 0, done.stdout
    [call] = seen(bench)
    assert not set(call["env"]) & set(VARIABLES)  # type: ignore[call-overload]
    assert call["fds"] == [0, 1, 2]
    assert call["stdin"] == ""
