"""The README's walk of the resource memory is what ``examples/resources/walk.py`` prints, PostgreSQL included."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support import postgres

REPOSITORY = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"<!-- walk: examples/resources/walk.py -->\n```console\n(.*?)```\n<!-- /walk -->", re.DOTALL)


def shown() -> str:
    match = BLOCK.search((REPOSITORY / "README.md").read_text(encoding="utf-8"))
    assert match is not None
    return match[1]


def walked(*flags: str) -> str:
    words = [sys.executable, str(REPOSITORY / "examples" / "resources" / "walk.py"), *flags]
    done = subprocess.run(words, capture_output=True, encoding="utf-8", timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_walk_to_a_file_is_as_shown() -> None:
    assert shown().startswith(walked())


def test_the_walk_to_postgresql_is_as_shown() -> None:
    postgres.programs()
    with postgres.server() as folder:
        server = {"host": str(folder), "dbname": "postgres", "user": "kb"}

        assert walked("--postgresql", json.dumps(server)) == shown()


@pytest.mark.parametrize(
    "word", ["resource.capture", "resource.pull", "resource.distill", "resource.search", "sync", "pg.json"]
)
def test_every_step_is_shown(word: str) -> None:
    assert f"{word}" in shown()
