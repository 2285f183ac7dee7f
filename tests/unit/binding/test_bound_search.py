"""Searching through the binding: the query as one argument, fixed surroundings, limits, and an answer that is checked."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.foreign import Bench
from support.processes import appears, gone, mark, marked

from kbtasks.agent.frame import framed_hits
from kbtasks.agent.memory import answer
from kbtasks.binding import bound
from kbtasks.binding.search import check_query, parse_object, search, validated_hits
from kbtasks.errors import (
    BadOutput,
    Drift,
    KbError,
    NotBound,
    ProcessFailed,
    ProcessOverflow,
    ProcessTimeout,
    UsageError,
)

REPOSITORY = Path(bound.__file__).parents[2]


def hits_program(lines: str) -> str:
    """A program that prints what ``lines`` (Python) leaves in ``out``."""
    return f"#!{sys.executable}\nimport sys, os\n{lines}\nsys.stdout.write(out)\n"


def ask(bench: Bench, query: str = "retries", limit: int = 8) -> dict[str, object]:
    return search(bench.place, str(bench.project), query, limit)


def test_exactly_this_command_line_and_these_surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "x")
    monkeypatch.setenv("PYTHONPATH", "/evil")
    bench = Bench(tmp_path)
    for query in (
        "a; touch pwned",
        "$(touch pwned)",
        "`touch pwned`",
        "'a\" b",
        "*",
        "~",
        " -v",
        "再試行 🪶",
        "a" * 1024,
    ):
        ask(bench, query, 3)
        words, env, cwd, _ = bench.calls[-1]
        assert words == [
            "search", query, "--root", str(bench.vault), "--mode", "exact", "--no-history", "--no-graph", "--limit", "3",
            "--json",
        ]  # fmt: skip
        assert env == ["HRANESS_SUPPORT_AUDIENCE", "LANG", "LC_ALL", "NO_COLOR", "PATH"]
        assert cwd == str(bench.vault)
    assert not (bench.vault / "pwned").exists()
    assert ask(bench, "再試行 🪶")["total"] == 1


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("", "blank"),
        (" \u3000 ", "blank"),
        ("-v", "dash"),
        ("--pre=/bin/sh", "dash"),
        ("-", "dash"),
        ("a\0b", "U+0000, at 1"),
        ("a\nb", "U+000A"),
        ("a\x1b[2J", "U+001B"),
        ("a\x85b", "U+0085"),
        ("\udcff", "not UTF-8"),
        ("a" * 1025, "1025 bytes"),
        ("é" * 513, "1026 bytes"),
        ("🪶" * 257, "1028 bytes"),
    ],
)
def test_queries_that_are_refused(query: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_query(query)
    assert words in caught.value.message


def test_the_longest_queries_that_pass() -> None:
    for query in ("a" * 1024, "é" * 512, "🪶" * 256):
        assert check_query(query) == query


def test_limits_outside_1_to_16_are_refused(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    for limit in (0, -1, 17):
        with pytest.raises(UsageError, match="--limit is 1 to 16"):
            ask(bench, limit=limit)
    assert bench.calls == []


def test_ten_thousand_random_byte_strings_as_query(tmp_path: Path) -> None:
    rng = random.Random(11)
    bench = Bench(tmp_path)
    passed = []
    for number in range(10_000):
        alphabet = b"-=$`;|&<>\"'\\ \n\0\xff\x1b" if number % 3 == 0 else bytes(range(256))
        data = bytes(rng.choice(alphabet) for _ in range(rng.randrange(0, 60)))
        if number % 5 == 0:
            data = "".join(chr(rng.choice((0x20, 0x2D, 0x61, 0x4E2D, 0x1FAB6, 0x202E))) for _ in range(20)).encode()
        query = os.fsdecode(data)
        try:
            assert check_query(query) == query
        except UsageError as error:
            assert error.exit_code == 2
            continue
        assert not query.startswith("-")
        assert query.encode("utf-8") == data
        passed.append(query)
    assert len(passed) > 1000
    for query in rng.sample(passed, 25):
        ask(bench, query)
        assert bench.calls[-1][0][1:3] == [query, "--root"]  # type: ignore[index]


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=1200) | st.binary(max_size=40).map(os.fsdecode))
def test_any_text_as_query_is_passed_on_whole_or_refused(query: str) -> None:
    try:
        assert check_query(query) == query
    except UsageError:
        return
    assert 1 <= len(query.encode("utf-8")) <= 1024
    assert query.strip()
    assert query[0] != "-"


# --- limits ---


def test_exactly_64_kib_of_output_pass_and_one_byte_more_does_not(tmp_path: Path) -> None:
    body = "out = '{\"hits\": []' + ' ' * (%d - 12) + '}'"
    assert ask(Bench(tmp_path / "a", program=hits_program(body % 65536)))["total"] == 0
    with pytest.raises(ProcessOverflow) as caught:
        ask(Bench(tmp_path / "b", program=hits_program(body % 65537)))
    assert (caught.value.exit_code, caught.value.code) == (10, "overflow")
    assert "65536" in caught.value.message


def test_a_flood_on_stderr_is_an_error_and_a_mebibyte_is_not(tmp_path: Path) -> None:
    fill = "os.write(2, b'e' * %d); out = '{\"hits\": []}'"
    assert ask(Bench(tmp_path / "a", program=hits_program(fill % (1 << 20))))["total"] == 0
    with pytest.raises(ProcessOverflow) as caught:
        ask(Bench(tmp_path / "b", program=hits_program("\nwhile 1: os.write(2, b'noise ' * 1000)")))
    assert len(str(caught.value.details["words"])) <= 500


def test_a_program_that_does_not_end_is_ended_with_everything_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bound, "SECONDS", 1.0)
    monkeypatch.setitem(bound.run_bound.__kwdefaults__, "seconds", 1.0)  # type: ignore[index]
    word = mark()
    body = f'os.system(\'setsid sh -c "sleep 300; :" {word} & sh -c "sleep 300; :" {word}\')'
    with pytest.raises(ProcessTimeout) as caught:
        ask(Bench(tmp_path, program=hits_program(body)))
    assert caught.value.code == "timeout"
    assert marked(word) == []


def test_success_with_leftovers_is_a_success_and_ends_them(tmp_path: Path) -> None:
    word = mark()
    body = (
        f'os.system(\'setsid sh -c "sleep 300; :" {word} & sh -c "sleep 300; :" {word} &\')\nout = \'{{"hits": []}}\''
    )
    assert ask(Bench(tmp_path, program=hits_program(body)))["total"] == 0
    assert marked(word) == []


def test_a_failing_program_is_quoted_cleanly(tmp_path: Path) -> None:
    body = "os.write(2, b'pr\\xe8s \\x1b[2J \\xe2\\x80\\xae the vault is locked\\n'); sys.exit(4)"
    with pytest.raises(ProcessFailed) as caught:
        ask(Bench(tmp_path, program=hits_program(body)))
    assert (caught.value.code, caught.value.exit_code) == ("program-failed", 10)
    assert caught.value.details["status"] == 4
    assert caught.value.details["words"] == "pr\\xe8s [2J  the vault is locked"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_our_own_interruption_ends_the_program(tmp_path: Path, number: int) -> None:
    word = mark()
    bench = Bench(tmp_path)
    ready = bench.folder / "ready"
    bench.mode(f"exec:os.system('setsid sh -c \"sleep 300; :\" {word} & touch {ready}; sleep 300')")
    env = {**os.environ, "HOME": bench.place.home}
    argv = [sys.executable, "-m", "kbtasks", "bind.search", "x", "--store", str(bench.store), "--json"]
    ours = subprocess.Popen(argv, cwd=bench.project, env={**env, "PYTHONPATH": str(REPOSITORY)}, stdout=subprocess.PIPE)
    assert appears(ready)
    ours.send_signal(number)
    out, _ = ours.communicate(timeout=20)
    assert ours.returncode in {130, -signal.SIGTERM}
    assert b"Traceback" not in out
    assert gone(word)


# --- the answer ---


def hits_of(data: bytes, vault: Path, limit: int = 8) -> list[dict[str, object]]:
    return validated_hits(parse_object(data, "/bin/finder"), "/bin/finder", os.path.realpath(vault), limit)[0]


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    (tmp_path / "v").mkdir()
    (tmp_path / "v" / "Étang 🪶.md").write_text("x")
    (tmp_path / "v" / "folder").mkdir()
    (tmp_path / "outside.md").write_text("secret")
    (tmp_path / "v" / "way-out.md").symlink_to("../outside.md")
    return tmp_path / "v"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"[]", "not an object"),
        (b"null", "not an object"),
        (b"{}", "no list"),
        (b'{"hits": {}}', "no list"),
        (b'{"hits": ["a.md"]}', "names no note"),
        (b'{"hits": [{}]}', "names no note"),
        (b'{"hits": [{"path": 1}]}', "names no note"),
        (b'{"hits": [{"path": ""}]}', "inside the vault"),
        (b'{"hits": [{"path": "/etc/passwd"}]}', "inside the vault"),
        (b'{"hits": [{"path": "../outside.md"}]}', "inside the vault"),
        (b'{"hits": [{"path": "folder/../../outside.md"}]}', "inside the vault"),
        (b'{"hits": [{"path": "./a.md"}]}', "inside the vault"),
        (b'{"hits": [{"path": "a//b.md"}]}', "inside the vault"),
        (b'{"hits": [{"path": "a\\u0000b.md"}]}', "inside the vault"),
        (b'{"hits": [{"path": "\\ud800.md"}]}', "no file can have"),
        (b'{"hits": [{"path": "folder"}]}', "not a file"),
        ("[{é".encode("latin-1"), "not UTF-8 (byte 2)"),
        (b"[" * 100_000, "not JSON"),
        (b'{"hits": ' + b"9" * 5000 + b"}", "not JSON"),
        (b'{"hits": [], "score": NaN}', "not JSON: NaN"),
        (b'{"hits": [], "score": -Infinity}', "not JSON: -Infinity"),
        (b'{"hits": [], "hits": []}', "not JSON: an object holds the same name twice"),
        (b'{"hits": [{"path": "../x.md", "path": "folder"}]}', "same name twice"),
    ],
)
def test_answers_that_are_refused(vault: Path, answer: bytes, words: str) -> None:
    with pytest.raises(BadOutput) as caught:
        hits_of(answer, vault)
    assert words in caught.value.message


def test_more_hits_than_asked_for_are_refused(vault: Path) -> None:
    hit = {"path": "Étang 🪶.md"}
    assert len(hits_of(json.dumps({"hits": [hit] * 8}).encode(), vault)) == 8
    with pytest.raises(BadOutput, match="9 hits, more than 8"):
        hits_of(json.dumps({"hits": [hit] * 9}).encode(), vault)


def test_a_hit_is_cleaned_and_a_vanished_note_is_counted(vault: Path) -> None:
    rows = [
        {
            "path": "Étang 🪶.md",
            "title": "a\u202eb\x1b[31m\nc",
            "line": 7,
            "snippet": "x\u2066y\x00z\nsecond",
            "score": 1,
        },
        {"path": "gone.md", "title": "t"},
        {"path": "Étang 🪶.md", "line": True, "title": 4, "id": 5},
    ]
    found, dropped = validated_hits({"results": rows}, "/p", os.path.realpath(vault), 8)
    assert dropped == 1
    assert (found[0]["title"], found[0]["text"], found[0]["line"]) == ("ab[31m c", "xyz\nsecond", 7)
    assert set(found[0]) == {"rank", "id", "path", "title", "line", "modified", "text"}
    assert (found[1]["line"], found[1]["title"], found[1]["id"]) == (None, "", "Étang 🪶")


def test_one_odd_note_does_not_hide_the_others(vault: Path) -> None:
    (vault / "line\nbreak\x1b.md").write_text("x")
    rows = [{"path": path, "line": 10**400} for path in ("way-out.md", "line\nbreak\x1b.md", "a\nb.md", "Étang 🪶.md")]
    found, dropped = validated_hits({"hits": rows}, "/p", os.path.realpath(vault), 8)
    assert [hit["path"] for hit in found] == ["line\nbreak\x1b.md", "Étang 🪶.md"]
    assert [hit["line"] for hit in found] == [None, None]
    assert dropped == 2, "a link out of the vault and a note that is gone"
    shown = framed_hits(found)
    assert '[1] "line\\nbreak\\u001b.md"' in shown
    assert "[2] Étang 🪶.md" in shown


def test_it_is_said_that_more_notes_matched(tmp_path: Path) -> None:
    more = "import json; print(json.dumps(dict(hits=[dict(path='retries.md')], total=40, truncated=True))); sys.exit(0)"
    bench = Bench(tmp_path)
    assert (ask(bench)["total"], ask(bench)["truncated"]) == (1, False)
    bench.mode(f"exec:{more}")
    assert (ask(bench)["total"], ask(bench)["truncated"]) == (40, True)
    assert "1 of 40 notes are shown" in answer(bench.place, str(bench.project), {"query": "retries"})[0]
    for total in ("-1", "0", "True", "10 ** 300", "'x'"):
        bench.mode(f"exec:{more.replace('40', total)}")
        assert (ask(bench)["total"], ask(bench)["truncated"]) == (1, True)


@pytest.mark.parametrize("act", ["shutil.rmtree(root)", "os.rename(root, root + '2'); os.mkdir(root)"])
def test_a_vault_that_is_removed_or_replaced_meanwhile_gives_no_answer(tmp_path: Path, act: str) -> None:
    bench = Bench(tmp_path)
    bench.mode(f"exec:import shutil; {act}")
    with pytest.raises(Drift) as caught:
        ask(bench)
    assert caught.value.details["fact"] == "vault.identity"


@pytest.mark.parametrize("limit", ["ulimit -f 0", "ulimit -n 6", "ulimit -n 7", "ulimit -n 8", "ulimit -n 12"])
def test_a_system_without_room_is_unavailable_and_no_bug(tmp_path: Path, limit: str) -> None:
    bench = Bench(tmp_path)
    words = [sys.executable, "-m", "kbtasks", "bind.search", "retries", "--store", str(bench.store), "--json"]
    done = subprocess.run(
        ["/bin/sh", "-c", f'{limit}; exec "$@"', "x", *words],
        cwd=bench.project,
        env={**os.environ, "HOME": bench.place.home, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        check=False,
    )
    assert done.returncode in {0, 10}, done.stdout + done.stderr
    if limit == "ulimit -f 0":
        assert json.loads(done.stdout)["error"]["code"] == "unavailable"
    assert b"Traceback" not in done.stderr


@settings(max_examples=300, deadline=None)
@given(data=st.binary(max_size=200) | st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(
        st.sampled_from(["hits", "results", "path", "title", "line", "snippet", "id"]), inner, max_size=5),
    max_leaves=20).map(lambda value: json.dumps(value).encode()))  # fmt: skip
def test_any_answer_is_hits_or_a_clear_error(data: bytes) -> None:
    try:
        found, _ = validated_hits(parse_object(data, "/p"), "/p", "/nonexistent-vault", 8)
    except BadOutput:
        return
    assert isinstance(found, list)


def test_a_project_sees_only_its_own_vault(tmp_path: Path) -> None:
    first, second = Bench(tmp_path / "one"), Bench(tmp_path / "two", bound=False)
    (second.vault / "secret.md").write_text("retries of the second")
    second.place.store = str(first.store)
    second.bind()
    assert [hit["path"] for hit in ask(first)["hits"]] == ["retries.md"]  # type: ignore[attr-defined]
    found = search(second.place, str(second.project), "retries")
    assert {hit["path"] for hit in found["hits"]} == {"retries.md", "secret.md"}
    with pytest.raises(NotBound):
        search(first.place, str(first.folder), "retries")
    assert issubclass(NotBound, KbError)
