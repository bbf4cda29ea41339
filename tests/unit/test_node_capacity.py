"""The kubelet's reservation formula, against published nodes."""

import pytest

from eks_ray_train.checks.node_capacity import Amounts, allocatable, max_pods
from eks_ray_train.instance_types import INSTANCE_TYPES

M7I, G6 = INSTANCE_TYPES["m7i.xlarge"], INSTANCE_TYPES["g6.12xlarge"]


def test_max_pods() -> None:
    assert (max_pods(M7I), max_pods(G6)) == (58, 234)


def test_allocatable_of_the_system_node() -> None:
    assert allocatable(M7I) == Amounts(cpu_m=3920, memory_mib=14_162)


def test_allocatable_of_the_gpu_node_allows_for_huge_pages() -> None:
    assert allocatable(G6) == Amounts(cpu_m=47_810, memory_mib=178_933 - 48 * 220, gpus=4, efa_interfaces=1)


@pytest.mark.parametrize("missing", ["cpu_m", "memory_mib", "gpus", "efa_interfaces"])
def test_all_amounts_must_fit(missing: str) -> None:
    room = Amounts(cpu_m=10, memory_mib=10, gpus=1, efa_interfaces=1)
    assert room.fits(room)
    assert not (room + Amounts(**{missing: 1})).fits(room)
