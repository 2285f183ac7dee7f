"""``note.*``: notes created and changed safely."""

from __future__ import annotations

from kbtasks.command import command
from kbtasks.errors import Refused, UsageError
from kbtasks.model.result import Result

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from typing import Any

    from kbtasks.command import Context
    from kbtasks.vault.writer import Written

_REVISION_HELP = "Write only if the note still has this revision (sha256:...)."
_NUMBER = r"-?(?:0|[1-9][0-9]{0,18})(?:\.[0-9]{1,17})?"
_NOTE_HELP = "The note: ID, path, title or alias."


@command(
    "note.create",
    schema="note-written",
    positional="id",
    help={
        "id": "The new note's ID: its path without .md.",
        "title": "Its title (default: the last part of the ID).",
        "type": "Its type, lower-case words joined by hyphens.",
        "status": "Its status.",
        "description": "One sentence of what it says.",
        "tag": "A tag.",
        "alias": "Another name of it.",
        "scope": "A code path it speaks of, relative to the repository.",
        "body": "Its Markdown text.",
        "body_file": "A file with its text, or - for stdin.",
        "parents": "Make missing folders.",
    },
)
def note_create(
    context: Context,
    id: str,
    title: str = "",
    type: str = "note",
    status: str = "",
    description: str = "",
    tag: list[str] = [],  # noqa: B006
    alias: list[str] = [],  # noqa: B006
    scope: list[str] = [],  # noqa: B006
    body: str = "",
    body_file: str = "",
    parents: bool = False,
) -> Result:
    """Create a note; never over another one.

    The same call again is no change; a note of that ID that differs is left alone (exit 5).
    """
    from kbtasks.vault.compose import check_kebab, check_tags, check_title, compose
    from kbtasks.vault.writer import Writer

    path = new_path(context, id)
    title = check_title(title or title_of(path))
    meta = {
        "title": title,
        "description": check_title(description, "description") if description else None,
        "type": check_kebab("type", type),
        "status": check_kebab("status", status) if status else None,
        "aliases": [check_title(each, "alias") for each in alias],
        "tags": check_tags(tag),
        "repository_scopes": [check_title(each, "scope") for each in scope],
    }
    text = text_of(context, body, body_file) or f"# {title}\n".encode()
    with Writer(context.vault) as writer:
        return written("note.create", writer.create(path, compose(meta, text), parents=parents))


@command(
    "note.set",
    schema="note-written",
    positional="note",
    help={
        "note": _NOTE_HELP,
        "field": "name=value; the value is text, or JSON for a list, number, true, false, null.",
        "title": "Its title.",
        "type": "Its type.",
        "status": "Its status.",
        "description": "One sentence of what it says.",
        "tag": "Its tags: those given replace those it has.",
        "alias": "Its other names: those given replace those it has.",
        "scope": "The code paths it speaks of: those given replace those it has.",
        "unset": "A field to remove.",
        "expected_revision": _REVISION_HELP,
    },
)
def note_set(
    context: Context,
    note: str,
    field: list[str] = [],  # noqa: B006
    title: str = "",
    type: str = "",
    status: str = "",
    description: str = "",
    tag: list[str] = [],  # noqa: B006
    alias: list[str] = [],  # noqa: B006
    scope: list[str] = [],  # noqa: B006
    unset: list[str] = [],  # noqa: B006
    expected_revision: str = "",
) -> Result:
    """Set or remove front matter fields; comments, order and every other byte stay as they are."""
    from kbtasks.vault.compose import check_kebab, check_tags, check_title
    from kbtasks.vault.fields import ABSENT
    from kbtasks.vault.writer import Writer

    changes: dict[tuple[str, ...], Any] = {}
    if title:
        changes["title",] = check_title(title)
    if type:
        changes["type",] = check_kebab("type", type)
    if status:
        changes["status",] = check_kebab("status", status)
    if description:
        changes["description",] = check_title(description, "description")
    for name, values in (("tags", check_tags(tag)), ("aliases", alias), ("repository_scopes", scope)):
        if values:
            changes[name,] = [check_title(each, name) for each in values]
    for each in field:
        name, equals, value = each.partition("=")
        if not equals or not name.strip():
            raise UsageError(message=f"--field takes name=value, not {each[:80]!r}")
        _add(changes, name, _value(value))
    for each in unset:
        _add(changes, each, ABSENT)
    if not changes:
        raise UsageError(message="note.set needs a field to set or --unset", next="kb note.set --help")
    path = path_of(context, note)
    with Writer(context.vault) as writer:
        return written("note.set", writer.set_fields(path, changes, expected_revision or None))


@command(
    "note.append",
    schema="note-written",
    positional="note",
    help={
        "note": _NOTE_HELP,
        "text": "The Markdown to add.",
        "text_file": "A file with it, or - for stdin.",
        "heading": "Add at the end of the section under this heading (a path of headings: One#Two).",
        "new_heading": "Make the heading at the end, at level 2, where the note has none of that name.",
        "expected_revision": _REVISION_HELP,
    },
)
def note_append(
    context: Context,
    note: str,
    text: str = "",
    text_file: str = "",
    heading: str = "",
    new_heading: bool = False,
    expected_revision: str = "",
) -> Result:
    """Add text at the end of a note, or under a heading; racing writers all land."""
    from kbtasks.vault.compose import append
    from kbtasks.vault.writer import Writer

    added = text_of(context, text, text_file)
    path = path_of(context, note)
    with Writer(context.vault) as writer:
        old = writer.read(path, expected_revision or None)
        new = append(path, old, added, heading=heading, create_level=2 if new_heading else 0)
        return written("note.append", writer.replace(path, old, new))


@command(
    "note.replace",
    schema="note-written",
    positional="note",
    help={
        "note": _NOTE_HELP,
        "expected_revision": "The revision that is replaced (sha256:...), as `kb show` gives it.",
        "body": "The new Markdown text.",
        "body_file": "A file with it, or - for stdin.",
    },
)
def note_replace(context: Context, note: str, expected_revision: str, body: str = "", body_file: str = "") -> Result:
    """Replace the body of a note at a known revision; its front matter stays byte for byte."""
    from kbtasks.vault.compose import replace_body
    from kbtasks.vault.writer import Writer

    text = text_of(context, body, body_file)
    if not text:
        raise UsageError(message="note.replace needs --body or --body-file")
    path = path_of(context, note)
    with Writer(context.vault) as writer:
        old = writer.read(path, expected_revision)
        return written("note.replace", writer.replace(path, old, replace_body(path, old, text)))


def new_path(context: Context, id: str) -> str:
    """The path of a new note called ``id``; UsageError for a name no link could lead to, Refused for one that is no note."""
    from kbtasks.config import load_settings
    from kbtasks.vault.places import check_new_name
    from kbtasks.vault.walk import NOTE, Rules

    path = id if id.lower().endswith(".md") else id + ".md"
    check_new_name(path)
    if Rules(load_settings(context.vault).ignore).admits(path) != NOTE:
        raise Refused(message=f"{path} would not be read as a note (a guide, a folder of tools, or ignored by kb.toml)")
    return path


def title_of(path: str) -> str:
    """The title of a note that was given none: the last part of its path, hyphens as blanks."""
    name = path.rsplit("/", 1)[-1][:-3]
    return name.replace("-", " ").strip() or name


def path_of(context: Context, name: str) -> str:
    """The path of the note that ``name`` (ID, path, title, alias) names; NotFound or Ambiguous with candidates."""
    from kbtasks.graph.lookup import find_note
    from kbtasks.index.view import open_view

    with open_view(context.vault, context.cache) as view:
        return find_note(view.connection, name, root=context.vault, cwd=context.cwd).path


def text_of(context: Context, text: str, file: str) -> bytes:
    """The text of a flag, or of the file (``-``: stdin) that another flag names; not both."""
    if text and file:
        raise UsageError(message="give the text or the file, not both")
    return context.read_input(file) if file else text.encode("utf-8", "surrogateescape")


def written(task: str, done: Written, **more: Any) -> Result:
    """The result of a write: path, id, revision and whether anything changed."""
    from kbtasks.vault.names import note_id

    data = {
        "task": task,
        "id": note_id(done.path),
        "path": done.path,
        "revision": done.revision,
        "changed": done.changed,
        **more,
    }
    return Result("note-written", data, text=_text)


def _text(data: dict[str, Any]) -> str:
    return f"{data['path']}  {'written' if data['changed'] else 'unchanged'}  {data['revision']}"


def _add(changes: dict[tuple[str, ...], Any], name: str, value: Any) -> None:
    """Take one field of ``--field`` or ``--unset``; UsageError where it is named twice, or inside a field that is."""
    key = tuple(part.strip() for part in name.split("."))
    if not all(key) or len(key) > 2 or not all(part.isprintable() for part in key):
        raise UsageError(message=f"a field is a name, or name.name in a mapping, not {name[:80]!r}")
    if any(key == other or key[:1] == other or key == other[:1] for other in changes):
        raise UsageError(message=f"the field {name!r} is given twice")
    changes[key] = value


def _value(text: str) -> Any:
    import json
    import re

    if text[:1] in ("[", "{", '"') or text in ("true", "false", "null") or re.fullmatch(_NUMBER, text):
        try:
            value = json.loads(text, parse_constant=str)
            json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8")
        except RecursionError:
            raise UsageError(message="a field's value is nested too deeply") from None
        except UnicodeEncodeError:
            raise UsageError(message="a field's value holds half a character (a lone surrogate)") from None
        except ValueError:
            return text
        return value
    return text
