"""A Kubernetes API server in memory, with a scheduler and the controllers that a deploy of this repository needs."""

from rehearsal.kubernetes.wire.server import ApiServer

__all__ = ["ApiServer"]
