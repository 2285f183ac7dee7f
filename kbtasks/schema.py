"""JSON Schema checks (draft 2020-12) of every document that goes in or out. The only importer of jsonschema."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kbtasks.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator

_loaded: dict[str, Any] = {}
_validators: dict[str, Any] = {}


def folder() -> str:
    """The folder of the schema files: inside the installed package, else beside the package in a checkout."""
    here = os.path.dirname(os.path.abspath(__file__))
    packaged = os.path.join(here, "schemas")
    return packaged if os.path.isdir(packaged) else os.path.join(os.path.dirname(here), "schemas")


def names() -> list[str]:
    """Names of all schemas, sorted: the file names without ``.json``."""
    return sorted(name[:-5] for name in os.listdir(folder()) if name.endswith(".json"))


def load(name: str) -> dict[str, Any]:
    """The schema document called ``name`` (``search``, ``error``, ``resource`` ...)."""
    if name not in _loaded:
        import json

        with open(os.path.join(folder(), name + ".json"), encoding="utf-8") as file:
            _loaded[name] = json.load(file)
    document: dict[str, Any] = _loaded[name]
    return document


def validator(name: str) -> Validator:
    """A validator of the schema ``name``; references between schemas resolve by file name, ``format`` is checked."""
    if name not in _validators:
        from jsonschema import Draft202012Validator
        from jsonschema.validators import extend
        from referencing import Registry, Resource

        def retrieve(uri: str) -> Resource[Any]:
            return Resource.from_contents(load(uri.rsplit("/", 1)[-1].removesuffix(".json")))

        registry: Registry[Any] = Registry(retrieve=retrieve)  # type: ignore[call-arg]
        checker = extend(Draft202012Validator, {"pattern": _pattern})  # type: ignore[no-untyped-call]
        _validators[name] = checker(load(name), registry=registry, format_checker=Draft202012Validator.FORMAT_CHECKER)
    result: Validator = _validators[name]
    return result


def _pattern(_: Validator, pattern: str, instance: Any, __: dict[str, Any]) -> Iterator[ValidationError]:
    """``pattern`` as ECMA-262 has it: there ``$`` is the end, in Python it also stands before a last line end."""
    import re

    from jsonschema.exceptions import ValidationError

    exact = pattern[:-1] + r"\Z" if pattern.endswith("$") and not pattern.endswith(r"\$") else pattern
    if isinstance(instance, str) and not re.search(exact, instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def problems(name: str, document: Any) -> list[tuple[str, str, Any]]:
    """All breaches of schema ``name``, as (JSON pointer, rule, offending value), in document order."""
    found = []
    for error in validator(name).iter_errors(document):
        pointer = "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in error.absolute_path)
        found.append((pointer, error.message, error.instance))
    return sorted(found, key=lambda item: item[0])


def check(name: str, document: Any, *, what: str) -> None:
    """Refuse ``document`` unless it fits schema ``name``; InvalidInput names the first pointer, rule and value.

    what: how the message calls the document (``the provider config /x/y.json``).
    """
    from jsonschema.exceptions import best_match

    error = best_match(validator(name).iter_errors(document))
    if error is None:
        return
    pointer = "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in error.absolute_path)
    value = repr(error.instance)
    rule = error.message if len(error.message) <= 300 else f"{error.validator} {error.validator_value!r}"[:300]
    raise InvalidInput(
        what=what,
        schema=name,
        pointer=pointer or "/",
        rule=rule,
        value=value if len(value) <= 120 else value[:117] + "...",
    )
