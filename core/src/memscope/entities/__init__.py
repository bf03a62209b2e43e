"""Entities: who and what a user speaks of, derived from turns and memories; see ``operations.py``."""
