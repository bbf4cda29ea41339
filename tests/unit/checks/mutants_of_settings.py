"""Mutants whose settings are changed, and those of another day."""

from datetime import date

from tests.unit.checks.mutant import mutant, settings_mutant

_KUBERNETES = "cluster.kubernetes_version"
_TRANSPORT = "ray.transport."

SETTINGS = (
    settings_mutant("kubernetes-creatable", {_KUBERNETES: "1.30"}),
    settings_mutant("kubernetes-creatable", {_KUBERNETES: "1.38"}),
    settings_mutant("driver-fits-cuda", {_KUBERNETES: "1.33"}),
    settings_mutant("kubectl-skew", {_KUBERNETES: "1.34"}),
    settings_mutant("ami-version", {"gpu_nodes.ami_release": "1.35.1-20261110"}),
    settings_mutant("ami-version", {"system_nodes.ami_release": "1.35.1-20261110"}),
    settings_mutant("chart-version", {"charts.kuberay_operator": "1.6.2"}),
    settings_mutant("chart-version", {"charts.efa_device_plugin": "v0.5.20"}),
    settings_mutant(
        "region-known",
        {"region": "xx-north-1", "network.availability_zones": ["xx-north-1a", "xx-north-1b", "xx-north-1c"]},
    ),
    settings_mutant("ray-version", {"ray.version": "2.57.0"}),
    settings_mutant("image-known", {"ray.image": "registry/image:mine"}),
    settings_mutant("image-known", {"ray.image": "rayproject/ray:train-ml-cuda-v1.1"}),
    settings_mutant(
        "capacity-block-type",
        {
            "capacity": {
                "mode": "reservation",
                "reservation_id": "cr-0123456789abcdef0",
                "reservation_type": "capacity-block",
            }
        },
    ),
    settings_mutant("zone-eks", {"region": "us-east-1", "network.availability_zones": ["us-east-1a", "us-east-1e"]}),
    settings_mutant("transport-provider", {f"{_TRANSPORT}FI_PROVIDER": "tcp"}),
    settings_mutant("transport-plugin", {f"{_TRANSPORT}NCCL_NET_PLUGIN": "none"}),
    settings_mutant("transport-plugin", {f"{_TRANSPORT}NCCL_NET_PLUGIN": "OFI"}),
    settings_mutant("transport-net", {f"{_TRANSPORT}NCCL_NET": "Socket"}),
    settings_mutant("transport-net", {"training.require_transport": "socket"}),
    settings_mutant("transport-proof", {"gpu_nodes.count": 1}),
    settings_mutant("transport-interface", {f"{_TRANSPORT}NCCL_SOCKET_IFNAME": "lo"}),
    settings_mutant("transport-interface", {f"{_TRANSPORT}NCCL_SOCKET_IFNAME": "ens5"}),
    settings_mutant("transport-interface", {f"{_TRANSPORT}NCCL_SOCKET_IFNAME": "^eth0"}),
    settings_mutant(
        "transport-rdma", {f"{_TRANSPORT}FI_EFA_USE_DEVICE_RDMA": "1"}, {"gpu_nodes.instance_type": "g5.12xlarge"}
    ),
    settings_mutant(
        "transport-rdma", {f"{_TRANSPORT}FI_EFA_USE_DEVICE_RDMA": "True"}, {"gpu_nodes.instance_type": "g5.48xlarge"}
    ),
    settings_mutant(
        "transport-rdma-off", {f"{_TRANSPORT}FI_EFA_USE_DEVICE_RDMA": "0"}, {"gpu_nodes.instance_type": "p4d.24xlarge"}
    ),
    settings_mutant("transport-huge-pages", {f"{_TRANSPORT}FI_EFA_USE_HUGE_PAGE": "1"}),
    settings_mutant("transport-diagnostic", {f"{_TRANSPORT}NCCL_P2P_DISABLE": "1"}),
    settings_mutant("transport-diagnostic", {f"{_TRANSPORT}NCCL_PROTO": "LL128"}),
    settings_mutant("transport-diagnostic", {f"{_TRANSPORT}NCCL_PROTO": "simple"}),
    settings_mutant("transport-log", {f"{_TRANSPORT}NCCL_DEBUG": "WARN"}),
    settings_mutant("transport-log", {f"{_TRANSPORT}NCCL_DEBUG_SUBSYS": "INIT"}),
    settings_mutant("transport-log", {f"{_TRANSPORT}NCCL_DEBUG_SUBSYS": "^NET"}),
    settings_mutant("transport-log", {f"{_TRANSPORT}NCCL_DEBUG_FILE": "/tmp/nccl.log"}),
    settings_mutant("worker-memory", {"ray.shared_memory_gib": 140}),
    settings_mutant("head-memory", {"ray.head.memory_gib": 4}),
    settings_mutant("gpu-memory", {"training.micro_batch": 64, "training.sequence_length": 4096}),
    settings_mutant("gpu-memory-room", {"training.micro_batch": 3, "training.sequence_length": 1536}),
    settings_mutant("checkpoints-for-failures", {"training.checkpoint_every": 0}),
    settings_mutant("training-deadline", {"training.steps": 10_000_000}),
    settings_mutant("ami-age", {"gpu_nodes.ami_release": "1.36.1-20260101", "gpu_nodes.parallel_pull": False}),
    settings_mutant("ami-age", {"system_nodes.ami_release": "1.36.1-20990101"}),
)

DATES = (
    mutant("kubernetes-ended", "two years on", lambda broken: setattr(broken, "today", date(2028, 8, 3))),
    mutant("kubernetes-ending", "two months before the end", lambda broken: setattr(broken, "today", date(2027, 6, 4))),
    mutant("price-age", "half a year on", lambda broken: setattr(broken, "today", date(2027, 2, 1))),
)
