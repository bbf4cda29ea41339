"""`raytrain capacity --probe` when EC2 refuses: what may still bill is told first, with its region and command."""

import os
import signal
import threading
from typing import Any

import pytest
from botocore.exceptions import ReadTimeoutError

from tests.ops.conftest import Raytrain
from tests.ops.fake_aws import FakeAws, Refused, region

PROBE = ("capacity", "--probe", "--yes", "--regions", "us-east-2,us-west-2")


@pytest.fixture
def second(aws: FakeAws) -> FakeAws:
    """Two regions; the best zone is in us-east-2 and has no room, the next is in us-west-2."""
    aws.regions["us-west-2"] = region("us-west-2", scores={"us-west-2a": 5})
    aws.regions["us-east-2"].scores = {"us-east-2b": 9}
    aws.regions["us-east-2"].no_room = {"us-east-2b": "InsufficientInstanceCapacity"}
    return aws


def _press_ctrl_c(operation: str) -> None:
    if operation == "CreateCapacityReservation":
        os.kill(os.getpid(), signal.SIGINT)
        # The main thread takes it now, while the call is under way.
        threading.Event().wait(0.02)


@pytest.mark.failure_mode("C4")
@pytest.mark.parametrize("interrupted", [False, True])
def test_a_reservation_that_cannot_be_cancelled_is_named_with_the_command(
    raytrain: Raytrain, aws: FakeAws, interrupted: bool
) -> None:
    aws.refusals["CancelCapacityReservation"] = Refused("UnauthorizedOperation")
    if interrupted:
        aws.before = _press_ctrl_c

    told = raytrain("capacity", "--probe", "--yes")

    assert told.exit_code == 1
    assert "Capacity reservation cr-0 could not be cancelled and bills until" in told.stderr
    assert "aws ec2 cancel-capacity-reservation --capacity-reservation-id cr-0 --region us-east-2" in told.stderr
    assert [made["CapacityReservationId"] for made in aws.open] == ["cr-0"]
    assert ("Stopping: the reservation under way" in told.stdout) == interrupted


@pytest.mark.failure_mode("C4")
def test_one_that_is_cancelled_at_the_second_try_is_not_said_to_bill(raytrain: Raytrain, aws: FakeAws) -> None:
    refused: list[str] = []

    def once(where: str, given: dict[str, Any]) -> dict[str, Any]:
        if not refused:
            refused.append(given["CapacityReservationId"])
            raise Refused("Unavailable")
        return aws._CancelCapacityReservation(where, given)

    aws.answers["CancelCapacityReservation"] = once

    told = raytrain("capacity", "--probe", "--yes")

    assert told.exit_code == 0, told.output
    assert "us-east-2a: no proof (its reservation could be cancelled only at the second try)" in told.stdout
    assert "Recommended: us-east-2b" in told.stdout
    assert aws.open == []


@pytest.mark.failure_mode("C4")
def test_where_the_reservations_cannot_be_listed_it_says_how_to_look(raytrain: Raytrain, second: FakeAws) -> None:
    def made_but_not_answered(where: str, given: dict[str, Any]) -> dict[str, Any]:
        second._CreateCapacityReservation(where, given)
        if where == "us-west-2":
            second.refusals[where, "DescribeCapacityReservations"] = Refused("InternalError")
        raise ReadTimeoutError(endpoint_url="https://ec2.us-west-2.amazonaws.com")

    second.answers["CreateCapacityReservation"] = made_but_not_answered

    told = raytrain(*PROBE)

    assert told.exit_code == 1
    assert len(second.open) == 1
    assert "whether a reservation stays open in us-west-2 is not known" in told.stderr
    assert (
        "aws ec2 describe-capacity-reservations --region us-west-2 --filters "
        "Name=tag:eks-ray-train:stack,Values=raytrain/user/ada Name=state,Values=active,pending"
    ) in told.stderr


@pytest.mark.parametrize(
    ("refusal", "said", "code"),
    [
        (Refused("UnauthorizedOperation"), "ec2:CreateCapacityReservation in us-west-2 = denied", 4),
        (ReadTimeoutError(endpoint_url="https://ec2"), "AWS did not answer in us-west-2", 1),
        (Refused("RequestLimitExceeded"), "EC2 still throttles CreateCapacityReservation in us-west-2a", 1),
    ],
)
def test_an_error_names_the_region_that_gave_it(
    raytrain: Raytrain, second: FakeAws, refusal: Refused | BaseException, said: str, code: int
) -> None:
    second.refusals["us-west-2", "CreateCapacityReservation"] = refusal

    told = raytrain(*PROBE)

    assert told.exit_code == code
    assert said in told.stderr
    assert "deploy again" not in told.stderr
    assert second.open == []


def test_an_error_while_the_quota_is_read_again_names_the_region_too(raytrain: Raytrain, second: FakeAws) -> None:
    def too_many(where: str, given: dict[str, Any]) -> dict[str, Any]:
        second.refusals[where, "GetServiceQuota"] = Refused("AccessDenied")
        raise Refused("VcpuLimitExceeded")

    second.regions["us-west-2"].scores = {"us-west-2a": 10}
    second.answers["CreateCapacityReservation"] = too_many

    told = raytrain(*PROBE)

    assert told.exit_code == 4
    assert "servicequotas:GetServiceQuota in us-west-2 = denied" in told.stderr


@pytest.mark.failure_mode("C4")
def test_a_role_finds_what_an_earlier_session_of_it_left(raytrain: Raytrain, aws: FakeAws) -> None:
    sessions = iter(["botocore-session-1", "botocore-session-2"])
    aws.answers["GetCallerIdentity"] = lambda where, given: {
        "Account": "111122223333",
        "Arn": f"arn:aws:sts::111122223333:assumed-role/Admin/{next(sessions)}",
        "UserId": "U",
    }
    aws.refusals["CancelCapacityReservation"] = Refused("Unavailable")
    raytrain("capacity", "--probe", "--yes")
    assert [made["CapacityReservationId"] for made in aws.open] == ["cr-0"]
    del aws.refusals["CancelCapacityReservation"]

    told = raytrain("capacity", "--probe", "--yes")

    assert told.exit_code == 0, told.output
    assert len(aws.reservations) == 2
    assert aws.open == []
