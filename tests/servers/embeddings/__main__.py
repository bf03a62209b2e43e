"""``OMP_NUM_THREADS=1 python -m servers.embeddings --port 8098`` with the folder ``tests`` on the path."""

from __future__ import annotations

import argparse
import sys

from .server import EmbeddingServer, Missing

parser = argparse.ArgumentParser(description="Real all-MiniLM-L6-v2 vectors on loopback.")
parser.add_argument("--port", type=int, default=8098, help="0 picks a free port")
try:
    server = EmbeddingServer(parser.parse_args().port)
except Missing as error:
    sys.exit(str(error))
print(server.base_url, flush=True)
try:
    server.serve_forever()
except KeyboardInterrupt:
    server.server_close()
