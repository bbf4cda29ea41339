"""The function dies before or after any of its calls, in every mode and event; then CloudFormation goes on.

Three ways of going on: the same event is sent again, as after a time-out; it counts as failed and is undone; or it is
sent again and then undone, because a later resource of the stack failed. At each moment there is at most one open
reservation for each intention, always with an end date; afterwards nothing is held but what the stack's state wants;
and after a destroy nothing at all.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from .deployment import Deployment
from .fakes import A, B, World
from .sent import PLANTED, of_mode

Properties = dict[str, Any]


@dataclass(frozen=True)
class Scenario:
    """Deploys, and then the event that is killed; ``wanted`` None destroys. ``zone`` is where the nodes are then.

    The first deploy goes to zone a; later ones find the zones in ``full_before`` full, and the event those in ``full``;
    zone b has the better score then. ``pause`` goes by before the event, ``lost`` nodes are gone by then, and
    ``unheld`` nodes are in no reservation after it.
    """

    mode: str
    name: str
    before: tuple[Properties, ...]
    wanted: Properties | None
    zone: str | None
    full: tuple[str, ...] = ()
    full_before: tuple[str, ...] = ()
    pause: timedelta = timedelta(minutes=1)
    lost: int = 0
    unheld: int = 0


def _scenarios(mode: str) -> Iterator[Scenario]:
    first = of_mode(mode)
    yield Scenario(mode, "create", (), first, A)
    yield Scenario(mode, "kept", (first,), first | {"QuotaFamilies": ["g"]}, A)
    yield Scenario(mode, "grown", (first,), first | {"Count": "4"}, A)
    yield Scenario(mode, "shrunk", (first,), first | {"Count": "1"}, A)
    moved = {"Zone": B} if mode == "zone" else {"ForceToken": "2"}
    there = A if mode == "reservation" else B
    yield Scenario(mode, "chosen again", (first,), first | moved, there, full=(A,))
    yield Scenario(mode, "taken back", (first, first | moved), first, A, full_before=(A,))
    third = {"Zone": A} if mode == "zone" else {"ForceToken": "3"}
    yield Scenario(mode, "chosen again twice", (first, first | moved), first | third, A, full_before=(A,))
    yield Scenario(mode, "deleted", (first,), None, None)
    yield Scenario(mode, "deleted after it was chosen again", (first, first | moved), None, None, full_before=(A,))
    if mode in ("hold", "probe", "offerings"):
        yield Scenario(mode, "unused zone excluded", (first,), first | {"ExcludeZones": [B]}, A, full=(A,))
    if mode != "hold":
        held = of_mode("hold")
        yield Scenario(mode, "changed from hold", (held,), first | {"ForceToken": "2"}, A)
        yield Scenario(mode, "left hold", (held,), first, A)
        yield Scenario(mode, "deleted after hold", (held, first), None, None)
    else:
        yield Scenario(mode, "second zone", (), first, B, full=(A,))
        yield Scenario(mode, "longer", (first,), first | {"HoldMinutes": "120"}, A)
        yield Scenario(mode, "grown and longer", (first,), first | {"Count": "3", "HoldMinutes": "90"}, A)
        yield Scenario(mode, "grown twice", (first, first | {"Count": "3"}), first | {"Count": "4"}, A)
        yield Scenario(mode, "deleted after growth", (first, first | {"Count": "4"}), None, None)
        late = timedelta(hours=3)
        yield Scenario(mode, "grown after the hold", (first,), first | {"Count": "4"}, A, pause=late)
        yield Scenario(mode, "one missing", (first,), first | moved, A, pause=late, lost=1)
        yield Scenario(mode, "changed to hold", (of_mode("probe"),), first, A, unheld=2)


MODES = ("hold", "probe", "offerings", "zone", "reservation")
SCENARIOS = [scenario for mode in MODES for scenario in _scenarios(mode)]


def world_for(scenario: Scenario) -> World:
    world = World()
    world.quotas.applied = 400.0
    world.ec2.made.shown_after = timedelta(seconds=6)
    world.groups.seen_after = timedelta(seconds=3)
    world.ec2.moved_after = timedelta(seconds=5)
    if scenario.mode == "reservation":
        world.ec2.made.plant(A, CapacityReservationId=PLANTED, TotalInstanceCount=4, AvailableInstanceCount=4)
        world.clock.sleep(60)
    return world


def fill(world: World, full: tuple[str, ...]) -> None:
    world.ec2.scores = {A: 3, B: 9} if full else {A: 9, B: 3}
    world.ec2.made.room = dict.fromkeys(full, 0)


def prepared(scenario: Scenario) -> Deployment:
    """A stack before the event, with its nodes running, and no room where the event must not go."""
    stack = Deployment(world_for(scenario))
    for number, wanted in enumerate(scenario.before):
        fill(stack.world, scenario.full_before if number else ())
        stack.deploy(wanted)
        stack.world.clock.sleep(60)
    stack.world.clock.sleep(scenario.pause.total_seconds())
    for node in stack.world.ec2.instances[: scenario.lost]:
        stack.world.ec2.made.leave(node)
    del stack.world.ec2.instances[: scenario.lost]
    fill(stack.world, scenario.full)
    return stack


def points(scenario: Scenario) -> list[tuple[int, str]]:
    """Before and after each call of the event, when nothing goes wrong."""
    stack = prepared(scenario)
    event = stack.event(scenario.wanted)
    stack.world.forget_calls()
    assert stack.send(event) is not None, scenario
    return [(call + 1, when) for call in range(len(stack.world.tape.calls)) for when in ("before", "after")]


def destroyed(stack: Deployment) -> None:
    if stack.physical_id is not None:
        stack.deploy(None)
    assert stack.held == []


def right(stack: Deployment, scenario: Scenario, answer: dict[str, Any]) -> None:
    """The zone is the expected one; in mode hold all nodes are held there and EC2 shows it in the group."""
    if scenario.wanted is None:
        assert stack.held == []
        return
    assert answer["Data"]["AvailabilityZone"] == scenario.zone
    if scenario.mode != "hold":
        assert stack.held == []
        return
    count, hold = int(scenario.wanted["Count"]), answer["PhysicalResourceId"].split(",")[0].split("/")[3]
    held = [r for r in stack.world.ec2.made.open if {"Key": "eks-ray-train:hold", "Value": hold} in r["Tags"]]
    reserved = sum("CapacityReservationId" in node for node in stack.world.ec2.instances)
    assert reserved == count - scenario.unheld
    assert idle(stack) == (1 if scenario.name == "shrunk" else 0)
    assert {r["AvailabilityZone"] for r in held} <= {scenario.zone}
    for reservation in held:
        ((group, since),) = stack.world.ec2.members[reservation["CapacityReservationArn"]].items()
        assert group == scenario.wanted["GroupArn"]
        assert since <= stack.world.clock.now, "the answer came before EC2 showed the member"
    assert set(answer["Data"]["ReservationId"].split(", ")) - {"none"} == {r["CapacityReservationId"] for r in held}


def idle(stack: Deployment) -> int:
    """Places that are paid for and in which no node runs."""
    return sum(r["AvailableInstanceCount"] for r in stack.world.ec2.made.open if r["Tags"])


def retried(scenario: Scenario, point: tuple[int, str]) -> None:
    stack = prepared(scenario)
    event = stack.event(scenario.wanted)
    assert stack.send(event, point) is None
    answer = stack.send(event)
    assert answer is not None
    stack.finish(event, answer)
    right(stack, scenario, answer)
    assert len(stack.held) == len(set(answer.get("Data", {}).get("ReservationId", "none").split(", ")) - _NOT_OURS)
    destroyed(stack)


# Mode reservation answers with the one that is planted, which is nobody's to cancel.
_NOT_OURS = {"none", PLANTED}


def back(stack: Deployment, held: list[str], scenario: Scenario) -> None:
    """What was held is held, and nothing else."""
    if scenario.name == "left hold":
        assert set(stack.held) <= set(held), "what was given back need not be there again"
    elif scenario.lost:
        assert idle(stack) <= scenario.lost, "a node that is missing may start in what was reserved for it"
    else:
        assert stack.held == held


def undone(scenario: Scenario, point: tuple[int, str]) -> None:
    stack = prepared(scenario)
    held = stack.held
    event = stack.event(scenario.wanted)
    assert stack.send(event, point) is None
    if event["RequestType"] == "Delete":
        stack.finish(event, stack.send(event | {"RequestId": "request-again"}))
    else:
        stack.roll_back(event, None)
        back(stack, held, scenario)
    destroyed(stack)


def undone_later(scenario: Scenario, point: tuple[int, str]) -> None:
    stack = prepared(scenario)
    held = stack.held
    event = stack.event(scenario.wanted)
    assert stack.send(event, point) is None
    answer = stack.send(event)
    if event["RequestType"] == "Delete":
        stack.finish(event, answer)
    else:
        stack.roll_back(event, answer)
        back(stack, held, scenario)
    destroyed(stack)


@pytest.mark.failure_mode("C4")
@pytest.mark.parametrize("goes_on", [retried, undone, undone_later])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: f"{s.mode}-{s.name}".replace(" ", "-"))
def test_dying_at_any_call(scenario: Scenario, goes_on: Callable[[Scenario, tuple[int, str]], None]) -> None:
    for point in points(scenario):
        goes_on(scenario, point)


def test_there_are_enough_points_to_mean_something(record_property: Callable[[str, object], None]) -> None:
    total = sum(len(points(scenario)) for scenario in SCENARIOS)
    record_property("kill_points", total)
    assert total >= 900


@pytest.mark.parametrize("scenario", [s for s in SCENARIOS if s.mode == "hold" and s.name in ("create", "grown")])
def test_dying_twice(scenario: Scenario) -> None:
    for first in points(scenario):
        for second in points(scenario):
            stack = prepared(scenario)
            event = stack.event(scenario.wanted)
            assert stack.send(event, first) is None
            answer = stack.send(event, second) or stack.send(event)
            assert answer is not None
            stack.finish(event, answer)
            right(stack, scenario, answer)
            destroyed(stack)
