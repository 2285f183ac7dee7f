"""Hermetic tests: no user configuration, a private home, and where the shared corpora lie."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("KBTASKS_SHARED", REPOSITORY.parent / "shared"))


def pytest_configure() -> None:
    """Take back what a shell's background job ignores: tests interrupt their children, which inherit it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-transcripts", action="store_true", help="write what the e2e commands really print")


@pytest.fixture(autouse=True)
def hermetic(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Clear HOME, XDG, KB_*, INVOKE_* and Git's variables."""
    for name in list(os.environ):
        if name.startswith(("XDG_", "KB_", "INVOKE_", "GIT_", "DOIT_")):
            monkeypatch.delenv(name)
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Test")
    monkeypatch.setenv("GIT_AUTHOR_EMAIL", "test@example.invalid")
    monkeypatch.setenv("GIT_COMMITTER_NAME", "Test")
    monkeypatch.setenv("GIT_COMMITTER_EMAIL", "test@example.invalid")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of third-party corpora; tests that need it skip where it is absent."""
    if not SHARED.is_dir():
        pytest.skip("the shared corpora are not here (set KBTASKS_SHARED)")
    return SHARED
