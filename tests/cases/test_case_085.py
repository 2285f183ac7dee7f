"""Output without end on stdout or stderr: ended at the limit while it runs, in bounded memory."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from support.foreign import Bench

MODES = {
    "out": """while True: print('{"path": "x.md"},' * 1000)""",
    "err": """while True: sys.stderr.write("noise " * 10000)""",
    "line": """while True: sys.stdout.write("x" * 65536)""",
    "both": """for i in range(2000): sys.stderr.write("e" * 65536); sys.stdout.write(" " * 1000)""",
    "bigvalid": """for i in range(3000000): sys.stdout.write((",", "[")[i == 0] + '{"path": "n%d.md"}' % i)""",
}


@pytest.mark.parametrize("mode", sorted(MODES))
def test_a_flood_is_ended_at_the_limit(tmp_path: Path, mode: str) -> None:
    bench = Bench(tmp_path, program=f"#!{sys.executable}\nimport sys\n{MODES[mode]}\n")
    measure = (  # our own children may have been larger in other tests
        "import resource, subprocess, sys; code = subprocess.run(sys.argv[1:]).returncode;"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss); sys.exit(code)"
    )
    argv = [sys.executable, "-c", measure, sys.executable, "-m", "kbtasks", "bind.search", "x"]
    argv += ["--store", str(bench.store), "--json"]
    done = subprocess.run(
        argv, cwd=bench.project, env={"HOME": bench.place.home, "PATH": "/usr/bin:/bin"}, capture_output=True,
        timeout=60, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (1_000_000 << 10, 1_000_000 << 10)),
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (10, b"")
    document, largest = done.stdout.splitlines()
    error = json.loads(document)["error"]
    assert error["code"] == "overflow"
    assert error["details"]["limit"] in {65_536, 1 << 20}
    assert int(largest) < 200 << 10
