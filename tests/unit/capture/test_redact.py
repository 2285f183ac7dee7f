"""Secrets in addresses: taken out by the name of the parameter or the look of the value, everything else left alone."""

from __future__ import annotations

import pytest

from kbtasks.capture.redact import has_secret, redact_text, redact_url

SECRET = "s3cr3tValue0123456789"


@pytest.mark.parametrize(
    "name",
    ["token", "access_token", "access%5Ftoken", "Access-Token", "id_token", "refresh_token", "sig", "Signature", "X-Amz-Signature", "X-Amz-Credential",
     "X-Amz-Security-Token", "X-Goog-Signature", "X-Goog-Credential", "AWSAccessKeyId", "GoogleAccessId", "api_key", "apikey", "api-key", "key", "password", "pwd",
     "secret", "client_secret", "session", "sessionid", "sid", "PHPSESSID", "auth", "auth_key", "authkey", "Policy", "Key-Pair-Id", "hmac", "jwt", "code", "state",
     "ticket", "SAMLResponse", "oauth_verifier", "credential", "hdnea", "wmsAuthSign", "invite"],
)  # fmt: skip
def test_secret_names(name: str) -> None:
    for url in (
        f"https://x.example/p?a=1&{name}={SECRET}&b=2",
        f"https://x.example/p?{name}={SECRET}",
        f"https://x.example/p#a=1&{name}={SECRET}",
    ):
        shown = redact_url(url)
        assert SECRET not in shown and "REDACTED" in shown and shown.startswith("https://x.example/p")
        assert redact_url(shown) == shown
        assert has_secret(url)


@pytest.mark.parametrize(
    "url",
    ["https://x.example/p?q=herons&page=2&lang=zh#part", "https://x.example/?author=Ada&v=3", "https://x.example/?code=200&state=open&key=A", "https://x.example/a;v=1?b",
     "mailto:me@x.example", "https://x.example/?q=%E9%B7%BA", "/relative?x=1", "", "https://x.example/?tokenless", "https://x.example/#:~:text=a,b", "https://x.example/?a&b=&c="],
)  # fmt: skip
def test_plain_addresses_stay(url: str) -> None:
    assert redact_url(url) == url


def test_users_sessions_and_tokens_anywhere() -> None:
    assert redact_url("https://user:pass@x.example/p") == "https://x.example/p"
    assert redact_url("https://us@er:p@x.example/p?q=a@b") == "https://x.example/p?q=a@b"
    assert SECRET not in redact_url(f"https://x.example/p;jsessionid={SECRET}?q=1")
    assert "eyJ" not in redact_url("https://x.example/?h=eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.abcdefghijkl")


def test_text() -> None:
    text = redact_text(
        f"see https://x.example/?token={SECRET} and (https://y.example/?sig={SECRET}), Cookie: a={SECRET}; b=2\nkept"
    )
    assert SECRET not in text and text.endswith("\nkept") and "https://y.example/?sig=REDACTED" in text
