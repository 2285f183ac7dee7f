"""A knowledge base beside a code repository: find, connect, keep and hand over Markdown notes."""

__version__ = "0.1.0"
