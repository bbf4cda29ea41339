"""Which instance types a field takes, and which to name where it was given another."""

import difflib
from collections.abc import Sequence
from typing import Annotated

from pydantic import AfterValidator

from eks_ray_train.instance_types import INSTANCE_TYPES
from environments.refusals import refused

_LISTED = "`python -m eks_ray_train.instance_types` lists them with what they have"


def _for_gpu_nodes(name: str) -> str:
    types = [row.name for row in INSTANCE_TYPES.values() if row.gpus and row.efa_interfaces]
    if name in types:
        return name
    family = name.partition(".")[0]
    if sizes := [each for each in types if each.partition(".")[0] == family]:
        raise refused(
            f"a size of {family} that has EFA: {', '.join(sizes)}. Sizes without EFA are left out, for nodes that "
            "train together need it",
            f"choose one of these, or a type of another family: {_LISTED}",
        )
    raise refused(
        f"a type with GPUs and EFA, such as {_near(name, types)}", f"choose one: {_LISTED}, and its price an hour"
    )


def _for_system_nodes(name: str) -> str:
    types = [row.name for row in INSTANCE_TYPES.values() if not row.gpus]
    if name not in types:
        raise refused(f"a type without GPUs: {', '.join(types)}", f"choose one of these, such as {types[0]}")
    return name


def _near(name: str, types: Sequence[str]) -> str:
    return ", ".join(difflib.get_close_matches(name, types, n=3) or types[:3])


GpuType = Annotated[str, AfterValidator(_for_gpu_nodes)]
SystemType = Annotated[str, AfterValidator(_for_system_nodes)]
