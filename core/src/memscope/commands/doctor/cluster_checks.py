"""What doctor looks at in a store that is a cluster: versions, mappings, refresh, durability, blocks, disks."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

from memscope.commands.doctor.examination import Finding, Patient

OLDEST = (8, 19)
FLOOD_PERCENT, HIGH_PERCENT = 95, 85  # the server's default watermarks
SLOW_REFRESH = ("-1", "5s", "10s", "30s", "60s", "1m", "5m")


async def cluster(patient: Patient) -> AsyncIterator[Finding]:
    if patient.memory is None:
        return
    examine = getattr(patient.memory.runtime.store, "health", None)
    if examine is None:
        return
    health = await examine()
    for alias, about in health.items():
        if isinstance(about, Mapping):
            for finding in _index(alias, about):
                yield finding
    if "cluster" in health:
        yield Finding("cluster", "ok", "its nodes are not shown to this user")
        return
    yield _versions(health["versions"])
    yield _disks(float(health["fullest_disk_percent"]))


def _index(alias: str, about: Mapping[str, Any]) -> list[Finding]:
    said = f"{alias}: format {about['format']}, refreshed every {about['refresh_interval']}"
    found = [
        Finding("cluster", "fail", f"{alias}: {what}", "restore the mapping, or import an export")
        for what in about["differences"]
    ]
    if about["translog_durability"] != "request":
        mend = f"set index.translog.durability of {alias} to request"
        found.append(Finding("cluster", "fail", f"{alias}: a crash loses what was acknowledged", mend))
    if about["blocks"]:
        found.append(Finding("cluster", "warn", f"{alias} is blocked: {', '.join(about['blocks'])}", "lift the block"))
    if about["refresh_interval"] in SLOW_REFRESH:
        mend = f"set index.refresh_interval of {alias} to 1s"
        found.append(Finding("cluster", "warn", f"{said}: other processes find new turns late", mend))
    return found or [Finding("cluster", "ok", said)]


def _versions(versions: list[str]) -> Finding:
    told = f"Elasticsearch {', '.join(versions)}"
    old = [version for version in versions if tuple(map(int, version.split(".")[:2])) < OLDEST]
    if old:
        return Finding("cluster", "fail", f"{told}: too old", "upgrade it to 8.19 or 9")
    return Finding("cluster", "ok", told)


def _disks(percent: float) -> Finding:
    said = f"the fullest disk is {percent:.0f} % full"
    if percent < HIGH_PERCENT:
        return Finding("cluster", "ok", said)
    mend = "make room: at 95 % Elasticsearch takes no more writes, forgetting included"
    return Finding("cluster", "fail" if percent >= FLOOD_PERCENT else "warn", said, mend)
