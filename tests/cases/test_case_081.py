"""A query that looks like an option of the search program: data, one argument, never an option, never a shell word."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from support.cli import kb
from support.foreign import Bench

PROBE = f"""#!{sys.executable}
import json, os, sys
fds = sorted(int(x) for x in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/" + x))
data = sys.stdin.read()
with open("SEEN", "a") as log:
    log.write(json.dumps(dict(argv=sys.argv[1:], env=sorted(os.environ), fds=fds, stdin=data, cwd=os.getcwd())) + chr(10))
print(json.dumps(dict(results=[])))
"""
QUERIES = ["-v", "--pre=/bin/sh", "--", "-", "-> arrow", "-e x", "$(touch pwned)", "`touch pwned`", "; touch pwned",
           "'a\" b", "*", "~", "@file", "%s {0}"]  # fmt: skip


def probe_bench(folder: Path) -> Bench:
    return Bench(folder, program=PROBE.replace("SEEN", str(folder.resolve() / "seen")))


def seen(bench: Bench) -> list[dict[str, object]]:
    path = bench.folder / "seen"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_every_query_is_one_argument_or_refused(tmp_path: Path) -> None:
    bench = probe_bench(tmp_path)
    for query in QUERIES:
        before = len(seen(bench))
        done = kb("bind.search", f"--query={query}", "--store", str(bench.store), "--json", cwd=bench.project,
                  env={"HOME": bench.place.home})  # fmt: skip
        if query.startswith("-"):
            assert (done.returncode, len(seen(bench))) == (2, before)
            assert "dash" in json.loads(done.stdout)["error"]["message"]
        else:
            assert done.returncode == 0, done.stdout
            argv = seen(bench)[-1]["argv"]
            assert isinstance(argv, list)
            assert argv.count(query) == 1
            assert argv[:3] == ["search", query, "--root"]
    for folder in (bench.vault, bench.project):
        assert not (folder / "pwned").exists()
