"""An emulated AWS: moto, and what moto lacks for this project's templates."""

from rehearsal.cloud.server import Cloud

__all__ = ["Cloud"]
