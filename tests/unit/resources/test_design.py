"""The design block: what it refuses, how it grows stale, and the guarded analysis."""

from __future__ import annotations

import pytest
from support.resources import EXAMPLE, EXAMPLE_ID, Memory

from kbtasks.resources import canonical
from kbtasks.resources.design import with_images
from kbtasks.resources.faults import InvalidRecord
from kbtasks.resources.model import Reader, normal_resource

IMAGE = "https://img.example/1.png"
DESIGN = {
    "status": "analyzed",
    "images": [{"url": IMAGE, "observed": True}, {"url": "https://img.example/2.png", "observed": False}],
    "domains": [{"label": "web-ui", "featureIds": ["grid", "grid"]}],
    "features": [
        {"id": "grid", "kind": "layout", "value": "12-column grid", "imageUrl": IMAGE, "evidence": "Seen in the header"}
    ],
    "styles": [{"label": "Minimal", "featureIds": ["grid"], "confidence": "low", "confirmation": None}],
    "analyzedAt": "2026-10-08T00:00:00Z",
    "reason": "Looked at the first image.",
}


def feature(**changes: object) -> dict:
    return {**DESIGN["features"][0], **changes}  # type: ignore[dict-item]


def test_a_good_design_is_normalised() -> None:
    found = normal_resource({**EXAMPLE, "design": {**DESIGN, "extra": 1}}, Reader("x"))["design"]
    assert found["domains"] == [{"label": "web-ui", "featureIds": ["grid"]}]
    assert list(found) == ["status", "images", "domains", "features", "styles", "analyzedAt", "reason"]


@pytest.mark.parametrize(
    "change",
    [
        {"status": "done"},
        {"images": [{"url": IMAGE, "observed": True}] * 2},
        {"images": [{"url": f"https://img.example/{n}", "observed": False} for n in range(13)]},
        {"images": [{"url": "http://img.example/1", "observed": True}]},
        {"images": [{"url": IMAGE, "observed": "yes"}]},
        {"images": [{"url": IMAGE, "observed": False}]},
        {"features": []},
        {"features": [feature(kind="mood")]},
        {"features": [feature(imageUrl="https://img.example/2.png")]},
        {"features": [feature(evidence=" ")]},
        {"features": [feature(), feature()]},
        {"domains": []},
        {"domains": [{"label": "web-ui", "featureIds": []}]},
        {"domains": [{"label": "web-ui", "featureIds": ["none"]}]},
        {"domains": [{"label": "websites", "featureIds": ["grid"]}]},
        {"styles": [{"label": "Minimal", "featureIds": ["grid"], "confidence": "sure", "confirmation": None}]},
        {"styles": [{"label": "Minimal", "featureIds": ["grid"], "confidence": "low"}]},
        {"styles": [{**DESIGN["styles"][0]}, {**DESIGN["styles"][0], "label": "MINIMAL"}]},  # type: ignore[dict-item]
        {"analyzedAt": None},
        {"reason": ""},
        {"status": "unanalyzed"},
    ],
)
def test_unsupported_claims_are_refused(change: dict) -> None:
    with pytest.raises(InvalidRecord, match="/design"):
        normal_resource({**EXAMPLE, "design": {**DESIGN, **change}}, Reader("x"))


def test_analyze_is_guarded_and_changes_only_the_design(memory: Memory) -> None:
    memory.put(EXAMPLE)
    seen = memory.compat("resource.inspect", EXAMPLE_ID)
    request = {"id": EXAMPLE_ID, "resourceRevision": seen["resourceRevision"], "design": DESIGN}
    assert memory.compat("resource.analyze", "-", input=request)["analysis"] == "analyzed"
    assert "Stale" in memory("resource.analyze", "-", input=request, code=5)["error"]["message"]
    found = memory.get(EXAMPLE_ID)
    assert {**found, "updatedAt": EXAMPLE["updatedAt"], "design": None} == {"id": EXAMPLE_ID, **EXAMPLE, "design": None}
    again = memory("resource.inspect", EXAMPLE_ID)["resourceRevision"]
    assert memory("resource.analyze", "-", input={**request, "resourceRevision": "sha256:" + again})["unchanged"] == 1
    (hit,) = memory("resource.search", "12-column minimal")["results"]
    assert hit["match"] == "strong"


def test_filters_combine_and_need_an_analyzed_design(memory: Memory) -> None:
    memory.put({**EXAMPLE, "design": DESIGN})
    assert memory("resource.search", "", "--domain", "web-ui", "--feature", "GRID", "--style", "mini")["total"] == 1
    assert memory.compat("resource.search", "", "--domain", "web-ui")["results"][0]["score"] == 1
    assert memory("resource.search", "--domain", "interior")["total"] == 0
    assert memory("resource.search", "dialog", "--style", "baroque")["total"] == 0
    memory("resource.search", "--domain", "nothing", code=2)


def test_a_put_without_design_keeps_it_and_marks_it_stale(memory: Memory) -> None:
    memory.put({**EXAMPLE, "design": DESIGN})
    newer = {**EXAMPLE, "updatedAt": canonical.after(EXAMPLE["updatedAt"], 5)}
    memory.put({**newer, "summary": "other"})
    assert memory.get(EXAMPLE_ID)["design"]["status"] == "analyzed"
    memory.put({**newer, "updatedAt": canonical.after(EXAMPLE["updatedAt"], 9), "text": "other"})
    assert memory.get(EXAMPLE_ID)["design"]["status"] == "stale"
    assert memory("resource.search", "--domain", "web-ui")["total"] == 0
    assert memory("resource.search", "12-column")["total"] == 0


def test_captured_images_are_unobserved() -> None:
    assert with_images(None, []) is None
    found = with_images(None, [f"https://img.example/{n}" for n in range(20)])
    assert found is not None
    assert found["status"] == "unanalyzed"
    assert len(found["images"]) == 12
    assert with_images(DESIGN, [IMAGE]) is DESIGN
    grown = with_images(DESIGN, ["https://img.example/3.png"])
    assert grown is not None
    assert (grown["status"], len(grown["images"])) == ("stale", 3)
