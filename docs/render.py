"""Writes the reference pages from their sources: commands.md, schemas.md and exit-codes.md. A test holds them true."""

from __future__ import annotations

import inspect
import json
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from kbtasks import errors, schema
from kbtasks.build import targets
from kbtasks.command import COMMON, Param
from kbtasks.index import region
from kbtasks.resources import faults, sources
from kbtasks.tasks import call
from kbtasks.tasks.invoked import described, spelled
from kbtasks.tasks.table import all_commands

HERE = Path(__file__).resolve().parent
MADE = "<!-- Made by `inv docs`; edit the source instead. -->\n\n"


def commands() -> str:
    """Every command with what it does, its flags and the schema of its result."""
    lines = [
        "# Commands",
        "",
        MADE.strip(),
        "",
        "`kb NAME [TEXT] [--flags]`, or in a repository with a `tasks.py`: `inv NAME ...`. Flags may stand before or after the",
        "text, as `--flag value` or `--flag=value`; a repeatable flag may be given several times. Text that begins with a dash goes",
        "after `--`, or by the flag of its name. With `inv`, quote text of several words, give an optional text by its flag, and put",
        "`--help` before the task; in `kb` several bare words are one text. (invoke takes a second bare word for the name of a task, and",
        'answers `inv search foo bar` with "No idea what \'bar\' is!" before any task is asked: type `inv search "foo bar"`.) Plain `doit`',
        "wants to stand beside its `dodo.py`: from a folder below, `doit -k`.",
        "",
    ]
    for command in sorted(all_commands(), key=lambda command: command.name):
        word = ""
        if command.positional is not None:
            word = command.positional.flag.upper() + ("..." if command.words else "")
            word = f" {word}" if command.positional.required else f" [{word}]"
        lines += [f"## {command.name}", "", f"`kb {command.name}{word}`", "", inspect.cleandoc(command.doc), ""]
        if command.params:
            lines += ["| flag | meaning |", "|---|---|"]
            lines += [f"| `{spelled(param)}` | {_cell(described(param))} |" for param in command.params]
            lines.append("")
        lines += [f"Result: [{command.schema}](schemas.md#{command.schema}).", ""]
    lines += ["## Flags of every command", "", "| flag | meaning |", "|---|---|"]
    for name, default, text in COMMON:
        param = Param(name, default, required=False, positional=False, help=text, choices=())
        lines.append(f"| `{spelled(param)}` | {_cell(described(param))} |")
    return "\n".join(lines) + "\n"


def schemas() -> str:
    """Every schema with its fields and first example."""
    lines = ["# Documents", "", MADE.strip(), ""]
    for name in schema.names():
        document = schema.load(name)
        lines += [f"## {name}", "", document["description"], ""]
        properties = document.get("properties", {})
        if properties:
            required = set(document.get("required", ()))
            lines += ["| field | type | meaning |", "|---|---|---|"]
            for field, rule in properties.items():
                kind = rule.get("type", "const" if "const" in rule else "reference" if "$ref" in rule else "any")
                kind = " or ".join(kind) if isinstance(kind, list) else kind
                star = "" if field in required else " (optional)"
                lines.append(f"| `{field}`{star} | {kind} | {_cell(rule.get('description', ''))} |")
            lines.append("")
        for example in document.get("examples", [])[:1]:
            lines += ["```json", json.dumps(example, ensure_ascii=False, indent=1), "```", ""]
    return "\n".join(lines)


def exit_codes() -> str:
    """The error tree with codes, exit codes and messages."""
    lines = ["# Exit codes and errors", "", MADE.strip(), "", "| exit | meaning |", "|---|---|"]
    lines += [f"| {number} | {meaning} |" for number, meaning in EXITS]
    lines += ["", "Plain `doit` keeps its own codes, make ends with 2, and under `inv` 1 is also invoke's own parse error.", "",
              "An error is one line on stderr, and a second one, `next:`, where there is something to type. With `--json` it is the",
              "document [error](schemas.md#error) on stdout, with one of these codes, or `source-` and what a source answered:", "", "| code | exit | message |", "|---|---|---|"]  # fmt: skip
    found = [
        value
        for module in (errors, faults, sources, region, targets, call)
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, errors.KbError) and value.__module__ == module.__name__
    ]
    for each in sorted((each for each in found if "code" in vars(each)), key=lambda item: (item.exit_code, item.code)):
        message = " ".join((each.__doc__ or "").split("\n\n")[0].split())
        lines.append(f"| `{each.code}` | {each.exit_code} | {_cell(message)} |")
    return "\n".join(lines) + "\n"


EXITS = (
    (0, "done; also where nothing matched, or a read is partial and says so"),
    (1, "a fault of ours"),
    (2, "the line or a document given is wrong"),
    (
        3,
        "something is to be mended: `check`, `agents.check`, `context`, `doctor`, `resource.doctor`, a verification; a page that could not be had (`clip`)",
    ),
    (4, "what was named is not there, or is several things"),
    (5, "refused, or somebody else was first: nothing was changed"),
    (6, "what a binding pinned has changed"),
    (7, "whether it was done is uncertain"),
    (8, "in use by another process; try again"),
    (9, "some items failed or are left, the rest is done"),
    (10, "something it needs is not available: an extra, a program, a server, Git, room on the disk"),
    (130, "interrupted"),
)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


PAGES = {"commands.md": commands, "schemas.md": schemas, "exit-codes.md": exit_codes}

BLOCK = re.compile(r"(<!-- transcript: (\S+) -->\n```console\n)(.*?)(```\n<!-- /transcript -->)", re.DOTALL)


def with_transcripts(text: str) -> str:
    """A page with the output of every marked transcript as its commands print it now, on a copy of the vault named."""

    def ran(match: re.Match[str]) -> str:
        with tempfile.TemporaryDirectory() as folder:
            vault = Path(folder) / "vault"
            shutil.copytree(HERE.parent / match[2], vault, ignore=shutil.ignore_patterns(".kbtasks"))
            lines = []
            for line in match[3].splitlines():
                if line.startswith("$ kb "):
                    words = [sys.executable, "-m", "kbtasks", *shlex.split(line[5:])]
                    done = subprocess.run(words, cwd=vault, capture_output=True, encoding="utf-8", check=False)
                    lines += [line, *done.stdout.splitlines()]
        return match[1] + "\n".join(lines) + "\n" + match[4]

    return BLOCK.sub(ran, text)


if __name__ == "__main__":
    for page in (HERE.parent / "README.md", *HERE.glob("*.md")):
        before = page.read_text(encoding="utf-8")
        after = with_transcripts(before)
        if after != before:
            page.write_text(after, encoding="utf-8")
            print(f"ran the transcripts of {page.name}")
    for name, page in PAGES.items():
        (HERE / name).write_text(page(), encoding="utf-8")
        print(f"wrote docs/{name}")
