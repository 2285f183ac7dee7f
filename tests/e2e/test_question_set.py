"""The question set of the example vault as a regression: what was found once must be found again."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from support.meaning import needs_model

from kbtasks.command import Context
from kbtasks.errors import Conflict, InvalidInput
from kbtasks.retrieval.evaluate_questions import read_set
from kbtasks.tasks.evaluate import evaluate

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
QUESTIONS = EXAMPLES / "questions.json"


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    shutil.copytree(EXAMPLES / "vault", tmp_path / "vault", ignore=shutil.ignore_patterns(".kbtasks"))
    shutil.copy(QUESTIONS, tmp_path)
    return tmp_path


def measured(folder: Path, **options: object) -> dict:
    from kbtasks import schema

    context = Context(cwd=str(folder), environ={}, common={"quiet": True})
    result = evaluate(context, "questions.json", **options)  # type: ignore[arg-type]
    schema.check("evaluation", result.to_json(), what="the result")
    assert result.text is not None
    assert "harbour-board" in result.text(result.data)
    return result.data


def figures(data: dict, mode: str) -> dict:
    return next(run for run in data["runs"] if run["mode"] == mode)


def test_the_set_is_as_large_and_varied_as_it_says() -> None:
    questions = read_set(str(QUESTIONS)).questions
    kinds = {question.kind for question in questions}
    assert len(questions) >= 40
    assert kinds >= {"identifier", "concept", "paraphrase", "stale-current", "chinese", "no-answer", "near-miss"}
    assert {question.split for question in questions} == {"development", "test"}
    for question in questions:
        for note in question.relevant:
            text = " ".join((EXAMPLES / "vault" / f"{note}.md").read_text(encoding="utf-8").split())
            assert text
        assert bool(question.relevant) == bool(question.answers)


def test_keyword_search_finds_what_it_found(copied: Path) -> None:
    run = figures(measured(copied, mode=["keyword"], baseline="none"), "keyword")
    foreign = next(line for line in run["classes"] if line["class"] == "no-answer")
    assert run["first_right"] >= 36
    assert run["passages"]["held"] >= 39
    assert foreign["right"] >= 19
    assert run["failures"] == 0


@needs_model
def test_hybrid_search_finds_what_it_found(copied: Path) -> None:
    data = measured(copied, rankings=True)
    run = figures(data, "hybrid")
    classes = {line["class"]: line["right"] for line in run["classes"]}
    assert run["questions"] == 46
    assert run["first_right"] >= 39
    assert classes["no-answer"] >= 19, "foreign questions must be told from real ones, 19 of 20"
    assert run["no_answer"]["lost"] <= 2, "at most one real question in twenty may be lost"
    assert run["passages"]["held"] >= 42, "the passage holds the answer, 9 of 10"
    assert classes["identifier"] == 11
    assert {line["metric"] for line in data["comparisons"]} == {
        "success@1",
        "mrr@10",
        "ndcg@10",
        "recall@10",
        "recall@100",
    }
    assert len(data["rankings"]) == 2 * 72


def test_a_vault_that_changed_is_refused_unless_thawed(copied: Path) -> None:
    (copied / "vault" / "notes" / "new.md").write_text("Something else.\n", encoding="utf-8")
    with pytest.raises(Conflict, match="judged on"):
        measured(copied, mode=["keyword"], baseline="none")
    data = measured(copied, mode=["keyword"], baseline="none", thawed=True, split="development", limit=5)
    assert sum(line["questions"] for line in figures(data, "keyword")["classes"]) == 5


def test_a_manifest_that_breaks_its_schema_is_refused_with_the_place(copied: Path) -> None:
    document = json.loads(QUESTIONS.read_text(encoding="utf-8"))
    document["questions"][3]["split"] = "train"
    (copied / "questions.json").write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(InvalidInput, match="/questions/3/split"):
        measured(copied, mode=["keyword"])


def test_a_collection_of_sections_is_measured_part_by_part(tmp_path: Path) -> None:
    for part in ("one", "two"):
        folder = tmp_path / "all" / part
        folder.mkdir(parents=True)
        turns = [("7|a", "Anna: the boat is blue"), ("7|b", "Ben: mine sank in 1999"), ("7|c", "Anna: a pity")]
        lines = [json.dumps({"_id": name, "title": "9 May", "text": text}) for name, text in turns]
        (folder / "corpus.jsonl").write_text("\n".join(lines), encoding="utf-8")
        (folder / "queries.jsonl").write_text(
            json.dumps({"_id": "q", "text": "whose boat sank in 1999?"}), encoding="utf-8"
        )
        (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\t7|b\t1\n", encoding="utf-8")
    context = Context(cwd=str(tmp_path), environ={}, common={"quiet": True, "cache": "kept"})
    data = evaluate(context, "all", ["keyword"], "none", foreign=["all/one"]).data
    assert data["collection"] == {"kind": "beir", "name": "all", "parts": 2, "documents": 6, "split": "all"}
    assert data["runs"][0]["first_right"] == 2
    assert data["foreign"][0]["asked"] == 2
    assert sum(1 for _ in (tmp_path / "kept").rglob("group-000-000.md")) == 1  # equal parts share one vault
