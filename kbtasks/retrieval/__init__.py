"""Search: exact, keyword, semantic and fused, with passages, filters and packing."""
