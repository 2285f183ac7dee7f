"""Evaluation: ask every question of a collection in one or more modes, and say how good, how sure and how fast the
answers were.

A question that fails counts as zero. Questions without an answer are right when the search says so (``answerable:
false``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbtasks.retrieval.evaluate_metrics import METRICS, bootstrap, judge, mean, percentile

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from kbtasks.retrieval.evaluate_collection import Question

    Asker = Callable[[str, str], "Answer"]


class Answer:
    """What the search said to one question.

    ranked: ids of documents or notes, best first. answerable: whether it found anything good. passages: the text shown
    of each hit. milliseconds: wall time; cpu: processor time, both of the whole call.
    """

    __slots__ = ("answerable", "cpu", "milliseconds", "passages", "ranked")

    def __init__(
        self, ranked: list[str], answerable: bool, passages: list[str], milliseconds: float = 0.0, cpu: float = 0.0
    ) -> None:
        self.ranked = ranked
        self.answerable = answerable
        self.passages = passages
        self.milliseconds = milliseconds
        self.cpu = cpu


class Run:
    """The answers of one mode to all questions, in their order, and their judgments (None for a question without
    answer).
    """

    def __init__(self, mode: str) -> None:
        self.mode = mode
        self.questions: list[Question] = []
        self.answers: list[Answer | None] = []
        self.judged: list[dict[str, float] | None] = []
        self.failures: list[tuple[str, str]] = []

    def add(self, question: Question, answer: Answer | None) -> None:
        """Judge ``answer`` (None: it failed, and counts as zero)."""
        self.questions.append(question)
        self.answers.append(answer)
        if question.relevant:
            self.judged.append(judge(answer.ranked if answer else [], question.relevant))
        else:
            self.judged.append(None)

    def values(self, metric: str) -> list[float]:
        """``metric`` of every question that has an answer, in order."""
        return [judged[metric] for judged in self.judged if judged is not None]

    def to_json(self) -> dict[str, Any]:
        """The figures of the mode."""
        real = [(q, a) for q, a in zip(self.questions, self.answers, strict=True) if q.relevant]
        none = [(q, a) for q, a in zip(self.questions, self.answers, strict=True) if not q.relevant]
        times = [answer.milliseconds for answer in self.answers if answer is not None]
        firsts = self.values("success@1")
        return {
            "mode": self.mode,
            "questions": len(real),
            "first_right": int(sum(firsts)),
            "metrics": {metric: round(mean(self.values(metric)), 4) for metric in METRICS},
            "no_answer": {
                "asked": len(none),
                "right": sum(answer is not None and not answer.answerable for _, answer in none),
                "lost": sum(answer is not None and not answer.answerable for _, answer in real),
            },
            "passages": self._passages(),
            "classes": self._classes(),
            "latency": {
                **{f"p{share}": round(percentile(times, share / 100), 1) for share in (50, 90, 95, 99)},
                "cpu_mean": round(mean([answer.cpu for answer in self.answers if answer is not None]), 1),
            },
            "failures": len(self.failures),
        }

    def _passages(self) -> dict[str, int]:
        """How often the passage of a relevant hit in the first five holds one of the labelled answers."""
        asked = held = first = 0
        for question, answer in zip(self.questions, self.answers, strict=True):
            if not question.answers:
                continue
            asked += 1
            if answer is None:
                continue
            shown = [
                passage
                for found, passage in zip(answer.ranked[:5], answer.passages, strict=False)
                if found in question.relevant
            ]
            held += any(holds(passage, question.answers) for passage in shown)
            first += bool(answer.passages) and holds(answer.passages[0], question.answers)
        return {"asked": asked, "held": held, "held_first": first}

    def _classes(self) -> list[dict[str, Any]]:
        found: dict[str, list[int]] = {}
        for question, answer, judged in zip(self.questions, self.answers, self.judged, strict=True):
            if question.kind:
                right = judged["success@1"] if judged else float(answer is not None and not answer.answerable)
                counts = found.setdefault(question.kind, [0, 0])
                counts[0] += 1
                counts[1] += int(right)
        return [{"class": kind, "questions": asked, "right": right} for kind, (asked, right) in found.items()]


def holds(passage: str, answers: Sequence[str]) -> bool:
    """Whether ``passage`` holds one of ``answers``, white space and letter case aside."""
    text = " ".join(passage.split()).casefold()
    return any(" ".join(answer.split()).casefold() in text for answer in answers)


def ask_all(
    questions: Sequence[Question], modes: Sequence[str], ask: Asker, progress: Callable[[int, int], None] | None = None
) -> list[Run]:
    """Ask every question in every mode, mode by mode; a fault of one question is kept as its failure."""
    from kbtasks.errors import KbError

    runs = []
    done = 0
    for mode in modes:
        run = Run(mode)
        for question in questions:
            answer = None
            try:
                answer = ask(question.text, mode)
            except KbError as error:
                run.failures.append((question.id, error.message))
            run.add(question, answer)
            done += 1
            if progress:
                progress(done, len(questions) * len(modes))
        runs.append(run)
    return runs


def merge(runs: Sequence[Run]) -> Run:
    """Several runs of one mode over parts of a collection as one."""
    whole = Run(runs[0].mode)
    for run in runs:
        whole.questions += run.questions
        whole.answers += run.answers
        whole.judged += run.judged
        whole.failures += run.failures
    return whole


def compare(run: Run, baseline: Run) -> list[dict[str, Any]]:
    """Each metric of ``run`` minus ``baseline`` over the same questions, with the 95 % interval of a paired
    bootstrap.
    """
    found = []
    for metric in METRICS:
        pairs = list(zip(run.values(metric), baseline.values(metric), strict=True))
        differences = [mine - theirs for mine, theirs in pairs]
        low, high = bootstrap(differences)
        found.append(
            {
                "mode": run.mode,
                "baseline": baseline.mode,
                "metric": metric,
                "difference": round(mean(differences), 4),
                "low": round(low, 4),
                "high": round(high, 4),
                "better": sum(difference > 0 for difference in differences),
                "worse": sum(difference < 0 for difference in differences),
            }
        )
    return found
