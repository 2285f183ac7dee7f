from __future__ import annotations

from pathlib import Path

import pytest
from support.resources import Memory


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    """An empty store and the commands on it."""
    return Memory(tmp_path)
