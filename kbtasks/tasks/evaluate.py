"""``evaluate``: how good the answers are, on a test collection or a question set."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kbtasks.command import command
from kbtasks.errors import UsageError
from kbtasks.model.result import Result

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from kbtasks.command import Context
    from kbtasks.retrieval.evaluate import Run
    from kbtasks.retrieval.evaluate_collection import Places, Question

MAX_QUESTIONS = 100_000


@command(
    "evaluate",
    schema="evaluation",
    positional="collection",
    help={
        "collection": "A BEIR folder, a folder of them (figures are summed), or the JSON file of a question set.",
        "mode": "Mode to measure: keyword, semantic or hybrid; may be repeated (default: hybrid).",
        "baseline": "Mode that the others are compared with.",
        "split": "Which questions of a set: test, development or all.",
        "foreign": "BEIR folder whose questions have no answer here; may be repeated.",
        "limit": "Ask at most this many questions of each part (0: all).",
        "rankings": "Also list what was found for each question.",
        "thawed": "Measure a question set even if its notes have changed since it was judged.",
    },
    choices={"split": ("test", "development", "all"), "baseline": ("keyword", "semantic", "hybrid", "none")},
)
def evaluate(
    context: Context,
    collection: str,
    mode: list[str] = [],  # noqa: B006
    baseline: str = "keyword",
    split: str = "all",
    foreign: list[str] = [],  # noqa: B006
    limit: int = 0,
    rankings: bool = False,
    thawed: bool = False,
) -> Result:
    """Measure the search on COLLECTION: Success@1, MRR, nDCG, Recall, no-answer, passages, time.

    A BEIR folder holds corpus.jsonl, queries.jsonl and qrels.tsv. Its documents are written as notes into a vault below
    --cache (a temporary one without it), indexed and searched as any vault is; vectors are made where the semantic
    extra is installed, and kept there for the next run. A question set names its own vault and the state it was judged in.
    """
    from kbtasks.retrieval.evaluate import compare

    modes = list(dict.fromkeys([*(mode or ["hybrid"]), *([] if baseline == "none" else [baseline])]))
    for name in modes:
        if name not in ("keyword", "semantic", "hybrid"):
            raise UsageError(message=f"--mode takes keyword, semantic or hybrid, not {name!r}")
    if limit < 0:
        raise UsageError(message="--limit is 0 or more")
    path = context.path(collection)
    if os.path.isdir(path):
        data, runs = _collection(context, path, modes, foreign, limit)
    else:
        data, runs = _question_set(context, path, modes, split, limit, thawed)
    against = next((run for run in runs if run.mode == baseline), None)
    data["runs"] = [run.to_json() for run in runs]
    data["comparisons"] = [
        line for run in runs if against is not None and run is not against for line in compare(run, against)
    ]
    if rankings:
        data["rankings"] = _rankings(runs)
    notes = [f"{run.mode}: {name}: {why}" for run in runs for name, why in run.failures[:5]]
    return Result("evaluation", data, text=render, notes=notes, tail="rankings")


def _collection(
    context: Context, path: str, modes: list[str], foreign: list[str], limit: int
) -> tuple[dict[str, Any], list[Run]]:
    """Measure a BEIR folder or a folder of them."""
    from tempfile import TemporaryDirectory

    from kbtasks.retrieval import evaluate, evaluate_collection

    others = [(name, _questions_of(context.path(name), limit)) for name in foreign]
    parts: list[list[Run]] = []
    strangers: dict[tuple[str, str], list[int]] = {}
    documents = 0
    with TemporaryDirectory(prefix="kb-evaluate-") as temporary:
        base = context.cache if context.cache_flag else temporary
        folders = evaluate_collection.folders(path)
        for folder in folders:
            home = os.path.join(base, "collections", evaluate_collection.digest(folder))
            vault = os.path.join(home, "vault")
            os.makedirs(vault, exist_ok=True)
            places = evaluate_collection.write_vault(folder, vault)
            documents += sum(len(ids) for ids in places.ids.values())
            questions = evaluate_collection.read_questions(folder)
            with _opened(context, vault, os.path.join(home, "cache"), modes) as view:
                ask = _asker(view, places)
                progress = _progress(context, "asking")
                parts.append(evaluate.ask_all(questions[: limit or None], modes, ask, progress))
                for name, other in others:
                    for run in evaluate.ask_all(other, modes, ask, progress):
                        counts = strangers.setdefault((run.mode, os.path.basename(os.path.normpath(name))), [0, 0])
                        counts[0] += len(run.answers)
                        counts[1] += sum(answer is not None and not answer.answerable for answer in run.answers)
    runs = [evaluate.merge([part[number] for part in parts]) for number in range(len(modes))]
    data: dict[str, Any] = {
        "collection": {
            "kind": "beir",
            "name": os.path.basename(os.path.normpath(path)),
            "parts": len(folders),
            "documents": documents,
            "split": "all",
        },
        "foreign": [
            {"mode": mode, "name": name, "asked": asked, "right": right}
            for (mode, name), (asked, right) in strangers.items()
        ],
    }
    return data, runs


def _questions_of(path: str, limit: int) -> list[Question]:
    """The questions of another collection, all without an answer here."""
    from kbtasks.retrieval.evaluate_collection import Question, folders, read_questions

    found = [question for folder in folders(path) for question in read_questions(folder)]
    return [Question(question.id, question.text, {}) for question in found[: limit or None]]


def _question_set(
    context: Context, path: str, modes: list[str], split: str, limit: int, thawed: bool
) -> tuple[dict[str, Any], list[Run]]:
    """Measure a question set on its vault (or the one that --root names)."""
    from kbtasks.retrieval import evaluate
    from kbtasks.retrieval.evaluate_questions import check_frozen, read_set

    found = read_set(path)
    vault = context.vault if context.root_flag else found.vault
    questions = [question for question in found.questions if split in ("all", question.split)][: limit or None]
    cache = context.cache if context.cache_flag else os.path.join(vault, ".kbtasks")
    with _opened(context, vault, cache, modes) as view:
        if not thawed:
            check_frozen(found, view.connection)
        documents = view.connection.execute("SELECT count(*) FROM note").fetchone()[0]
        runs = evaluate.ask_all(questions, modes, _asker(view, None), _progress(context, "asking"))
    data: dict[str, Any] = {
        "collection": {"kind": "questions", "name": found.id, "parts": 1, "documents": documents, "split": split},
        "foreign": [],
    }
    return data, runs


def _opened(context: Context, vault: str, cache: str, modes: list[str]) -> Any:
    """A view of ``vault`` with its vectors made, where a mode asks for them and the extra is there."""
    from kbtasks.index import modelfile
    from kbtasks.index.view import open_view

    view = open_view(vault, cache)
    try:
        if modes != ["keyword"] and modelfile.find() is not None and view.persistent:
            from kbtasks.index import vectors

            vectors.build(view.connection, cache, progress=_progress(context, "encoding"), threads=vectors.processors())
    except BaseException:
        view.close()
        raise
    return view


def _asker(view: Any, places: Places | None) -> Any:
    from kbtasks.retrieval.evaluate_ask import asker

    return asker(view, places, passages=places is None)


def _progress(context: Context, what: str) -> Callable[[int, int], None] | None:
    """A counter on stderr, where it is a terminal."""
    import sys

    if context.quiet or not sys.stderr.isatty():
        return None

    def show(done: int, total: int) -> None:
        sys.stderr.write(f"\r{what} {done}/{total}" + ("\n" if done == total else ""))
        sys.stderr.flush()

    return show


def _rankings(runs: list[Run]) -> list[dict[str, Any]]:
    return [
        {
            "mode": run.mode,
            "question": question.id,
            "answerable": answer is not None and answer.answerable,
            "ranked": answer.ranked[:10] if answer is not None else [],
        }
        for run in runs
        for question, answer in zip(run.questions, run.answers, strict=True)
    ]


def render(data: dict[str, Any]) -> str:
    """The figures as a table, one line per mode, then classes, no-answer, passages, time, and differences."""
    about = data["collection"]
    lines = [f"{about['name']}: {about['documents']} documents in {about['parts']} part(s)", ""]
    lines.append(f"{'mode':10}{'first':>12}{'S@1':>8}{'MRR@10':>8}{'nDCG@10':>9}{'R@10':>8}{'R@100':>8}")
    for run in data["runs"]:
        metrics = run["metrics"]
        lines.append(
            f"{run['mode']:10}{run['first_right']:>6}/{run['questions']:<5}{metrics['success@1']:>8.3f}"
            f"{metrics['mrr@10']:>8.3f}{metrics['ndcg@10']:>9.4f}{metrics['recall@10']:>8.3f}"
            f"{metrics['recall@100']:>8.3f}"
        )
    lines.append("")
    for run in data["runs"]:
        none, passages, times = run["no_answer"], run["passages"], run["latency"]
        lines.append(
            f"{run['mode']}: no answer {none['right']}/{none['asked']}, real ones lost {none['lost']}/{run['questions']}; "
            + (f"passage holds the answer {passages['held']}/{passages['asked']}; " if passages["asked"] else "")
            + f"p50 {times['p50']} p95 {times['p95']} p99 {times['p99']} ms, CPU {times['cpu_mean']} ms"
        )
        if run["classes"]:
            parts = [f"{line['class']} {line['right']}/{line['questions']}" for line in run["classes"]]
            lines.append("  " + ", ".join(parts))
    lines += [
        f"{line['mode']}: foreign questions of {line['name']} caught {line['right']}/{line['asked']}"
        for line in data["foreign"]
    ]
    lines += [
        f"{line['mode']} - {line['baseline']}  {line['metric']:11}{line['difference']:+.4f} "
        f"[{line['low']:+.4f}, {line['high']:+.4f}]  {line['better']} better, {line['worse']} worse"
        for line in data["comparisons"]
    ]
    return "\n".join(lines)
