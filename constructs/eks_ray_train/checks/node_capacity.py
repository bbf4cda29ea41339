"""What the kubelet leaves to pods on a node.

Source: nodeadm of amazon-eks-ami, kubelet configuration: CPU reserved by core, memory by the number of pods, 100 MiB
kept from eviction.
"""

from dataclasses import dataclass

from eks_ray_train.instance_types import InstanceType

# What the hypervisor and the kernel take of the memory that EC2 states: Karpenter's figure, on the safe side of 3%
# observed.
_OVERHEAD = 0.075
_EVICTION_MIB = 100
# EFA's host software may reserve huge pages for each vCPU; seen on p4de and p5 nodes, allowed for on all.
_EFA_HUGE_PAGES_MIB_PER_VCPU = 220


@dataclass(frozen=True, kw_only=True)
class Amounts:
    """CPU in thousandths of a core, memory in MiB, GPUs and EFA interfaces: what a node has or a pod asks for."""

    cpu_m: int = 0
    memory_mib: int = 0
    gpus: int = 0
    efa_interfaces: int = 0

    def __sub__(self, other: "Amounts") -> "Amounts":
        return Amounts(
            cpu_m=self.cpu_m - other.cpu_m,
            memory_mib=self.memory_mib - other.memory_mib,
            gpus=self.gpus - other.gpus,
            efa_interfaces=self.efa_interfaces - other.efa_interfaces,
        )

    def __add__(self, other: "Amounts") -> "Amounts":
        return Amounts(
            cpu_m=self.cpu_m + other.cpu_m,
            memory_mib=self.memory_mib + other.memory_mib,
            gpus=self.gpus + other.gpus,
            efa_interfaces=self.efa_interfaces + other.efa_interfaces,
        )

    def fits(self, room: "Amounts") -> bool:
        """Whether all of it is within ``room``."""
        return (
            self.cpu_m <= room.cpu_m
            and self.memory_mib <= room.memory_mib
            and self.gpus <= room.gpus
            and self.efa_interfaces <= room.efa_interfaces
        )

    def __str__(self) -> str:
        parts = [f"{self.cpu_m / 1000:g} CPU", f"{self.memory_mib / 1024:.1f} GiB"]
        if self.gpus or self.efa_interfaces:
            parts.append(f"{self.gpus} GPU, {self.efa_interfaces} EFA")
        return ", ".join(parts)


def max_pods(instance: InstanceType) -> int:
    """The most pods with an address of their own, with the VPC CNI and no prefixes."""
    return instance.max_network_interfaces * (instance.ipv4_per_interface - 1) + 2


def allocatable(instance: InstanceType) -> Amounts:
    """What pods may ask for on a node of ``instance``."""
    memory = int(instance.memory_mib * (1 - _OVERHEAD)) - (11 * max_pods(instance) + 255) - _EVICTION_MIB
    if instance.efa_interfaces:
        memory -= _EFA_HUGE_PAGES_MIB_PER_VCPU * instance.vcpus
    return Amounts(
        cpu_m=instance.vcpus * 1000 - _reserved_cpu(instance.vcpus),
        memory_mib=memory,
        gpus=instance.gpus,
        efa_interfaces=instance.efa_interfaces,
    )


def _reserved_cpu(cores: int) -> int:
    # 6% of the first core, 1% of the second, 0.5% of the third and fourth, 0.25% of the others.
    reserved = sum((60, 10, 5, 5)[:cores])
    return reserved + int(2.5 * max(0, cores - 4))
