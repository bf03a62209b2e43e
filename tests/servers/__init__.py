"""Servers that the tests and benchmarks talk to, all on loopback."""
