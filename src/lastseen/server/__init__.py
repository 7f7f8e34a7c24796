"""Serving a memory: REST, live events, MCP and the page, in one process (see docs/server.md)."""
