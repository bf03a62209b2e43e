"""Memory as an MCP server, started by ``memscope mcp``."""
