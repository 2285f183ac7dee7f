"""The picture of the floors, held true: dependency goes down only, and start-up stays light."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "kbtasks"

FLOORS = {
    "errors": 0, "model": 0, "plaintext": 0,
    "schema": 1, "config": 1, "fsio": 1, "process": 1, "supervisor": 1, "spawned": 1, "command": 1,
    "vault": 2, "index": 3, "retrieval": 4, "graph": 4, "capture": 4, "binding": 5, "resources": 5,
    "build": 6, "agent": 6, "publish": 6, "tasks": 7, "cli": 8, "recall": 8, "__init__": 0, "__main__": 9,
}  # fmt: skip
ONLY_IMPORTER = {"invoke": ("tasks/invoked.py", "cli.py"), "doit": ("build/",), "jsonschema": ("schema.py",)}


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def imported(path: Path) -> set[str]:
    """Absolute names of all modules that ``path`` imports, function bodies included, type-checking blocks left out."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            module = node.module or ""
            names.update(f"{module}.{alias.name}" if module == "kbtasks" else module for alias in node.names)
    return names


def floor(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_dependency_goes_down_only(path: Path) -> None:
    relative = path.relative_to(PACKAGE)
    own = relative.parts[0].removesuffix(".py")
    for module in imported(path):
        if module.split(".")[0] != "kbtasks":
            continue
        other = floor(module)
        if other == own or other == "__version__":
            continue
        assert FLOORS[other] < FLOORS[own] or (FLOORS[own] == 1 and FLOORS[other] <= 1), f"{relative} imports {module}"


@pytest.mark.parametrize("library", sorted(ONLY_IMPORTER))
def test_only_one_place_imports(library: str) -> None:
    for path in modules():
        if any(name.split(".")[0] == library for name in imported(path)):
            relative = str(path.relative_to(PACKAGE))
            assert relative.startswith(ONLY_IMPORTER[library]), f"{relative} imports {library}"


def loaded_after(code: str) -> set[str]:
    program = f"import sys\n{code}\nprint('\\n'.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=PACKAGE.parent
    )
    return {name.split(".")[0] for name in done.stdout.split()}


def test_import_pulls_no_third_party_module() -> None:
    allowed = loaded_after("") | set(sys.stdlib_module_names) | {"kbtasks"}
    assert loaded_after("import kbtasks") <= allowed
    assert loaded_after("import kbtasks.cli") <= allowed


def test_files_stay_small() -> None:
    long = {
        str(path.relative_to(PACKAGE)): n
        for path in modules()
        if (n := path.read_text(encoding="utf-8").count("\n")) > 400
    }
    assert long == {}
