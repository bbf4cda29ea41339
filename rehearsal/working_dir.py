"""The submitter pod's file system, as the kubelet projects the job's ConfigMap into it."""

import time
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from rehearsal.assembly import code_volume, name_of
from rehearsal.errors import RehearsalError


def runtime_env(ray_job: dict[str, Any]) -> dict[str, Any]:
    """Return the RayJob's runtime environment. Raises RehearsalError when it has no working_dir."""
    text = ray_job["spec"].get("runtimeEnvYAML", "")
    try:
        environment = yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        raise _wrong(ray_job, f"not YAML: {error}") from error
    if not isinstance(environment, dict) or not str(environment.get("working_dir", "")).startswith("/"):
        raise _wrong(ray_job, repr(text))
    return environment


def write_submitter_files(ray_job: dict[str, Any], config_map: dict[str, Any], root: Path) -> Path:
    """Write the mounted ConfigMap below `root`, the submitter's `/`, and return where working_dir is on this machine.

    Raises RehearsalError when the ConfigMap is mounted outside working_dir: Ray would send an empty folder.
    """
    mount = PurePosixPath(code_volume(ray_job)[1])
    working_dir = PurePosixPath(runtime_env(ray_job)["working_dir"])
    if not mount.is_relative_to(working_dir):
        raise RehearsalError(
            f"RayJob {name_of(ray_job)} mountPath",
            mount,
            f"a folder below runtimeEnvYAML's working_dir {working_dir}",
            "Ray sends working_dir only; mount the code inside it.",
        )
    project(config_map, root / mount.relative_to("/"))
    return root / working_dir.relative_to("/")


def project(config_map: dict[str, Any], folder: Path) -> None:
    """Write `folder` as the kubelet does: key -> ..data/key, and ..data -> ..<timestamp>, swapped when keys change."""
    data = config_map.get("data") or {}
    if not data:
        raise RehearsalError(f"ConfigMap {name_of(config_map)} data", "empty", "the job's code", "See k8s/ray_job.py.")
    if "__init__.py" not in data:
        # The repository is installed here: its package would win over a folder without one, and be what is tested.
        raise RehearsalError(
            f"ConfigMap {name_of(config_map)} data",
            f"no __init__.py among {', '.join(sorted(data))}",
            "a whole Python package",
            "Send __init__.py too: without it the rehearsal would run the repository's code, not the ConfigMap's.",
        )
    generation = folder / time.strftime("..%Y_%m_%d_%H_%M_%S.0000000000")
    generation.mkdir(parents=True)
    (folder / "..data").symlink_to(generation.name)
    for key, text in data.items():
        (generation / key).write_text(text, encoding="utf-8")
        (folder / key).symlink_to(Path("..data") / key)


def _wrong(ray_job: dict[str, Any], value: str) -> RehearsalError:
    return RehearsalError(
        f"RayJob {name_of(ray_job)} spec.runtimeEnvYAML",
        value,
        "a YAML mapping with an absolute working_dir",
        "Without one no code reaches the cluster: see k8s/ray_job.py.",
    )
