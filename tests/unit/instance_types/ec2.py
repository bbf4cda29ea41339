"""What EC2 itself says of its instance types: the answers of DescribeInstanceTypes that moto ships."""

from typing import Any

from moto.ec2.models import instance_types as moto

from eks_ray_train.instance_types import INSTANCE_TYPES

DESCRIBED: dict[str, Any] = moto.INSTANCE_TYPES
GPU_TYPES = [name for name, row in INSTANCE_TYPES.items() if row.gpus]


def described(name: str) -> dict[str, Any]:
    """One answer."""
    answer: dict[str, Any] = DESCRIBED[name]
    return answer


def network(name: str) -> dict[str, Any]:
    """Its NetworkInfo."""
    info: dict[str, Any] = described(name)["NetworkInfo"]
    return info


def efa_types(family: str) -> list[str]:
    """The sizes of a family that have EFA."""
    return [
        name
        for name in DESCRIBED
        if name.partition(".")[0] == family and DESCRIBED[name]["NetworkInfo"].get("EfaSupported")
    ]
