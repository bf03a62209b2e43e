"""Analyse text: language, tokens, terms, and the units that are searched. Pure functions, no I/O."""


def load_tables() -> None:
    """Read the tables of word vectors and topics, once per process; blocks for some 30 ms."""
    from memscope.text import topics, vectors

    topics.names()
    vectors.sentence_vector("word")
