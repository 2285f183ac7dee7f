"""Transcripts of real commands on copies of real vaults: exit code, stdout and stderr, line by line.

A file is ``vault: PATH`` (of the repository, or ``empty``), then steps: ``$ command`` (``3$ command`` when exit code 3 is
right), ``> line`` of stdout, ``2> line`` of stderr. A command is ``kb ...``, ``write PATH TEXT``, ``remove PATH`` or
``rename OLD NEW``. ``{root}`` stands for the copy's folder, ``{revision}`` for any revision. ``pytest tests/e2e
--update-transcripts`` writes what really came out; read the difference before you keep it.
"""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from support.cli import kb

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent
STEP = re.compile(r"(\d*)\$ (.*)")


def run(line: str, vault: Path) -> tuple[int, str, str]:
    """Run one step in the copy; (exit code, stdout, stderr) with what differs from run to run named."""
    words = shlex.split(line.replace("{root}", str(vault)))
    if words[0] == "kb":
        done = kb(*words[1:], cwd=vault)
        code, out, err = done.returncode, done.stdout, done.stderr
    elif words[0] == "write":
        (vault / words[1]).parent.mkdir(parents=True, exist_ok=True)
        (vault / words[1]).write_bytes(words[2].replace("\\n", "\n").encode())
        code, out, err = 0, "", ""
    elif words[0] == "remove":
        (vault / words[1]).unlink()
        code, out, err = 0, "", ""
    elif words[0] == "rename":
        (vault / words[1]).rename(vault / words[2])
        code, out, err = 0, "", ""
    else:
        raise AssertionError(f"unknown step: {line}")
    return code, steady(out, vault), steady(err, vault)


def steady(text: str, vault: Path) -> str:
    text = text.replace(str(vault), "{root}")
    return re.sub(r"sha256:[0-9a-f]{12,64}", "{revision}", text)


def lines(mark: str, text: str) -> list[str]:
    return [f"{mark} {line}".rstrip() for line in text.splitlines()]


@pytest.mark.parametrize("path", sorted(HERE.glob("*.txt")), ids=lambda path: path.stem)
def test_transcript(path: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    script = path.read_text(encoding="utf-8").splitlines()
    source = script[0].removeprefix("vault: ")
    vault = tmp_path / "vault"
    if source == "empty":
        vault.mkdir()
    else:
        shutil.copytree(REPOSITORY / source, vault, ignore=shutil.ignore_patterns(".kbtasks"))
    got = [script[0]]
    for line in script[1:]:
        match = STEP.fullmatch(line)
        if match:
            code, out, err = run(match[2], vault)
            got += [f"{code or ''}$ {match[2]}", *lines(">", out), *lines("2>", err)]
        elif not line.startswith((">", "2>")):
            got.append(line)
    if request.config.getoption("--update-transcripts"):
        path.write_text("\n".join(got) + "\n", encoding="utf-8")

    assert got == script
