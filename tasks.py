"""The tasks of this repository: kbtasks' own on the example vault, and the few that keep the project itself."""

import sys

from invoke import Collection, task

from kbtasks.tasks.invoked import namespace


def _python(c, line, **more):
    c.run(f'"{sys.executable}" {line}', pty=False, in_stream=False, echo=False, **more)


@task
def demo(c):
    """Catalogue, link and search a copy of the example vault, edit a note, and show what is rebuilt."""
    _python(c, "examples/demo.py")


@task(help={"only": "What to run (a file, a folder or a test; default: all)."})
def test(c, only="tests"):
    """Run the tests, on all cores."""
    _python(c, f"-m pytest -n auto {only}")


@task
def lint(c):
    """Check style and types."""
    _python(c, "-m ruff check .")
    _python(c, "-m ruff format --check .")
    _python(c, "-m mypy")


@task
def docs(c):
    """Write the reference pages from the command table, the schemas and the error tree."""
    _python(c, "docs/render.py")


@task(help={"what": "promote, resources or notes.", "rounds": "How many kills.", "seed": "Of the choices."})
def torture(c, what, rounds=500, seed=1):
    """Kill real processes at random steps and check that nothing was lost (long; the tests run a short form)."""
    _python(c, f"bench/torture.py {what} {rounds} {seed}")


ns = namespace(__file__, root="examples/vault")
for each in (demo, test, lint, docs, torture):
    ns.add_task(each)
assert isinstance(ns, Collection)
