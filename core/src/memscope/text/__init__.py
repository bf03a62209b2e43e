"""Analyse text: language, tokens, terms, and the units that are searched. Pure functions, no I/O."""
