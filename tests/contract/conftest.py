from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.postgres import server
from support.resources import Memory


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    """An empty store and the commands on it."""
    return Memory(tmp_path)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Path]:
    """The socket folder of a running PostgreSQL server."""
    with server() as folder:
        yield folder
