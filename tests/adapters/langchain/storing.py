"""Shared by the tests of the store."""

from __future__ import annotations


def fill(store, *items):
    for namespace, key, value in items:
        store.put(namespace, key, value)


def found(store, *prefix, **more):
    return {item.namespace for item in store.search(prefix, limit=100, **more)}
