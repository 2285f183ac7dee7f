"""The compatible hashes: golden vectors, and what they rest on."""

from __future__ import annotations

import pytest
from support.resources import EXAMPLE, EXAMPLE_ID

from kbtasks.resources import canonical
from kbtasks.resources.model import Reader, normal_resource, revision, tombstone

IDS = [
    ("web", "fictional-dialog-guide", "e6030e7a46ceae274d1f608ea3873d83ecbb532113359bbcce333adfce358a56"),
    ("x", "1234567890123456789", "d6903cacde4830d329bc12415d357fb35872512bf24d8766f74e4fa1facc3ef5"),
    ("web", "fictional-accessibility-guide", "86fa98108f4ccaaaa79518d7488c849aca9ecb938de1d9862b0360f1fd42f655"),
    ("web", 'weird "id"/漢字\u2028', "10d1db7cbc69ee2517f8fef761f6e2c3f24483ca9a14291bacc5f7fbb7809f39"),
    ("web", "a\x7f\x01\bb", "b0c6ee2250535edef9d9061795e21eab670d06097d2655925dee4404641f6cd7"),
    ("web", "\ud800x", "5a3f5c1aabdffad2085a218e667d4236f270b18bf41d61f9c3ab4f1a3065e60d"),
]


@pytest.mark.parametrize(("provider", "identity", "digest"), IDS)
def test_record_ids(provider: str, identity: str, digest: str) -> None:
    assert canonical.resource_id(provider, identity) == "resource_" + digest


def test_payload_revision() -> None:
    resource = normal_resource(EXAMPLE, Reader("x"))
    assert len(canonical.compact(resource).encode()) == 600
    assert revision(resource) == "5069de4b5bad2811e72ce4195b2eceefcf15b35de063cfe59f47400219527712"
    assert revision(normal_resource(resource, Reader("x"))) == revision(resource)


def test_tombstone_digest() -> None:
    value = tombstone(EXAMPLE_ID, "2026-10-07T00:00:00.001Z")
    assert canonical.digest(value) == "b3a3e64cd14f049957140b23a957575511c0e25f995d0514b8acfcf3ccd427c0"


def test_provider_and_source_keys() -> None:
    file = {"kind": "file", "path": "/absolute/private/chosen-memory.json", "scope": "personal"}
    assert canonical.digest(file) == "74e4525ab2197d255ce7e0e2eaa8e271f1f9d59535ea2585133a8f69a2b8ef73"
    command = {
        "kind": "command", "command": ["/usr/bin/python3", "/opt/adapter.py"], "namespace": "my-xstash-resources", "scope": "personal",
    }  # fmt: skip
    assert canonical.digest(command) == "816d648f617e6fdb883596661266b845899388f714ba1daa3c5717c5efada3da"
    source = {
        "command": ["/usr/bin/python3", "/opt/source.py"], "provider": "x", "account": "@me", "pagination": "single",
        "incremental": "rescan", "scope": "personal",
    }  # fmt: skip
    assert canonical.digest(source) == "ee30ed595f6d725618f655499d015a64aff63e93811f4576d49db2c978f79000"


def test_content_revision_and_nothing() -> None:
    text = "Fictional React resource"
    identity = "1234567890123456789"
    found = canonical.content_revision("x", identity, text, text, f"https://x.com/i/web/status/{identity}")
    assert found == "879c5d71407a77612f8853678a1104942e1e18fa61c319ed2c89c6df9a3112cf"
    assert canonical.digest(None) == canonical.NOTHING


@pytest.mark.corpora
def test_the_vectors_of_the_reference(shared) -> None:  # type: ignore[no-untyped-def]
    import json

    golden = json.loads((shared / "golden" / "resource-hashes.json").read_text())
    for entry in golden["ids"]:
        assert canonical.resource_id(entry["provider"], entry["id"]) == entry["resource_id"]
    for entry in [*golden["provider_keys"], golden["source_key"]]:
        assert canonical.digest(entry["config"]) == entry["key"]
    assert revision(normal_resource(golden["resource"]["normalised"], Reader("x"))) == golden["resource"]["revision"]


@pytest.mark.parametrize(
    ("given", "canonical_form"),
    [
        ("2026-10-07T00:00:00Z", "2026-10-07T00:00:00.000Z"),
        ("2026-10-07T08:00+08:00", "2026-10-07T00:00:00.000Z"),
        ("2026-10-06T17:00:00.123999-0700", "2026-10-07T00:00:00.123Z"),
        ("2026-02-28T24:00:00Z", "2026-03-01T00:00:00.000Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"),
    ],
)
def test_times_become_what_javascript_prints(given: str, canonical_form: str) -> None:
    assert canonical.instant(given) == canonical_form


@pytest.mark.parametrize(
    "given",
    [
        "2026-02-30T00:00:00Z", "2026-10-07T00:00:00", "2026-10-07", "9999-12-31T23:59:59.999Z", "2026-13-01T00:00:00Z",
        "2026-10-07T1:00:00Z", "2026-10-07T00:00:60Z", "2026-10-07T24:00:01Z", "2026-10-07T00:00:00Z ", "", "0000-01-01T00:00:00Z",
        "0001-01-01T00:00:00+23:00", "２０２６-10-07T00:00:00Z",
    ],
)  # fmt: skip
def test_times_that_are_guesses_elsewhere_are_refused(given: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        canonical.instant(given)


def test_later_than_is_later() -> None:
    far = "9998-12-31T23:59:59.999Z"
    assert canonical.later_than("2100-01-01T00:00:00.000Z") == "2100-01-01T00:00:00.001Z"
    assert canonical.later_than(None) <= canonical.later_than(canonical.now())
    assert canonical.after("2026-12-31T23:59:59.999Z") == "2027-01-01T00:00:00.000Z"
    assert canonical.later_than(far) > far


def test_trim_and_length_are_those_of_javascript() -> None:
    assert canonical.trim("\ufeff\u3000 a\u2029\xa0") == "a"
    assert canonical.trim("\x1ca\x85") == "\x1ca\x85"
    assert canonical.length("a🪶\ud800") == 4
    assert canonical.cut("ab🪶c", 3) == "ab"
    assert canonical.cut("ab🪶c", 4) == "ab🪶"


def test_compact_is_json_stringify() -> None:
    assert (
        canonical.compact({"b": "é\u2028\x7f/\x01\b", "a": [None, True]})
        == '{"b":"é\u2028\x7f/\\u0001\\b","a":[null,true]}'
    )
    assert canonical.compact("\ud83e\udeb6 \ud83e") == '"🪶 \\ud83e"'
