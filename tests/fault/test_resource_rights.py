"""A store that the user may not read, or whose folder may not be written."""

from __future__ import annotations

import json
import os

import pytest
from support import nobody
from support.resources import EXAMPLE


def test_a_read_only_folder_is_read_and_not_written() -> None:
    with nobody.folder() as home:
        (home / "one.json").write_text(json.dumps(EXAMPLE))
        store = home / "kept" / "s.db"
        words = ("--store", str(store))
        assert nobody.kb("resource.put", "one.json", *words, cwd=home, home=home)[0] == 0
        store.parent.chmod(0o500)
        try:
            code, found = nobody.kb("resource.search", "dialog", *words, cwd=home, home=home)
            assert (code, found["total"]) == (0, 1)
            (home / "two.json").write_text(json.dumps(EXAMPLE | {"updatedAt": "2027-01-01T00:00:00Z"}))
            code, found = nobody.kb("resource.put", "two.json", *words, cwd=home, home=home)
            assert (code, found["error"]["code"]) == (10, "unavailable")
        finally:
            store.parent.chmod(0o700)
        assert nobody.kb("resource.status", *words, cwd=home, home=home)[1]["resources"] == 1


@pytest.mark.skipif(os.getuid() != 0, reason="needs a store of another user")
def test_the_store_of_another_user_is_refused() -> None:
    with nobody.folder() as home:
        (home / "one.json").write_text(json.dumps(EXAMPLE))
        store = home / "s.db"
        words = ("--store", str(store))
        assert nobody.kb("resource.put", "one.json", *words, cwd=home, home=home)[0] == 0
        before = store.read_bytes()
        nobody.own(store, uid=0)
        for task in (("resource.list",), ("resource.put", "one.json"), ("resource.gc",)):
            code, found = nobody.kb(*task, *words, cwd=home, home=home)
            assert (code, found["error"]["code"]) == (10, "unavailable"), task
        assert store.read_bytes() == before
