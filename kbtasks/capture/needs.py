"""Whether the libraries of an extra are installed, asked without importing them."""

from __future__ import annotations

from kbtasks.errors import MissingExtra

WEB = ("lxml", "trafilatura", "httpcore", "webencodings")
PDF = ("pypdfium2",)


def installed(name: str) -> bool:
    """Whether the module ``name`` can be imported."""
    from importlib.util import find_spec

    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def need(modules: tuple[str, ...], *, feature: str, extra: str) -> None:
    """MissingExtra unless all ``modules`` are installed."""
    if not all(installed(name) for name in modules):
        raise MissingExtra(feature=feature, extra=extra)
