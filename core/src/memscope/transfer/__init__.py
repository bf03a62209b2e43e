"""Move records: JSON lines, copies between stores, recovery of a damaged file."""
