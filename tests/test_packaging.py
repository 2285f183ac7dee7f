"""The wheel is whole: built, installed in an empty environment, every schema loaded, the main job run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from kbtasks import __version__

REPOSITORY = Path(__file__).resolve().parent.parent


def run(*words: str | Path, cwd: Path, **more: str) -> str:
    done = subprocess.run(
        [str(word) for word in words], cwd=cwd, capture_output=True, text=True, encoding="utf-8", env={**os.environ, **more},
        timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of a copy of the checkout (so that no build leaves files in it)."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    skipped = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".kbtasks", ".*_cache", ".hypothesis")
    shutil.copytree(REPOSITORY, source, ignore=skipped)
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, source, cwd=folder)
    return next(folder.glob("kbtasks-*.whl"))


def test_the_wheel_holds_the_package_and_every_schema(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())

    for path in (REPOSITORY / "schemas").glob("*.json"):
        assert f"kbtasks/schemas/{path.name}" in names
    for path in (REPOSITORY / "kbtasks").rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            assert path.relative_to(REPOSITORY).as_posix() in names
    assert not [name for name in names if not name.startswith(("kbtasks/", f"kbtasks-{__version__}.dist-info/"))]


def test_it_runs_in_an_empty_environment(wheel: Path, tmp_path: Path) -> None:
    """The base dependencies come from this environment by a path file, so that the test needs no network."""
    environment = tmp_path / "environment"
    run(sys.executable, "-m", "venv", "--without-pip", environment, cwd=tmp_path)
    site = next(environment.glob("lib/python*/site-packages"))
    run(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-compile",
        "--target", site, wheel, cwd=tmp_path)  # fmt: skip
    base = tmp_path / "base"
    base.mkdir()
    link_base_dependencies(base)
    python = environment / "bin" / "python"
    path = {"PYTHONPATH": str(base)}

    assert run(python, "-m", "kbtasks", "--version", cwd=tmp_path) == f"kb {__version__}\n"
    loaded = run(
        python, "-c", "from kbtasks import schema; print(len([schema.load(n) for n in schema.names()]))", cwd=tmp_path
    )
    assert int(loaded) == len(list((REPOSITORY / "schemas").glob("*.json")))
    run(python, "-m", "kbtasks", "init", cwd=tmp_path, **path)
    (tmp_path / "kb" / "notes" / "first.md").write_text("# First\n\nA quay at dawn. 数据库\n", encoding="utf-8")
    run(python, "-m", "kbtasks", "refresh", "--root", "kb", cwd=tmp_path, **path)
    found = run(python, "-m", "kbtasks", "search", "quay", "--root", "kb", "--json", cwd=tmp_path, **path)
    assert "notes/first.md" in found


def link_base_dependencies(folder: Path) -> None:
    """Link every file of the base dependencies, and of what they need, into ``folder``."""
    from importlib.metadata import distribution

    from packaging.requirements import Requirement

    waiting = ["invoke", "doit", "pyyaml", "sqlite-utils", "rapidfuzz", "jsonschema", "rich"]
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        found = distribution(name)
        for top in {file.parts[0] for file in found.files or () if not file.parts[0].startswith("..")}:
            source = Path(str(found.locate_file(top)))
            if not (folder / top).exists() and top != "__pycache__":
                (folder / top).symlink_to(source)
        for line in found.requires or ():
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                waiting.append(requirement.name)
