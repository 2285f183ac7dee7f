"""An independent count of notes, wikilinks and tags in a vault, by other means than the product's: whole-text patterns and PyYAML."""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path

import yaml

FENCE = re.compile(r"^([ \t>]*)(`{3,}|~{3,})[^\n]*\n.*?(?:^[ \t>]*\2[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
COMMENT = re.compile(r"<!--.*?-->|%%.*?%%", re.DOTALL)
FRONT = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*$", re.DOTALL | re.MULTILINE)
WIKI = re.compile(r"!?\[\[([^\[\]\n]+)\]\]")


def notes(root: Path) -> list[str]:
    """Paths of the notes: regular Markdown files outside dot-folders and the folders of build tools."""
    skipped = {"node_modules", "bower_components", "dist", "coverage", "__pycache__", "venv"}
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in skipped]
        for name in names:
            full = os.path.join(folder, name)
            is_note = name.lower().endswith(".md") and name not in ("AGENTS.md", "CLAUDE.md")
            if is_note and not name.startswith(".") and not os.path.islink(full):
                found.append(os.path.relpath(full, root))
    return sorted(found)


def body_wikilinks(text: str) -> Counter[str]:
    """The text between the brackets of each wikilink in the body, code and comments left out."""
    front = FRONT.match(text)
    body = text[front.end() :] if front else text
    for pattern in (FENCE, INLINE, COMMENT):
        body = pattern.sub(" ", body)
    return Counter(match[1] for match in WIKI.finditer(body))


def front_tags(text: str) -> set[str]:
    """The tags in front matter that PyYAML reads; none where it cannot."""
    front = FRONT.match(text)
    try:
        meta = yaml.load(front[1], yaml.CBaseLoader) if front else None
    except yaml.YAMLError:
        return set()
    if not isinstance(meta, dict):
        return set()
    values = meta.get("tags") or meta.get("tag") or []
    if isinstance(values, str):
        values = re.split(r"[,\s]+", values)
    return {str(value).lstrip("#") for value in values if isinstance(value, str) and value}
