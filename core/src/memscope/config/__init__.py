"""Settings: their schema and sources, and the platform's folders."""
