"""A CDK command line that only writes down what it was told, and the CloudFormation that its runs lead to."""

import json
import stat
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.ops.fake_aws import FakeAws, Refused

IDS = ("Network", "Cluster", "Gpu", "Platform", "Training")
NODES_FAILED = (
    'Resource handler returned message: "[Issue(Code=AsgInstanceLaunchFailures, Message=Could not launch On-Demand '
    'Instances. InsufficientInstanceCapacity - We currently do not have sufficient g6.12xlarge capacity.)]"'
)
SAID = "We currently do not have sufficient g6.12xlarge capacity in the Availability Zone you requested ({zone})."
_SCRIPT = """#!{python}
import json, pathlib, sys
here = pathlib.Path({folder!r})
with (here / "runs.jsonl").open("a") as runs:
    runs.write(json.dumps(sys.argv[1:]) + "\\n")
if sys.argv[1] == "synth":
    output = pathlib.Path(sys.argv[sys.argv.index("--output") + 1])
    for template in (here / "templates").iterdir():
        (output / template.name).write_bytes(template.read_bytes())
    sys.exit(int((here / "synth").read_text()))
print("cdk deploys", flush=True)
codes = json.loads((here / "codes.json").read_text())
done = [line for line in (here / "runs.jsonl").read_text().splitlines() if '"deploy"' in line]
sys.exit(codes[len(done) - 1])
"""


@dataclass
class Outcome:
    """How one run of the deploy ends: ``ok``, or the resource that fails in Gpu, in which zone and with what reason."""

    kind: str
    zone: str = ""
    reason: str = ""

    @property
    def code(self) -> int:
        return 0 if self.kind == "ok" else 1


@dataclass
class FakeCdk:
    """``outcomes`` of the deploys in order; ``there`` are stacks that exist before, by id, with their status."""

    aws: FakeAws
    folder: Path
    outcomes: list[Outcome] = field(default_factory=list)
    there: dict[str, str] = field(default_factory=dict)
    deployed_run: str = "train-old"
    written_run: str = "train-new"
    moving: list[str] = field(default_factory=list)  # statuses of Gpu, one a look, before it is settled
    ends: dict[str, str] = field(default_factory=dict)  # statuses after a deploy that fails, where they are others
    probe: dict[str, str] = field(default_factory=lambda: {"Count": "2", "InstanceType": "g6.12xlarge"})
    deployed_probe: dict[str, str] = field(default_factory=dict)  # inputs that differ from those that are written

    def install(self) -> tuple[str, ...]:
        """Make the executable, let the account answer for it, and return its command."""
        templates = self.folder / "templates"
        templates.mkdir()
        for id in IDS:
            (templates / f"{id}.template.json").write_text(json.dumps(self._template(id, self.written_run, self.probe)))
        (self.folder / "synth").write_text("0")
        script = self.folder / "cdk"
        script.write_text(_SCRIPT.format(python=sys.executable, folder=str(self.folder)))
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        self.plan(*self.outcomes)
        names = ("DescribeStacks", "DescribeStackEvents", "GetTemplate", "DescribeScalingActivities", "GetParameter")
        self.aws.answers |= {name: getattr(self, f"_{name}") for name in names}
        return (str(script),)

    def plan(self, *outcomes: Outcome) -> None:
        self.outcomes = list(outcomes)
        (self.folder / "codes.json").write_text(json.dumps([outcome.code for outcome in outcomes]))

    def runs(self, command: str) -> list[list[str]]:
        path = self.folder / "runs.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        return [run for run in map(json.loads, lines) if run[0] == command]

    @property
    def _done(self) -> int:
        return len(self.runs("deploy"))

    @property
    def _last(self) -> Outcome | None:
        return self.outcomes[self._done - 1] if self._done else None

    def _template(self, id: str, run: str, probe: dict[str, str]) -> dict[str, Any]:
        outputs = {"RayTrainingRunName6DDA5E41": {"Value": run}} if id == "Training" else {}
        resource = {"Type": "Custom::GpuCapacityProbe", "Properties": probe} if id == "Gpu" else {}
        return {"Resources": {id: resource}, "Outputs": outputs}

    def _status(self, id: str) -> str | None:
        last = self._last
        if last is None:
            return self.there.get(id)
        if last.kind != "ok" and id in self.ends:
            return self.ends[id]
        if last.kind == "ok":
            return "UPDATE_COMPLETE" if id in self.there else "CREATE_COMPLETE"
        if id == "Gpu":
            return "UPDATE_ROLLBACK_COMPLETE" if id in self.there else "ROLLBACK_COMPLETE"
        return self.there.get(id, None if id == "Training" else "CREATE_COMPLETE")

    def _DescribeStacks(self, where: str, given: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        name = given["StackName"]
        id = name.rpartition("-")[2]
        status = self._status(id)
        if id == "Gpu" and self.moving:
            status = self.moving.pop(0)
        if status is None:
            raise Refused("ValidationError", f"Stack with id {name} does not exist")
        outputs = {
            "Gpu": {"AvailabilityZone": "us-east-2c"},
            "Cluster": {"ResultsBucketName": "results"},
            "Training": {"RayTrainingRunName6DDA5E41": self.written_run if self._done else self.deployed_run},
        }.get(id, {})
        listed = [{"OutputKey": key, "OutputValue": value} for key, value in outputs.items()]
        return {"Stacks": [{"StackName": name, "StackStatus": status, "Outputs": listed, "CreationTime": _now()}]}

    def _GetTemplate(self, where: str, given: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        id = given["StackName"].rpartition("-")[2]
        return {"TemplateBody": self._template(id, self.deployed_run, self.probe | self.deployed_probe)}

    def _GetParameter(self, where: str, given: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        return {"Parameter": {"Name": given["Name"], "Value": "21"}}

    def _DescribeStackEvents(self, where: str, given: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        name = given["StackName"]
        if self._status(name.rpartition("-")[2]) is None:
            raise Refused("ValidationError", f"Stack [{name}] does not exist")
        events: list[dict[str, Any]] = []
        for number, outcome in enumerate(self.outcomes[: self._done]):
            events = self._operation(name, number, outcome) + events
        return {"StackEvents": events}

    def _operation(self, stack: str, number: int, outcome: Outcome) -> list[dict[str, Any]]:
        """Newest first, as CloudFormation tells them."""

        def event(kind: str, status: str, physical: str = "", reason: str = "") -> dict[str, Any]:
            return {
                "EventId": f"{number}-{kind}-{status}",
                "StackId": stack,
                "StackName": stack,
                "LogicalResourceId": kind.rpartition(":")[2],
                "PhysicalResourceId": physical,
                "ResourceType": kind,
                "ResourceStatus": status,
                "ResourceStatusReason": reason,
                "Timestamp": _now(),
            }

        verb = "UPDATE" if "Gpu" in self.there else "CREATE"
        begun = event("AWS::CloudFormation::Stack", f"{verb}_IN_PROGRESS")
        chosen = event(
            "Custom::GpuCapacityProbe", f"{verb}_COMPLETE", f"{outcome.zone}/subnet-1/0123456789ab/abcdef012345"
        )
        end = event("AWS::CloudFormation::Stack", f"{verb}_FAILED" if outcome.code else f"{verb}_COMPLETE")
        match outcome.kind:
            case "nodes":
                group = f"dev/nodes{number}"
                failed = event("AWS::EKS::Nodegroup", f"{verb}_FAILED", group, outcome.reason or NODES_FAILED)
                cancelled = event("Custom::Other", f"{verb}_FAILED", "", "Resource creation cancelled")
                return [end, cancelled, failed, chosen, begun]
            case "probe":
                return [end, event("Custom::GpuCapacityProbe", f"{verb}_FAILED", "", outcome.reason), begun]
            case "other stack":
                return []
            case "other":
                return [end, event("AWS::EC2::LaunchTemplate", f"{verb}_FAILED", "", outcome.reason), chosen, begun]
        return [end, chosen, begun]

    def _DescribeScalingActivities(self, where: str, given: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        assert given["IncludeDeletedGroups"] is True  # EKS has deleted the group by now
        activities = [_activity("eks-other-1234", "us-east-2f", "Failed")]
        for number, outcome in enumerate(self.outcomes[: self._done]):
            if outcome.kind == "nodes":
                activities.insert(0, _activity(f"eks-nodes{number}-1234", outcome.zone, "Failed"))
                activities.insert(0, _activity(f"eks-nodes{number}-1234", outcome.zone, "Successful"))
        return {"Activities": activities}


def _activity(group: str, zone: str, status: str) -> dict[str, Any]:
    failed = status == "Failed"
    return {
        "ActivityId": f"{group}-{status}",
        "AutoScalingGroupName": group,
        "Description": "Launching a new EC2 instance.",
        "Cause": "desired capacity",
        "StartTime": _now(),
        "StatusCode": status,
        "StatusMessage": SAID.format(zone=zone) if failed else None,
        "Details": json.dumps({"Subnet ID": "subnet-1", "Availability Zone": zone}),
    }


def _now() -> datetime:
    return datetime.now(UTC)
