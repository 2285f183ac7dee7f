"""A Python launcher's environment: ``pyvenv.cfg`` and the installed packages that the launcher loads."""

from __future__ import annotations

import json
import os

from kbtasks.errors import BadOutput, ProcessFailed
from kbtasks.process import run

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: Asked of the interpreter that is about to be pinned: which distribution owns the launcher, and which files belong to
#: it and to what it requires.
_QUESTION = r"""
import json, os, re, sys, sysconfig
from importlib import metadata, util
launcher, only = sys.argv[1], json.loads(sys.argv[2])
name = os.path.basename(launcher)
def canonical(text): return re.sub(r"[-_.]+", "-", text).lower()
found = {}
for dist in metadata.distributions():
    if dist.metadata["Name"]:
        found.setdefault(canonical(dist.metadata["Name"]), dist)
owner, point = None, None
if os.path.dirname(os.path.realpath(launcher)) == os.path.realpath(sysconfig.get_path("scripts")):
    for key, dist in found.items():
        for entry in dist.entry_points:
            if entry.group == "console_scripts" and entry.name == name:
                owner, point = key, entry
roots, pending, seen = set(), [owner] if owner else [], set()
if point is not None:
    spec = util.find_spec(point.value.split(":")[0].split(".")[0])
    if spec is not None:
        roots.update(spec.submodule_search_locations or [spec.origin])
while pending:
    key = pending.pop()
    if key in seen or key not in found:
        continue
    seen.add(key)
    dist = found[key]
    for file in dist.files or ():
        top = file.parts[0]
        if top not in ("..", "__pycache__"):
            roots.add(str(dist.locate_file(top)))
    for text in dist.requires or ():
        wanted = canonical(re.match(r"[A-Za-z0-9._-]+", text).group())
        if "extra ==" not in text.partition(";")[2] and (only is None or wanted in only):
            pending.append(wanted)
roots = sorted({os.path.realpath(root) for root in roots if os.path.exists(root)})
print(json.dumps({"version": list(sys.version_info[:2]), "owner": owner, "roots": roots}))
"""


def is_python(written: str) -> bool:
    """Whether an interpreter's name is Python's."""
    return os.path.basename(written).rstrip("0123456789.") in {"python", "pypy"}


def configuration(written: str) -> str | None:
    """The ``pyvenv.cfg`` that Python finds when started as ``written``: beside it, or one folder up; None outside one."""
    folder = os.path.dirname(written)
    for place in (folder, os.path.dirname(folder)):
        path = os.path.join(place, "pyvenv.cfg")
        if os.path.isfile(path):
            return path
    return None


class PythonFacts:
    """What the interpreter said: its version, the distribution that owns the launcher (None: a plain script), files."""

    __slots__ = ("owner", "roots", "version")

    def __init__(self, version: tuple[int, int], owner: str | None, roots: list[str]) -> None:
        self.version = version
        self.owner = owner
        self.roots = roots


def ask(written: str, launcher: str, only: list[str] | None, env: Mapping[str, str]) -> PythonFacts:
    """Ask the interpreter ``written`` about ``launcher`` (a real path), isolated, for at most 15 seconds.

    only: the requirements that count, where the launcher is known to load no others; None for all of them.
    Raises the errors of ``process.run``, ProcessFailed, BadOutput.
    """
    argv = [written, "-I", "-c", _QUESTION, launcher, json.dumps(only)]
    done = run(argv, cwd="/", env=env, timeout=15.0, max_stdout=4 << 20)
    if done.status != 0:
        from kbtasks.plaintext import tail_of

        raise ProcessFailed(program=written, status=done.status, words=tail_of(done.stderr, 500))
    try:
        answer = json.loads(done.stdout)
        version = (int(answer["version"][0]), int(answer["version"][1]))
        return PythonFacts(version, answer["owner"], [str(root) for root in answer["roots"]])
    except (ValueError, KeyError, TypeError, IndexError, RecursionError):
        raise BadOutput(program=written, reason="it could not say what it loads") from None


#: Run in place of ``site``: only the pinned packages can be imported, no ``.pth`` file and no site customisation runs.
_BOOT = """
import sys
class Pinned:
    @staticmethod
    def find_spec(name, path=None, target=None):
        place = PLACES.get(name) if path is None else None
        return place and sys.meta_path[2].find_spec(name, [place])
sys.meta_path.append(Pinned)
sys.argv = sys.argv[1:]
with open(sys.argv[0], "rb") as file:
    code = compile(file.read(), PROGRAM, "exec")
exec(code, {"__name__": "__main__", "__file__": PROGRAM, "__builtins__": __builtins__})
"""


def boot_arguments(program: str, roots: Sequence[str], pycache: str) -> list[str]:
    """Interpreter arguments that run a launcher (its path follows) with nothing importable but ``roots`` and Python's own.

    program: what the launcher is called. pycache: folder of compiled files, in place of the ``__pycache__`` beside the
    sources, which no manifest could hold still.
    """
    places: dict[str, str] = {}
    for root in roots:
        name = os.path.basename(root).split(".")[0]
        if name not in places or os.path.exists(os.path.join(root, "__init__.py")):
            places[name] = os.path.dirname(root)
    code = f"PLACES = {places!r}\nPROGRAM = {program!r}\n{_BOOT}"
    return ["-I", "-S", "-X", f"pycache_prefix={pycache}", "-c", code]
