"""The resource memory at size: ``python bench/resources.py [RECORDS]`` (default 100,000).

Builds a store of fictional records through the program's own write path, then measures, each as a fresh process: put
of one, searches, a capture of 50,000 rows, and peak memory. CPU is user plus system time of the child; what a process
that only starts and imports the same modules needs is measured beside it and taken off.
"""

from __future__ import annotations

import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SYLLABLES = [
    "ka",
    "lo",
    "mi",
    "ter",
    "ban",
    "zu",
    "pre",
    "sto",
    "ven",
    "qua",
    "ri",
    "del",
    "fo",
    "nas",
    "hu",
    "wex",
    "ob",
    "tri",
    "gan",
    "sel",
]
CHINESE = "检查对话框键盘导航设计网站资源搜索模型图书馆鸟类观察记录方法工具"


def vocabulary(rng: random.Random, size: int) -> list[str]:
    """``size`` words; a lower index is meant to be more common (Zipf)."""
    words: dict[str, None] = {}
    while len(words) < size:
        words["".join(rng.choices(SYLLABLES, k=rng.randint(2, 4)))] = None
    return list(words)


class Maker:
    """Makes fictional posts: Zipf-distributed words, one in five partly Chinese."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.words = vocabulary(random.Random(0), 30_000)
        weights = [1 / (rank + 1) for rank in range(len(self.words))]
        total = 0.0
        self.cumulative = [total := total + weight for weight in weights]

    def text(self, least: int, most: int) -> str:
        """A text of ``least`` to ``most`` words."""
        words = self.rng.choices(self.words, cum_weights=self.cumulative, k=self.rng.randint(least, most))
        if self.rng.random() < 0.2:
            start = self.rng.randrange(len(CHINESE) - 8)
            words.append(CHINESE[start : start + 8])
        return " ".join(words)

    def post(self, number: int) -> dict[str, object]:
        """A row of a bookmark file."""
        return {
            "id": str(1_500_000_000_000_000_000 + number * 4_194_304 * 997),
            "text": self.text(15, 60),
            "created_at": "2026-01-01T00:00:00Z",
            "author": {"name": self.text(2, 2), "username": f"user{number % 5000}"},
            "tags": [self.rng.choice(self.words[:200])],
        }


def build(path: Path, number: int) -> None:
    """A store of ``number`` records at ``path``, in this process."""
    from kbtasks.resources import capture
    from kbtasks.resources.importers.detect import Detected
    from kbtasks.resources.importers.posts import read_post
    from kbtasks.resources.store import open_store, transaction

    maker = Maker(1)
    for start in range(0, number, 20_000):
        rows = (maker.post(n) for n in range(start, min(start + 20_000, number)))
        with open_store(str(path), write=True) as connection, transaction(connection):
            capture.capture(connection, Detected("bench", rows, read_post, []))


def child(*argv: str, code: str = "") -> tuple[float, float, bytes]:
    """CPU seconds and peak megabytes of a fresh Python with ``argv`` (or ``code``), and its stdout."""
    line = [sys.executable, "-c", code] if code else [sys.executable, "-m", "kbtasks", *argv]
    process = subprocess.Popen(line, cwd=ROOT, stdout=subprocess.PIPE)
    assert process.stdout is not None
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode in {0, 9}, out
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, out


def median(runs: int, *argv: str, code: str = "") -> tuple[float, float]:
    """Median CPU seconds and largest peak of ``runs`` runs, after one that warms the file cache."""
    child(*argv, code=code)
    found = [child(*argv, code=code) for _ in range(runs)]
    return statistics.median(cpu for cpu, _, _ in found), max(peak for _, peak, _ in found)


IMPORTS = {
    "put": "import kbtasks.cli, kbtasks.tasks.resource, kbtasks.resources.records, kbtasks.resources.intake, json, sqlite3, hashlib;"
    "c = sqlite3.connect(':memory:'); c.execute('select 1')",
    "search": "import kbtasks.cli, kbtasks.tasks.resource_find, kbtasks.resources.search, kbtasks.resources.filters, json, sqlite3;"
    "c = sqlite3.connect(':memory:'); c.execute('select 1')",
}


def main(number: int = 100_000, rows: int = 50_000) -> None:
    """Measure and print one table."""
    folder = Path(tempfile.mkdtemp(prefix="kb-bench-"))
    store = folder / "store.db"
    code = f"import sys; sys.path.insert(0, 'bench'); import resources; from pathlib import Path; resources.build(Path({str(store)!r}), {number})"
    cpu, peak, _ = child(code=code)
    print(f"built {number} records: {cpu:.1f} s CPU, peak {peak:.0f} MB, file {store.stat().st_size / 1e6:.0f} MB")
    words = Maker(2).words
    base = {name: median(5, code=code)[0] for name, code in IMPORTS.items()}
    print(f"start-up and imports: put {base['put'] * 1000:.0f} ms, search {base['search'] * 1000:.0f} ms")
    puts = []
    for n in range(7):
        one = {
            "source": {"provider": "web", "id": f"bench-{n}", "url": f"https://bench.example/{n}"}, "title": "One more", "text": Maker(n).text(30, 30),
            "summary": "", "purpose": "", "useWhen": [], "limitations": [], "savedReason": None, "updatedAt": "2026-05-01T00:00:00Z",
        }  # fmt: skip
        (folder / "one.json").write_text(json.dumps(one))
        puts.append(child("resource.put", str(folder / "one.json"), "--store", str(store))[:2])
    cpu = statistics.median(cpu for cpu, _ in puts)
    print(
        f"put of one: {(cpu - base['put']) * 1000:.0f} ms CPU over start-up ({cpu * 1000:.0f} whole), peak {max(m for _, m in puts):.0f} MB"
    )
    queries = {
        "two rare words": f"{words[9000]} {words[12000]}",
        "a common and a rare word": f"{words[3]} {words[7000]}",
        "five words, two very common": " ".join(words[n] for n in (0, 1, 50, 300, 4000)),
        "the commonest word": words[0],
        "the three commonest words": " ".join(words[:3]),
        "twenty words": " ".join(words[10:30]),
        "Chinese": "对话框键盘导航",
        "one tag": "",
    }
    for name, query in queries.items():
        more = ["--tag", words[5]] if not query else []
        for mode in ("ranked", "lexical"):
            cpu, peak = median(
                3, "resource.search", "--query", query, *more, "--mode", mode, "--store", str(store), "--json"
            )
            print(
                f"search {mode}, {name}: {(cpu - base['search']) * 1000:.0f} ms CPU over start-up, peak {peak:.0f} MB"
            )
    maker = Maker(3)
    with (folder / "rows.json").open("w") as file:
        json.dump([maker.post(n) for n in range(number, number + rows)], file)
    cpu, peak, out = child(
        "resource.capture", "--bookmarks", str(folder / "rows.json"), "--store", str(store), "--json"
    )
    print(f"capture of {json.loads(out)['added']} rows into {number}: {cpu:.1f} s CPU, peak {peak:.0f} MB")
    cpu, peak, _ = child("resource.list", "--store", str(store), "--json")
    print(f"list: {cpu * 1000:.0f} ms CPU, peak {peak:.0f} MB")
    cpu, peak, _ = child("resource.export", str(folder / "out.jsonl"), "--store", str(store))
    print(f"export of everything: {cpu:.1f} s CPU, peak {peak:.0f} MB")
    print(f"this process: peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main(*map(int, sys.argv[1:3]))
