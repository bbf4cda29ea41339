"""The capacity probe: a custom resource that picks the Availability Zone of an EFA node group."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .construct import CapacityProbe as CapacityProbe
    from .search import Search as Search
else:

    def __getattr__(name):
        # On demand: the ranking below is shared with code that must run without aws_cdk.
        if name == "CapacityProbe":
            from .construct import CapacityProbe

            return CapacityProbe
        if name == "Search":
            from .search import Search

            return Search
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["CapacityProbe", "Search"]
