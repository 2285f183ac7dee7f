"""The PostgreSQL provider against a real server: preparing, faults, and the whole walk through the commands."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.resources import EXAMPLE, EXAMPLE_ID, Memory, record


@pytest.fixture
def config(memory: Memory, postgres: Path, request: pytest.FixtureRequest) -> str:
    table = "t_" + str(abs(hash(request.node.name)) % 10**9)
    return memory.file(
        {
            "kind": "postgresql",
            "scope": "personal",
            "namespace": "n",
            "host": str(postgres),
            "dbname": "postgres",
            "user": "kb",
            "table": table,
        }
    )


def test_the_whole_walk(memory: Memory, config: str) -> None:
    memory.put(EXAMPLE, record("2", title="猫の図書館", text="検索する本"))
    missing = memory("sync", "--all", "--provider-config", config, code=9)
    assert "is not there" in missing["failures"][0]["error"]
    assert memory("sync.prepare", "--provider-config", config)["made"] is True
    assert memory("sync.prepare", "--provider-config", config)["made"] is False
    assert memory("sync", "--all", "--provider-config", config)["confirmed"] == 2
    assert memory("sync", "--all", "--provider-config", config)["unchanged"] == 2
    assert memory("sync.verify", "--provider-config", config)["verified"] == 2
    empty = ("--store", str(memory.folder / "empty.db"))
    (hit,) = memory("resource.search", "dialogs accessible", "--provider-config", config, *empty, store=False)[
        "results"
    ]
    assert (hit["origin"], hit["id"]) == ("remote", EXAMPLE_ID)
    (hit,) = memory("resource.search", "図書", "--provider-config", config, *empty, store=False)["results"]
    assert hit["title"] == "猫の図書館"
    (hit,) = memory("resource.search", "猫", "--provider-config", config, *empty, store=False)["results"]
    memory("resource.delete", EXAMPLE_ID)
    assert memory("sync", "--id", EXAMPLE_ID, "--provider-config", config)["confirmed"] == 1
    assert memory("resource.search", "dialog", "--provider-config", config, *empty, store=False)["total"] == 0


def test_what_was_changed_there_is_found(memory: Memory, config: str, postgres: Path) -> None:
    import psycopg

    memory("sync.prepare", "--provider-config", config)
    memory.put(*(record(str(n)) for n in range(3)))
    memory("sync", "--all", "--provider-config", config)
    table = memory.read(config)["table"]
    with psycopg.connect(host=str(postgres), dbname="postgres", user="kb") as connection:
        connection.execute(f"UPDATE {table} SET body = replace(body, 'Item 1', 'Item X')")
        connection.execute(f"DELETE FROM {table} WHERE body LIKE '%Item 2%'")
    found = memory("sync.verify", "--provider-config", config, "--repair", code=3)
    assert (found["verified"], len(found["changed"]), len(found["missing"]), found["repaired"]) == (1, 1, 1, 2)
    assert memory("sync", "--all", "--provider-config", config)["confirmed"] == 2
    assert memory("sync.verify", "--provider-config", config)["verified"] == 3


def test_faults_are_named_without_the_servers_words(memory: Memory, config: str, postgres: Path) -> None:
    memory.put(EXAMPLE)
    document = memory.read(config)
    nowhere = memory.file({**document, "host": str(memory.folder)})
    failed = memory("sync", "--all", "--provider-config", nowhere, code=9)
    assert (
        failed["failures"][0]["error"]
        == "The postgresql provider cannot be used: there is no connection to the server."
    )
    hits = memory("resource.search", "dialog", "--provider-config", nowhere)
    assert hits["partial"] is True
    assert hits["results"][0]["origin"] == "local"
    import psycopg

    with psycopg.connect(host=str(postgres), dbname="postgres", user="kb") as connection:
        connection.execute("CREATE TABLE someone_else (a int)")
    foreign = memory.file({**document, "table": "someone_else"})
    assert "not a table of ours" in memory("sync.prepare", "--provider-config", foreign, code=10)["error"]["message"]


@pytest.mark.parametrize(
    "change",
    [
        {"password": "x"},
        {"host": None},
        {"table": "a; drop"},
        {"schema": "A"},
        {"port": 0},
        {"namespace": "a b"},
        {"user": "a=b"},
        {"scope": "team"},
    ],
)
def test_configurations_are_checked(memory: Memory, change: dict) -> None:
    document = {
        "kind": "postgresql",
        "scope": "personal",
        "namespace": "n",
        "host": "/x",
        "dbname": "d",
        "user": "u",
    } | change
    config = memory.file({name: value for name, value in document.items() if value is not None})
    assert memory.run("resource.status", "--provider-config", config)[0] in {2, 5}


def test_one_record_too_big_for_the_index_holds_nothing_up(memory: Memory, config: str) -> None:
    def han(start: int, number: int) -> str:
        return "".join(chr(0x4E00 + (start + 7919 * n + n * n) % 20_000) for n in range(number))

    lists = {name: [han(n * 31 + at, 2000) for n in range(40)] for at, name in enumerate(("useWhen", "limitations"))}
    memory("sync.prepare", "--provider-config", config)
    memory.put(record("0"), record("1", text=han(1, 50_000), purpose=han(2, 10_000), summary=han(3, 10_000), **lists))
    memory.put(record("2", text="a.b/c-d_e@f:" * 4_000, title="owl"), record("3", text="😀" * 25_000))
    assert memory("sync", "--all", "--provider-config", config)["confirmed"] == 4
    assert memory("sync.verify", "--provider-config", config)["verified"] == 4
    elsewhere = ("--store", str(memory.folder / "empty.db"))
    assert memory("resource.search", "owl", "--provider-config", config, *elsewhere, store=False)["total"] == 1


def test_what_the_server_does_not_take_is_refused_alone(memory: Memory, config: str, postgres: Path) -> None:
    import psycopg

    memory("sync.prepare", "--provider-config", config)
    memory.put(*(record(str(n)) for n in range(3)))
    table = memory.read(config)["table"]
    with psycopg.connect(host=str(postgres), dbname="postgres", user="kb") as connection:
        connection.execute(f"ALTER TABLE {table} ADD CHECK (body NOT LIKE '%Item 1%')")
    done = memory("sync", "--all", "--provider-config", config, code=9)
    assert (done["confirmed"], [failure["state"] for failure in done["failures"]]) == (2, ["refused"])


def test_rows_that_another_hand_damaged_hide_no_other(memory: Memory, config: str, postgres: Path) -> None:
    import psycopg

    memory("sync.prepare", "--provider-config", config)
    memory.put(*(record(str(n)) for n in range(3)))
    memory("sync", "--all", "--provider-config", config)
    table = memory.read(config)["table"]
    with psycopg.connect(host=str(postgres), dbname="postgres", user="kb") as connection:
        connection.execute(f"UPDATE {table} SET body = NULL WHERE body LIKE '%Item 0%'")
        connection.execute(f"UPDATE {table} SET body = '{{' WHERE body LIKE '%Item 1%'")
    elsewhere = ("--store", str(memory.folder / "empty.db"))
    found = memory("resource.search", "item", "--provider-config", config, *elsewhere, store=False)
    assert [hit["title"] for hit in found["results"]] == ["Item 2"]
    assert len(memory("sync.verify", "--provider-config", config, code=3)["changed"]) == 2


def test_a_server_lost_after_the_commit_leaves_it_uncertain(
    memory: Memory, config: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kbtasks.errors import Unavailable
    from kbtasks.resources.providers.postgresql import PostgresqlProvider

    def gone(*_: object) -> dict[str, str | None]:
        raise Unavailable(message="gone")

    memory("sync.prepare", "--provider-config", config)
    memory.put(EXAMPLE)
    with monkeypatch.context() as patched:
        patched.setattr(PostgresqlProvider, "read_back", gone)
        (failure,) = memory("sync", "--all", "--provider-config", config, code=9)["failures"]
    assert failure["state"] == "uncertain"
    assert memory("sync", "--all", "--provider-config", config)["confirmed"] == 1
