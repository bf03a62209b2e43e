"""Decide how a new fact relates to known ones: similarity, related memories, supersession, approval."""
