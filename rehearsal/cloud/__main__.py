"""``python -m rehearsal.cloud``: serves until it is interrupted or terminated."""

import argparse
import logging
import signal
import threading
from pathlib import Path

from rehearsal.cloud.server import Cloud


def main() -> None:
    """Serve the account."""
    parser = argparse.ArgumentParser(prog="python -m rehearsal.cloud", description=__doc__)
    parser.add_argument("--port", type=int, required=True, help="on 127.0.0.1; 0 takes a free one")
    parser.add_argument("--kubernetes", metavar="URL", required=True, help="the Kubernetes API of every cluster")
    parser.add_argument("--tools", metavar="DIR", type=Path, required=True, help="a cache folder")
    parser.add_argument("--charts", metavar="DIR", type=Path, help="Helm charts, a folder each, by chart name")
    parser.add_argument("--log", metavar="FILE", type=Path, help="events, one JSON object a line")
    options = parser.parse_args()
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    if options.charts and not options.charts.is_dir():
        parser.error(f"--charts {options.charts}: no such folder")
    try:
        made = Cloud(
            kubernetes=options.kubernetes,
            tools=options.tools.absolute(),
            charts=options.charts.absolute() if options.charts else None,
            log=options.log,
            port=options.port,
        )
    except OSError as error:
        parser.error(f"--port {options.port}: {error.strerror}; take another one, or 0")
    with made as cloud:
        print(cloud.endpoint, flush=True)
        stop.wait()


if __name__ == "__main__":
    main()
