"""CloudFormation writes ``SubnetIds`` where EKS's own API writes ``subnetIds``."""

from typing import Any


def lower_keys(value: Any) -> Any:
    """Return ``value`` with every key's first letter in lower case."""
    if isinstance(value, dict):
        return {key[:1].lower() + key[1:]: lower_keys(item) for key, item in value.items()}
    return [lower_keys(item) for item in value] if isinstance(value, list) else value
