"""The record: walking a vault, reading Markdown, resolving links, writing notes safely."""
