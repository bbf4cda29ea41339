"""What a Ray worker asks for that has a whole node to itself, where the settings do not say."""

from dataclasses import dataclass

from eks_ray_train.instance_types.model import InstanceType

# Of what EC2 states. The kubelet, the hypervisor, EFA's huge pages and the DaemonSets leave 82% of the memory and 98%
# of the cores on the tightest types of the table; a test holds the shares to what is left on each.
_CPU_SHARE = 5 / 6
_MEMORY_SHARE = 3 / 4
# NCCL's buffers and the data loaders of each rank; Ray's object store takes 4 GiB of it.
_SHARED_MEMORY_GIB_PER_GPU = 8
_LEAST_SHARED_MEMORY_GIB = 16


@dataclass(frozen=True, kw_only=True)
class WorkerSize:
    """Cores and GiB of a worker's pod; the shared memory is part of its memory."""

    cpu: int
    memory_gib: int
    shared_memory_gib: int


def worker_size(instance: InstanceType) -> WorkerSize:
    """A worker that fits a node of ``instance`` beside everything else that runs there."""
    return WorkerSize(
        cpu=int(instance.vcpus * _CPU_SHARE),
        memory_gib=int(instance.memory_mib * _MEMORY_SHARE) // 1024,
        shared_memory_gib=max(_LEAST_SHARED_MEMORY_GIB, _SHARED_MEMORY_GIB_PER_GPU * instance.gpus),
    )
