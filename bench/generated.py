"""A vault of any size made from a seed: notes, plans and captures with links, relations, tags, scopes and prose in three scripts."""

from __future__ import annotations

import argparse
import random
from pathlib import Path

WORDS = [
    "parser",
    "retry",
    "queue",
    "index",
    "vault",
    "note",
    "link",
    "graph",
    "commit",
    "branch",
    "search",
    "token",
    "window",
    "cache",
    "lock",
    "revision",
    "schema",
    "adapter",
    "receipt",
    "binding",
    "capture",
    "manifest",
    "passage",
    "lane",
    "resource",
    "provider",
    "source",
    "target",
    "folder",
    "heading",
    "section",
    "alias",
    "title",
    "summary",
    "evidence",
    "decision",
    "reason",
    "scope",
    "guide",
    "plan",
    "outcome",
    "result",
    "memory",
    "daily",
    "review",
    "design",
    "measure",
    "budget",
    "deadline",
    "timeout",
    "failure",
    "recovery",
]
CHINESE = "解析器契约索引检索笔记计划结果记忆设计决定原因范围来源证据"
JAPANESE = "ノートリンク索引検索計画結果記録設計理由"
STATUSES = ("proposed", "accepted", "in-progress", "blocked", "completed", "superseded", "cancelled")


def make_vault(root: Path, notes: int, *, seed: int = 1) -> None:
    """Write ``notes`` notes of about 1.2 KB below ``root``: three links and two tags each, one in five a plan, one in ten a capture.

    One note in five has a code path as scope, one in ten a typed relation, one in twenty an alias; a hundred hubs get many links.
    The same seed and number give the same bytes.
    """
    pick = random.Random(seed)
    names = [name(number) for number in range(notes)]
    for number, path in enumerate(names):
        file = root / f"{path}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text(pick, number, names), encoding="utf-8")


def name(number: int) -> str:
    """The ID of note ``number``."""
    word = WORDS[number % len(WORDS)]
    folder = "plans" if number % 5 == 4 else "articles" if number % 10 == 3 else "notes"
    return f"{folder}/{number // 500:03d}/{word} {number}"


def text(pick: random.Random, number: int, names: list[str]) -> str:
    """The text of note ``number``."""
    count = len(names)
    targets = [pick.randrange(count), pick.randrange(min(100, count)), (number + pick.randrange(1, 50)) % count]
    meta = [f"title: {WORDS[number % len(WORDS)].title()} {number}"]
    kind = names[number].partition("/")[0]
    if kind == "plans":
        meta += ["type: plan", f"status: {pick.choice(STATUSES)}", "area: core"]
    else:
        meta.append(f"type: {'article' if kind == 'articles' else 'note'}")
    if kind == "articles":
        meta.append(f"clipped: 2026-{pick.randrange(1, 13):02d}-{pick.randrange(1, 29):02d}")
    if number % 5 == 0:
        meta.append(f"repository_scopes: [packages/p{number % 200}/src/m{number % 50}]")
    if number % 10 == 0:
        meta.append(f"relations: {{informed-by: {names[targets[0]]}}}")
    if number % 20 == 0:
        meta.append(f"aliases: [alias {number}]")
    meta.append(f"tags: [{pick.choice(WORDS)}, area/{pick.choice(WORDS)}]")
    parts = []
    for section in range(2):
        prose = " ".join(pick.choice(WORDS) for _ in range(60))
        parts.append(f"## Section {section}\n\n{prose.capitalize()}.")
    links = " and ".join(f"[[{names[target].rpartition('/')[2]}]]" for target in targets)
    script = CHINESE if number % 3 else JAPANESE
    other = "".join(pick.choice(script) for _ in range(30))
    parts.append(f"It follows {links} here. {other}。")
    return "---\n" + "\n".join(meta) + "\n---\n\n" + "\n\n".join(parts) + "\n"


def main() -> None:
    """Make a vault from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--notes", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    make_vault(given.folder, given.notes, seed=given.seed)


if __name__ == "__main__":
    main()
