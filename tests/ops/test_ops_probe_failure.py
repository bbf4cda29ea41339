"""Every text of the capacity probe, as a stack's event shows it: its kind, its exit code; and read outside a deploy."""

import inspect
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from types import ModuleType
from typing import Any, get_type_hints

import pytest

from eks_ray_train.capacity_probe.asset.gpu_capacity import checked, existing_texts, messages
from eks_ray_train.capacity_probe.asset.gpu_capacity.errors import ProbeError
from ops.capacity import probe
from ops.deploy.failure_kinds import Kind
from ops.deploy.probe_failure import kind_of
from ops.wording import without_deploys
from tests.ops.conftest import Raytrain
from tests.ops.fake_stacks import FakeCdk, Outcome

LATER = datetime(2026, 11, 29, 12, 30, tzinfo=UTC)
WANTED = probe.Properties(
    instance_type="g6.12xlarge",
    count=2,
    vcpus_per_instance=48,
    quota_code="L-DB2E81BA",
    quota_families=("g",),
    mode="reservation",
    zone="us-east-2a",
    subnets_by_zone={"us-east-2a": "subnet-1"},
    placement_group_arn=None,
    tags={probe.STACK_TAG: "ray-train-dev-Gpu"},
    reservation_id="cr-0123456789abcdef0",
)
# By the name of the parameter: whatever a text is made of.
VALUES: dict[str, Any] = {
    "wanted": WANTED,
    "more": WANTED,
    "quota": probe.Quota(code="L-DB2E81BA", limit=96, used=48),
    "verdicts": (),
    "offered": ("us-east-2b",),
    "found": {"State": "scheduled", "StartDate": LATER},
    "end": LATER,
    "until": LATER,
    "shortest": timedelta(hours=1),
    "reservation_id": "cr-0123456789abcdef0",
    "region": "us-east-2",
    "where": "us-east-2a",
    "zone": "us-east-2a",
    "value": "7",
    "block": True,
}
KINDS = {
    "quota": Kind.NO_ZONE,
    "no-capacity": Kind.NO_ZONE,
    "not-offered": Kind.NO_ZONE,
    "not-authorised": Kind.DENIED,
    "property": Kind.SETTINGS,
    "placement-group": Kind.SETTINGS,
    "reservation": Kind.SETTINGS,
    "out-of-time": Kind.PROBE,
    "not-shown": Kind.PROBE,
    "throttled": Kind.PROBE,
    "refused": Kind.PROBE,
    "unreachable": Kind.PROBE,
    "not-cancelled": Kind.PROBE,
}


def _makers() -> Iterator[Callable[..., ProbeError]]:
    modules: tuple[ModuleType, ...] = (messages, existing_texts, checked)
    for module in modules:
        for name, made in inspect.getmembers(module, inspect.isfunction):
            own = made.__module__ == module.__name__ and not name.startswith("_")
            if own and get_type_hints(made).get("return") is ProbeError:
                yield made


def _made(maker: Callable[..., ProbeError]) -> ProbeError:
    hints = get_type_hints(maker)
    given = {
        name: VALUES.get(name, 3 if hints[name] is int else name.upper())
        for name in inspect.signature(maker).parameters
    }
    return maker(**given)


MAKERS = list(_makers())


@pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__)
@pytest.mark.parametrize(
    "before",
    [
        "",
        "RuntimeError: ",
        "Received response status [FAILED] from custom resource. Message returned: ",
        "Received response status [FAILED] from custom resource. Message returned: Error: ",
    ],
)
def test_the_kind_of_every_text_of_the_probe(maker: Callable[..., ProbeError], before: str) -> None:
    error = _made(maker)

    assert kind_of(f"{before}{error} Log group: ray-train-dev-Gpu-Log\n\nLogs: /aws/lambda/x") is KINDS[error.kind]


def test_all_kinds_are_tried() -> None:
    assert {_made(maker).kind for maker in MAKERS} == KINDS.keys()


@pytest.mark.parametrize("maker", [m for m in MAKERS if m.__module__ == messages.__name__], ids=lambda m: m.__name__)
def test_no_text_speaks_of_a_deploy_where_there_is_none(maker: Callable[..., ProbeError]) -> None:
    text = str(_made(maker))

    read = without_deploys(text)

    if maker.__name__ not in ("no_room_to_grow", "not_authorised"):  # of a stack's own update, and put in other words
        assert "deploy" not in read.lower()
    assert ("Deploy again" in text or "deploy again" in text) == (text != read)


@pytest.mark.parametrize(
    ("reason", "code", "said"),
    [
        ("vCPU quota too small: 2 x g6.12xlarge need 96 vCPUs", 3, Kind.NO_ZONE),
        ("Not authorised: the capacity probe's role may not call ec2:CreateTags in us-east-2.", 4, Kind.DENIED),
        ("cr-0123456789abcdef0 is full: 0 of 2 instances are free, expected 2.", 2, Kind.SETTINGS),
        ("Out of time: 20 s are left", 1, Kind.PROBE),
        ("EC2 refused DescribeInstances in us-east-2: InternalError: ours", 1, Kind.PROBE),
    ],
)
def test_the_exit_code_says_what_kind_it_was(
    raytrain: Raytrain, cdk: FakeCdk, reason: str, code: int, said: Kind
) -> None:
    cdk.plan(Outcome("probe", reason=f"RuntimeError: {reason} Log group: log"))

    told = raytrain("deploy", "dev", "--yes")

    assert told.exit_code == code
    assert f"The Gpu stack failed: {said.value}.\n  RuntimeError: {reason}" in told.stdout
