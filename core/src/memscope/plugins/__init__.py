"""Plugins: their hooks, loading, and registries."""
