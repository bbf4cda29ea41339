"""AWS::CloudWatch::Alarm."""

from typing import Any

from rehearsal.cloud.resources.base import Made, Request, ResourceType, ignored


class Alarm(ResourceType):
    """An alarm on one metric, of which there are none here: it never goes off."""

    type = "AWS::CloudWatch::Alarm"
    properties = frozenset(
        {
            "AlarmActions",
            "AlarmDescription",
            "AlarmName",
            "ComparisonOperator",
            "Dimensions",
            "EvaluationPeriods",
            "MetricName",
            "Namespace",
            "Period",
            "Statistic",
            "Threshold",
            "TreatMissingData",
        }
    )
    harmless = ignored(Tags="nothing reads them")
    replaced_by = frozenset({"AlarmName"})
    updated_by = properties - replaced_by

    def create(self, request: Request) -> Made:
        """Create it."""
        return self._put(request.name("AlarmName"), request)

    def update(self, made: Made, request: Request, old: dict[str, Any]) -> Made:
        """Change it."""
        return self._put(made.physical_id, request)

    def delete(self, physical_id: str, request: Request) -> None:
        """Delete it."""
        self.account.client("cloudwatch").delete_alarms(AlarmNames=[physical_id])

    def _put(self, name: str, request: Request) -> Made:
        wanted: dict[str, Any] = {"AlarmName": name}
        for key, value in request.properties.items():
            if key in ("EvaluationPeriods", "Period"):
                wanted[key] = int(value)
            elif key in self.properties:
                wanted[key] = float(value) if key == "Threshold" else value
        self.account.client("cloudwatch").put_metric_alarm(**wanted)
        return Made(name, {"Arn": self.account.arn("cloudwatch", f"alarm:{name}")})
