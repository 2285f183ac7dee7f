"""Long kill loops: ``python bench/torture.py notes|promote|resources ROUNDS SEED`` prints what happened as JSON."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path

if __name__ == "__main__":
    what, rounds, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    if what not in ("notes", "promote", "resources"):
        sys.exit(f"there is nothing to torture called {what!r}: notes, promote or resources")
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    print(json.dumps(import_module(f"torture_{what}").torture(rounds, seed)))
