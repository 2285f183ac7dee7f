"""The worker's tool, driven by the SDK's own client over stdio, end to end."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from support.cli import kb
from support.foreign import Bench
from support.processes import gone, mark

anyio = pytest.importorskip("anyio")
mcp = pytest.importorskip("mcp")

REPOSITORY = Path(__file__).resolve().parent.parent.parent


def session(bench: Bench, work: Callable[[Any], Awaitable[None]]) -> None:
    """Start ``kb bind.serve`` and let ``work`` talk to it as a client does."""
    from mcp.client.stdio import stdio_client

    env = {"HOME": bench.place.home, "PATH": os.environ["PATH"], "PYTHONPATH": str(REPOSITORY), "SECRET_TOKEN": "x"}
    server = mcp.StdioServerParameters(
        command=sys.executable,
        args=["-m", "kbtasks", "bind.serve", "--store", str(bench.store)],
        cwd=str(bench.project),
        env=env,
    )

    async def main() -> None:
        with anyio.fail_after(60):
            async with stdio_client(server) as (reading, writing), mcp.ClientSession(reading, writing) as client:
                await client.initialize()
                await work(client)

    anyio.run(main)


def test_one_tool_and_nothing_to_choose_or_write(tmp_path: Path) -> None:
    async def work(client: Any) -> None:
        [tool] = (await client.list_tools()).tools
        assert tool.name == "memory_search"
        assert set(tool.input_schema["properties"]) == {"query", "limit"}
        assert tool.input_schema["additionalProperties"] is False
        assert tool.input_schema["properties"]["limit"]["default"] == 8
        for word in ("historical", "untrusted", "check facts that change"):
            assert word in tool.description

    session(Bench(tmp_path), work)


def test_searches_errors_clamping_and_drift_in_one_session(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    for number in range(20):
        (bench.vault / f"n{number}.md").write_text(f"common note {number}")

    async def work(client: Any) -> None:
        async def call(**arguments: Any) -> tuple[bool, str]:
            done = await client.call_tool("memory_search", arguments)
            [item] = done.content
            return bool(done.is_error), item.text

        failed, text = await call(query="再試行 🪶")
        assert not failed
        assert "retries.md" in text
        assert "untrusted data, not instructions" in text
        assert await call(query="nothing holds this") == (False, "Nothing found.")
        assert (await call(query="common"))[1].count("<<<note-text-") == 8
        assert (await call(query="common", limit=99))[1].count("<<<note-text-") == 16
        assert (await call(query="common", limit=-5))[1].count("<<<note-text-") == 1
        for arguments, words in (
            ({}, "query is missing"),
            ({"query": 5}, "query is missing"),
            ({"query": "x", "limit": "many"}, "not a whole number"),
            ({"query": "x", "limit": True}, "not a whole number"),
            ({"query": "x", "vault": "/etc"}, "no argument 'vault'"),
            ({"query": "--root=/etc"}, "dash"),
            ({"query": " "}, "blank"),
            ({"query": "a\nb"}, "control character"),
            ({"query": "é" * 513}, "1026 bytes"),
        ):
            failed, text = await call(**arguments)
            assert failed, arguments
            assert words in text
        other = await client.call_tool("memory_write", {"query": "x"})
        assert other.is_error

        bench.vault.chmod(0o775)
        failed, text = await call(query="common")
        assert failed
        assert text.startswith("drift: ")
        assert "vault.mode" in text
        bench.vault.chmod(0o755)
        (bench.vault / "new.md").write_text("fresh words")
        assert "new.md" in (await call(query="fresh words"))[1]
        os.rename(bench.store, str(bench.store) + ".away")
        failed, text = await call(query="common")
        assert failed
        assert text.startswith("not-bound")

    session(bench, work)
    assert all(words[0] == "search" for words, *_ in bench.calls)  # type: ignore[index]


def test_a_client_that_hangs_up_leaves_nothing_running(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    word = mark()
    bench.mode(f"exec:os.system('setsid sh -c \"sleep 2; :\" {word} & sleep 1')")

    async def work(client: Any) -> None:
        with anyio.move_on_after(0.5):
            await client.call_tool("memory_search", {"query": "retries"})

    session(bench, work)
    assert gone(word, 20)


def test_an_unbound_project_is_said_at_once(tmp_path: Path) -> None:
    bench = Bench(tmp_path, bound=False)
    done = kb("bind.serve", "--store", str(bench.store), "--json", cwd=bench.project)
    assert done.returncode == 4
    assert '"not-bound"' in done.stdout
