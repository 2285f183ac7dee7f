"""Links, backlinks, relations, context of a code path, suggestions and history."""
