"""What a page that came is worth: the status of a capture and the warnings that explain it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from kbtasks.capture.pages import Page

#: A sign-in or challenge page has few words; with more, the form stands beside an article.
WALL_WORDS = 120
#: A paywalled page with this many words most likely holds the whole text behind its banner.
TEASER_WORDS = 600
_CUT = {
    "too-large": "the page is larger than the limit and was cut",
    "deadline": "the page did not come whole before the deadline",
    "closed-early": "the server ended the page before its end",
    "bad-encoding": "the page's compression could not be read to its end",
}


def judge(page: Page, rendered: dict[str, Any]) -> tuple[str, list[dict[str, str]]]:
    """The status of the selected surface and its warnings: ``complete`` only without any."""
    warnings = [*page.warnings, *rendered["warnings"]]
    if page.method == "browser":  # its scripts have run: what is there is what the page shows
        warnings = [item for item in warnings if item["code"] != "needs-script"]
    rendered.setdefault("readable", True)
    if page.cut:
        warnings.append({"code": page.cut, "message": _CUT[page.cut]})
    code = page.status_code
    words = rendered["words"]
    if any(item["code"] == "unsupported" for item in warnings):
        return "unsupported", warnings
    wall = _wall(code, rendered, words, warnings)
    if wall:
        status, warning, keeps_text = wall
        rendered["readable"] = keeps_text
        return status, [warning, *warnings]
    if code is not None and not 200 <= code < 300:
        warnings.append({"code": "status", "message": f"the server answered {code}"})
    return ("partial" if warnings else "complete"), warnings


def _wall(
    code: int | None, rendered: dict[str, Any], words: int, warnings: list[dict[str, str]]
) -> tuple[str, dict[str, str], bool] | None:
    """Status, warning and whether the text is worth keeping, for a page that stands in front of another."""
    if code in (401, 402, 407) or (code == 403 and rendered["login"]):
        return (
            "auth-required",
            {"code": "auth", "message": f"the server answered {code}: it wants a sign-in or a payment"},
            False,
        )
    if code == 429:
        return "blocked", {"code": "rate-limit", "message": "the server answered 429: too many requests"}, False
    if code in (403, 451) or (code == 503 and rendered["challenge"]):
        kind = "challenge" if rendered["challenge"] else "refused"
        return "blocked", {"code": kind, "message": f"the server answered {code} and refused the page"}, False
    if rendered["challenge"] and words < WALL_WORDS:
        return "blocked", {"code": "challenge", "message": "the page asks to prove that a person reads it"}, False
    if rendered["login"] and words < WALL_WORDS:
        return "auth-required", {"code": "sign-in", "message": "the page is a sign-in form"}, False
    if rendered["paywall"] and words < TEASER_WORDS:
        return (
            "auth-required",
            {"code": "paywall", "message": "the page says that its text is for subscribers; what came may be a part"},
            True,
        )
    if rendered["paywall"]:
        warnings.append(
            {"code": "paywall", "message": "the page says that its text is for subscribers; it may not be whole"}
        )
    return None
