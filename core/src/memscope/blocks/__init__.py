"""Core memory: a user's labelled texts that are always in the context, edited by models and people.

    edits.py        append, replace, remove, insert: pure functions on text
    visible.py      the blocks an agent sees (its own, the user's, the settings', the defaults), and their text
    operations.py   ``AsyncBlocks``: every operation, as compare-and-swap on a version

The store keeps every version (``stores/block_rules.py``); docs/blocks.md is the guide.
"""

from memscope.blocks.operations import AsyncBlocks
from memscope.blocks.visible import render

__all__ = ["AsyncBlocks", "render"]
