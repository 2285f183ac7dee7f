"""MCP servers and framing of untrusted text for agents."""
