"""The visual block of a resource: what was seen in its images, which feature each label rests on, how sure it is.

No image is ever fetched; a label without an observed feature is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from kbtasks.resources.model import Reader

STATUSES = ("unanalyzed", "analyzed", "stale")
DOMAINS = ("web-ui", "app-ui", "hardware", "architecture", "interior", "graphic", "other")
KINDS = ("layout", "spacing", "typography", "color", "material", "shape")
CONFIDENCES = ("low", "medium", "high")
MAX_IMAGES = 12
STALE_REASON = "The source changed after this analysis; look at it again."
CAPTURED_REASON = "Images were captured with the source; nobody has looked at them yet."


def normal_design(value: Any, reader: Reader) -> dict[str, Any]:
    """The normalised block in the order of its revision; InvalidRecord with the pointer and rule it breaks."""
    document = reader.mapping(value, "/design")
    status = _word(document, "status", STATUSES, reader, "/design")
    images = _images(document, reader)
    observed = {image["url"] for image in images if image["observed"]}
    features = _features(document, observed, reader)
    known = {feature["id"] for feature in features}
    domains = _domains(document, known, reader)
    styles = _styles(document, known, reader)
    analyzed_at = document.get("analyzedAt")
    if "analyzedAt" not in document:
        raise reader.refuse("/design/analyzedAt", "it is missing; unknown is null")
    analyzed_at = None if analyzed_at is None else reader.time(analyzed_at, "/design/analyzedAt")
    reason = reader.text(document, "reason", 2000, "/design", blank=False)
    if status == "analyzed" and not (features and domains and analyzed_at):
        raise reader.refuse("/design/status", "an analyzed design needs a feature, a domain and a date")
    if status == "unanalyzed" and (features or domains or styles or analyzed_at or observed):
        raise reader.refuse("/design/status", "an unanalyzed design has no features, labels, date or observed images")
    return {
        "status": status,
        "images": images,
        "domains": domains,
        "features": features,
        "styles": styles,
        "analyzedAt": analyzed_at,
        "reason": reason,
    }


def _word(document: dict[str, Any], name: str, words: tuple[str, ...], reader: Reader, pointer: str) -> str:
    value = document.get(name)
    if not isinstance(value, str) or value not in words:
        raise reader.refuse(f"{pointer}/{name}", f"one of {', '.join(words)} is needed")
    return value


def _images(document: dict[str, Any], reader: Reader) -> list[dict[str, Any]]:
    images: list[dict[str, Any]] = []
    for index, item in enumerate(reader.items(document, "images", MAX_IMAGES, "/design")):
        place = f"/design/images/{index}"
        image = reader.mapping(item, place)
        url = reader.url(image.get("url"), f"{place}/url")
        if not isinstance(image.get("observed"), bool):
            raise reader.refuse(f"{place}/observed", "true or false is needed")
        if any(other["url"] == url for other in images):
            raise reader.refuse(f"{place}/url", "the image is listed twice")
        images.append({"url": url, "observed": image["observed"]})
    return images


def _features(document: dict[str, Any], observed: set[str], reader: Reader) -> list[dict[str, str]]:
    features: list[dict[str, str]] = []
    seen: set[str] = set()
    for index, item in enumerate(reader.items(document, "features", 40, "/design")):
        place = f"/design/features/{index}"
        feature = reader.mapping(item, place)
        name = reader.text(feature, "id", 80, place, blank=False)
        if name in seen:
            raise reader.refuse(f"{place}/id", f"the feature {name!r} is listed twice")
        seen.add(name)
        kind = _word(feature, "kind", KINDS, reader, place)
        value = reader.text(feature, "value", 200, place, blank=False)
        image = reader.url(feature.get("imageUrl"), f"{place}/imageUrl")
        if image not in observed:
            raise reader.refuse(f"{place}/imageUrl", "it is not a listed image that was observed")
        evidence = reader.text(feature, "evidence", 2000, place, blank=False)
        features.append({"id": name, "kind": kind, "value": value, "imageUrl": image, "evidence": evidence})
    return features


def _feature_ids(document: dict[str, Any], known: set[str], reader: Reader, place: str) -> list[str]:
    ids: list[str] = []
    for index, item in enumerate(reader.items(document, "featureIds", 40, place, least=1)):
        name = reader.string(item, 80, f"{place}/featureIds/{index}", blank=False)
        if name not in known:
            raise reader.refuse(f"{place}/featureIds/{index}", f"there is no feature {name!r}")
        if name not in ids:
            ids.append(name)
    return ids


def _domains(document: dict[str, Any], known: set[str], reader: Reader) -> list[dict[str, Any]]:
    domains: list[dict[str, Any]] = []
    for index, item in enumerate(reader.items(document, "domains", 5, "/design")):
        place = f"/design/domains/{index}"
        domain = reader.mapping(item, place)
        label = _word(domain, "label", DOMAINS, reader, place)
        if any(other["label"] == label for other in domains):
            raise reader.refuse(f"{place}/label", f"the domain {label} is listed twice")
        domains.append({"label": label, "featureIds": _feature_ids(domain, known, reader, place)})
    return domains


def _styles(document: dict[str, Any], known: set[str], reader: Reader) -> list[dict[str, Any]]:
    styles: list[dict[str, Any]] = []
    for index, item in enumerate(reader.items(document, "styles", 12, "/design")):
        place = f"/design/styles/{index}"
        style = reader.mapping(item, place)
        label = reader.text(style, "label", 200, place, blank=False)
        if any(other["label"].lower() == label.lower() for other in styles):
            raise reader.refuse(f"{place}/label", f"the style {label!r} is listed twice")
        ids = _feature_ids(style, known, reader, place)
        confidence = _word(style, "confidence", CONFIDENCES, reader, place)
        if "confirmation" not in style:
            raise reader.refuse(f"{place}/confirmation", "it is missing; not confirmed is null")
        confirmation = style["confirmation"]
        if confirmation is not None:
            confirmation = reader.string(confirmation, 2000, f"{place}/confirmation", blank=False)
        styles.append({"label": label, "featureIds": ids, "confidence": confidence, "confirmation": confirmation})
    return styles


def made_stale(design: dict[str, Any]) -> dict[str, Any]:
    """``design`` marked stale, everything seen kept."""
    return {**design, "status": "stale", "reason": STALE_REASON}


def with_images(design: dict[str, Any] | None, urls: list[str]) -> dict[str, Any] | None:
    """The design with captured image ``urls`` added, unobserved; an analyzed one that gains an image becomes stale.

    None where there is no design and no image. Images that a later capture lacks stay.
    """
    if design is None:
        if not urls:
            return None
        return {
            "status": "unanalyzed",
            "images": [{"url": url, "observed": False} for url in urls[:MAX_IMAGES]],
            "domains": [],
            "features": [],
            "styles": [],
            "analyzedAt": None,
            "reason": CAPTURED_REASON,
        }
    known = {image["url"] for image in design["images"]}
    new = [url for url in urls if url not in known][: MAX_IMAGES - len(design["images"])]
    if not new:
        return design
    grown = {**design, "images": [*design["images"], *({"url": url, "observed": False} for url in new)]}
    return made_stale(grown) if design["status"] == "analyzed" else grown
