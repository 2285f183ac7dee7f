"""kb.toml is read, and refused in words, also where the library that reads schemas cannot be imported (kb-recall, bound)."""

from __future__ import annotations

import sys

import pytest

from kbtasks.config import parse_settings
from kbtasks.errors import UsageError


@pytest.fixture(autouse=True)
def without_jsonschema(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("jsonschema", "jsonschema.exceptions"):
        monkeypatch.setitem(sys.modules, name, None)


def test_good_settings() -> None:
    text = '[vault]\nignore = ["模板/**"]\nindex = "目录.md"\n[rerank]\nseconds = 3\n'

    assert parse_settings(text.encode(), what="kb.toml").ignore == ["模板/**"]


@pytest.mark.parametrize(
    "text", ["vault = 3", "[vault]\nfoo = 3", "[vault]\nignore = [3]", "[vault]\nindex = []", "[vault"]
)
def test_bad_settings(text: str) -> None:
    with pytest.raises(UsageError):
        parse_settings(text.encode(), what="kb.toml")
