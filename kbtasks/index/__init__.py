"""Derived data: the freshness sweep, index.db, vectors and rendered views."""
