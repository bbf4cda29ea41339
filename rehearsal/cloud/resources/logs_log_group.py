"""AWS::Logs::LogGroup."""

from typing import Any

from rehearsal.cloud.resources.base import Made, Request, ResourceType


class LogGroup(ResourceType):
    """A log group; one that exists already is refused, which is how a retained group stops the next deployment."""

    type = "AWS::Logs::LogGroup"
    properties = frozenset({"LogGroupName", "RetentionInDays", "Tags"})
    replaced_by = frozenset({"LogGroupName"})
    updated_by = frozenset({"RetentionInDays"})

    def create(self, request: Request) -> Made:
        """Create it with its retention."""
        name = request.name("LogGroupName", 512)
        tags = {tag["Key"]: tag["Value"] for tag in request.properties.get("Tags", [])}
        self.account.client("logs").create_log_group(logGroupName=name, tags=tags)
        request.claim(name)
        self._set_retention(name, request.properties)
        return Made(name, {"Arn": self.account.arn("logs", f"log-group:{name}:*")})

    def update(self, made: Made, request: Request, old: dict[str, Any]) -> Made:
        """Change the retention."""
        self._set_retention(made.physical_id, request.properties)
        return made

    def delete(self, physical_id: str, request: Request) -> None:
        """Delete it."""
        self.account.client("logs").delete_log_group(logGroupName=physical_id)

    def _set_retention(self, name: str, wanted: dict[str, Any]) -> None:
        logs = self.account.client("logs")
        if "RetentionInDays" in wanted:
            logs.put_retention_policy(logGroupName=name, retentionInDays=wanted["RetentionInDays"])
        else:
            logs.delete_retention_policy(logGroupName=name)
