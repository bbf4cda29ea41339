"""Tags as EC2 wants them."""

from typing import Any


def tag_specifications(resource: str, properties: dict[str, Any]) -> list[dict[str, Any]]:
    """Return TagSpecifications for a resource's Tags, empty where it has none."""
    tags = properties.get("Tags", [])
    return [{"ResourceType": resource, "Tags": tags}] if tags else []
