"""``python -m kbtasks`` is ``kb``."""

from kbtasks.cli import main

main()
