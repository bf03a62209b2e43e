"""A forwarder between client and server: it counts answers and round trips, and cuts connections or swallows data."""

from __future__ import annotations

import random
import socket
import threading
from contextlib import suppress

READY = b"Z\x00\x00\x00\x05"  # ReadyForQuery: the server waits for the next message


class Forwarder:
    """Listens on ``port``; leads every connection to the server."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.answers = 0  # to whole messages
        self.round_trips, self._is_asked = 0, False  # of one connection: the server speaks after the client
        self.cut_on: bytes = b""  # the next message from the client with these bytes is not forwarded, or not answered
        self.forwards_it = True
        self.swallows = False  # from then on all messages of the connection, instead of cutting it
        self.cut_rate, self.chance = 0.0, random.Random(7)  # of all messages; the connection ends somewhere in one
        self._swallowed: set[socket.socket] = set()  # by client
        self._cutting: set[socket.socket] = set()  # by client
        self._open: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        for one in list(self._open):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._connect, args=(client,), daemon=True).start()

    def _connect(self, client: socket.socket) -> None:
        with client, suppress(OSError), socket.create_connection(("127.0.0.1", self._target)) as server:
            self._open |= {client, server}
            back = threading.Thread(target=self._pump, args=(server, client, client), daemon=True)
            back.start()
            self._pump(client, server, client)
            back.join()
            self._open -= {client, server}

    def _pump(self, source: socket.socket, sink: socket.socket, client: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                if client in self._swallowed:
                    continue
                if self.chance.random() < self.cut_rate:
                    sink.sendall(data[: self.chance.randrange(len(data) + 1)])
                    break
                if source is client and self.cut_on and self.cut_on in data:
                    self.cut_on = b""
                    if self.swallows:
                        self._swallowed.add(client)
                        sink.sendall(data if self.forwards_it else b"")
                        continue
                    if self.forwards_it:
                        self._cutting.add(client)
                        sink.sendall(data)
                        continue
                    break
                if source is client:
                    self._is_asked = True
                else:
                    self.round_trips, self._is_asked = self.round_trips + self._is_asked, False
                    self.answers += data.count(READY)
                    if client in self._cutting:  # the server has done it, and nobody is told
                        break
                sink.sendall(data)
        for one in (source, sink):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
