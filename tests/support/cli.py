"""Runs ``kb`` as a person would: a real process, its exit code, stdout and stderr."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def kb(
    *words: str, cwd: Path | str, input: str | None = None, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run ``kb WORDS`` in ``cwd`` and return the finished process; 120 s at most."""
    return subprocess.run(
        [sys.executable, "-m", "kbtasks", *words],
        cwd=cwd,
        input=input,
        stdin=subprocess.DEVNULL if input is None else None,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


def kb_json(*words: str, cwd: Path | str, code: int = 0, input: str | None = None) -> dict[str, Any]:
    """The document printed by ``kb WORDS --json``, checked against its schema; the exit code must be ``code``."""
    done = kb(*words, "--json", cwd=cwd, input=input)
    assert done.returncode == code, done.stdout + done.stderr
    document = json.loads(done.stdout)
    assert isinstance(document, dict)
    from kbtasks import schema

    kind = document["schema"].split("/")[1]
    assert schema.problems(kind, document) == []
    return document
