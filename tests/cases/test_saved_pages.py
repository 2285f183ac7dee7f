"""Twenty saved pages of different kinds: what belongs to the page is kept, what stands around it is not."""

from __future__ import annotations

import pytest
from support.captures import body, rendered, tokens
from support.pageset import expectations, page, score

PAGES = sorted(expectations())


def test_there_are_twenty() -> None:
    assert len(PAGES) == 20


@pytest.mark.parametrize("name", PAGES)
def test_page(name: str) -> None:
    missing, leaked = score(name, body(page(name)))
    assert missing == []
    assert len(leaked) <= (1 if name == "japanese" else 0), leaked


def test_without_class_names_nothing_is_lost() -> None:
    """Pages whose class names say nothing: the extractor alone decides, and may let some furniture through, but drops no text."""
    import re

    leaks = 0
    for name in PAGES:
        plain_page = re.sub(rb'\s(class|id|role)="[^"]*"', b"", page(name))
        missing, leaked = score(name, body(plain_page))
        assert missing == [], name
        leaks += len(leaked)
    assert leaks <= 8


def test_facts() -> None:
    blog, news, paper = rendered(page("blog")), rendered(page("news")), rendered(page("paper"))
    assert (blog["title"], blog["author"], blog["published"]) == (
        "Why I moved my compost",
        "Ines Varga",
        "2024-03-09T08:00:00Z",
    )
    assert (news["title"], news["author"], news["published"]) == (
        "Ferry returns to the strait",
        "Tomas Lind",
        "2023-11-02",
    )
    assert news["canonical"] == "https://courier.example/ferry-returns"
    assert (paper["author"], paper["published"]) == ("Ada Rowe", "2022-05-17")
    assert rendered(page("chinese"))["language"] == "zh"


def test_math_and_footnotes() -> None:
    text = body(page("paper"))
    assert "is $T=2\\pi\\sqrt{L/g}$, as every course begins.[^1]" in text
    assert "$$\nL(t) = L_0 (1 + \\alpha t)\n$$" in text and "$$\nE = mc^2\n$$" in text
    assert text.endswith("[^1]: See any textbook on oscillations.")
    assert "x² terms" in text and "H₂O" in text
    wiki = body(page("wiki"))
    assert (
        "coarse salt.[^1]" in wiki
        and "[^1]: Holm, *Kitchen Tools*, p. 12." in wiki
        and "[^2]: Ray, *Rust*, p. 90." in wiki
    )


def test_tables() -> None:
    assert (
        "| Name | Default | Meaning |\n| --- | --- | --- |\n| `rate` | 12 | Litres per minute |\n| `limit` | 40 | Upper bound \\| hard stop |"
        in body(page("docs"))
    )
    assert "| Colours | green |\n| Colours | black |" in body(page("product"))
    assert "|" not in body(page("newsletter")) and "|" not in body(page("tablelayout"))


def test_code_keeps_language_and_blank_lines() -> None:
    fences = [(token.info, token.content) for token in tokens(body(page("docs"))) if token.type == "fence"]
    assert fences == [
        ("toml", '[pump]\nrate = 12\n\n  # litres per minute\nlimit = "40"\n'),
        ("", "$ pump --check\nok: 2 options\n"),
    ]
    mail = [token.content for token in tokens(body(page("maillist"))) if token.type == "fence"]
    assert '\n    fd = open("lock", O_CREAT)\n\tflock(fd, LOCK_EX)\n\n-- \nSela\n' in mail[0]


def test_pictures() -> None:
    answer = rendered(page("gallery"), "https://walk.example/six/")
    assert [(item["url"][:40], item["alt"]) for item in answer["pictures"]] == [
        ("https://walk.example/six/cape-1200.jpg", "The cape light at dawn"),
        ("https://walk.example/six/rock.jpg", "Rock light"),
        ("data:image/png;base64,iVBORw0KGgoAAAANSU", "A red dot"),
    ]


def test_the_title_is_said_once() -> None:
    for name in PAGES:
        answer = rendered(page(name))
        headings = [line.lstrip("# ") for line in answer["markdown"].split("\n") if line.startswith("#")]
        assert headings.count(headings[0]) == 1, name
        assert answer["markdown"].startswith("# "), name
