"""AWS::Logs::LogGroup."""

from typing import Any

from rehearsal.cloud.resources.base import Made, Request, ResourceType
from rehearsal.cloud.resources.tags import as_map, tag_changes


class LogGroup(ResourceType):
    """A log group; one that exists already is refused, which is how a retained group stops the next deployment."""

    type = "AWS::Logs::LogGroup"
    properties = frozenset({"LogGroupName", "RetentionInDays", "Tags"})
    replaced_by = frozenset({"LogGroupName"})
    updated_by = frozenset({"RetentionInDays"})

    def create(self, request: Request) -> Made:
        """Create it with its retention."""
        name = request.name("LogGroupName", 512)
        tags = as_map(request.properties.get("Tags"))
        self.account.client("logs").create_log_group(logGroupName=name, tags=tags)
        request.claim(name)
        self._set_retention(name, request.properties)
        return Made(name, {"Arn": self.account.arn("logs", f"log-group:{name}:*")})

    def update(self, made: Made, request: Request, old: dict[str, Any]) -> Made:
        """Change the retention."""
        self._set_retention(made.physical_id, request.properties)
        return made

    def retag(self, made: Made, request: Request, old: dict[str, Any]) -> None:
        """Change its tags."""
        logs, change = self.account.client("logs"), tag_changes(request.properties, old)
        arn = self.account.arn("logs", f"log-group:{made.physical_id}")
        if change.removed:
            logs.untag_resource(resourceArn=arn, tagKeys=change.removed)
        if change.kept:
            logs.tag_resource(resourceArn=arn, tags=change.kept)

    def delete(self, physical_id: str, request: Request) -> None:
        """Delete it."""
        self.account.client("logs").delete_log_group(logGroupName=physical_id)

    def _set_retention(self, name: str, wanted: dict[str, Any]) -> None:
        logs = self.account.client("logs")
        if "RetentionInDays" in wanted:
            logs.put_retention_policy(logGroupName=name, retentionInDays=wanted["RetentionInDays"])
        else:
            logs.delete_retention_policy(logGroupName=name)
