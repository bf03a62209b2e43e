#!/usr/bin/env python3
"""A real Elasticsearch node on loopback, for tests and benchmarks. Standard library only.

    node.py start [--port N] [--data DIR] [--heap 1g]   install if needed, start, wait, print the URL
    node.py start [--port N] --nodes 3                  three nodes on N, N+1, N+2 as one cluster; print their URLs
    node.py stop  [--port N] [--nodes 3]                stop what `start` left there
    node.py kill  [--port N]                            stop one node with SIGKILL (crash tests)
    node.py revive [--port N]                           start a node again as it was, with its data, and wait
    node.py install                                     fetch the jars only

The server is the published one (Maven artifacts, pom.xml beside this file), run with Java 21 or newer.
What a full distribution adds as modules is not there: no `GET /` (use `/_cluster/health`), no
`_delete_by_query`, no `_reindex`, no scripts, no language analysers, no security, no X-Pack.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
VERSION = (HERE / "pom.xml").read_text().partition("<elasticsearch.version>")[2].partition("<")[0]
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "memscope-elasticsearch"
HOME = CACHE / VERSION
TRANSPORT_OFFSET = 10_000  # from a node's port to the one of its transport; outgoing connections have higher ones

DESCRIPTOR = f"""\
name=transport-netty4
description=Netty 4 based transport
version={VERSION}
elasticsearch.version={VERSION}
java.version=21
classname=org.elasticsearch.transport.netty4.Netty4Plugin
modulename=org.elasticsearch.transport.netty4
extended.plugins=
has.native.controller=false
"""

LOGGING = """\
status = error
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = [%d{ISO8601}][%-5p][%c{1}] %m%n
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
"""


def java() -> str:
    """The newest Java at hand; 21 is the least the server takes."""
    found = [os.environ.get("JAVA_HOME"), *map(str, pathlib.Path("/usr/lib/jvm").glob("*"))]
    candidates = [str(pathlib.Path(home) / "bin" / "java") for home in found if home] + [shutil.which("java") or ""]
    best, version = "", 0
    for path in candidates:
        if not os.access(path, os.X_OK):
            continue
        said = subprocess.run([path, "-version"], capture_output=True, text=True).stderr
        major = re.search(r'version "(\d+)', said)
        if major and int(major[1]) > version:
            best, version = path, int(major[1])
    if version < 21:
        sys.exit(
            "Elasticsearch needs Java 21 or newer; set JAVA_HOME or install a JDK (Debian: openjdk-21-jdk-headless)"
        )
    return best


def install() -> None:
    if (HOME / "ready").exists():
        return
    shutil.rmtree(HOME, ignore_errors=True)
    lib, netty = HOME / "lib", HOME / "modules" / "transport-netty4"
    netty.mkdir(parents=True)
    (HOME / "config").mkdir()
    subprocess.run(
        ["mvn", "-q", "-B", "-f", str(HERE / "pom.xml"), "dependency:copy-dependencies", f"-DoutputDirectory={lib}"],
        check=True,
        stdout=sys.stderr,
    )
    for jar in [*lib.glob("netty-*.jar"), *lib.glob("transport-netty4-*.jar")]:
        jar.rename(netty / jar.name)
    (netty / "plugin-descriptor.properties").write_text(DESCRIPTOR)
    (HOME / "config" / "log4j2.properties").write_text(LOGGING)
    (HOME / "config" / "elasticsearch.yml").write_text("")
    (HOME / "ready").touch()


def get(url: str, timeout: float = 2.0) -> dict | None:
    try:
        with urllib.request.urlopen(url, timeout=timeout) as reply:
            return json.load(reply)
    except (OSError, ValueError):
        return None


def run_folder(port: int) -> pathlib.Path:
    return CACHE / "run" / str(port)


def node_settings(port: int, data: str | None) -> dict[str, object]:
    folder = run_folder(port)
    return {
        "cluster.name": f"memscope-test-{port}",
        "discovery.type": "single-node",
        "network.host": "127.0.0.1",
        "http.port": port,
        "transport.port": port + TRANSPORT_OFFSET,
        "path.data": data or str(folder / "data"),
        "path.logs": str(folder),
        "action.destructive_requires_name": "false",
        "cluster.routing.allocation.disk.threshold_enabled": "false",
    }


def cluster_settings(first: int, count: int) -> list[dict[str, object]]:
    """The settings of nodes that form one cluster."""
    nodes = [node_settings(port, None) for port in range(first, first + count)]
    names = [f"node-{node['http.port']}" for node in nodes]
    shared = {
        "cluster.name": f"memscope-test-{first}",
        "discovery.seed_hosts": ",".join(f"127.0.0.1:{node['transport.port']}" for node in nodes),
        "cluster.initial_master_nodes": ",".join(names),
    }
    for node, name in zip(nodes, names, strict=True):
        del node["discovery.type"]
        node |= shared | {"node.name": name}
    return nodes


def launch(settings: dict[str, object], heap: str) -> subprocess.Popen[bytes]:
    folder = run_folder(int(str(settings["http.port"])))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "settings.json").write_text(json.dumps({"settings": settings, "heap": heap}))
    command = [
        *(java(), f"-Xms{heap}", f"-Xmx{heap}", "-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError"),
        *("-p", str(HOME / "lib"), "--add-modules", "ALL-MODULE-PATH,jdk.incubator.vector"),
        *("--enable-native-access=ALL-UNNAMED", str(HERE / "OneNode.java"), str(HOME)),
        *(f"{key}={value}" for key, value in settings.items()),
    ]
    with (folder / "node.log").open("wb") as log:
        node = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
    (folder / "pid").write_text(str(node.pid))
    return node


def start(port: int, data: str | None, heap: str, count: int, seconds: float) -> None:
    ports = range(port, port + count)
    if get(f"http://127.0.0.1:{port}/_cluster/health") is None:
        install()
        if data is None:  # nobody asked to keep it
            for one in ports:
                shutil.rmtree(run_folder(one), ignore_errors=True)
        wanted = cluster_settings(port, count) if count > 1 else [node_settings(port, data)]
        wait({one: launch(settings, heap) for one, settings in zip(ports, wanted, strict=True)}, seconds)
    print(",".join([f"http://127.0.0.1:{port}", *(f"127.0.0.1:{one}" for one in ports[1:])]))


def revive(port: int, seconds: float) -> None:
    kept = json.loads((run_folder(port) / "settings.json").read_text())
    wait({port: launch(kept["settings"], kept["heap"])}, seconds)


def wait(nodes: dict[int, subprocess.Popen[bytes]], seconds: float) -> None:
    """Until each answers with a master, and sees at least the others; ends them all if one does not."""
    until = time.monotonic() + seconds
    missing = set(nodes)
    while missing and time.monotonic() < until and all(node.poll() is None for node in nodes.values()):
        for port in sorted(missing):
            health = get(f"http://127.0.0.1:{port}/_cluster/health")
            if health and health["status"] in ("green", "yellow") and health["number_of_nodes"] >= len(nodes):
                missing.discard(port)
        time.sleep(0.3)
    for port in sorted(missing):
        print((run_folder(port) / "node.log").read_text(errors="replace")[-3000:], file=sys.stderr)
    if missing:
        for port in nodes:
            stop(port, signal.SIGKILL)
        sys.exit(f"Elasticsearch did not start on port {min(missing)} within {seconds:.0f} s")


def alive(pid: int) -> bool:
    """Neither gone nor a zombie that nobody has waited for."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def stop(port: int, how: signal.Signals = signal.SIGTERM) -> None:
    """Ends the node that `start` left on this port; only a process whose command line says so."""
    pid_file = run_folder(port) / "pid"
    try:
        pid = int(pid_file.read_text())
        command = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    except (OSError, ValueError):
        return
    if b"OneNode.java" not in command:
        return
    os.kill(pid, how)
    until = time.monotonic() + 30
    while alive(pid) and time.monotonic() < until:
        time.sleep(0.05)
    if alive(pid):
        os.kill(pid, signal.SIGKILL)
    pid_file.unlink(missing_ok=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["start", "stop", "kill", "revive", "install"])
    parser.add_argument("--port", type=int, default=19200)
    parser.add_argument("--data", help="keep the data in this folder (default: a fresh one each start)")
    parser.add_argument("--heap", default="1g")
    parser.add_argument("--nodes", type=int, default=1, help="how many nodes, on consecutive ports")
    parser.add_argument("--seconds", type=float, default=120.0, help="how long to wait for the node")
    chosen = parser.parse_args()
    if chosen.what == "install":
        install()
    elif chosen.what == "start":
        start(chosen.port, chosen.data, chosen.heap, chosen.nodes, chosen.seconds)
    elif chosen.what == "revive":
        revive(chosen.port, chosen.seconds)
    else:
        for port in range(chosen.port, chosen.port + chosen.nodes):
            stop(port, signal.SIGKILL if chosen.what == "kill" else signal.SIGTERM)


if __name__ == "__main__":
    main()
