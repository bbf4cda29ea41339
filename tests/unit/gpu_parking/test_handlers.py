"""The clients that the functions make, and what of an error reaches CloudFormation."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from eks_ray_train.gpu_parking.asset.idle_nodes import handlers
from eks_ray_train.gpu_parking.asset.idle_nodes.parking import Watched
from eks_ray_train.gpu_parking.asset.idle_nodes.waking import WakeError


class Context:
    log_group_name = "log-of-mine"

    def get_remaining_time_in_millis(self) -> int:
        return 1000


def test_parking_asks_eks_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: dict[str, Any] = {}
    given: list[Watched] = []

    def looked(event: Any, watched: Watched, clients: Any) -> dict[str, Any]:
        given.append(watched)
        return {"parked": False}

    monkeypatch.setattr("boto3.client", lambda service, config: made.setdefault(service, config))
    monkeypatch.setattr(handlers, "on_schedule", looked)
    for name, value in {"CLUSTER_NAME": "c", "NODEGROUP_NAME": "n", "BUCKET": "b", "PREFIX": "runs/"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("SIGN_KEY", "runs/.deployed")
    monkeypatch.setenv("IDLE_MINUTES", "90")
    assert handlers.park({"at": ""}, Context()) == {"parked": False}
    assert made == {"eks": handlers.ONCE, "s3": handlers.CONFIG, "autoscaling": handlers.CONFIG}
    (watched,) = given
    assert (watched.group.cluster, watched.group.name, watched.bucket) == ("c", "n", "b")
    assert watched.patience.total_seconds() == 90 * 60


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (WakeError("They did not start."), "They did not start. (log group: log-of-mine)"),
        (
            ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "PutObject"),
            "The GPU nodes could not be looked after; deploy again: An error occurred (AccessDenied) when calling the "
            "PutObject operation: no (log group: log-of-mine)",
        ),
    ],
)
def test_the_reason_says_where_the_log_is(monkeypatch: pytest.MonkeyPatch, error: Exception, reason: str) -> None:
    class Client:
        class meta:  # noqa: N801 - boto3's name
            region_name = "us-east-2"

    def fails(event: Any, clients: Any) -> dict[str, Any]:
        raise error

    monkeypatch.setattr("boto3.client", lambda service, config: Client())
    monkeypatch.setattr(handlers, "on_event", fails)
    with pytest.raises(RuntimeError) as raised:
        handlers.wake({}, Context())
    assert str(raised.value) == reason
