"""`raytrain capacity --probe`: it asks with the price, tries in order, and leaves no reservation, whatever ends it."""

import gc
import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ReadTimeoutError

from tests.ops.conftest import Raytrain
from tests.ops.fake_aws import FakeAws, Refused, region

PROBE = ("capacity", "--probe", "--yes", "--regions", "us-east-2,us-west-2")


@pytest.fixture
def crowded(aws: FakeAws) -> FakeAws:
    """The best zone has no room, the next one has, in another region."""
    aws.regions["us-west-2"] = region("us-west-2", scores={"us-west-2a": 5})
    aws.regions["us-east-2"].scores = {"us-east-2b": 9}
    aws.regions["us-east-2"].no_room = {"us-east-2b": "InsufficientInstanceCapacity"}
    return aws


def test_zones_are_tried_in_ranked_order_until_one_has_room(raytrain: Raytrain, crowded: FakeAws) -> None:
    told = raytrain(*PROBE)

    assert told.exit_code == 0, told.output
    tried = [given["AvailabilityZone"] for _, name, given in crowded.calls if name == "CreateCapacityReservation"]
    assert tried == ["us-east-2b", "us-west-2a"]
    assert "us-east-2b: no capacity (InsufficientInstanceCapacity)" in told.stdout
    assert "us-west-2a: EC2 reserved 2 x g6.12xlarge; the reservation is cancelled" in told.stdout
    assert "Recommended: us-west-2a (EC2 reserved them there a moment ago)" in told.stdout
    assert crowded.open == []


@pytest.mark.failure_mode("C4")
def test_every_reservation_ends_by_itself_and_is_targeted(raytrain: Raytrain, crowded: FakeAws) -> None:
    raytrain(*PROBE)

    made = [given for _, name, given in crowded.calls if name == "CreateCapacityReservation"]
    for given in made:
        assert given["EndDateType"] == "limited"
        assert given["EndDate"] <= datetime.now(UTC) + timedelta(minutes=60)
        assert given["InstanceMatchCriteria"] == "targeted"
        assert {"Key": "eks-ray-train:stack", "Value": "raytrain/user/ada"} in given["TagSpecifications"][0]["Tags"]
    assert len({given["ClientToken"] for given in made}) == len(made) == 2


def test_it_asks_first_with_the_price_and_the_most_it_can_cost(raytrain: Raytrain, aws: FakeAws) -> None:
    told = raytrain("capacity", "--probe", answer="n\n")

    assert told.exit_code == 0
    text = " ".join(told.stdout.split())
    assert "This reserves 2 x g6.12xlarge in up to 3 zones, one after the other" in text
    assert "seconds of $9.20 an hour" in text
    assert "after 60 minutes and up to an hour more, $18.41 at most" in text
    assert "Reserve? [y/N]" in text
    assert text.index("$18.41 at most") < text.index("Reserve? [y/N]") < text.index("Nothing was reserved.")
    assert "CreateCapacityReservation" not in aws.operations()


def test_with_json_it_asks_beside_the_document(raytrain: Raytrain, aws: FakeAws) -> None:
    told = raytrain("capacity", "--probe", "--json", answer="y\n")

    assert told.exit_code == 0
    assert "Reserve? [y/N]" in told.stderr
    assert json.loads(told.stdout[told.stdout.index("{") :])["probe"]["zone"] == "us-east-2a"


def test_nobody_to_ask_is_an_error_that_names_yes(raytrain: Raytrain, aws: FakeAws) -> None:
    told = raytrain("capacity", "--probe")

    assert told.exit_code == 2
    assert "--probe\n    expected: an answer, y or n\n    to do:    say --yes" in told.stderr
    assert "CreateCapacityReservation" not in aws.operations()


def test_no_room_anywhere_is_exit_code_3_with_each_zones_answer(raytrain: Raytrain, aws: FakeAws) -> None:
    aws.regions["us-east-2"].no_room = dict.fromkeys(aws.regions["us-east-2"].zones, "InsufficientInstanceCapacity")

    told = raytrain("capacity", "--probe", "--yes", "--json")

    assert told.exit_code == 3
    document = json.loads(told.stdout)
    assert document["probe"] == {
        "zone": None,
        "refused": {f"us-east-2{z}": "no capacity (InsufficientInstanceCapacity)" for z in "abc"},
    }
    assert document["recommendation"] is None


def test_a_quota_that_ec2_counts_otherwise_skips_the_region_only(raytrain: Raytrain, crowded: FakeAws) -> None:
    crowded.regions["us-east-2"].no_room = {"us-east-2b": "VcpuLimitExceeded"}
    crowded.regions["us-east-2"].scores = {"us-east-2b": 9, "us-east-2a": 8}

    told = raytrain(*PROBE)

    tried = [given["AvailabilityZone"] for _, name, given in crowded.calls if name == "CreateCapacityReservation"]
    assert tried == ["us-east-2b", "us-west-2a"]
    assert "EC2 refused 2 x g6.12xlarge with VcpuLimitExceeded" in told.stdout
    assert told.exit_code == 0


def test_a_missing_permission_is_named(raytrain: Raytrain, aws: FakeAws) -> None:
    aws.refusals["CreateCapacityReservation"] = Refused("UnauthorizedOperation")

    told = raytrain("capacity", "--probe", "--yes")

    assert told.exit_code == 4
    assert "ec2:CreateCapacityReservation" in told.stderr


def test_a_call_whose_answer_never_comes_leaves_nothing(raytrain: Raytrain, aws: FakeAws) -> None:
    def made_but_not_answered(where: str, given: dict[str, Any]) -> dict[str, Any]:
        aws._CreateCapacityReservation(where, given)
        raise ReadTimeoutError(endpoint_url="https://ec2.us-east-2.amazonaws.com")

    aws.answers["CreateCapacityReservation"] = made_but_not_answered

    told = raytrain("capacity", "--probe", "--yes")

    assert told.exit_code == 1
    assert "AWS did not answer in us-east-2" in told.stderr
    assert len(aws.reservations) == 1
    assert aws.open == []


@pytest.mark.failure_mode("C4")
def test_what_a_killed_run_left_is_cancelled_first(raytrain: Raytrain, aws: FakeAws) -> None:
    tags = [{"Key": "eks-ray-train:stack", "Value": "raytrain/user/ada"}]
    other = [{"Key": "eks-ray-train:stack", "Value": "raytrain/user/grace"}]
    for id, owner in (("cr-left", tags), ("cr-other", other)):
        aws.reservations.append(
            {
                "CapacityReservationId": id,
                "AvailabilityZone": "us-east-2a",
                "State": "active",
                "Tags": owner,
                "Region": "us-east-2",
            }
        )

    raytrain("capacity", "--probe", "--yes")

    assert [made["CapacityReservationId"] for made in aws.open] == ["cr-other"]
    names = aws.operations()
    assert names.index("CancelCapacityReservation") < names.index("CreateCapacityReservation")


def _interrupting(aws: FakeAws, at: int) -> Callable[[str], None]:
    """Presses Ctrl-C at the call of that number."""

    def press(operation: str) -> None:
        if len(aws.calls) - 1 == at:
            os.kill(os.getpid(), signal.SIGINT)
            # The main thread takes it now, while the call is under way.
            threading.Event().wait(0.02)

    return press


@pytest.fixture
def without_gc() -> Iterator[None]:
    """Hypothesis hooks into garbage collection, and what is raised in a hook is lost: a Ctrl-C too."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.failure_mode("C4")
@pytest.mark.usefixtures("without_gc")
@pytest.mark.parametrize("moment", ["before", "after"])
def test_ctrl_c_at_any_call_leaves_no_reservation(raytrain: Raytrain, crowded: FakeAws, moment: str) -> None:
    assert raytrain(*PROBE).exit_code == 0
    total = len(crowded.calls)
    assert total >= 16

    open_then = {}
    codes = {}
    for at in range(total):
        crowded.calls.clear()
        setattr(crowded, moment, _interrupting(crowded, at))
        codes[at] = raytrain(*PROBE).exit_code
        open_then[at] = list(crowded.open)

    assert set(codes.values()) == {130}, codes
    assert not any(open_then.values()), open_then


def test_ctrl_c_while_reserving_stops_before_the_next_zone(raytrain: Raytrain, aws: FakeAws) -> None:
    aws.regions["us-east-2"].no_room = dict.fromkeys(aws.regions["us-east-2"].zones, "InsufficientInstanceCapacity")

    def press(operation: str) -> None:
        if operation == "CreateCapacityReservation":
            os.kill(os.getpid(), signal.SIGINT)
            threading.Event().wait(0.02)

    aws.before = press

    told = raytrain("capacity", "--probe", "--yes")

    assert told.exit_code == 130
    assert "Stopping: the reservation under way is cancelled first." in told.stdout
    assert aws.operations().count("CreateCapacityReservation") == 1
