"""One command line, two doors: kb's own parser and invoke's mean the same by every line that both accept."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from invoke.exceptions import ParseError
from invoke.parser import Parser

from kbtasks import cli
from kbtasks.command import COMMON, Command, Context, Param, complete, convert
from kbtasks.errors import UsageError
from kbtasks.model.result import Result
from kbtasks.tasks.invoked import KbTask, namespace
from kbtasks.tasks.table import TABLE, all_commands


def _task(context: Context, query: str, limit: int = 10, weight: float = 0.5, tag: list[str] = [], deep: bool = False,  # noqa: B006
          graph: bool = True, mode: str = "a") -> Result:  # fmt: skip
    """A task with a parameter of every kind."""
    return Result(
        "x", {"query": query, "limit": limit, "weight": weight, "tag": tag, "deep": deep, "graph": graph, "mode": mode}
    )


def sample(*, words: bool = True) -> Command:
    def param(name: str, default: Any, **more: Any) -> Param:
        return Param(name, default, required=more.get("required", False), positional=name == "query", help="",
                     choices=more.get("choices", ()))  # fmt: skip

    params = [
        param("query", "", required=True), param("limit", 10), param("weight", 0.5), param("tag", []), param("deep", False),
        param("graph", True), param("mode", "a", choices=("a", "b")),
    ]  # fmt: skip
    return Command("sample", _task, params, params[0], "x", words)


def parsed(*words: str, command: Command | None = None) -> dict[str, Any]:
    command = command or sample()
    return complete(command, cli.parse(command, words, {}))


def test_every_form_of_a_flag() -> None:
    values = parsed(
        "one", "two", "--limit=3", "--weight", "1.5", "--tag", "a", "--tag=b", "--deep", "--no-graph", "--mode", "b"
    )

    assert values == {
        "query": "one two",
        "limit": 3,
        "weight": 1.5,
        "tag": ["a", "b"],
        "deep": True,
        "graph": False,
        "mode": "b",
    }


@pytest.mark.parametrize(
    ("words", "query"),
    [
        (["--query", "--retry"], "--retry"),
        (["--query=-x=1"], "-x=1"),
        (["--", "--retry", "now"], "--retry now"),
        (["-"], "-"),
        (["数据库", "🌊"], "数据库 🌊"),
        ([""], ""),
    ],
)
def test_text_that_flags_would_eat(words: list[str], query: str) -> None:
    assert parsed(*words)["query"] == query


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "sample needs QUERY"),
        (["x", "--limit", "abc"], "--limit takes a whole number, not 'abc'"),
        (["x", "--limit", "99999999999999999999"], "--limit takes a whole number, not '99999999999999999999'"),
        (["x", "--limit", "１２"], "--limit takes a whole number, not '１２'"),
        (["x", "--weight", "nan"], "--weight takes a number, not 'nan'"),
        (["x", "--mode", "c"], "--mode takes one of a, b, not 'c'"),
        (["x", "--limt", "3"], "sample has no flag --limt; did you mean --limit?"),
        (["x", "--limit"], "--limit needs a value"),
        (["x", "--deep=yes"], "--deep takes no value"),
        (["x", "--query", "y"], "sample has QUERY twice: --query and 'x'"),
        (["-x"], "sample has no flag -x"),
    ],
)
def test_a_bad_line_is_one_clear_sentence(words: list[str], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parsed(*words)

    assert caught.value.message == message


def test_one_bare_word_where_only_one_is_taken() -> None:
    with pytest.raises(UsageError, match="takes one QUERY"):
        parsed("a", "b", command=sample(words=False))


def test_every_command_is_well_formed() -> None:
    common = {name for name, _, _ in COMMON}
    for command in all_commands():
        assert command.summary.endswith("."), f"{command.name}: its first line is a sentence"
        assert sum(param.required and not param.positional for param in command.params) <= 3, command.name
        for param in command.params:
            assert param.help, f"{command.name} --{param.flag} has no help"
            assert param.name not in common or command.name == "init", f"{command.name} --{param.flag} is a common flag"


def test_the_invoke_door_has_every_command() -> None:
    collection = namespace()
    known = set(collection.task_names) | {alias for aliases in collection.task_names.values() for alias in aliases}

    assert set(TABLE) <= known


words = st.text(alphabet=st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), min_size=1, max_size=8)
bare = words.filter(lambda text: not text.startswith("-") and text != "sample")


@st.composite
def lines(draw: st.DrawFn) -> list[str]:
    """A line of the sample command in any order and spelling that both doors may accept."""
    parts: list[list[str]] = [[draw(bare)]]
    if draw(st.booleans()):
        parts.append(draw(st.sampled_from([["--limit", "7"], ["--limit=7"], ["--limit", "-1"]])))
    if draw(st.booleans()):
        parts.append([f"--weight={draw(st.integers(0, 9))}.5"])
    for tag in draw(st.lists(bare, max_size=3)):
        parts.append(draw(st.sampled_from([["--tag", tag], [f"--tag={tag}"]])))
    if draw(st.booleans()):
        parts.append(["--deep"])
    if draw(st.booleans()):
        parts.append(["--no-graph"])
    if draw(st.booleans()):
        parts.append(draw(st.sampled_from([["--mode", "b"], ["--json"], ["--root", "x"]])))
    return [word for part in draw(st.permutations(parts)) for word in part]


@given(lines())
@settings(max_examples=200, deadline=None)
def test_both_doors_mean_the_same(line: list[str]) -> None:
    command = sample(words=False)
    task = KbTask(command)
    common: dict[str, Any] = {}
    ours = cli.parse(command, line, common)
    from invoke.collection import Collection

    collection = Collection()
    collection.add_task(task, name="sample")
    try:
        result = Parser(contexts=collection.to_contexts()).parse_argv(["sample", *line])
    except ParseError:
        return  # a line that only kb accepts; the exceptions are listed in docs/commands.md
    theirs = {}
    theirs_common = {}
    for param in command.params:
        value = result[0].as_kwargs[param.name]
        if value is not None and not (param.kind == "list" and not value):
            theirs[param.name] = (
                value if param.kind == "list" else convert(param, value) if isinstance(value, str) else value
            )
    for name, default, _ in COMMON:
        value = result[0].as_kwargs[name]
        if value not in (None, default):
            theirs_common[name] = value

    assert complete(command, theirs) == complete(command, ours)
    assert theirs_common == common
