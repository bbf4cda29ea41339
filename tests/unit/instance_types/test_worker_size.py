"""Workers that the settings leave to the instance type."""

import pytest

from eks_ray_train.checks.node_capacity import Amounts, allocatable
from eks_ray_train.checks.pods import DAEMONS_ON_EVERY_NODE, DAEMONS_ON_GPU_NODES
from eks_ray_train.instance_types import INSTANCE_TYPES, WorkerSize, worker_size
from tests.synthesis import settings_with
from tests.unit.instance_types.ec2 import GPU_TYPES


@pytest.mark.failure_mode("F5")
@pytest.mark.parametrize("name", GPU_TYPES)
def test_it_fits_beside_everything_else(name: str) -> None:
    row = INSTANCE_TYPES[name]
    size = worker_size(row)
    # A core and 2 GiB to spare, for what users add.
    room = allocatable(row) - DAEMONS_ON_EVERY_NODE - DAEMONS_ON_GPU_NODES - Amounts(cpu_m=1000, memory_mib=2048)
    assert Amounts(cpu_m=size.cpu * 1000, memory_mib=size.memory_gib * 1024).fits(room)
    assert size.cpu >= row.vcpus * 0.8
    assert size.memory_gib * 1024 >= row.memory_mib * 0.75
    assert 16 <= size.shared_memory_gib <= size.memory_gib // 3


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("g6.12xlarge", WorkerSize(cpu=40, memory_gib=144, shared_memory_gib=32)),
        ("p5.4xlarge", WorkerSize(cpu=13, memory_gib=192, shared_memory_gib=16)),
        ("p5.48xlarge", WorkerSize(cpu=160, memory_gib=1536, shared_memory_gib=64)),
    ],
)
def test_some_sizes(name: str, expected: WorkerSize) -> None:
    assert worker_size(INSTANCE_TYPES[name]) == expected
    ray = settings_with({"gpu_nodes.instance_type": name}).ray
    assert (ray.worker.cpu, ray.worker.memory_gib, ray.shared_memory_gib) == (
        expected.cpu,
        expected.memory_gib,
        expected.shared_memory_gib,
    )


def test_what_the_settings_say_is_kept() -> None:
    ray = settings_with({"ray.worker.cpu": 8, "ray.shared_memory_gib": 20}).ray
    assert (ray.worker.cpu, ray.worker.memory_gib, ray.shared_memory_gib) == (8, 144, 20)
