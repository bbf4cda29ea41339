"""Keeps `ray start` on the loopback interface. Ray calls `bind` through RAY_START_HOOK."""

from typing import Any

# Ray on Linux turns 127.0.0.1 into the machine's own address and then listens on all interfaces. With this variable
# at 0, as on macOS, it stays on 127.0.0.1, but refuses a second node, which `bind` allows again.
VARIABLES = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_START_HOOK": f"{__name__}.bind"}


def bind(parameters: Any, head: bool) -> None:
    """Allow several nodes on 127.0.0.1, and leave out the Ray Client server; inside the `ray start` process only."""
    from ray._private import ray_constants, services

    ray_constants.ENABLE_RAY_CLUSTER = True
    services.resolve_ip_for_localhost = lambda host: host
    # Jobs do not need it; it gives up when a busy machine's head is not up in 30 s, and takes the head with it.
    parameters.ray_client_server_port = None
