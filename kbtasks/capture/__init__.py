"""Web pages and PDFs kept as evidence bundles."""
