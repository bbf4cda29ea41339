"""What the kubelet leaves to pods on a node.

Sources: nodeadm of amazon-eks-ami, kubelet configuration (CPU reserved by core, memory by the number of pods that the
interfaces allow, 100 MiB kept from eviction); EKS user guide, "choosing an instance type" (a managed node group's limit
of pods). Against published nodes, the CPU and the pods are exact, and the memory is never more than there is and at
most 5.2% less (tests/unit/test_node_capacity.py lists them).
"""

from dataclasses import dataclass, fields, replace

from eks_ray_train.instance_types import InstanceType

# What the hypervisor and the kernel take of the memory that EC2 states: Karpenter's figure. Published nodes show 5.3%
# of 16 GiB and 2.6% of 1,152 GiB.
_OVERHEAD = 0.075
_EVICTION_MIB = 100
# EFA's host software may reserve huge pages for each vCPU; seen on p3dn, p4de and p5 nodes, allowed for on all.
_EFA_HUGE_PAGES_MIB_PER_VCPU = 220
# EKS caps what the interfaces would allow, in managed node groups whose template names no AMI.
_MANAGED_PODS_UP_TO_30_VCPUS = 110
_MANAGED_PODS = 250


@dataclass(frozen=True, kw_only=True)
class Amounts:
    """CPU in thousandths of a core, memory in MiB, GPUs, EFA interfaces, pods: what a node has or a pod asks for."""

    cpu_m: int = 0
    memory_mib: int = 0
    gpus: int = 0
    efa_interfaces: int = 0
    pods: int = 0

    def __sub__(self, other: "Amounts") -> "Amounts":
        return Amounts(**{name: getattr(self, name) - getattr(other, name) for name in _NAMES})

    def __add__(self, other: "Amounts") -> "Amounts":
        return Amounts(**{name: getattr(self, name) + getattr(other, name) for name in _NAMES})

    def fits(self, room: "Amounts") -> bool:
        """Whether all of it is within ``room``."""
        return all(getattr(self, name) <= getattr(room, name) for name in _NAMES)

    def rounded_down(self) -> "Amounts":
        """What can be asked for of it in the tenths of a GiB that are printed."""
        return replace(self, memory_mib=int(self.memory_mib * 10 // 1024 * 1024 / 10))

    def __str__(self) -> str:
        parts = [f"{self.cpu_m / 1000:g} CPU", f"{self.memory_mib / 1024:.1f} GiB"]
        if self.gpus or self.efa_interfaces:
            parts.append(f"{self.gpus} GPU, {self.efa_interfaces} EFA")
        return ", ".join(parts)


_NAMES = tuple(each.name for each in fields(Amounts))


def max_pods(instance: InstanceType) -> int:
    """The most pods with an address of their own, with the VPC CNI and no prefixes; memory is reserved for so many."""
    return instance.max_network_interfaces * (instance.ipv4_per_interface - 1) + 2


def schedulable_pods(instance: InstanceType) -> int:
    """The most pods that a node of a managed node group takes."""
    cap = _MANAGED_PODS_UP_TO_30_VCPUS if instance.vcpus <= 30 else _MANAGED_PODS
    return min(max_pods(instance), cap)


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
        pods=schedulable_pods(instance),
    )


def _reserved_cpu(cores: int) -> int:
    # 6% of the first core, 1% of the second, 0.5% of the third and fourth, 0.25% of the others.
    reserved = sum((60, 10, 5, 5)[:cores])
    return reserved + int(2.5 * max(0, cores - 4))
