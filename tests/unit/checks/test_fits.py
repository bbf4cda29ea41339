"""Pods and nodes, added up."""

from typing import Any

import pytest

from app import InvalidEnvironmentError
from eks_ray_train.checks.node_capacity import Amounts
from tests.synthesis import settings_with, synthesise
from tests.unit.checks.drafts import Draft, amounts, draft


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"ray.head.cpu": 3}, "system_nodes.instance_type"),  # then the submitter is left over
        ({"ray.head.memory_gib": 13}, "system_nodes.instance_type"),
        ({"ray.worker": {"cpu": 48}}, "ray.worker"),
        ({"ray.worker": {"memory_gib": 170}}, "ray.worker"),
    ],
)
def test_pods_that_do_not_fit_together(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidEnvironmentError) as error:
        synthesise(settings_with(changes))
    assert f"  {field} = " in str(error.value)
    assert "[pod-fits]" in str(error.value)


def test_what_has_no_size_of_its_own_is_told_who_takes_its_room() -> None:
    broken = draft()
    amounts(broken.head["template"]["spec"]["containers"][0], "cpu", "3500m")
    finding = broken.findings()[0]
    assert finding.value == "0.5 CPU, 1.0 GiB for ray-job-submitter"
    assert finding.expected == (
        "at most 0.25 CPU, 5.6 GiB, the most that is free on one of 1 x m7i.xlarge (system_nodes), beside ray-head"
    )
    assert finding.remedy == "lower ray.head, or choose a larger instance type or more nodes"


def test_a_second_system_node_makes_room() -> None:
    assert "Training" in synthesise(settings_with({"ray.head.cpu": 3, "system_nodes.count": 2}))


def test_an_init_container_counts_where_it_is_larger() -> None:
    broken = draft()
    (init,) = broken.worker["template"]["spec"]["initContainers"]
    amounts(init, "memory", "500Gi")
    (finding,) = broken.findings()
    assert finding.value == "40 CPU, 500.0 GiB, 4 GPU, 1 EFA for ray-worker"


# A g6.12xlarge takes 234 pods. On each node are four add-ons' and, with GPUs, three more: both device plugins and the
# server that the monitoring agent asks; then a worker, or the fabric check in its place.
_PREFETCHES = 2 * (234 - 4 - 3 - 1)


def _with_prefetches(count: int) -> Draft:
    broken = draft()
    check = next(obj for obj in broken.objects if obj["metadata"]["name"].startswith("image-prefetch-"))
    check["spec"]["completions"] = count
    for name, value in (("cpu", "1m"), ("memory", "1Mi")):
        amounts(check["spec"]["template"]["spec"]["containers"][0], name, value)
    return broken


def test_a_node_takes_only_so_many_pods() -> None:
    assert _with_prefetches(_PREFETCHES).findings() == []
    finding = _with_prefetches(_PREFETCHES + 1).findings()[0]
    assert (finding.code, finding.field) == ("pod-fits", "gpu_nodes.instance_type")
    assert finding.expected == "no pod more: 2 x g6.12xlarge (gpu_nodes) have as many as EKS allows"


@pytest.mark.parametrize("missing", ["cpu_m", "memory_mib", "gpus", "efa_interfaces", "pods"])
def test_all_amounts_must_fit(missing: str) -> None:
    room = Amounts(cpu_m=10, memory_mib=10, gpus=1, efa_interfaces=1, pods=1)
    assert room.fits(room)
    assert not (room + Amounts(**{missing: 1})).fits(room)
