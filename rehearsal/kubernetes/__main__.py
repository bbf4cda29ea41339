"""`python -m rehearsal.kubernetes --port N [--crds DIR]`: serve until Ctrl-C or TERM."""

import argparse
import signal
import sys
import threading
from pathlib import Path

from rehearsal.kubernetes.wire.server import ApiServer


def main() -> int:
    """Serve; print the address first, for whoever waits for it."""
    parser = argparse.ArgumentParser(prog="python -m rehearsal.kubernetes", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 (the default) takes a free one")
    parser.add_argument("--crds", type=Path, help="a folder of CustomResourceDefinitions to serve from the start")
    arguments = parser.parse_args()
    if arguments.crds and not arguments.crds.is_dir():
        parser.error(f"--crds {arguments.crds}: no such folder")
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    try:
        server = ApiServer(arguments.port, arguments.crds)
    except OSError as error:
        parser.error(f"--port {arguments.port}: {error.strerror}; take another one, or 0")
    with server:
        print(server.url, flush=True)
        ended.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
