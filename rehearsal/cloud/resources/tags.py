"""Tags, as EC2 wants them when something is made, and what changes of them afterwards."""

from abc import ABC
from dataclasses import dataclass
from typing import Any

from rehearsal.cloud.resources.base import Made, Request, ResourceType


@dataclass(frozen=True)
class TagChange:
    """The keys that go, and the tags that are to be there."""

    removed: list[str]
    kept: dict[str, str]


def tag_changes(properties: dict[str, Any], old: dict[str, Any]) -> TagChange:
    """Return the change from a resource's old properties to its new ones."""
    kept = as_map(properties.get("Tags"))
    return TagChange(removed=sorted(as_map(old.get("Tags")).keys() - kept.keys()), kept=kept)


def as_map(tags: Any) -> dict[str, str]:
    """Return tags as a map, from CloudFormation's list or from what is a map already."""
    if isinstance(tags, dict):
        return {key: str(value) for key, value in tags.items()}
    return {tag["Key"]: str(tag["Value"]) for tag in tags or []}


def as_list(tags: dict[str, str]) -> list[dict[str, str]]:
    """Return tags as a list of keys and values."""
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def tag_specifications(resource: str, properties: dict[str, Any]) -> list[dict[str, Any]]:
    """Return TagSpecifications for a resource's Tags, empty where it has none."""
    tags = properties.get("Tags", [])
    return [{"ResourceType": resource, "Tags": tags}] if tags else []


class TaggedInEc2(ResourceType, ABC):
    """A type whose tags are EC2's, by ``tagged_id``."""

    def tagged_id(self, made: Made) -> str:
        """Return the id that the tags belong to; most types' physical id."""
        return made.physical_id

    def retag(self, made: Made, request: Request, old: dict[str, Any]) -> None:
        """Change its tags."""
        ec2, change, id = self.account.client("ec2"), tag_changes(request.properties, old), self.tagged_id(made)
        if change.removed:
            ec2.delete_tags(Resources=[id], Tags=[{"Key": key} for key in change.removed])
        if change.kept:
            ec2.create_tags(Resources=[id], Tags=as_list(change.kept))
