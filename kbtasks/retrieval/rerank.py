"""The reranker hook: a program or an ONNX cross-encoder of the user's choice reorders the first candidates.

It is set in ``[rerank]`` of kb.toml and used only when asked for. Whatever goes wrong with it keeps the order there was, and the
lane says so. A program gets one JSON document on stdin, ``{"query", "documents": [{"id", "path", "title", "text"}]}``, and
answers ``{"scores": [...]}`` on stdout: one finite number a document, in their order, higher is better.
"""

from __future__ import annotations

import json
import os
from math import isfinite

from kbtasks.errors import KbError
from kbtasks.retrieval.lanes import Lane
from kbtasks.retrieval.terms import json_list

TYPE_CHECKING = False  # importing typing would cost every search milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from kbtasks.index.view import View

MAX_DOCUMENTS = 50
_DOCUMENT_CHARS = 2000
_MAX_ANSWER = 1 << 20
_MAX_SECONDS = 60.0


def rerank(
    view: View, query: str, candidates: Sequence[tuple[int, Sequence[int]]], environ: Mapping[str, str]
) -> tuple[list[int], Lane]:
    """The notes of ``candidates`` (note, its best pieces) in their new order, and the lane ``rerank``. Never raises."""
    table = view.settings.table.get("rerank", {})
    lane = Lane("rerank", seconds=min(float(table.get("seconds", 8.0)), _MAX_SECONDS))
    order = [note for note, _ in candidates]
    count = min(int(table.get("candidates", 25)), MAX_DOCUMENTS, len(order))
    if not table.get("command") and not table.get("onnx"):
        lane.worsen("unavailable", "no reranker is set: [rerank] command or onnx in kb.toml")
        lane.done(0)
        return order, lane
    try:
        documents = _documents(view, candidates[:count])
        if table.get("command"):
            scores = _by_command(view, table["command"], query, documents, environ, lane)
        else:
            scores = _by_onnx(os.path.join(view.root, table["onnx"]), query, documents)
        if len(scores) != count or not all(isfinite(score) for score in scores):
            raise ValueError(f"{count} finite scores were expected, {len(scores)} came")
        first = sorted(range(count), key=lambda at: (-scores[at], at))
        order = [order[at] for at in first] + order[count:]
        lane.done(count)
    except KbError as error:
        lane.worsen("unavailable", f"the order is as without it: {error.message}")
    except (ValueError, TypeError, KeyError, OSError) as error:
        lane.worsen("unavailable", f"the order is as without it: {str(error)[:200]}")
    except Exception as error:  # noqa: BLE001 - an ONNX file may fail in any way, and must never cost the answer
        lane.worsen("unavailable", f"the order is as without it: {type(error).__name__}")
    return order, lane


def _documents(view: View, candidates: Sequence[tuple[int, Sequence[int]]]) -> list[dict[str, Any]]:
    sql = "SELECT rowid, path, title, summary FROM note WHERE rowid IN (SELECT value FROM json_each(?))"
    notes = {row[0]: row[1:] for row in view.connection.execute(sql, (json_list(note for note, _ in candidates),))}
    documents = []
    for number, (note, pieces) in enumerate(candidates):
        path, title, summary = notes[note]
        row = None
        if pieces:
            row = view.connection.execute("SELECT body FROM search_text WHERE id = ?", (pieces[0],)).fetchone()
        text = (row[0] if row and row[0].strip() else summary)[:_DOCUMENT_CHARS]
        documents.append({"id": str(number), "path": path, "title": title, "text": text})
    return documents


def _by_command(
    view: View, command: list[str], query: str, documents: list[dict[str, Any]], environ: Mapping[str, str], lane: Lane
) -> list[float]:
    from time import monotonic

    from kbtasks import process

    request = json.dumps({"schema": "kbtasks/rerank-request/1", "query": query, "documents": documents}).encode()
    left = max(0.1, lane.deadline - monotonic())
    done = process.run(command, cwd=view.root, env=environ, timeout=left, max_stdout=_MAX_ANSWER, input=request)
    if done.status:
        raise ValueError(f"the reranker failed with exit status {done.status}")
    answer = json.loads(done.stdout)
    return [float(score) for score in answer["scores"]]


def _by_onnx(path: str, query: str, documents: list[dict[str, Any]]) -> list[float]:
    """Scores of a BERT cross-encoder with the uncased vocabulary: logits of (query, document) pairs."""
    try:
        import numpy as np
        import onnxruntime  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        raise ValueError("an ONNX reranker needs onnxruntime: pip install 'kbtasks[fast]'") from None
    from kbtasks.index.wordpiece import CLS, SEP, WordPiece

    tokenizer = WordPiece()
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = {each.name for each in session.get_inputs()}
    asked = tokenizer.encode(query)[:64]
    scores = []
    for document in documents:
        body = tokenizer.encode(f"{document['title']}. {document['text']}")[: 509 - len(asked)]
        ids = [CLS, *asked, SEP, *body, SEP]
        feeds = {
            "input_ids": np.array([ids], dtype=np.int64),
            "attention_mask": np.ones((1, len(ids)), dtype=np.int64),
            "token_type_ids": np.array([[0] * (len(asked) + 2) + [1] * (len(body) + 1)], dtype=np.int64),
        }
        logits = session.run(None, {name: value for name, value in feeds.items() if name in names})[0]
        scores.append(float(np.ravel(logits)[-1]))
    return scores
