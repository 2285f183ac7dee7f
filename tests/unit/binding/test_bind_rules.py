"""What may be bound: each rule is named when it fails, with the command that mends it."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from support import nobody
from support.foreign import Bench

from kbtasks.binding import launcher, project, trust
from kbtasks.binding.hashing import NoMemory
from kbtasks.binding.pin import find_named_program, pin_program, pin_vault
from kbtasks.binding.registry import Registry
from kbtasks.errors import NotFound, PrivateState, Untrusted, UsageError

UID = os.getuid()


def pin(path: Path, search_path: str = "/usr/bin:/bin", start: str = "auto") -> dict[str, object]:
    return pin_program(str(path), uid=UID, search_path=search_path, trees=(), start=start, memory=NoMemory()).facts


def script(path: Path, first_line: str, body: str = "echo hi\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(first_line + "\n" + body)
    path.chmod(0o755)
    return path


# --- vault ---


def test_a_vault_reached_through_a_link_is_pinned_by_its_real_path(tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    (tmp_path / "link").symlink_to("vault")
    assert pin_vault(str(tmp_path / "link"), UID)["path"] == os.path.realpath(tmp_path / "vault")


@pytest.mark.parametrize(("mode", "command"), [(0o775, "chmod go-w"), (0o757, "chmod go-w"), (0o777, "chmod go-w")])
def test_a_vault_that_others_can_write_is_refused(tmp_path: Path, mode: int, command: str) -> None:
    (tmp_path / "v a").mkdir()
    (tmp_path / "v a").chmod(mode)
    with pytest.raises(Untrusted) as caught:
        pin_vault(str(tmp_path / "v a"), UID)
    assert caught.value.exit_code == 5
    assert caught.value.next == f"{command} '{os.path.realpath(tmp_path / 'v a')}'"


def test_a_file_or_nothing_is_no_vault(tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text("x")
    for name in ("note.md", "absent"):
        with pytest.raises(NotFound):
            pin_vault(str(tmp_path / name), UID)


@pytest.mark.skipif(UID != 0, reason="needs root, to give a folder away")
def test_a_vault_of_somebody_else_is_refused_even_for_root(tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    os.chown(tmp_path / "vault", 65534, 65534)
    with pytest.raises(Untrusted, match="belongs to user 65534"):
        pin_vault(str(tmp_path / "vault"), 0)


# --- program ---


def test_each_rule_of_a_program_names_itself(tmp_path: Path) -> None:
    tool = script(tmp_path / "tool", "#!/bin/sh")
    for mode, words, mend in (
        (0o4755, "special bits", "chmod u-s,g-s,-t"),
        (0o2755, "special bits", "chmod u-s,g-s,-t"),
        (0o1755, "special bits", "chmod u-s,g-s,-t"),
        (0o775, "group or others can write it", "chmod go-w"),
        (0o757, "group or others can write it", "chmod go-w"),
        (0o644, "not executable", "chmod +x"),
    ):
        tool.chmod(mode)
        with pytest.raises(Untrusted, match=words) as caught:
            pin(tool)
        assert str(caught.value.next).startswith(mend)
    tool.chmod(0o755)
    tool.write_text("")
    with pytest.raises(Untrusted, match="its size is 0"):
        pin(tool)


def test_a_folder_fifo_or_nothing_is_no_program(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "fifo").chmod(0o755)
    (tmp_path / "folder").mkdir()
    for name in ("fifo", "folder"):
        with pytest.raises(Untrusted, match="not a regular file"):
            pin(tmp_path / name)
    with pytest.raises(NotFound):
        pin(tmp_path / "absent")


def test_a_relative_path_is_refused_and_a_bare_name_is_looked_up_once(tmp_path: Path) -> None:
    tool = script(tmp_path / "bin" / "finder", "#!/bin/sh")
    script(tmp_path / "work" / "finder", "#!/bin/sh", "echo trapped\n")
    for named in ("./finder", "work/finder"):
        with pytest.raises(UsageError, match="relative"):
            find_named_program(named, str(tool.parent))
    os.chdir(tmp_path / "work")
    try:
        for search_path in ("", ".", ":.:work"):
            with pytest.raises(NotFound):
                find_named_program("finder", search_path)
        assert find_named_program("finder", f":.:{tool.parent}") == str(tool)
    finally:
        os.chdir("/")


def test_a_link_to_a_program_is_followed_once_at_binding(tmp_path: Path) -> None:
    tool = script(tmp_path / "real", "#!/bin/sh")
    (tmp_path / "link").symlink_to(tool)
    found = pin(tmp_path / "link")["program"]
    assert isinstance(found, dict)
    assert found["path"] == os.path.realpath(tool)


def test_the_descriptor_of_a_program_is_closed_at_exec(tmp_path: Path) -> None:
    handle = trust.open_regular(str(script(tmp_path / "tool", "#!/bin/sh")))
    try:
        assert not os.get_inheritable(handle)
    finally:
        os.close(handle)


# --- interpreters ---


def chain(path: Path, search_path: str = "/usr/bin:/bin") -> list[tuple[str, list[str]]]:
    found = pin(path, search_path)["interpreters"]
    assert isinstance(found, list)
    return [(item["written"], item["arguments"]) for item in found]


@pytest.mark.parametrize(
    ("line", "arguments"),
    [
        ("#!/bin/sh", []),
        ("#! /bin/sh", []),
        ("#!/bin/sh\r", []),
        ("#!/bin/sh -e", ["-e"]),
        ("#!/bin/sh -e -u", ["-e -u"]),
        ("#!/usr/bin/env sh", []),
        ("#!/usr/bin/env -S sh -e -u", ["-e", "-u"]),
        ("#!/usr/bin/env -Ssh -e", ["-e"]),
    ],
)
def test_first_lines_that_are_understood(tmp_path: Path, line: str, arguments: list[str]) -> None:
    found = chain(script(tmp_path / "tool", line))
    assert [Path(written).name for written, _ in found] == ["sh"]
    assert found[0][1] == arguments


@pytest.mark.parametrize(
    "line",
    [
        "#!",
        "#!   ",
        "#!sh",
        "#!bin/sh",
        "#!/usr/bin/env",
        "#!/usr/bin/env -i sh",
        "#!/usr/bin/env -S",
        "#!/usr/bin/env -S A=1 sh",
        "#!/usr/bin/env -S sh $HOME",
        "#!/usr/bin/env A=1 sh",
        "#!/usr/bin/env sh -e",
        "#!/usr/bin/env ./sh",
        "#!/bin/" + "x" * 300,
        "#!/no/such/interpreter",
        "#!/usr/bin/env no-such-interpreter-here",
    ],
)
def test_first_lines_that_are_refused(tmp_path: Path, line: str) -> None:
    with pytest.raises((Untrusted, NotFound)):
        pin(script(tmp_path / "tool", line))


def test_a_first_line_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    tool = script(tmp_path / "tool", "#!/bin/sh")
    tool.write_bytes(b"#!/bin/\xff\n")
    with pytest.raises(Untrusted, match="not UTF-8"):
        pin(tool)


def test_a_binary_needs_no_interpreter() -> None:
    assert pin(Path(os.path.realpath("/bin/echo")))["interpreters"] == []


def test_an_interpreter_that_is_a_script_is_followed_to_the_binary(tmp_path: Path) -> None:
    middle = script(tmp_path / "middle", "#!/bin/sh")
    found = chain(script(tmp_path / "tool", f"#!{middle} -x"))
    assert found == [(str(middle), ["-x"]), ("/bin/sh", [])]
    loop = tmp_path / "loop"
    script(loop, f"#!{loop}")
    with pytest.raises(Untrusted, match="more than 4 interpreters"):
        pin(loop)


def test_env_name_takes_the_first_trusted_entry_of_path_and_says_what_it_passed_over(tmp_path: Path) -> None:
    loose = script(tmp_path / "one" / "bun", "#!/bin/sh")
    loose.chmod(0o777)
    good = script(tmp_path / "two" / "bun", "#!/bin/sh")
    tool = script(tmp_path / "tool", "#!/usr/bin/env bun")
    search_path = f"relative:{loose.parent}:{good.parent}"
    found = pin_program(str(tool), uid=UID, search_path=search_path, trees=(), start="auto", memory=NoMemory())
    assert found.facts["interpreters"][0]["written"] == str(good)
    assert any(item["rule"] == "interpreter-skipped" and "bun" in item["message"] for item in found.warnings)
    with pytest.raises(Untrusted, match="others can write"):
        pin(tool, str(loose.parent))


def test_how_a_program_is_started_fits_it(tmp_path: Path) -> None:
    bun = script(tmp_path / "bin" / "bun", "#!/bin/sh")
    assert pin(script(tmp_path / "a", "#!/bin/sh"))["start"] == "descriptor"
    assert pin(script(tmp_path / "b", "#!/usr/bin/env bun"), str(bun.parent))["start"] == "path"
    assert pin(script(tmp_path / "c", "#!/bin/sh", '. "$(dirname "$0")/lib.sh"\n'))["start"] == "path"
    python = f"#!{sys.executable}"
    assert pin(script(tmp_path / "d", python, "import json\n"))["start"] == "descriptor"
    (tmp_path / "helper.py").write_text("")
    assert pin(script(tmp_path / "e", python, "import helper\n"))["start"] == "path"
    assert pin(script(tmp_path / "f", python, "import helper\n"), start="descriptor")["start"] == "descriptor"


def test_shebang_of_a_binary_is_none() -> None:
    assert launcher.shebang(b"\x7fELF", "/x") is None


# --- places ---


def test_places_that_are_refused_unless_a_reason_is_given(tmp_path: Path) -> None:
    bench = Bench(tmp_path, bound=False)
    inside = bench.vault / "finder"
    shutil.copy(bench.program, inside)
    with pytest.raises(Untrusted, match="program lies in the vault"):
        bench.bind(program=str(inside))
    binding = bench.bind(program=str(inside), override="a read-only demo")
    pinned = binding["pin"]
    assert isinstance(pinned, dict)
    assert pinned["override"] == {"rules": ["program-in-vault"], "reason": "a read-only demo"}


def test_home_and_root_as_vault(tmp_path: Path) -> None:
    bench = Bench(tmp_path, bound=False)
    for vault in (bench.folder / "home", bench.folder):
        with pytest.raises(Untrusted, match="home folder"):
            bench.bind(vault=str(vault))
    if UID == 0:
        with pytest.raises(Untrusted, match="root of the file system"):
            bench.bind(vault="/", override="because")


def test_a_folder_above_the_vault_that_others_can_write(tmp_path: Path) -> None:
    bench = Bench(tmp_path, bound=False)
    loose = bench.folder / "loose"
    (loose / "vault").mkdir(parents=True)
    loose.chmod(0o777)
    with pytest.raises(Untrusted, match="others can write it") as caught:
        bench.bind(vault=str(loose / "vault"))
    assert caught.value.next == f"chmod go-w {loose}"
    loose.chmod(0o1777)
    bench.bind(vault=str(loose / "vault"))


def test_vault_and_project_within_each_other_are_warned_about(tmp_path: Path) -> None:
    bench = Bench(tmp_path, bound=False)
    kb = bench.project / "kb"
    kb.mkdir()
    pinned = bench.bind(vault=str(kb))["pin"]
    assert isinstance(pinned, dict)
    assert "vault-in-project" in [item["rule"] for item in pinned["warnings"]]


# --- project ---


def test_places_that_are_no_project(tmp_path: Path) -> None:
    home, store = tmp_path / "home", tmp_path / "store"
    for path in (home / ".config" / "x", home / "work", store / "inner", tmp_path / "bad\x01name"):
        path.mkdir(parents=True)
    for path in ("/", "/tmp", "/usr/lib", "/etc", str(tmp_path), str(home), str(home / ".config" / "x"),
                 str(store), str(store / "inner"), str(tmp_path / "bad\x01name")):  # fmt: skip
        with pytest.raises(UsageError):
            project.canonical_project(path, home=str(home), store=str(store))
    assert project.canonical_project(str(home / "work"), home=str(home), store=str(store)) == str(home / "work")
    with pytest.raises(NotFound):
        project.canonical_project(str(home / "absent"), home=str(home), store=str(store))


def test_a_project_path_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/\xff"
    os.mkdir(path)
    with pytest.raises(UsageError, match="not UTF-8"):
        project.canonical_project(os.fsdecode(path), home="/nowhere", store="/nowhere/store")
    with pytest.raises(UsageError, match="not UTF-8"):
        Bench(tmp_path / "bench", bound=False).bind(vault=os.fsdecode(path))


def test_the_project_of_a_call(tmp_path: Path) -> None:
    places = {"home": "/nowhere", "store": "/nowhere/store"}
    repository = tmp_path / "repo"
    (repository / ".git").mkdir(parents=True)
    (repository / "src").mkdir()
    (tmp_path / "bound" / "deep").mkdir(parents=True)
    bound = str(tmp_path / "bound")
    of = project.project_of
    assert of("", str(repository / "src"), is_bound=lambda path: path == str(tmp_path), **places) == str(repository)
    assert of("../bound", str(repository), **places) == bound
    assert of("", str(tmp_path / "bound" / "deep"), is_bound=lambda path: path == bound, **places) == bound
    with pytest.raises(UsageError, match="no repository"):
        of("", bound, is_bound=lambda path: False, **places)


# --- private store ---


def test_a_store_that_others_can_enter_or_swap_is_refused(tmp_path: Path) -> None:
    base = Path(os.path.realpath(tmp_path))
    (base / "store").mkdir(mode=0o700)

    def opened(path: Path) -> None:
        with Registry(str(path), uid=UID, must_write=True):
            pass

    opened(base / "store")
    (base / "store").chmod(0o750)
    with pytest.raises(PrivateState, match="others can enter") as caught:
        opened(base / "store")
    assert caught.value.next == f"chmod 700 {base / 'store'}"
    (base / "store").chmod(0o700)
    database = base / "store" / "bindings.db"
    assert database.stat().st_mode & 0o777 == 0o600
    database.chmod(0o644)
    with pytest.raises(PrivateState, match="others can read"):
        opened(base / "store")
    database.chmod(0o600)
    os.link(database, base / "store" / "second")
    with pytest.raises(PrivateState, match="2 names"):
        opened(base / "store")
    (base / "link").symlink_to("store")
    with pytest.raises(PrivateState, match="not a folder"):
        opened(base / "link")
    loose = base / "loose"
    loose.mkdir()
    loose.chmod(0o777)
    with pytest.raises(PrivateState, match="others can write"):
        opened(loose / "store")
    (base / "way").symlink_to("loose")
    with pytest.raises(PrivateState, match="others can write"):
        opened(base / "way" / "store")
    database.unlink()
    (base / "store" / "second").unlink()
    database.symlink_to("/etc/passwd")
    with pytest.raises(PrivateState, match="not a regular file"):
        opened(base / "store")


def test_a_foreign_or_damaged_database_is_left_alone(tmp_path: Path) -> None:
    import sqlite3

    store = Path(os.path.realpath(tmp_path)) / "store"
    store.mkdir(mode=0o700)
    database = store / "bindings.db"
    connection = sqlite3.connect(database)
    connection.execute("CREATE TABLE other (x)")
    connection.close()
    database.chmod(0o600)
    with pytest.raises(PrivateState, match="other program"), Registry(str(store), uid=UID, must_write=True):
        pass
    database.write_bytes(b"not a database" * 100)
    with pytest.raises(PrivateState, match="damaged"), Registry(str(store), uid=UID, must_write=True):
        pass
    assert database.read_bytes() == b"not a database" * 100


# --- under a user without rights ---


def test_rules_hold_for_a_user_without_rights() -> None:
    python = nobody.interpreter()
    with nobody.folder() as base:
        vault, work, home, tool = base / "vault", base / "project", base / "home", base / "finder"
        for path in (vault, work, work / ".git", home):
            path.mkdir()
        tool.write_text(f"#!{python}\nprint('{{\"hits\": []}}')\n")
        tool.chmod(0o755)
        nobody.own(vault, work, work / ".git", home, tool)

        def kb(*words: str) -> tuple[int, str]:
            code, document = nobody.kb(*words, cwd=work, home=home)
            return code, str(document.get("error", {}).get("code", "")) + str(
                document.get("error", {}).get("message", "")
            )

        bind = ("bind", "--vault", str(vault), "--program", str(tool))
        nobody.own(vault, uid=0)
        assert kb(*bind)[0] == 5
        assert "belongs to user 0, not to you" in kb(*bind)[1]
        nobody.own(vault)
        nobody.own(tool, uid=1)
        assert "belongs to user 1, neither to you" in kb(*bind)[1]
        nobody.own(tool, uid=0)  # a program of root is trusted
        assert kb(*bind)[0] == 0
        assert kb("bind.search", "x")[0] == 0
        nobody.own(vault, uid=0)
        code, words = kb("bind.search", "x")
        assert (code, "vault.owner" in words) == (6, True)
        nobody.own(vault)
        tool.chmod(0o700)  # now it cannot even be read
        code, words = kb("bind.search", "x")
        assert (code, "program.path" in words) == (6, True)
        tool.chmod(0o755)
        (base / "planted").mkdir()
        (base / "planted").chmod(0o777)
        nobody.own(base / "planted", uid=1)
        assert "private-state" in kb("bind.list", "--store", str(base / "planted"))[1]
        assert "above it belongs to user 1" in kb(*bind, "--store", str(base / "planted" / "store"))[1]
        assert kb("bind.search", "x")[0] == 0


def test_a_read_only_store_still_searches_and_says_so_before_a_save() -> None:
    python = nobody.interpreter()
    with nobody.folder() as base:
        vault, work, home, tool, store = (
            base / "vault",
            base / "project",
            base / "home",
            base / "finder",
            base / "store",
        )
        for path in (vault, work, work / ".git", home):
            path.mkdir()
        store.mkdir(mode=0o700)
        tool.write_text(f"#!{python}\nopen('{base}/ran', 'a').write('x')\nprint('{{\"hits\": []}}')\n")
        tool.chmod(0o755)
        nobody.own(vault, work, work / ".git", home, tool, store)
        at = ("--store", str(store))
        assert nobody.kb("bind", "--vault", str(vault), "--program", str(tool), *at, cwd=work, home=home)[0] == 0
        (store / "bindings.db").chmod(0o400)
        store.chmod(0o500)
        assert nobody.kb("bind.search", "x", *at, cwd=work, home=home)[0] == 0
        assert nobody.kb("bind.status", *at, cwd=work, home=home)[0] == 0
        (base / "ran").unlink()
        (work / "note.md").write_text("A decision.\n")
        (work / "note.md").chmod(0o644)
        code, document = nobody.kb("promote", "t-1", "--body-file", "note.md", *at, cwd=work, home=home)
        assert (code, document["error"]["code"]) == (10, "private-state")
        assert not (base / "ran").exists()
