"""The resource memory: records, store, search, sources and providers."""
