"""Vectors of a vault: incremental, interruptible, never stale, and indifferent to a damaged file."""

from __future__ import annotations

import os

import pytest
from support.meaning import Shelf, needs_model

from kbtasks.errors import Busy, Unavailable
from kbtasks.fsio import Lock
from kbtasks.retrieval.semantic import Lane

pytestmark = needs_model


def ask(shelf: Shelf, cache: str, query: str, **options: object) -> tuple[Lane, list[int]]:
    from kbtasks.retrieval.semantic import open_lane

    lane = open_lane(shelf.connection, cache, query)
    return lane, [piece >> 12 for piece, _ in lane.top(10, **options)]


@pytest.fixture(autouse=True)
def english_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """The multilingual extra, where it is installed, is left out except in its own test."""
    from kbtasks.index import models

    monkeypatch.setattr(models.Multilingual, "path", lambda _self: None)


@pytest.fixture
def shelf() -> Shelf:
    made = Shelf()
    made.put("cat.md", "The cat sat on the warm mat near the fire.")
    made.put("bank.md", "Interest rates rise when the central bank tightens money.")
    made.put("tree.md", "Parsers read tokens and build a syntax tree.")
    made.put("量子.md", "量子力学的基本原理与测量问题。")
    return made


def test_a_build_encodes_once_and_a_second_one_nothing(shelf: Shelf, tmp_path) -> None:
    from kbtasks.index import vectors

    seen: list[tuple[int, int]] = []
    first = vectors.build(shelf.connection, str(tmp_path), progress=lambda *counts: seen.append(counts), threads=2)
    assert (first.encoded, first.rows, first.notes) == (3, 3, 4)
    assert seen[0] == (0, 3)
    assert seen[-1] == (3, 3)
    assert vectors.is_current(shelf.connection, str(tmp_path))
    assert vectors.build(shelf.connection, str(tmp_path)).encoded == 0
    shelf.put("cat.md", "The dog slept by the door.")
    assert not vectors.is_current(shelf.connection, str(tmp_path))
    again = vectors.build(shelf.connection, str(tmp_path))
    assert (again.encoded, again.reused) == (1, 2)
    shelf.put("moved/bank.md", "Interest rates rise when the central bank tightens money.")
    shelf.drop("bank.md")
    assert vectors.build(shelf.connection, str(tmp_path)).rows == 3


def test_an_incremental_file_equals_one_made_from_nothing(shelf: Shelf, tmp_path) -> None:
    from kbtasks.index import vectors

    one, two = tmp_path / "one", tmp_path / "two"
    vectors.build(shelf.connection, str(one))
    shelf.put("bank.md", "Bonds fell after the treasury sold reserves.")
    shelf.put("new.md", "Sails and rigging of small boats.")
    shelf.drop("tree.md")
    vectors.build(shelf.connection, str(one))
    vectors.build(shelf.connection, str(two))
    assert (one / "vectors.bin").read_bytes() == (two / "vectors.bin").read_bytes()


def test_work_done_before_an_interruption_is_kept(shelf: Shelf, tmp_path, monkeypatch) -> None:
    from kbtasks.index import vectors

    monkeypatch.setattr(vectors, "SAVE_TOKENS", 1)

    def stop(done: int, _all: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        vectors.build(shelf.connection, str(tmp_path), progress=stop)
    assert not (tmp_path / "vectors.bin").exists()
    journal = tmp_path / "vectors.journal"
    journal.write_bytes(journal.read_bytes()[:-5])  # the last record is torn
    assert vectors.build(shelf.connection, str(tmp_path)).encoded == 2
    assert sorted(os.listdir(tmp_path)) == ["vectors.bin", "vectors.lock"]


def test_a_search_never_answers_from_old_text(shelf: Shelf, tmp_path) -> None:
    from kbtasks.index import vectors

    cache = str(tmp_path)
    vectors.build(shelf.connection, cache)
    bank = ask(shelf, cache, "monetary policy")[1][0]
    assert bank == 2
    changed = shelf.put("bank.md", "Roses need pruning in early spring.")
    lane, found = ask(shelf, cache, "monetary policy")
    assert lane.status == "ready"
    assert bank not in found
    assert ask(shelf, cache, "gardening in march")[1][0] == changed
    shelf.drop("bank.md")
    assert changed not in ask(shelf, cache, "gardening in march")[1]


def test_changes_beyond_the_bound_are_declared(shelf: Shelf, tmp_path, monkeypatch) -> None:
    from kbtasks.index import vectors

    vectors.build(shelf.connection, str(tmp_path))
    monkeypatch.setattr(vectors, "DELTA_TOKENS", 20)
    shelf.put("a.md", "A note about harbours.")
    shelf.put("b.md", "Another note about lighthouses and their keepers, " * 8)
    lane, found = ask(shelf, str(tmp_path), "lighthouse")
    assert lane.status == "degraded"
    assert "kb refresh --only vectors" in lane.message
    assert found


def test_without_vectors_a_small_vault_is_ready_and_a_large_one_says_what_to_type(
    shelf: Shelf, tmp_path, monkeypatch
) -> None:
    from kbtasks.index import vectors

    lane, found = ask(shelf, str(tmp_path), "monetary policy")
    assert (lane.status, found[0]) == ("ready", 2)
    monkeypatch.setattr(vectors, "DELTA_NOTES", 2)
    lane, found = ask(shelf, str(tmp_path / "other"), "monetary policy")
    assert (lane.status, found) == ("unavailable", [])
    assert "kb refresh --only vectors" in lane.message


def test_filters_are_exact(shelf: Shelf, tmp_path) -> None:
    from kbtasks.index import vectors

    vectors.build(shelf.connection, str(tmp_path))
    assert ask(shelf, str(tmp_path), "monetary policy", allowed={1, 3})[1] == [3, 1]
    assert ask(shelf, str(tmp_path), "monetary policy", allowed=set())[1] == []


@pytest.mark.parametrize("damage", [b"", b"kbvect01", b"kbvect01\xff\xff\x00\x00{}", b"garbage" * 100, None])
def test_a_damaged_file_is_made_again(shelf: Shelf, tmp_path, damage: bytes | None) -> None:
    from kbtasks.index import vectors

    path = tmp_path / "vectors.bin"
    vectors.build(shelf.connection, str(tmp_path))
    path.write_bytes(path.read_bytes()[:-2000] if damage is None else damage)
    assert not vectors.is_current(shelf.connection, str(tmp_path))
    assert ask(shelf, str(tmp_path), "monetary policy")[1][0] == 2
    assert vectors.build(shelf.connection, str(tmp_path)).rows == 3


def test_two_builds_do_not_meet(shelf: Shelf, tmp_path) -> None:
    from kbtasks.index import vectors

    with Lock(str(tmp_path / "vectors.lock"), what="x"), pytest.raises(Busy):
        vectors.build(shelf.connection, str(tmp_path))


def test_a_query_in_a_foreign_script_is_not_asked(shelf: Shelf, tmp_path) -> None:
    lane, found = ask(shelf, str(tmp_path), "量子力学")
    assert (lane.status, lane.foreign, found) == ("unavailable", True, [])


class Engine:
    """A stand-in for the compiled engine: a vector that counts a text's characters."""

    def passage(self, text: str):
        import numpy as np

        vector = np.zeros(384, dtype=np.float32)
        for char in text:
            vector[ord(char) % 384] += 1
        return vector / max(1e-9, float(np.sqrt(vector @ vector)))

    query = passage


def test_pieces_in_other_scripts_go_to_the_multilingual_model_where_it_is_installed(
    shelf: Shelf, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kbtasks.index import models, vectors

    model = tmp_path / "model.bin"
    model.write_bytes(b"weights")
    monkeypatch.setattr(models.Multilingual, "path", lambda _self: str(model))
    with pytest.raises(Unavailable, match="not the pinned file"):
        vectors.build(shelf.connection, str(tmp_path / "cache"))
    monkeypatch.setattr(models.Multilingual, "verify", lambda _self: None)
    monkeypatch.setattr(models.MULTILINGUAL, "_engine", Engine())
    cache = str(tmp_path / "cache")
    assert vectors.build(shelf.connection, cache).rows == 4
    assert vectors.is_current(shelf.connection, cache)
    lane, found = ask(shelf, cache, "量子力学")
    assert (lane.status, found) == ("ready", [4])
    scores = lane.score([4 << 12, 1 << 12])
    assert scores.cosine[0] > 0.4
    assert scores.cosine[1] is None
    assert scores.late == [None, None]
    shelf.drop("量子.md")
    assert ask(shelf, cache, "量子力学")[1] == []


@pytest.mark.parametrize("seed", range(4))
def test_no_damage_ends_a_search(shelf: Shelf, tmp_path, seed: int) -> None:
    """Bytes changed anywhere: the lane answers from what it can still trust, or encodes the notes again."""
    from random import Random

    from kbtasks.index import vectorfile, vectors

    cache = str(tmp_path)
    vectors.build(shelf.connection, cache)
    file = tmp_path / vectorfile.FILE
    good, random = file.read_bytes(), Random(seed)
    (length,) = (int.from_bytes(good[8:12], "little"),)
    for number in range(30):
        bad = bytearray(good)
        for _ in range(random.choice([1, 3, 20])):
            bad[random.randrange(12 + length if number % 2 else len(bad))] = random.choice(
                [0, 1, 49, 255, random.randrange(256)]
            )
        file.unlink()
        file.write_bytes(bad[: random.randrange(len(bad))] if number % 7 == 0 else bad)
        lane, notes = ask(shelf, cache, "a feline")
        lane.score([note << 12 for note in notes])
        assert lane.status == "ready" and len(notes) <= 4
    for header in (
        b"[]",
        b"{}",
        b'{"arrays":[]}',
        b'{"arrays":{"key":["|u1",[1e400],0]}}',
        b"[" * 9000,
        b'{"arrays":{"key":["|O",[8],64]}}',
    ):
        file.unlink()
        file.write_bytes(good[:8] + len(header).to_bytes(4, "little") + header + good[12:])
        assert vectorfile.open_file(cache) is None, header[:40]
    file.write_bytes(good)
    assert ask(shelf, cache, "a feline")[1][0] == 1


@pytest.mark.parametrize("name", ["vectors.bin", "vectors.journal"])
def test_a_pipe_in_place_of_a_file_is_not_waited_for(shelf: Shelf, tmp_path, name: str) -> None:
    if not hasattr(os, "mkfifo"):
        pytest.skip("no pipes on this platform")
    os.mkfifo(tmp_path / name)
    lane, notes = ask(shelf, str(tmp_path), "a feline")
    assert lane.status == "ready" and notes[0] == 1


@pytest.mark.parametrize("absent", ["numpy", "the model"])
def test_half_an_extra_is_none(shelf: Shelf, tmp_path, monkeypatch: pytest.MonkeyPatch, absent: str) -> None:
    """Where the model or numpy is missing, a build and a search say what to install; neither is a bug."""
    from importlib.machinery import PathFinder

    from kbtasks.errors import MissingExtra
    from kbtasks.index import modelfile, vectors

    vectors.build(shelf.connection, str(tmp_path))
    real = PathFinder.find_spec
    name = "numpy" if absent == "numpy" else modelfile.PACKAGE
    monkeypatch.setattr(PathFinder, "find_spec", lambda asked, *more: None if asked == name else real(asked, *more))
    assert not vectors.is_current(shelf.connection, str(tmp_path))
    with pytest.raises(MissingExtra, match="semantic"):
        vectors.build(shelf.connection, str(tmp_path))
    lane, notes = ask(shelf, str(tmp_path), "a feline")
    assert lane.status == "unavailable" and "kbtasks[semantic]" in lane.message and notes == []
