"""Checks of a cluster for ``memscope doctor``: versions, mappings, refresh, durability, blocks, disks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

StoreFinding: TypeAlias = tuple[str, str, str]  # "ok", "warn" or "fail"; the finding; the remedy
OLDEST_SERVER_VERSION = (8, 19)
FLOOD_PERCENT, HIGH_PERCENT = 95, 85  # the server's default watermarks
SLOW_REFRESH = ("-1", "5s", "10s", "30s", "60s", "1m", "5m")


def findings(health: Mapping[str, Any]) -> list[StoreFinding]:
    """Derive findings from the answer of ``mapping.health``."""
    indices = [
        finding for alias, about in health.items() if isinstance(about, Mapping) for finding in _index(alias, about)
    ]
    if "cluster" in health:
        return [*indices, ("ok", "this user may not see the nodes", "")]
    return [*indices, _versions(health["versions"]), _disks(float(health["fullest_disk_percent"]))]


def _index(alias: str, about: Mapping[str, Any]) -> list[StoreFinding]:
    summary = f"{alias}: format {about['format']}, refreshed every {about['refresh_interval']}"
    return list(_faults(alias, about, summary)) or [("ok", summary, "")]


def _faults(alias: str, about: Mapping[str, Any], summary: str) -> Iterator[StoreFinding]:
    for what in about["differences"]:
        yield "fail", f"{alias}: {what}", "restore the mapping, or import an export"
    if about["translog_durability"] != "request":
        mend = f"set index.translog.durability of {alias} to request"
        yield "fail", f"{alias}: a crash loses acknowledged writes", mend
    if about["blocks"]:
        yield "warn", f"{alias} is blocked: {', '.join(about['blocks'])}", "lift the block"
    if about["refresh_interval"] in SLOW_REFRESH:
        mend = f"set index.refresh_interval of {alias} to 1s"
        yield "warn", f"{summary}: other processes find new turns late", mend


def _versions(versions: list[str]) -> StoreFinding:
    summary = f"Elasticsearch {', '.join(versions)}"
    old = [version for version in versions if tuple(map(int, version.split(".")[:2])) < OLDEST_SERVER_VERSION]
    return ("fail", f"{summary}: too old", "upgrade it to 8.19 or 9") if old else ("ok", summary, "")


def _disks(percent: float) -> StoreFinding:
    summary = f"the fullest disk is {percent:.0f} % full"
    if percent < HIGH_PERCENT:
        return "ok", summary, ""
    mend = "make room: at 95 % Elasticsearch refuses all writes, forgetting included"
    return "fail" if percent >= FLOOD_PERCENT else "warn", summary, mend
