"""Settings: their schema, their sources, and the platform's folders."""
