"""What the documents say is true: the README's transcript has been run, the reference pages are what the code gives."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.cli import kb

from kbtasks import schema

REPOSITORY = Path(__file__).resolve().parent.parent
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")


def render() -> Any:
    spec = importlib.util.spec_from_file_location("render", REPOSITORY / "docs" / "render.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["commands.md", "schemas.md", "exit-codes.md"])
def test_reference_pages_are_current(name: str) -> None:
    page = (REPOSITORY / "docs" / name).read_text(encoding="utf-8")

    assert page == render().PAGES[name](), "run: inv docs"


def transcripts() -> list[tuple[str, list[tuple[str, str]]]]:
    """(vault, [(command, output)]) of each marked block of the README and the pages of docs/."""
    found = []
    for page in [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]:
        text = page.read_text(encoding="utf-8")
        for match in re.finditer(r"<!-- transcript: (\S+) -->\n```console\n(.*?)```\n<!-- /transcript -->", text, re.S):
            steps: list[tuple[str, str]] = []
            for line in match[2].splitlines(keepends=True):
                if line.startswith("$ "):
                    steps.append((line[2:].strip(), ""))
                else:
                    steps[-1] = (steps[-1][0], steps[-1][1] + line)
            found.append((match[1], steps))
    return found


def test_the_readme_has_a_transcript_and_two_commands() -> None:
    assert transcripts()
    block = re.search(r"<!-- setup -->\n```sh\n(.*?)```\n<!-- /setup -->", README, re.S)
    assert block is not None
    assert len(block[1].splitlines()) == 2


@pytest.mark.parametrize(("vault", "steps"), transcripts())
def test_transcripts_have_been_run(vault: str, steps: list[tuple[str, str]], tmp_path: Path) -> None:
    copy = tmp_path / Path(vault).name
    shutil.copytree(REPOSITORY / vault, copy, ignore=shutil.ignore_patterns(".kbtasks"))
    for command, output in steps:
        words = shlex.split(command)
        assert words[0] == "kb"
        done = kb(*words[1:], cwd=copy)

        assert done.stdout.rstrip("\n") == output.rstrip("\n"), command


@pytest.mark.parametrize("name", schema.names())
def test_schemas_are_whole(name: str) -> None:
    from jsonschema import Draft202012Validator

    document = schema.load(name)
    Draft202012Validator.check_schema(document)

    assert document["$id"].endswith(f"/schemas/{name}.json")
    assert document["description"]
    assert document["examples"], f"{name} has no example"
    for example in document["examples"]:
        assert schema.problems(name, example) == [], json.dumps(example)


def test_every_command_has_its_schema() -> None:
    from kbtasks.tasks.table import all_commands

    missing = {command.name: command.schema for command in all_commands() if command.schema not in schema.names()}

    assert missing == {}


def test_nothing_names_this_machine() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("this is not a Git checkout")
    bad = []
    for name in listed.stdout.decode().split("\0"):
        path = REPOSITORY / name
        if path.suffix not in {".py", ".md", ".toml", ".json", ".yml", ".txt", ".sh", ""} or not path.is_file():
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        if re.search(r"/wor[k]/(mai[n]|share[d])|registry\.np[m]js|pythonhoste[d]|py[p]i\.org", text):
            bad.append(name)
    assert bad == []
