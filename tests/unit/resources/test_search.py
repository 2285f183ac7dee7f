"""Search: the compatible rule with its worked scores, the ranked mode, filters, and remote answers."""

from __future__ import annotations

import pytest
from support.resources import EXAMPLE, EXAMPLE_ID, Memory, record

from kbtasks.resources import lexical
from kbtasks.resources.model import Reader, normal_resource


def test_worked_scores_of_the_compatible_rule() -> None:
    resource = normal_resource(EXAMPLE, Reader("x"))
    scores = {
        query: lexical.score(lexical.terms(query), resource)[0]
        for query in (
            "React dialog accessibility", "keyboard focus", "dialogs", "I want to review a modal", "keyboard shortcut catalog theme",
            "please find the resource", "REACT", "react dialog react",
        )
    }  # fmt: skip
    assert list(scores.values()) == [22, 6, 4, 8, 0, 0, 8, 17]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Next.js node_modules camelCase kebab-case C++ C#", ["next.js", "node_modules", "camelcase", "kebab", "case", "c"]),
        ("v1.2.3 3.14 1,000 don't dialog's", ["v1.2.3", "3.14", "1,000", "don't", "dialog's"]),
        ("https://x.com/i/web/status/123 @user #tag", ["https", "x.com", "web", "status", "123", "user", "tag"]),
        ("帮我查找做一个收藏网站的资源", ["网站"]),
        ("GPT4o模型API设计", ["gpt4o", "模型", "api", "设计"]),
        ("한국어를 검색", ["한국어를", "검색"]),
        ("ПРИВЕТ Straße e\u0301t\u00e9 🪶", ["привет", "straße", "e\u0301t\u00e9"]),
        ("the of and", []),
    ],
)  # fmt: skip
def test_words(text: str, expected: list[str]) -> None:
    assert lexical.terms(text) == expected


def test_the_index_answers_as_the_rule_does(memory: Memory) -> None:
    memory.put(EXAMPLE)
    texts = [
        "next.js don't v1.2",
        "检查对话框键盘导航",
        "x.com node_modules",
        "Straße 한국어",
        "dialog dialog dialog",
        "c++",
    ]
    memory.put(*(record(str(n), text=text, purpose=text if n % 2 else "") for n, text in enumerate(texts)))
    stored = [memory.get(item["id"]) for item in memory("resource.list")["resources"]]
    for query in [
        "dialog",
        "next.js",
        "DON'T",
        "对话框键盘",
        "x.com 한국어 dialog",
        "node_modules v1.2",
        "straße",
        "c",
        "review c dialog",
        "nothing",
    ]:
        asked = lexical.terms(query)
        scored = sorted((-lexical.score(asked, r)[0], r["id"]) for r in stored if lexical.score(asked, r)[0] > 0)
        found = memory.compat("resource.search", query, "--limit", "20")["results"]
        assert [(-hit["score"], hit["resource"]["id"]) for hit in found] == scored, query


def test_task_search_ranks_the_applicable_record(memory: Memory) -> None:
    memory.put(
        EXAMPLE,
        record("2", title="Keyboard shortcut catalog", text="Themes for editors"),
        record("3", title="检查对话框的键盘导航", purpose="检查对话框键盘导航"),
        record("4", title="Sourdough", text="How to keep a dialog going at dinner"),
    )
    for mode in ("ranked", "lexical"):
        found = memory("resource.search", "help me audit React dialog accessibility", "--mode", mode)["results"]
        assert found[0]["id"] == EXAMPLE_ID
        assert found[0]["citation"] == {
            "id": EXAMPLE_ID,
            "url": EXAMPLE["source"]["url"],
            "updatedAt": EXAMPLE["updatedAt"],
        }
        (hit,) = memory("resource.search", "请帮我检查对话框键盘导航", "--mode", mode)["results"]
        assert hit["title"] == "检查对话框的键盘导航"
        assert memory("resource.search", "gardening in winter", "--mode", mode)["results"] == []
        assert memory("resource.search", "please find the resource", "--mode", mode)["results"] == []


def test_ranked_knows_stems_identifiers_and_single_characters(memory: Memory) -> None:
    memory.put(
        record("1", text="Accessible dialogs in C++ and next.js"),
        record("2", text="猫の図書館"),
        record("3", text="C# parserV2"),
    )
    assert memory("resource.search", "accessibility of a dialog")["results"][0]["title"] == "Item 1"
    assert [hit["title"] for hit in memory("resource.search", "c++")["results"]] == ["Item 1"]
    assert [hit["title"] for hit in memory("resource.search", "C#")["results"]] == ["Item 3"]
    assert [hit["title"] for hit in memory("resource.search", "next.js")["results"]] == ["Item 1"]
    assert [hit["title"] for hit in memory("resource.search", "猫")["results"]] == ["Item 2"]
    assert [hit["title"] for hit in memory("resource.search", "図書")["results"]] == ["Item 2"]


def test_an_update_leaves_no_old_words(memory: Memory) -> None:
    memory.put(record("1", text="owl 猫の本"))
    memory.put(record("1", text="jay", updatedAt="2026-06-01T00:00:00Z"))
    for mode in ("ranked", "lexical"):
        assert memory("resource.search", "owl", "--mode", mode)["total"] == 0
        assert memory("resource.search", "猫の", "--mode", mode)["total"] == 0
        assert memory("resource.search", "jay", "--mode", mode)["total"] == 1
    memory("resource.delete", memory("resource.list")["resources"][0]["id"])
    assert memory("resource.search", "jay", "--mode", "lexical")["total"] == 0


def test_identity(memory: Memory) -> None:
    memory.put(record("12345", text="x"), record("6", text="mentions 12345 and https://birds.example/12345"))
    identity = next(item["id"] for item in memory("resource.list")["resources"] if item["sourceId"] == "12345")
    for query in ("12345", identity, "https://birds.example/12345", "HTTPS://BIRDS.example:443/12345"):
        (hit,) = memory("resource.search", query)["results"]
        assert (hit["id"], hit["match"]) == (identity, "identity")


def test_filters(memory: Memory) -> None:
    memory.put(
        {
            **record("1", text="owl"),
            "extras": {
                "author": {"name": "Ann Lee", "handle": "ann"},
                "tags": ["Birds"],
                "savedAt": "2026-03-01T00:00:00Z",
            },
        },
        {**record("2", text="owl"), "extras": {"postedAt": "2020-01-01T00:00:00Z"}},
        record("3", text="owl", source={"provider": "web", "id": "3", "url": "https://birds.example/3"}),
    )

    def titles(*words: str) -> list[str]:
        return sorted(hit["title"] for hit in memory("resource.search", "owl", *words)["results"])

    assert titles() == ["Item 1", "Item 2", "Item 3"]
    assert titles("--author", "@ANN") == ["Item 1"]
    assert titles("--author", "lee") == ["Item 1"]
    assert titles("--tag", "birds") == ["Item 1"]
    assert titles("--provider", "WEB") == ["Item 3"]
    assert titles("--since", "2026-04-01") == ["Item 3"]
    assert titles("--since", "2026-03-01T00:00:00Z", "--provider", "demo") == ["Item 1"]
    assert titles("--pending") == []
    assert memory("resource.search", "--tag", "birds")["results"][0]["score"] == 1
    memory("resource.search", "owl", "--since", "yesterday", code=2)
    memory("resource.search", code=2)


def test_bounds(memory: Memory) -> None:
    memory.put(*(record(str(n), text="owl") for n in range(30)))
    found = memory("resource.search", "owl", "--limit", "20")
    assert (found["total"], found["truncated"]) == (20, True)
    assert memory("resource.search", "owl")["total"] == 5
    for limit in ("0", "21", "-1", "5.0"):
        memory("resource.search", "owl", "--limit", limit, code=2)
    memory("resource.search", "x" * 2001, code=2)
    memory("resource.search", "word " * 390)
    memory("resource.search", "--query", '--" OR * NEAR(a b) AND NOT col:x ^ {} ()', "--mode", "lexical")
    for word in ("\udcff", "\udcffabcd", "https://\udcff/", "owl \udcff"):
        memory("resource.search", word)
        memory("resource.search", word, "--mode", "lexical")
    memory("resource.list", "--tag", "\udcff", "--author", "\udcff", "--provider", "\udcff")
    memory("resource.search", "--query", '" OR * NEAR(a b) AND NOT col:x ^ {} ()\0')


def test_hits_are_compact_unless_full(memory: Memory) -> None:
    memory.put(
        {**record("1", text="before " * 300 + "the owl 🪶 looks\n\tout " + "after " * 300), "extras": {"tags": ["a"]}}
    )
    (hit,) = memory("resource.search", "owl")["results"]
    assert "resource" not in hit
    assert "the owl 🪶 looks out" in hit["snippet"]
    assert len(hit["snippet"]) < 260
    (hit,) = memory("resource.search", "owl", "--full")["results"]
    assert hit["resource"]["text"].startswith("before")
    assert hit["extras"] == {"tags": ["a"]}


REMOTE = "answer(resources=json.load(open(sys.argv[1])))"


def remote(memory: Memory, *resources: dict) -> str:
    normal = [normal_resource(resource, Reader("x")) for resource in resources]
    return memory.command_provider(REMOTE, memory.file(normal))


def test_remote_hits_are_labelled_and_local_ones_win(memory: Memory) -> None:
    memory.put(record("1", text="local owl"), record("2", text="gone owl"))
    gone = next(item["id"] for item in memory("resource.list")["resources"] if item["sourceId"] == "2")
    memory("resource.delete", gone)
    newer = record("1", text="remote owl", updatedAt="2026-09-01T00:00:00Z")
    config = remote(
        memory, newer, record("2", text="gone owl"), record("3", text="remote owl"), record("4", text="unrelated")
    )
    for mode in ("ranked", "lexical"):
        found = memory("resource.search", "owl", "--provider-config", config, "--mode", mode, "--full")
        assert {(hit["title"], hit["origin"]) for hit in found["results"]} == {
            ("Item 1", "local"),
            ("Item 3", "remote"),
        }
        local = next(hit for hit in found["results"] if hit["origin"] == "local")
        assert local["remoteIsNewer"] is True
        assert local["resource"]["text"] == "local owl"
        assert found["provider"] == "command"
    filtered = memory("resource.search", "owl", "--provider-config", config, "--since", "2026-08-01")
    assert filtered["results"] == []
    assert memory("resource.search", "owl", "--provider-config", config, "--tag", "x")["results"] == []


@pytest.mark.parametrize(
    "code",
    [
        "sys.exit(1)", "answer(ok=False)", "answer(resources=5)", "answer(resources=[{}])", "answer()", "print('x')",
        "one = json.load(open(sys.argv[1])); answer(resources=one * 2)",
        "one = json.load(open(sys.argv[1])); answer(resources=one * 51)",
    ],
)  # fmt: skip
def test_a_failing_provider_leaves_local_hits(memory: Memory, code: str) -> None:
    memory.put(EXAMPLE)
    config = memory.command_provider(code, memory.file([normal_resource(record("3"), Reader("x"))]))
    found = memory("resource.search", "dialog", "--provider-config", config)
    assert [hit["id"] for hit in found["results"]] == [EXAMPLE_ID]
    assert found["partial"] is True
    assert found["lanes"][1]["state"] == "degraded"


def test_the_request_to_the_provider(memory: Memory) -> None:
    seen = memory.folder / "seen"
    config = memory.command_provider(f"json.dump(request, open({str(seen)!r}, 'w')); answer(resources=[])")
    memory("resource.search", "React dialog", "--provider-config", config, "--limit", "7")
    assert memory.read(seen) == {
        "protocol": "xstash.memory.v1",
        "namespace": "test",
        "operation": "search",
        "query": "React dialog",
        "limit": 7,
    }
