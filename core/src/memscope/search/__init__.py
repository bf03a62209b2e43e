"""Exact search for local stores: snapshots, matching, and the candidates for the ranking."""
