"""The exact engine of every local store: snapshots, matching, and the candidates for the ranking."""
