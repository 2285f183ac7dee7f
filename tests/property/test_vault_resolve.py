"""Resolution never raises, and only names that share a key with a link can change what it means."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kbtasks.model.note import Link, Place
from kbtasks.vault.resolve import DictNames, Resolution, file_keys, link_keys, note_keys, resolve

SEGMENT = st.sampled_from(
    ("a", "A", "b", "é", "e\u0301", "v1.2", "x.md", "map.png", "%20", "a b", "a%20b", "数据", "index", "ß", "ss")
)
FOLDER = st.lists(SEGMENT, max_size=2)
PATH = st.builds(lambda folder, name: "/".join([*folder, name]), FOLDER, SEGMENT)
NOTE = st.tuples(PATH.map(lambda path: path + ".md"), st.lists(SEGMENT, max_size=2), st.none() | SEGMENT)
FILE = PATH.map(lambda path: path + ".png") | PATH.filter(lambda path: not path.endswith(".md"))
TARGET = st.one_of(
    PATH, PATH.map(lambda path: path + ".md"), PATH.map("../".__add__), PATH.map("./".__add__), PATH.map("/".__add__),
    PATH.map(lambda path: path + "/"), PATH.map(lambda path: path + "/.."), PATH.map(lambda path: "../" + path + "/."), PATH.map(lambda path: path.replace("/", "\\")), st.text(max_size=8),
    st.sampled_from(("https://x.y", "mailto:a@b", "", "..", ".", "/", "//", "../..")),
)  # fmt: skip
KIND = st.sampled_from(("wikilink", "embed", "markdown", "image", "reference", "property", "relation"))
FRAGMENT = st.none() | st.sampled_from(("H", "H#I", "^b", ""))
LINK = st.builds(
    lambda kind, target, fragment: Link(kind, target, Place(1, 0, 1), fragment=fragment), KIND, TARGET, FRAGMENT
)
NOTES = st.lists(NOTE, max_size=6, unique_by=lambda note: note[0])
FILES = st.lists(FILE, max_size=3, unique=True)
SOURCE = st.sampled_from(("s.md", "a/s.md", "a/b/s.md"))


def shape(meaning: Resolution) -> tuple[object, ...]:
    return meaning.state, meaning.how, meaning.target, meaning.candidates, meaning.obsidian, meaning.fragment_ok


@settings(max_examples=500, deadline=None)
@given(LINK, SOURCE, NOTES, FILES)
def test_every_link_has_a_meaning(link: Link, source: str, notes: list, files: list[str]) -> None:
    meaning = resolve(link, source, DictNames(notes, files))
    paths = {path for path, _, _ in notes}
    assert meaning.state in {"ok", "self", "attachment", "external", "ambiguous", "broken", "missing-attachment"}
    assert (meaning.target is not None) == (meaning.state in ("ok", "self", "attachment"))
    if meaning.state == "ok":
        assert meaning.target in paths
    if meaning.state == "attachment":
        assert meaning.target in files
    assert set(meaning.candidates) <= paths | set(files)
    assert meaning.obsidian is False or meaning.how not in ("alias", "title", "percent")


@settings(max_examples=500, deadline=None)
@given(LINK, SOURCE, NOTES, FILES, NOTE, FILE)
def test_keys_decide(link: Link, source: str, notes: list, files: list[str], note: tuple, file: str) -> None:
    before = shape(resolve(link, source, DictNames(notes, files)))
    keys = link_keys(link)
    if not keys & note_keys(*note) and note[0] not in {path for path, _, _ in notes}:
        assert shape(resolve(link, source, DictNames([*notes, note], files))) == before
    if not keys & file_keys(file) and file not in files:
        assert shape(resolve(link, source, DictNames(notes, [*files, file]))) == before


def test_a_target_that_ends_in_dots_is_a_folder() -> None:
    """``..`` in ``a/b/s.md`` is the folder ``a``: a note ``a.md`` is not that, the folder's index note is."""
    for target in ("..", "../../a", "../b/..", "b/..", "../../a/."):
        link = Link("wikilink", target, Place(1, 0, 1))
        source = "a/b/s.md" if target.startswith("..") else "a/s.md"
        folder = source[: source.rfind("/")] if target == "b/.." else "a"
        names = DictNames([("a.md", (), None), (f"{folder}/index.md", (), None)])
        meaning = resolve(link, source, names)
        if target == "../../a":
            assert (meaning.how, meaning.target) == ("relative", "a.md")
        else:
            assert (meaning.how, meaning.target) == ("folder", f"{folder}/index.md")
            assert link_keys(link) & note_keys(f"{folder}/index.md")
