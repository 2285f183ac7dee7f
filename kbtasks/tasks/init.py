"""``init``: the folders and first pages of a new vault."""

from __future__ import annotations
