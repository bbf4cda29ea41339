"""Reading the cloud assembly, the cluster's shape, and the submitter's files."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from ray._private.runtime_env.packaging import create_package, get_uri_for_directory

from rehearsal.assembly import code_volume, kubernetes_objects, read_assembly, resolve
from rehearsal.errors import RehearsalError
from rehearsal.shape import GIB, Shape, cluster_shape, scale_to_memory
from rehearsal.working_dir import runtime_env, write_submitter_files
from tests.rehearsal.assemblies import (
    CLUSTER_NAME,
    RUN_NAME,
    config_map,
    joined,
    ray_cluster,
    ray_job,
    training_code,
    write_assembly,
    write_training_assembly,
)

CODE = {"__init__.py": "", "train.py": "print('hello')\n"}


def test_objects_come_out_of_plain_and_joined_manifests(tmp_path: Path) -> None:
    objects = read_assembly(write_training_assembly(tmp_path, CODE))
    assert objects.ray_cluster["metadata"]["name"] == CLUSTER_NAME
    assert "s3://known-after-deploy-Results1234/runs" in objects.ray_job["spec"]["entrypoint"]
    assert objects.config_map["data"] == CODE


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", "plain"),
        ({"Ref": "Bucket"}, "known-after-deploy-Bucket"),
        ({"Fn::GetAtt": ["Role", "Arn"]}, "known-after-deploy-Role-Arn"),
        ({"Fn::ImportValue": "app-dev-Network:Export"}, "known-after-deploy-app-dev-Network-Export"),
        (
            {"Fn::Select": [3, {"Fn::Split": ["/", {"Fn::ImportValue": "Gpu:Arn"}]}]},
            "known-after-deploy-3-Gpu-Arn",
        ),
        ({"Fn::Join": ["-", ["a", {"Ref": "B"}, {"Fn::Join": ["", ["c", "d"]]}]]}, "a-known-after-deploy-B-cd"),
        ({"Fn::Sub": 'x${A}"; $(rm)'}, "known-after-deploy-x-A-rm"),
    ],
)
def test_intrinsics_become_words_that_are_safe_in_json_and_in_a_shell(value: Any, text: str) -> None:
    assert resolve(value) == text


def test_a_job_without_its_cluster_or_code_is_named(tmp_path: Path) -> None:
    def error(name: str, *objects: dict[str, Any]) -> str:
        with pytest.raises(RehearsalError) as raised:
            read_assembly(write_assembly(tmp_path / name, list(objects)))
        return str(raised.value)

    cluster, job, code = ray_cluster(), ray_job(), config_map(CODE)
    assert error("a", job, code).startswith("RayCluster: 0 in the assembly (none)")
    assert error("b", cluster, code).startswith("RayJob: 0 in the assembly")
    assert error("c", cluster, job, job, code).startswith(f"RayJob: 2 in the assembly ({RUN_NAME}, {RUN_NAME})")
    assert error("d", cluster, job, config_map(CODE, "other")).startswith(f"ConfigMap {RUN_NAME}, which")
    elsewhere = {**job, "spec": {**job["spec"], "clusterSelector": {"ray.io/cluster": "ray-other"}}}
    assert "clusterSelector" in error("e", cluster, elsewhere, code)


def test_other_config_maps_are_not_mistaken_for_the_code(tmp_path: Path) -> None:
    folder = write_assembly(tmp_path, [config_map({"a": "b"}, "other"), ray_cluster(), ray_job(), config_map(CODE)])
    assert read_assembly(folder).config_map["data"] == CODE


def test_an_empty_folder_is_no_assembly(tmp_path: Path) -> None:
    with pytest.raises(RehearsalError, match="assembly: "):
        read_assembly(tmp_path)


def test_a_manifest_that_is_no_list_of_objects_is_named(tmp_path: Path) -> None:
    write_assembly(tmp_path, joined([config_map({})], "data", {"Ref": 'Quote"'}))
    template = tmp_path / "Training.template.json"
    template.write_text(template.read_text().replace('[{\\"apiVersion', "[{apiVersion"))
    with pytest.raises(RehearsalError, match=r"Training.template.json Manifest0.Manifest"):
        list(kubernetes_objects(template))


@pytest.mark.parametrize("mounts", [0, 2])
def test_the_submitter_mounts_one_config_map(mounts: int) -> None:
    job = ray_job()
    container = job["spec"]["submitterPodTemplate"]["spec"]["containers"][0]
    container["volumeMounts"] *= mounts
    with pytest.raises(RehearsalError, match=f"{mounts} of a ConfigMap"):
        code_volume(job)


def test_world_size_is_replicas_times_gpus() -> None:
    assert cluster_shape(ray_cluster(replicas=3, gpus="8")).world_size == 24


@pytest.mark.parametrize(("replicas", "gpus"), [(0, "4"), (None, "4"), (2, "0"), (2, None), (2, "four")])
def test_a_cluster_without_workers_or_gpus_is_refused(replicas: Any, gpus: Any) -> None:
    with pytest.raises(RehearsalError, match="a whole number of at least 1"):
        cluster_shape(ray_cluster(replicas=replicas, gpus=gpus))


def test_a_second_worker_group_is_refused() -> None:
    cluster = ray_cluster()
    cluster["spec"]["workerGroupSpecs"] *= 2
    with pytest.raises(RehearsalError, match="2 groups"):
        cluster_shape(cluster)


@pytest.mark.parametrize(
    ("available", "scaled"),
    [(100.0, Shape(2, 4)), (11.0, Shape(2, 4)), (10.9, Shape(2, 3)), (5.0, Shape(2, 1)), (4.0, Shape(1, 1))],
)
def test_the_cluster_is_scaled_to_memory_and_keeps_its_pods_longest(available: float, scaled: Shape) -> None:
    assert scale_to_memory(Shape(2, 4), int(available * GIB)) == scaled


def test_memory_for_no_process_at_all_is_an_error() -> None:
    with pytest.raises(RehearsalError, match=r"memory: 1\.0 GiB available"):
        scale_to_memory(Shape(2, 4), GIB)


def test_ray_packs_each_file_of_the_mounted_config_map_once(tmp_path: Path) -> None:
    import zipfile

    job, code = ray_job(), training_code()
    working_dir = write_submitter_files(job, config_map(code), tmp_path)
    assert working_dir == tmp_path / "opt/job"

    def packed(excludes: list[str]) -> list[str]:
        target = tmp_path / f"{len(excludes)}.zip"
        create_package(str(working_dir), target, include_gitignore=True, excludes=excludes)
        with zipfile.ZipFile(target) as file:
            return [Path(name).name for name in file.namelist() if not name.endswith("/")]

    assert sorted(packed(runtime_env(job)["excludes"])) == sorted(code)
    # Without the job's excludes each file travels three times: the test is not blind.
    assert sorted(packed([])) == sorted([*code] * 3)
    assert get_uri_for_directory(str(working_dir), include_gitignore=True, excludes=["..*"]).startswith("gcs://")


def test_the_config_map_is_mounted_through_symbolic_links_as_the_kubelet_does(tmp_path: Path) -> None:
    write_submitter_files(ray_job(), config_map(CODE), tmp_path)
    mount = tmp_path / "opt/job/training"
    assert str((mount / "train.py").readlink()) == "..data/train.py"
    assert re.fullmatch(r"\.\.\d{4}_\d\d_\d\d_\d\d_\d\d_\d\d\.\d+", str((mount / "..data").readlink()))
    assert (mount / "train.py").read_text() == CODE["train.py"]


def test_code_mounted_outside_working_dir_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RehearsalError, match=r"mountPath: /opt/training"):
        write_submitter_files(ray_job(mount_path="/opt/training"), config_map(CODE), tmp_path)


@pytest.mark.parametrize("text", ["", "env_vars: {}", "working_dir: training", "[", "- a"])
def test_a_runtime_environment_without_working_dir_is_refused(text: str) -> None:
    job = ray_job()
    job["spec"]["runtimeEnvYAML"] = text
    with pytest.raises(RehearsalError, match="runtimeEnvYAML"):
        runtime_env(job)


def test_an_empty_config_map_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RehearsalError, match="data: empty"):
        write_submitter_files(ray_job(), config_map({}), tmp_path)


def test_code_that_the_installed_package_would_hide_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RehearsalError, match=r"no __init__\.py among train\.py"):
        write_submitter_files(ray_job(), config_map({"train.py": ""}), tmp_path)


def test_the_fixture_is_what_cdk_writes() -> None:
    value = joined([{"a": "x BUCKET y"}], "BUCKET", {"Ref": "B"})
    assert json.loads(resolve(value)) == [{"a": "x known-after-deploy-B y"}]
