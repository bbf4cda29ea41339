"""An AWS account in memory behind real boto3 clients: botocore checks each call's parameters and makes the errors."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import boto3
import botocore.session

Call = tuple[str, str, dict[str, Any]]
ACCOUNT = "111122223333"
# Reading EC2's model takes half a second; sessions may share what was read.
_LOADER = botocore.session.get_session().get_component("data_loader")


class Refused(Exception):  # noqa: N818 - as the service says it
    """An error that the service answers with."""

    def __init__(self, code: str, message: str = "AWS's words.") -> None:
        super().__init__(code)
        self.code, self.message = code, message


@dataclass
class Region:
    """One region: what its zones offer, and what the account may use."""

    zones: dict[str, str]
    offered: list[str]
    quota: float | None = 192.0
    scores: dict[str, int] = field(default_factory=dict)
    no_room: dict[str, str] = field(default_factory=dict)  # zone -> code of the refusal
    instances: list[dict[str, Any]] = field(default_factory=list)


def region(name: str, letters: str = "abc", **more: Any) -> Region:
    zones = {f"{name}{letter}": f"{name}-id-{letter}" for letter in letters}
    return Region(**{"zones": zones, "offered": list(zones)} | more)


class FakeAws:
    """``calls`` are (region, operation, parameters) in order; ``refusals`` by (region, operation) or operation."""

    def __init__(self, regions: Mapping[str, Region] | None = None, closed: tuple[str, ...] = ()) -> None:
        self.regions = dict(regions or {"us-east-2": region("us-east-2")})
        self.closed = closed
        self.calls: list[Call] = []
        self.refusals: dict[str | tuple[str, str], Refused | BaseException] = {}
        self.reservations: list[dict[str, Any]] = []
        self.answers: dict[str, Callable[[str, dict[str, Any]], dict[str, Any]]] = {}
        self.before: Callable[[str], None] = lambda operation: None
        self.after: Callable[[str], None] = lambda operation: None
        self._lock = threading.RLock()

    def session(self) -> boto3.Session:
        core = botocore.session.get_session()
        core.register_component("data_loader", _LOADER)
        made = boto3.Session("test", "test", region_name="us-east-2", botocore_session=core)
        made.events.register("before-parameter-build", self._keep)
        made.events.register("before-call", self._call)
        return made

    def operations(self, where: str | None = None) -> list[str]:
        return [operation for name, operation, _ in self.calls if where in (None, name)]

    @property
    def open(self) -> list[dict[str, Any]]:
        return [made for made in self.reservations if made["State"] in ("active", "pending")]

    def _keep(self, params: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
        context["given"] = dict(params)

    def _call(self, model: Any, context: dict[str, Any], **_: Any) -> tuple[Any, dict[str, Any]]:
        name, where, given = model.name, context["client_region"], context["given"]
        with self._lock:
            self.calls.append((where, name, given))
            self.before(name)
            refusal = self.refusals.get((where, name)) or self.refusals.get(name)
            try:
                if isinstance(refusal, BaseException):
                    raise refusal
                answer = (self.answers.get(name) or getattr(self, f"_{name}"))(where, given)
            except Refused as error:
                self.after(name)
                answer = {"Error": {"Code": error.code, "Message": error.message}}
                return SimpleNamespace(status_code=400), answer | {"ResponseMetadata": {"HTTPStatusCode": 400}}
            self.after(name)
            return SimpleNamespace(status_code=200), answer | {"ResponseMetadata": {"HTTPStatusCode": 200}}

    def _GetCallerIdentity(self, where: str, given: dict[str, Any]) -> dict[str, Any]:  # noqa: N802 - AWS's name
        return {"Account": ACCOUNT, "Arn": f"arn:aws:iam::{ACCOUNT}:user/ada", "UserId": "U"}

    def _DescribeRegions(self, where: str, given: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        enabled = [{"RegionName": name, "OptInStatus": "opt-in-not-required"} for name in self.regions]
        return {"Regions": enabled + [{"RegionName": name, "OptInStatus": "not-opted-in"} for name in self.closed]}

    def _DescribeAvailabilityZones(self, where: str, given: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        zones = self.regions[where].zones
        return {"AvailabilityZones": [{"ZoneName": name, "ZoneId": id} for name, id in zones.items()]}

    def _DescribeInstanceTypeOfferings(self, where: str, given: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        kind = given["Filters"][0]["Values"][0]
        offered = self.regions[where].offered
        return {"InstanceTypeOfferings": [{"InstanceType": kind, "Location": zone} for zone in offered]}

    def _DescribeInstances(self, where: str, given: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        return {"Reservations": [{"Instances": [made]} for made in self.regions[where].instances]}

    def _GetSpotPlacementScores(self, where: str, given: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        here = self.regions[where]
        return {
            "SpotPlacementScores": [
                {"Region": where, "AvailabilityZoneId": here.zones[zone], "Score": score}
                for zone, score in here.scores.items()
            ]
        }

    def _GetServiceQuota(self, where: str, given: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        quota = self.regions[where].quota if given["QuotaCode"] != "L-34B43A08" else 1000.0
        if quota is None:
            raise Refused("NoSuchResourceException")
        return {"Quota": {"Value": quota}}

    def _GetAWSDefaultServiceQuota(self, where: str, given: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        return {"Quota": {"Value": 0.0}}

    def _CreateCapacityReservation(self, where: str, given: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        zone = given["AvailabilityZone"]
        if zone in self.regions[where].no_room:
            raise Refused(self.regions[where].no_room[zone])
        made = {
            "CapacityReservationId": f"cr-{len(self.reservations)}",
            "AvailabilityZone": zone,
            "State": "active",
            "EndDate": given.get("EndDate"),
            "EndDateType": given.get("EndDateType"),
            "Tags": given["TagSpecifications"][0]["Tags"],
            "ClientToken": given["ClientToken"],
            "TotalInstanceCount": given["InstanceCount"],
            "InstanceType": given["InstanceType"],
            "CreateDate": datetime.now(UTC),
            "Region": where,
        }
        self.reservations.append(made)
        return {"CapacityReservation": dict(made)}

    def _DescribeCapacityReservations(self, where: str, given: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        shown = [made for made in self.reservations if made["Region"] == where]
        if ids := given.get("CapacityReservationIds"):
            shown = [made for made in shown if made["CapacityReservationId"] in ids]
        for condition in given.get("Filters", []):
            key, values = condition["Name"].removeprefix("tag:"), condition["Values"]
            if condition["Name"] == "state":
                shown = [made for made in shown if made["State"] in values]
            else:
                shown = [m for m in shown if any(t["Key"] == key and t["Value"] in values for t in m["Tags"])]
        return {"CapacityReservations": [dict(made) for made in shown]}

    def _CancelCapacityReservation(self, where: str, given: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        made = next(m for m in self.reservations if m["CapacityReservationId"] == given["CapacityReservationId"])
        if made["State"] not in ("active", "pending"):
            raise Refused("InvalidState")
        made["State"] = "cancelled"
        return {"Return": True}
