"""The functions and layers of the account."""

from dataclasses import dataclass, field

from rehearsal.cloud.errors import RefusedError


@dataclass(frozen=True, kw_only=True)
class Package:
    """A published zip file."""

    bucket: str
    key: str


@dataclass(frozen=True, kw_only=True)
class Function:
    """A Lambda function; ``timeout`` is in seconds, ``layers`` are ARNs."""

    name: str
    arn: str
    role: str
    runtime: str
    handler: str
    timeout: int
    code: Package
    log_group: str
    environment: dict[str, str] = field(default_factory=dict)
    layers: tuple[str, ...] = ()


@dataclass
class Functions:
    """Functions and layers by ARN."""

    by_arn: dict[str, Function] = field(default_factory=dict)
    layers: dict[str, Package] = field(default_factory=dict)

    def get(self, arn: str) -> Function:
        """Return a function; raises RefusedError where there is none."""
        if arn not in self.by_arn:
            raise RefusedError(f"Function not found: {arn}", "ResourceNotFoundException")
        return self.by_arn[arn]
