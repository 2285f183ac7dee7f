"""Memory providers: where copies of records go, always named in the call."""
