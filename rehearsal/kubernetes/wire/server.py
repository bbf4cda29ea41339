"""The HTTP side: sockets on 127.0.0.1, requests, answers, and the log of them."""

import json
import socket
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

from rehearsal.kubernetes.api.errors import ApiError, no_such_resource
from rehearsal.kubernetes.api.objects import Object
from rehearsal.kubernetes.cluster import Cluster
from rehearsal.kubernetes.wire import discovery, watch
from rehearsal.kubernetes.wire.dispatch import act
from rehearsal.kubernetes.wire.log import RequestLog
from rehearsal.kubernetes.wire.request import Request, Target, read

HOST = "127.0.0.1"
_OPENAPI_V2 = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"


class ApiServer:
    """A running API server with its controllers; a context manager. `port` 0 takes a free one, see `url`.

    `crds` is a folder of CustomResourceDefinition YAML whose kinds are served from the start.
    """

    def __init__(self, port: int = 0, crds: Path | None = None) -> None:
        self.cluster = Cluster(crds)
        self.log = RequestLog()
        self._server = _Server((HOST, port), self._answer, self._watch)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), name="kubernetes-api")

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://{HOST}:{self._server.server_address[1]}"

    def start(self) -> Self:
        """Take requests; return itself."""
        self.cluster.start()
        self._thread.start()
        return self

    def stop(self) -> None:
        """End all threads, connections and watches, and free the port."""
        self.cluster.stop()
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.close()

    def __enter__(self) -> Self:
        """Start."""
        return self.start()

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self.stop()

    def _answer(self, request: Request) -> tuple[int, Any]:
        api = self.cluster.api
        if (found := discovery.document(api.resources, request.parts)) is not None:
            return 200, found
        match request.parts:
            case ["rehearsal", "log"]:
                return 200, self.log.entries()
            case ["rehearsal", "pending"]:
                return 200, self.cluster.pending()
            case ["api" | "apis", *_]:
                return self.log.record(request, api, lambda target: act(api, request, target))
        raise no_such_resource()

    def _watch(self, request: Request) -> Any:
        api = self.cluster.api
        target: Target | None = None

        def start(found: Target) -> tuple[int, Object]:
            nonlocal target
            target = found
            return 200, {}

        self.log.record(request, api, start)
        assert target is not None
        return watch.changes(api.store, watch.selection(request, target), request)


class _Server(ThreadingHTTPServer):
    """Remembers its connections: clients keep them open, and their threads would wait in them for ever."""

    daemon_threads = False
    request_queue_size = 64

    def __init__(
        self,
        address: tuple[str, int],
        answer: Callable[[Request], tuple[int, Any]],
        watch_: Callable[[Request], Any],
    ) -> None:
        self.answer = answer
        self.watch = watch_
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        super().__init__(address, _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection in a thread of its own."""
        with self._lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Forget a connection that ends."""
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that went away; that is how kubectl ends a watch."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def close(self) -> None:
        """Cut all connections, wait for their threads, free the port."""
        with self._lock:
            for connection in self._open:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    # Small answers would wait for the client's acknowledgement.
    disable_nagle_algorithm = True

    def handle_one_request(self) -> None:
        with suppress(ConnectionError, ValueError):
            super().handle_one_request()
            return
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are in the log that GET /rehearsal/log returns."""

    def do_GET(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        request = read(self.command, self.path, self.headers.get("Content-Type", ""), body)
        try:
            if request.watches:
                self._stream(self.server.watch(request))
            else:
                self._send(*self.server.answer(request))
        except ApiError as error:
            self._send(error.code, error.status())
        except ConnectionError:
            raise
        except Exception as error:
            traceback.print_exc()
            self._send(500, ApiError(500, "InternalError", f"Internal error occurred: {error!r}").status())

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815

    def _send(self, code: int, body: Any) -> None:
        raw = isinstance(body, bytes)
        content = body if raw else json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", _OPENAPI_V2 if raw else "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _stream(self, events: Any) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.close_connection = True
        for event in events:
            line = json.dumps(event).encode() + b"\n"
            self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")
