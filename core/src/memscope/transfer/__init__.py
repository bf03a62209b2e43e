"""Moving memory: JSON lines, copies between stores, other systems' exports, damaged files."""

from collections.abc import Callable

Progress = Callable[[int, int | None], None]  # done, of how many if known
