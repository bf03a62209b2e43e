"""Analyse text: language, tokens, terms, and the units that are searched. Pure functions, no I/O."""

from memscope.imports import importing


def load_tables() -> None:
    """Read the tables of word vectors, synonyms, topics and signs, once per process; blocks for some 30 ms."""
    from memscope.text import telling, topics, vectors

    topics.names()
    vectors.sentence_vector("word")
    vectors.synonyms("word")
    telling.signs("word")


async def load_names() -> None:
    """Read the tables of names, once per process; in a thread, as an event loop may forbid to read files."""
    import asyncio
    import sys

    names = sys.modules.get("memscope.text.lexicon")
    if names is None or not names.lexicon.cache_info().currsize:
        await asyncio.to_thread(_read_names)


def _read_names() -> None:
    with importing:
        from memscope.text import names  # noqa: F401  # reads its own as it is imported
        from memscope.text.lexicon import lexicon

        lexicon()
