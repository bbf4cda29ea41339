"""What the options and the environment ask for together, checked before any call."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass

from eks_ray_train.instance_types import INSTANCE_TYPES, InstanceType
from environments.settings import Settings
from ops.account import unknown_region
from ops.environment_file import read
from ops.errors import ExitCode, OpsError


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The group to look for; ``target`` is the environment to write the answer to."""

    settings: Settings
    instance: InstanceType
    count: int
    target: Settings | None

    @property
    def place(self) -> Settings:
        """The environment whose network the zones are for."""
        return self.target or self.settings

    @property
    def excluded(self) -> tuple[str, ...]:
        """The zones that the environment passes over."""
        return self.place.capacity.exclude_zones


def choose(environment: str, instance_type: str | None, count: int | None, write_to: str | None) -> Choice:
    """Read the environment and lay the options over it.

    Raises:
        SettingsError: an environment that is not valid.
        OpsError: an instance type that is not in the table or cannot train, or another group than ``write_to`` has.
    """
    settings = read(environment)
    gpu = settings.gpu_nodes
    instance = gpu.instance if instance_type is None else _instance(instance_type)
    target = None if write_to is None else read(write_to)
    wanted = (instance.name, count or gpu.count)
    if target is not None and wanted != (target.gpu_nodes.instance_type, target.gpu_nodes.count):
        raise OpsError(
            f"--write = {target.name!r}",
            f"an environment of {wanted[1]} x {wanted[0]}; it has {target.gpu_nodes.count} x "
            f"{target.gpu_nodes.instance_type}",
            f"change gpu_nodes in environments/{target.name}.toml first, or ask for what it has: "
            f"raytrain capacity {target.name} --write {target.name}",
            ExitCode.USAGE,
        )
    if target is not None and target.capacity.mode == "reservation":
        raise OpsError(
            f"--write = {target.name!r}",
            "an environment that looks for capacity; its capacity.mode is 'reservation', which brings its zone",
            "change capacity.mode first",
            ExitCode.USAGE,
        )
    return Choice(settings=settings, instance=instance, count=wanted[1], target=target)


def regions_to_ask(named: str | None, every: bool, home: str, known: Mapping[str, bool]) -> tuple[list[str], list[str]]:
    """The regions to ask, and those that were wanted but are not enabled.

    ``known`` says of each region whether it is enabled, and is empty where the account does not tell.

    Raises:
        OpsError: both options, a region that AWS does not have, or all regions of an account that does not list them.
    """
    if named is not None and every:
        raise OpsError("--regions and --all-regions", "one of them", "leave one out", ExitCode.USAGE)
    if every and not known:
        raise OpsError(
            "ec2:DescribeRegions = denied",
            "permission for it, to know all regions",
            "ask for it, or name them: --regions us-east-1,us-east-2",
            ExitCode.NO_ACCESS,
        )
    wanted = sorted(known) if every else _split(named) if named is not None else [home]
    for region in wanted:
        if known and region not in known:
            field = f"--regions = {region!r}" if named is not None else f"region = {region!r}"
            raise unknown_region(field, region, known)
    return [r for r in wanted if known.get(r, True)], [r for r in wanted if not known.get(r, True)]


def _split(named: str) -> list[str]:
    regions = list(dict.fromkeys(part.strip() for part in named.split(",") if part.strip()))
    if not regions:
        raise OpsError(
            f"--regions = {named!r}", "names with commas between", "such as us-east-1,us-east-2", ExitCode.USAGE
        )
    return regions


def _instance(name: str) -> InstanceType:
    able = [row.name for row in INSTANCE_TYPES.values() if row.gpus and row.efa_interfaces]
    if name not in able:
        expected = f"an instance type of the table with GPUs and EFA: {', '.join(able)}"
        near = difflib.get_close_matches(name, able, n=1)
        remedy = f"write {near[0]}?" if near else "choose one of them"
        raise OpsError(f"--instance-type = {name!r}", expected, remedy, ExitCode.USAGE)
    return INSTANCE_TYPES[name]
