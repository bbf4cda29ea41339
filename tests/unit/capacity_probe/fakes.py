"""EC2, Service Quotas and Resource Groups in memory: botocore's service models check each call and each answer."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from eks_ray_train.capacity_probe.asset.gpu_capacity.clients import Clients

from .clock import NOW as NOW
from .clock import Clock
from .recording import Service, Tape, page
from .recording import error as error
from .reservations import ACCOUNT, Reservations

REGION = "us-east-2"
A, B, C = "us-east-2a", "us-east-2b", "us-east-2c"
SUBNETS = {A: "subnet-0a", B: "subnet-0b"}
TAGS = {"eks-ray-train:stack": "dev-Gpu"}
GROUP = f"arn:aws:resource-groups:us-east-2:{ACCOUNT}:group/dev-Gpu-CapacityReservations"
STACK_ID = f"arn:aws:cloudformation:us-east-2:{ACCOUNT}:stack/dev-Gpu/1"


class FakeEc2(Service):
    """Zones are offered and have a score as told; ``members`` are what EC2 shows of the groups, and from when."""

    service = "ec2"

    def __init__(self, tape: Tape, clock: Clock) -> None:
        super().__init__(tape)
        self.clock = clock
        self.offered = [A, B]
        self.scores: dict[str, int] = {}
        self.instances: list[dict[str, Any]] = []
        self.made = Reservations(clock)
        self.members: dict[str, dict[str, datetime]] = {}  # reservation -> group -> since when
        self.target: str | None = None  # of the nodes' launch template
        self.moved_after = timedelta(0)

    def describe_availability_zones(self, **given: Any) -> dict[str, Any]:
        zones = [{"ZoneName": z, "ZoneId": f"use2-az-{z[-1]}"} for z in (A, B, C)]
        return self.answer("DescribeAvailabilityZones", given, lambda: {"AvailabilityZones": zones})

    def describe_instance_type_offerings(self, **given: Any) -> dict[str, Any]:
        offerings = [{"InstanceType": "g6.12xlarge", "Location": zone} for zone in self.offered]
        return self.answer(
            "DescribeInstanceTypeOfferings", given, lambda: page("InstanceTypeOfferings", offerings, given)
        )

    def describe_instances(self, **given: Any) -> dict[str, Any]:
        def effect() -> dict[str, Any]:
            self.move()
            return page("Reservations", [{"Instances": [dict(instance)]} for instance in self.instances], given)

        return self.answer("DescribeInstances", given, effect)

    def run(self, count: int, zone: str, target: str | None = None) -> None:
        """From now on ``count`` nodes run in a zone, and no others; ``target`` is a reservation or a group."""
        for node in self.instances:
            self.made.leave(node)
        self.instances = [instance("g6.12xlarge", 24, SubnetId=SUBNETS[zone]) for _ in range(count)]
        self.target = target
        for node in self.instances:
            if target and target.startswith("cr-"):
                self.made.enter(node, target)
        self.move(at_once=True)

    def move(self, at_once: bool = False) -> None:
        """Move nodes that target a group and are in no reservation into one that is a member, as EC2 does."""
        for node in self.instances:
            if "CapacityReservationId" in node and self.made.ended(node["CapacityReservationId"]):
                del node["CapacityReservationId"]
            if "CapacityReservationId" in node or not (self.target or "").startswith("arn:"):
                continue
            for reservation in self.made.open:
                since = self.members.get(reservation["CapacityReservationArn"], {}).get(str(self.target))
                there = node.get("SubnetId") == SUBNETS.get(reservation["AvailabilityZone"])
                after = timedelta(0) if at_once else self.moved_after
                room = reservation["AvailableInstanceCount"]
                if since is not None and since + after <= self.clock.now and there and room:
                    self.made.enter(node, reservation["CapacityReservationId"])
                    break

    def get_spot_placement_scores(self, **given: Any) -> dict[str, Any]:
        scores = [{"AvailabilityZoneId": f"use2-az-{z[-1]}", "Score": s} for z, s in self.scores.items()]
        return self.answer("GetSpotPlacementScores", given, lambda: page("SpotPlacementScores", scores, given))

    def create_capacity_reservation(self, **given: Any) -> dict[str, Any]:
        return self.answer("CreateCapacityReservation", given, lambda: {"CapacityReservation": self.made.create(given)})

    def describe_capacity_reservations(self, **given: Any) -> dict[str, Any]:
        def effect() -> dict[str, Any]:
            self.move()
            return page("CapacityReservations", self.made.describe(given), given)

        return self.answer("DescribeCapacityReservations", given, effect)

    def modify_capacity_reservation(self, **given: Any) -> dict[str, Any]:
        return self.answer("ModifyCapacityReservation", given, lambda: self.made.modify(given))

    def cancel_capacity_reservation(self, **given: Any) -> dict[str, Any]:
        return self.answer("CancelCapacityReservation", given, lambda: self.made.cancel(given))

    def get_groups_for_capacity_reservation(self, **given: Any) -> dict[str, Any]:
        def effect() -> dict[str, Any]:
            found = self.made.by_id(given["CapacityReservationId"], "GetGroupsForCapacityReservation")
            if found not in self.made.shown:
                raise error("InvalidCapacityReservationId.NotFound", "GetGroupsForCapacityReservation")
            joined = self.members.get(found["CapacityReservationArn"], {})
            groups = [
                {"GroupArn": group, "OwnerId": ACCOUNT} for group, since in joined.items() if since <= self.clock.now
            ]
            return page("CapacityReservationGroups", groups, given)

        return self.answer("GetGroupsForCapacityReservation", given, effect)

    @property
    def reservations(self) -> list[dict[str, Any]]:
        return self.made.all

    @property
    def no_room(self) -> dict[str, str]:
        return self.made.no_room

    @no_room.setter
    def no_room(self, codes: dict[str, str]) -> None:
        self.made.no_room = codes

    @property
    def tried(self) -> list[str]:
        return [given["AvailabilityZone"] for given in self.parameters_of("CreateCapacityReservation")]

    @property
    def open_reservations(self) -> list[str]:
        return [r["CapacityReservationId"] for r in self.made.open]


class FakeQuotas(Service):
    """``applied`` is what was set for the account, by code, beside the Spot quota, which is ample unless it is set."""

    service = "service-quotas"

    def __init__(self, tape: Tape) -> None:
        super().__init__(tape)
        self.applied: float | None = 192.0
        self.default = 0.0
        self.spot: float | None = 960.0

    def get_service_quota(self, **given: Any) -> dict[str, Any]:
        def effect() -> dict[str, Any]:
            value = self.spot if given["QuotaCode"] == "L-3819A6DF" else self.applied
            if value is None:
                raise error("NoSuchResourceException", "GetServiceQuota")
            return {"Quota": {"Value": value}}

        return self.answer("GetServiceQuota", given, effect)

    def get_aws_default_service_quota(self, **given: Any) -> dict[str, Any]:
        return self.answer("GetAWSDefaultServiceQuota", given, lambda: {"Quota": {"Value": self.default}})


class FakeGroups(Service):
    """Adds members; EC2 shows them ``seen_after``. ``refused`` are answers that fail, used up one a call."""

    service = "resource-groups"

    def __init__(self, tape: Tape, ec2: FakeEc2) -> None:
        super().__init__(tape)
        self.ec2 = ec2
        self.seen_after = timedelta(0)
        self.refused: list[str] = []

    def group_resources(self, **given: Any) -> dict[str, Any]:
        def effect() -> dict[str, Any]:
            (arn,) = given["ResourceArns"]
            if self.refused:
                failure = {"ResourceArn": arn, "ErrorCode": self.refused.pop(0), "ErrorMessage": "Its words."}
                return {"Failed": [failure], "Pending": []}
            self.ec2.members.setdefault(arn, {}).setdefault(given["Group"], self.ec2.clock.now + self.seen_after)
            if self.seen_after:
                return {"Failed": [], "Pending": [{"ResourceArn": arn}]}
            return {"Succeeded": [arn], "Failed": [], "Pending": []}

        return self.answer("GroupResources", given, effect)


class FakeStacks(Service):
    """CloudFormation, with one stack."""

    service = "cloudformation"

    def __init__(self, tape: Tape) -> None:
        super().__init__(tape)
        self.status = "UPDATE_IN_PROGRESS"

    def describe_stacks(self, **given: Any) -> dict[str, Any]:
        assert given == {"StackName": STACK_ID}
        stack = {"StackName": "dev-Gpu", "CreationTime": NOW, "StackStatus": self.status}
        return self.answer("DescribeStacks", given, lambda: {"Stacks": [stack]})


class World:
    """The clients of one account, with a clock that sleeping moves, and questions asked one after the other."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.tape = Tape()
        self.ec2 = FakeEc2(self.tape, self.clock)
        self.quotas = FakeQuotas(self.tape)
        self.groups = FakeGroups(self.tape, self.ec2)
        self.stacks = FakeStacks(self.tape)
        self.remaining: Callable[[], int] = lambda: 300_000

    @property
    def clients(self) -> Clients:
        return Clients(
            ec2=self.ec2,
            quotas=self.quotas,
            groups=self.groups,
            stacks=self.stacks,
            region=REGION,
            remaining_ms=lambda: self.remaining(),
            now=lambda: self.clock.now,
            sleep=self.clock.sleep,
            at_once=lambda *questions: [question() for question in questions],
        )

    def forget_calls(self) -> None:
        self.tape.calls.clear()


def instance(kind: str, cores: int, threads: int = 2, **more: Any) -> dict[str, Any]:
    return {"InstanceType": kind, "CpuOptions": {"CoreCount": cores, "ThreadsPerCore": threads}, **more}
