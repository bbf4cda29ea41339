"""The emulated account as a context manager."""

import os
import socket
import threading
from pathlib import Path
from types import TracebackType

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import BaseWSGIServer, make_server

from rehearsal.cloud.account import Account
from rehearsal.cloud.calls.cloudformation import CloudFormationCalls
from rehearsal.cloud.chart_sources import Charts
from rehearsal.cloud.cloudformation.backend import CloudFormation
from rehearsal.cloud.events import EventLog
from rehearsal.cloud.front import Front
from rehearsal.cloud.kubernetes import Kubernetes

HOST = "127.0.0.1"


class Cloud:
    """An emulated AWS on loopback; ``with Cloud(...) as cloud`` serves it at ``cloud.endpoint``.

    Port 0 takes a free one. ``tools`` is a folder that is kept between runs. One account exists in a process: moto's
    state is global.
    """

    def __init__(
        self,
        *,
        kubernetes: str,
        tools: Path,
        charts: Path | None = None,
        log: Path | None = None,
        port: int = 0,
    ) -> None:
        self._listening = socket.create_server((HOST, port))
        # Without it moto knows none of AWS's own policies, and a role could not have one.
        os.environ["MOTO_IAM_LOAD_MANAGED_POLICIES"] = "true"
        # They take most of a second in each region that is asked for the first time, and node groups name none.
        os.environ["MOTO_EC2_LOAD_DEFAULT_AMIS"] = "false"
        # moto reads bucket names out of the path only where the host is called localhost.
        self.endpoint = f"http://localhost:{self._listening.getsockname()[1]}"
        events = EventLog(log)
        self.account = Account(
            endpoint=self.endpoint,
            kubernetes=Kubernetes(kubernetes.rstrip("/")),
            tools=tools,
            charts=Charts(charts, note=lambda reason: events.write(action="NOTE", reason=reason)),
            events=events,
        )
        self.cloudformation = CloudFormation(self.account)
        moto = DomainDispatcherApplication(create_backend_app)
        self._front = Front(moto, self.account, CloudFormationCalls(self.cloudformation))
        self._server: BaseWSGIServer | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> "Cloud":
        """Start to serve."""
        self._server = make_server(
            HOST,
            0,
            self._front,
            threaded=True,
            request_handler=MotoRequestHandler,
            fd=self._listening.fileno(),
        )
        self._thread = threading.Thread(target=self._server.serve_forever, name="cloud", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the functions that still run, and the server."""
        self.account.running.close()
        assert self._server is not None and self._thread is not None
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        self._listening.close()
