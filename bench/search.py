"""Cost of searching: cold processes over many sections, and how fast text is encoded.

    python bench/search.py cold [SECTIONS [FOLDER]]     CPU of whole `kb search` processes, by mode, beside an empty interpreter;
                                               vault and vectors are kept in FOLDER, for another run
    python bench/search.py encode              passages a CPU second, numpy against onnxruntime where that is installed

The vault is made from a seed: notes of eight sections of about sixty words. Sections are drawn from 320 different ones, so that
their vectors are made in a minute (equal text is encoded once), but every section has its own row, as in any vault.
"""

from __future__ import annotations

import contextlib
import os
import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # compiling the sources anew is no part of what a user waits for

PER_NOTE = 8
DIFFERENT = 320
RUNS = 7
QUERIES = ("why does the parser refuse trailing blanks", "harbour lights at night", "which gauge sends a checksum")
WORDS = [
    "harbour",
    "gauge",
    "parser",
    "tide",
    "height",
    "telegram",
    "checksum",
    "retry",
    "blank",
    "station",
    "light",
    "night",
    "watch",
    "officer",
    "board",
    "pilot",
    "table",
    "store",
    "year",
    "backup",
    "copy",
    "release",
    "branch",
    "rule",
    "reason",
    "decision",
    "measure",
    "count",
    "line",
    "serial",
    "cable",
    "float",
    "encoder",
    "transmitter",
    "sea",
    "wind",
    "wave",
    "bay",
    "chart",
    "datum",
    "zero",
    "range",
    "fault",
    "refuse",
    "accept",
    "field",
    "form",
    "code",
    "time",
    "clock",
    "local",
    "browser",
    "page",
    "draw",
    "dot",
    "hollow",
    "cross",
]


def vocabulary(pick: random.Random) -> list[str]:
    """20,000 made-up words, WORDS scattered among the commoner thousand."""
    parts = ["ba", "re", "ti", "mo", "lu", "sen", "dor", "kal", "vin", "pes", "gra", "tho", "ny", "ful", "ex", "con"]
    words = ["".join(pick.choice(parts) for _ in range(pick.randrange(2, 5))) for _ in range(20_000)]
    for number, word in enumerate(WORDS):
        words[40 + 12 * number] = word
    return words


def cpu(who: int) -> float:
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def make(root: Path, sections: int) -> None:
    pick = random.Random(7)
    pool = []
    words = vocabulary(pick)
    weights = [1 / (rank + 10) for rank in range(len(words))]  # as often as in prose, after Zipf
    for number in range(DIFFERENT):
        prose = " ".join(pick.choices(words, weights, k=60))
        pool.append(f"## {pick.choice(WORDS).title()} {number}\n\n{prose.capitalize()}.\n\n")
    for number in range(sections // PER_NOTE):
        path = root / f"{number // 500:03d}" / f"note {number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        body = "".join(pick.choice(pool) for _ in range(PER_NOTE))
        path.write_text(f"---\ntitle: Log\n---\n\n{body}", encoding="utf-8")


def timed(command: list[str]) -> float:
    """CPU milliseconds of the cheapest of RUNS whole processes."""
    best = float("inf")
    for _ in range(RUNS):
        before = cpu(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        best = min(best, cpu(resource.RUSAGE_CHILDREN) - before)
    return best * 1000


def cold(sections: int, kept: str = "") -> None:
    kb = str(Path(sys.executable).with_name("kb"))
    with contextlib.nullcontext(kept) if kept else tempfile.TemporaryDirectory(prefix="kb-bench-") as folder:
        vault, cache = Path(folder) / "vault", Path(folder) / "cache"
        if not vault.exists():
            make(vault, sections)
        started = cpu(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [kb, "refresh", "--root", vault, "--cache", cache, "--quiet"], check=True, stdout=subprocess.DEVNULL
        )
        middle = cpu(resource.RUSAGE_CHILDREN)
        only = ["--only", "vectors"]
        subprocess.run(
            [kb, "refresh", *only, "--root", vault, "--cache", cache, "--quiet"], check=True, stdout=subprocess.DEVNULL
        )
        print(
            f"{sections} sections: index {middle - started:.1f} CPU s, vectors {cpu(resource.RUSAGE_CHILDREN) - middle:.1f} CPU s"
        )
        for name in ("index.db", "vectors.bin"):
            print(f"  {name} {os.path.getsize(cache / name) / 1e6:.0f} MB")
        floor = timed([sys.executable, "-c", "pass"])
        numpy = timed([sys.executable, "-c", "import numpy"])
        print(f"  an empty interpreter {floor:.0f} ms, with numpy {numpy:.0f} ms (CPU, cheapest of {RUNS})")
        for mode in ("keyword", "semantic", "hybrid"):
            for query in QUERIES:
                spent = timed(
                    [kb, "search", query, "--mode", mode, "--root", str(vault), "--cache", str(cache), "--json"]
                )
                print(f"  {mode:9} {spent:5.0f} ms   {query}")


def encode() -> None:
    from kbtasks.index import modelfile
    from kbtasks.index.encoder import Encoder
    from kbtasks.index.wordpiece import WordPiece

    pick = random.Random(3)
    started = cpu(resource.RUSAGE_SELF)
    tokenizer, encoder = WordPiece(), Encoder(modelfile.require())
    print(f"numpy: imported, model and vocabulary loaded in {(cpu(resource.RUSAGE_SELF) - started) * 1000:.0f} ms CPU")
    texts = [[101, *tokenizer.encode(" ".join(pick.choice(WORDS) for _ in range(224)))[:224], 102] for _ in range(64)]
    query = [101, *tokenizer.encode(QUERIES[0]), 102]
    list(encoder.encode([query]))
    started = cpu(resource.RUSAGE_SELF)
    for _ in range(20):
        list(encoder.encode([query]))
    print(f"numpy: a query of {len(query)} tokens {(cpu(resource.RUSAGE_SELF) - started) / 20 * 1000:.1f} ms CPU")
    started = cpu(resource.RUSAGE_SELF)
    list(encoder.encode(texts))
    print(f"numpy: {len(texts) / (cpu(resource.RUSAGE_SELF) - started):.1f} passages of 226 tokens a CPU second")
    try:
        import numpy as np
        import onnxruntime
    except ImportError:
        print("onnxruntime is not installed")
        return
    started = cpu(resource.RUSAGE_SELF)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(modelfile.require(), options)
    print(f"onnxruntime: model loaded in {(cpu(resource.RUSAGE_SELF) - started) * 1000:.0f} ms CPU after its import")
    started = cpu(resource.RUSAGE_SELF)
    for ids in texts:
        row = np.array([ids])
        session.run(None, {"input_ids": row, "attention_mask": np.ones_like(row), "token_type_ids": np.zeros_like(row)})
    print(f"onnxruntime: {len(texts) / (cpu(resource.RUSAGE_SELF) - started):.1f} passages of 226 tokens a CPU second")


if __name__ == "__main__":
    if sys.argv[1:2] == ["cold"]:
        cold(int(sys.argv[2]) if len(sys.argv) > 2 else 50_000, *sys.argv[3:4])
    elif sys.argv[1:2] == ["encode"]:
        encode()
    else:
        sys.exit(__doc__)
