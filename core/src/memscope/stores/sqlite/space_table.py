"""The vector spaces of the file, read once per transaction."""

from __future__ import annotations

import sqlite3

from memscope.records import VectorSpace
from memscope.stores.spaces import Spaces


class SpaceTable:
    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._known: dict[VectorSpace, tuple[int, bool]] | None = None

    def _load(self) -> dict[VectorSpace, tuple[int, bool]]:
        if self._known is None:
            rows = self._db.execute("SELECT space, model, dims, active FROM space")
            self._known = {VectorSpace(model, dims): (id, bool(active)) for id, model, dims, active in rows}
        return self._known

    def ids(self) -> dict[VectorSpace, int]:
        return {space: id for space, (id, _) in self._load().items()}

    def spaces(self) -> Spaces:
        known = {active: space for space, (_, active) in self._load().items()}
        return Spaces(known.get(True), known.get(False))

    def put(self, spaces: Spaces) -> None:
        ids = self.ids()
        for space, id in ids.items():
            if space not in (spaces.serving, spaces.filling):
                self._db.execute("DELETE FROM vector WHERE space = ?", (id,))
                self._db.execute("DELETE FROM space WHERE space = ?", (id,))
        for kept, active in ((spaces.serving, True), (spaces.filling, False)):
            if kept in ids:
                self._db.execute("UPDATE space SET active = ? WHERE space = ?", (active, ids[kept]))
            elif kept is not None:
                row = (kept.model, kept.dims, active)
                self._db.execute("INSERT INTO space(model, dims, active) VALUES (?, ?, ?)", row)
        self._known = None
