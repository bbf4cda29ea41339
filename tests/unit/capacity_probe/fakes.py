"""EC2 and Service Quotas in memory, strict about parameters: botocore's own service models check each call."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import botocore.session
from botocore.exceptions import ClientError
from botocore.validate import ParamValidator

from eks_ray_train.capacity_probe.asset.gpu_capacity.clients import Clients

REGION = "us-east-2"
NOW = datetime(2026, 11, 29, 12, 0, 0, 345_678, tzinfo=UTC)
A, B, C = "us-east-2a", "us-east-2b", "us-east-2c"
SUBNETS = {A: "subnet-0a", B: "subnet-0b"}
TAGS = {"eks-ray-train:stack": "dev-Gpu"}


class Crash(BaseException):  # not an error of the code: Lambda ends the process
    pass


def error(code: str, operation: str, message: str = "EC2's words.") -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": message}}, operation)


@cache
def _model(service: str) -> Any:
    return botocore.session.get_session().get_service_model(service)


class _Recorder:
    service: str

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.failures: dict[str, BaseException] = {}

    def record(self, operation: str, parameters: dict[str, Any]) -> None:
        report = ParamValidator().validate(parameters, _model(self.service).operation_model(operation).input_shape)
        assert not report.has_errors(), report.generate_report()
        self.calls.append((operation, parameters))
        if operation in self.failures:
            raise self.failures[operation]

    def parameters_of(self, operation: str) -> list[dict[str, Any]]:
        return [parameters for name, parameters in self.calls if name == operation]

    @property
    def operations(self) -> list[str]:
        return [name for name, _ in self.calls]


def _page(key: str, items: list[Any], parameters: dict[str, Any]) -> dict[str, Any]:
    """One item a page, for code that reads the first page only must not pass."""
    at = int(parameters.get("NextToken", 0))
    return {key: items[at : at + 1]} | ({"NextToken": str(at + 1)} if at + 1 < len(items) else {})


class FakeEc2(_Recorder):
    """Zones are offered, have room and a score as told; reservations have the states of EC2's."""

    service = "ec2"

    def __init__(self) -> None:
        super().__init__()
        self.offered = [A, B]
        self.scores: dict[str, int] = {}
        self.instances: list[dict[str, Any]] = []
        self.no_room: dict[str, str] = {}  # zone -> code of the refusal
        self.reservations: list[dict[str, Any]] = []
        self.hidden: set[str] = set()  # reservations that the search does not show yet
        self.new_states = ["active"]  # of a new reservation, one a look
        self.tokens: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}

    def describe_availability_zones(self, **parameters: Any) -> dict[str, Any]:
        self.record("DescribeAvailabilityZones", parameters)
        return {"AvailabilityZones": [{"ZoneName": z, "ZoneId": f"use2-az-{z[-1]}"} for z in (A, B, C)]}

    def describe_instance_type_offerings(self, **parameters: Any) -> dict[str, Any]:
        self.record("DescribeInstanceTypeOfferings", parameters)
        offerings = [{"InstanceType": "g6.12xlarge", "Location": zone} for zone in self.offered]
        return _page("InstanceTypeOfferings", offerings, parameters)

    def describe_instances(self, **parameters: Any) -> dict[str, Any]:
        self.record("DescribeInstances", parameters)
        return _page("Reservations", [{"Instances": [i]} for i in self.instances], parameters)

    def get_spot_placement_scores(self, **parameters: Any) -> dict[str, Any]:
        self.record("GetSpotPlacementScores", parameters)
        scores = [{"AvailabilityZoneId": f"use2-az-{z[-1]}", "Score": s} for z, s in self.scores.items()]
        return _page("SpotPlacementScores", scores, parameters)

    def create_capacity_reservation(self, **parameters: Any) -> dict[str, Any]:
        self.record("CreateCapacityReservation", parameters)
        seen = self.tokens.get(parameters["ClientToken"])
        if seen:
            if seen[0] != parameters:
                raise error("IdempotentParameterMismatch", "CreateCapacityReservation")
            return {"CapacityReservation": seen[1]}
        zone = parameters["AvailabilityZone"]
        if zone in self.no_room:
            raise error(self.no_room[zone], "CreateCapacityReservation")
        reservation = {
            "CapacityReservationId": f"cr-{len(self.reservations)}",
            "AvailabilityZone": zone,
            "State": self.new_states[0],
            "EndDate": parameters["EndDate"],
            "Tags": parameters["TagSpecifications"][0]["Tags"],
        }
        self.reservations.append(reservation)
        self.tokens[parameters["ClientToken"]] = (parameters, reservation)
        if "after CreateCapacityReservation" in self.failures:
            raise self.failures["after CreateCapacityReservation"]
        return {"CapacityReservation": dict(reservation)}

    def describe_capacity_reservations(self, **parameters: Any) -> dict[str, Any]:
        self.record("DescribeCapacityReservations", parameters)
        shown = [r for r in self.reservations if r["CapacityReservationId"] not in self.hidden]
        if "CapacityReservationIds" in parameters:
            shown = [r for r in shown if r["CapacityReservationId"] in parameters["CapacityReservationIds"]]
            if not shown:
                raise error("InvalidCapacityReservationId.NotFound", "DescribeCapacityReservations")
            if shown[0]["State"] == "pending" and len(self.new_states) > 1:
                self.new_states.pop(0)
                shown[0]["State"] = self.new_states[0]
        for condition in parameters.get("Filters", []):
            key = condition["Name"].removeprefix("tag:")
            shown = [r for r in shown if any(t["Key"] == key and t["Value"] in condition["Values"] for t in r["Tags"])]
        return _page("CapacityReservations", [dict(r) for r in shown], parameters)

    def cancel_capacity_reservation(self, **parameters: Any) -> dict[str, Any]:
        self.record("CancelCapacityReservation", parameters)
        found = [r for r in self.reservations if r["CapacityReservationId"] == parameters["CapacityReservationId"]]
        if found[0]["State"] not in ("active", "pending"):
            raise error("InvalidState", "CancelCapacityReservation")
        found[0]["State"] = "cancelled"
        return {"Return": True}

    @property
    def tried(self) -> list[str]:
        return [parameters["AvailabilityZone"] for parameters in self.parameters_of("CreateCapacityReservation")]

    @property
    def open_reservations(self) -> list[str]:
        return [r["CapacityReservationId"] for r in self.reservations if r["State"] in ("active", "pending")]


class FakeQuotas(_Recorder):
    service = "service-quotas"

    def __init__(self, applied: float | None = 192.0, default: float = 0.0) -> None:
        super().__init__()
        self.applied = applied
        self.default = default

    def get_service_quota(self, **parameters: Any) -> dict[str, Any]:
        self.record("GetServiceQuota", parameters)
        if self.applied is None:
            raise error("NoSuchResourceException", "GetServiceQuota")
        return {"Quota": {"Value": self.applied}}

    def get_aws_default_service_quota(self, **parameters: Any) -> dict[str, Any]:
        self.record("GetAWSDefaultServiceQuota", parameters)
        return {"Quota": {"Value": self.default}}


class World:
    """The clients, with a clock that sleeping moves."""

    def __init__(self) -> None:
        self.ec2 = FakeEc2()
        self.quotas = FakeQuotas()
        self.now = NOW
        self.remaining: Callable[[], int] = lambda: 300_000

    @property
    def clients(self) -> Clients:
        return Clients(
            ec2=self.ec2,
            quotas=self.quotas,
            region=REGION,
            remaining_ms=self.remaining,
            now=lambda: self.now,
            sleep=self._sleep,
        )

    def _sleep(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


def properties(**changes: Any) -> dict[str, Any]:
    """What CloudFormation sends: every value a string; None leaves a property out."""
    given = {
        "ServiceToken": "arn:aws:lambda:us-east-2:111111111111:function:framework",
        "ServiceTimeout": "600",
        "InstanceType": "g6.12xlarge",
        "Count": "2",
        "VcpusPerInstance": "48",
        "QuotaCode": "L-DB2E81BA",
        "QuotaFamilies": ["g", "vt"],
        "Mode": "probe",
        "SubnetsByZone": SUBNETS,
        "Tags": TAGS,
    } | changes
    return {name: value for name, value in given.items() if value is not None}


def create(request_id: str = "request-1", **changes: Any) -> dict[str, Any]:
    return {
        "RequestType": "Create",
        "RequestId": request_id,
        "StackId": "stack",
        "ResponseURL": "https://secret.example",
        "ResourceProperties": properties(**changes),
    }


def update(physical_id: str, old: dict[str, Any], new: dict[str, Any], request_id: str = "request-2") -> dict[str, Any]:
    return create(request_id) | {
        "RequestType": "Update",
        "PhysicalResourceId": physical_id,
        "OldResourceProperties": old,
        "ResourceProperties": new,
    }


def instance(kind: str, cores: int, threads: int = 2, **more: Any) -> dict[str, Any]:
    return {"InstanceType": kind, "CpuOptions": {"CoreCount": cores, "ThreadsPerCore": threads}, **more}
