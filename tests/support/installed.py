"""This package installed in a fresh virtual environment, as a user has it, with its console scripts; no network."""

from __future__ import annotations

import importlib.metadata
import shutil
import subprocess
import sys
from pathlib import Path

import kbtasks

PACKAGE = Path(kbtasks.__file__).parent
SCRIPT = """#!{python}
import sys
from {module} import main
if __name__ == '__main__':
    sys.exit(main())
"""


def install(folder: Path) -> Path:
    """Make the environment ``folder``/env with kbtasks and PyYAML in it; return its ``bin``."""
    env = folder / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(env)], check=True)
    site = next((env / "lib").glob("python3*")) / "site-packages"
    shutil.copytree(PACKAGE, site / "kbtasks", ignore=shutil.ignore_patterns("__pycache__"))
    if not (site / "kbtasks" / "schemas").exists():
        shutil.copytree(PACKAGE.parent / "schemas", site / "kbtasks" / "schemas")
    info = site / "kbtasks-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: kbtasks\nVersion: 0\nRequires-Dist: pyyaml\nRequires-Dist: rich\n"
    )
    (info / "entry_points.txt").write_text(
        "[console_scripts]\nkb = kbtasks.cli:main\nkb-recall = kbtasks.recall:main\n"
    )
    files = [path.relative_to(site).as_posix() for path in (site / "kbtasks").rglob("*") if path.is_file()]
    (info / "RECORD").write_text("".join(f"{name},,\n" for name in files))
    yaml = importlib.metadata.distribution("pyyaml")
    for file in yaml.files or ():
        if ".." not in file.parts and "__pycache__" not in file.parts:
            target = site / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(str(file.locate()), target)
    for name, module in (("kb", "kbtasks.cli"), ("kb-recall", "kbtasks.recall")):
        script = env / "bin" / name
        script.write_text(SCRIPT.format(python=env / "bin" / "python", module=module))
        script.chmod(0o755)
    return env / "bin"
