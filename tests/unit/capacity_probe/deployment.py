"""CloudFormation and CDK's provider framework around the probe's two resources: what they send, and when."""

from collections import Counter
from typing import Any

from botocore.exceptions import ClientError

from eks_ray_train.capacity_probe.asset.gpu_capacity.errors import ProbeError
from eks_ray_train.capacity_probe.asset.gpu_capacity.events import on_event

from .fakes import A, World
from .recording import Killed
from .sent import create, delete, sweeper, update

Event = dict[str, Any]


class Deployment:
    """One stack. ``physical_id`` and ``properties`` are what CloudFormation has stored for the probe's resource."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.physical_id: str | None = None
        self.properties: dict[str, Any] = {}
        self.requests = 0
        world.tape.after_each = self.check_reservations
        self.send(sweeper("Create"))

    def send(self, event: Event, kill_at: tuple[int, str] | None = None) -> dict[str, Any] | None:
        """Invoke the function; return its answer, or None when it failed or died."""
        self.world.tape.start(kill_at)
        self.world.clock.sleep(1)
        try:
            return on_event(event, self.world.clients)
        except (Killed, ProbeError, ClientError):
            return None
        finally:
            self.world.tape.start()

    def event(self, wanted: dict[str, Any] | None) -> Event:
        """What a deploy of these properties sends; None destroys."""
        self.requests += 1
        request_id = f"request-{self.requests}"
        if self.physical_id is None:
            return create(request_id) | {"ResourceProperties": wanted}
        if wanted is None:
            self.world.ec2.run(0, A)  # the node group goes first
            return delete(self.physical_id, self.properties, request_id)
        return update(self.physical_id, self.properties, wanted, request_id)

    def finish(self, event: Event, answer: dict[str, Any] | None) -> None:
        """Store a successful answer, and delete the id that it replaces: the stack's update is complete."""
        assert answer is not None, "the event failed"
        if event["RequestType"] == "Delete":
            self.physical_id = None
            self.send(sweeper("Delete"))
            return
        self.run_nodes(event, answer)
        before, old = self.physical_id, self.properties
        self.physical_id, self.properties = answer["PhysicalResourceId"], event["ResourceProperties"]
        if before not in (None, self.physical_id):
            self.send(delete(str(before), old))

    def run_nodes(self, event: Event, answer: dict[str, Any]) -> None:
        """Let the node group follow the answer: its nodes are launched before the old ones' id is deleted."""
        wanted = event["ResourceProperties"]
        target = wanted.get("GroupArn") or wanted.get("ReservationId")
        self.world.ec2.run(int(wanted["Count"]), answer["Data"]["AvailabilityZone"], target)

    def deploy(self, wanted: dict[str, Any] | None) -> None:
        event = self.event(wanted)
        self.finish(event, self.send(event))

    def roll_back(self, event: Event, answer: dict[str, Any] | None) -> None:
        """Undo an event that failed (no answer), or after which a later resource failed.

        The framework swallows the Delete of a resource whose Create failed: it was never made, as far as it knows.
        """
        if event["RequestType"] == "Create":
            if answer is not None:
                self.send(delete(answer["PhysicalResourceId"], event["ResourceProperties"]))
            self.physical_id = None
            self.send(sweeper("Delete"))
            return
        assert event["RequestType"] == "Update"
        now = answer["PhysicalResourceId"] if answer else event["PhysicalResourceId"]
        self.requests += 1
        undo = update(now, event["ResourceProperties"], self.properties, f"request-{self.requests}")
        self.world.stacks.status = "UPDATE_ROLLBACK_IN_PROGRESS"
        made = len(self.world.ec2.tried)
        back = self.send(undo)
        assert back is not None, "UPDATE_ROLLBACK_FAILED"
        assert len(self.world.ec2.tried) == made, "the undoing depends on capacity"
        assert back["PhysicalResourceId"] == self.physical_id
        if now != self.physical_id:
            self.send(delete(now, event["ResourceProperties"]))
        self.world.stacks.status = "UPDATE_IN_PROGRESS"

    def check_reservations(self) -> None:
        """At any moment: at most one open reservation for each intention, and each with an end date."""
        own = [r for r in self.world.ec2.made.open if r["Tags"]]
        intentions = Counter(map(_intention, own))
        assert all(times == 1 for times in intentions.values()), f"doubled: {intentions}"
        assert all(r["EndDateType"] == "limited" and r["EndDate"] for r in own)

    @property
    def held(self) -> list[str]:
        """The open reservations that carry the stack's tag."""
        return [r["CapacityReservationId"] for r in self.world.ec2.made.open if r["Tags"]]


def _intention(reservation: dict[str, Any]) -> str:
    tags = {tag["Key"]: tag["Value"] for tag in reservation["Tags"]}
    return f"{tags.get('eks-ray-train:hold', 'proof')} {tags.get('eks-ray-train:nodes', '')}"
