"""Text analysis by script: words, tokens, terms, topics, vectors. Pure functions, no I/O."""
