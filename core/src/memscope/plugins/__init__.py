"""Plugins: hooks, loading, and the registries of what they bring."""
