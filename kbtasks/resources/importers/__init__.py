"""Importers: files of bookmarks as people have them, read into one kind of row."""
