"""The RayJob and its code, as the environments emit them."""

from typing import Any

import cdk8s
import pytest
import yaml

from k8s.ray_job import RayJobChart
from tests.objects import spec_of, submitter_pod, the_one
from tests.synthesis import CODE, ENVIRONMENTS, REPOSITORY, manifests, resources, settings_with, synthesise, templates
from training.arguments import parse


@pytest.mark.failure_mode("F1")
def test_a_changed_parameter_is_a_new_job_on_the_same_cluster() -> None:
    before, after = templates("dev")["Training"], synthesise(settings_with({"training.steps": 300}))["Training"]
    assert _names(before, "RayCluster") == _names(after, "RayCluster")
    assert _names(before, "RayJob") != _names(after, "RayJob")
    assert len(_ids(after) - _ids(before)) == len(_ids(before) - _ids(after)) == 1


@pytest.mark.failure_mode("F2")
def test_a_changed_image_is_a_new_cluster_and_a_new_job() -> None:
    image = "public.ecr.aws/deep-learning-containers/ray:train-ml-cuda-v1.1.0"
    before, after = templates("dev")["Training"], synthesise(settings_with({"ray.image": image}))["Training"]
    assert _names(before, "RayCluster") != _names(after, "RayCluster")
    assert _names(before, "RayJob") != _names(after, "RayJob")
    changed = [name for name in _ids(after) - _ids(before) if name.startswith("RayTraining")]
    assert len(changed) == 2  # besides the fabric check, which runs the image too


def test_another_attempt_runs_the_same_thing_anew() -> None:
    again = synthesise(settings_with({"training.attempt": 2}))["Training"]
    assert _names(again, "RayJob") != _names(templates("dev")["Training"], "RayJob")
    assert _names(again, "RayCluster") == _names(templates("dev")["Training"], "RayCluster")


def test_changed_code_is_a_new_job() -> None:
    settings = settings_with({})
    before = synthesise(settings, code={**CODE, "train.py": "a = 1\n"})["Training"]
    after = synthesise(settings, code={**CODE, "train.py": "a = 2\n"})["Training"]
    assert _names(before, "RayJob") != _names(after, "RayJob")
    assert _names(before, "RayCluster") == _names(after, "RayCluster")


def _names(template: dict[str, Any], kind: str) -> list[str]:
    return [obj["metadata"]["name"] for obj in manifests(template) if obj["kind"] == kind]


def _ids(template: dict[str, Any]) -> set[str]:
    return set(resources(template, "Custom::AWSCDK-EKS-KubernetesResource"))


@pytest.mark.failure_mode("F3")
def test_the_job_selects_the_standing_cluster_and_sets_nothing_that_excludes() -> None:
    spec = spec_of("RayJob")
    assert spec["clusterSelector"] == {"ray.io/cluster": the_one("RayCluster")["metadata"]["name"]}
    assert spec["submissionMode"] == "K8sJobMode"
    refused = {"rayClusterSpec", "backoffLimit", "suspend", "shutdownAfterJobFinishes", "ttlSecondsAfterFinished"}
    assert not (refused | {"deletionStrategy"}) & spec.keys()


@pytest.mark.failure_mode("F4")
@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_names_are_within_the_operators_limits(environment: str) -> None:
    assert len(the_one("RayJob", environment)["metadata"]["name"]) <= 47
    assert len(the_one("RayCluster", environment)["metadata"]["name"]) <= 53


@pytest.mark.failure_mode("F10")
@pytest.mark.failure_mode("F11")
def test_deadlines() -> None:
    spec = spec_of("RayJob")
    # The operator only marks the job as failed; what ends it is the deadline in its command line, which is earlier.
    assert _options()["--deadline-seconds"] == str(4 * 3600)
    assert spec["preRunningDeadlineSeconds"] == 1500
    assert spec["activeDeadlineSeconds"] == 1500 + int(_options()["--wait-seconds"]) + 4 * 3600


@pytest.mark.failure_mode("F6")
@pytest.mark.failure_mode("F7")
def test_the_submitter_is_a_small_pod_of_the_system_node() -> None:
    pod = submitter_pod()
    assert pod["nodeSelector"] == {"role": "system"}
    assert pod["restartPolicy"] == "Never"
    assert pod["containers"][0]["resources"]["requests"] == {"cpu": "500m", "memory": "1Gi"}
    assert spec_of("RayJob")["submitterConfig"] == {"backoffLimit": 2}  # an evicted one follows the running job


def test_the_code_travels_as_the_jobs_working_directory() -> None:
    runtime_env = yaml.safe_load(spec_of("RayJob")["runtimeEnvYAML"])
    assert (runtime_env["working_dir"], runtime_env["excludes"]) == ("/opt/job", ["..*"])
    (container,) = submitter_pod()["containers"]
    assert container["volumeMounts"] == [{"name": "code", "mountPath": "/opt/job/training", "readOnly": True}]
    (volume,) = submitter_pod()["volumes"]
    assert volume == {"name": "code", "configMap": {"name": the_one("ConfigMap")["metadata"]["name"]}}
    files = {path.name: path.read_text() for path in (REPOSITORY / "training").glob("*.py")}
    # What plans a run is for the checks; tests/training shows that the job does without.
    assert the_one("ConfigMap")["data"] == {name: files[name] for name in files.keys() - {"plan.py", "plan_memory.py"}}
    assert the_one("ConfigMap")["immutable"] is True


def test_an_empty_file_travels_too() -> None:
    chart = RayJobChart(
        cdk8s.App(),
        "Job",
        namespace="ray",
        ray_cluster_name="ray",
        image="registry/image:tag",
        code={"__init__.py": "", "train.py": "pass\n"},
        arguments={},
        attempt=1,
        environment={},
        results_uri="s3://bucket/runs",
        deadline_seconds=60,
    )
    config_map = next(obj for obj in chart.to_json() if obj["kind"] == "ConfigMap")
    assert sorted(config_map["data"]) == ["__init__.py", "train.py"]


@pytest.mark.failure_mode("G2")
def test_a_run_has_a_name_of_its_own() -> None:
    name = the_one("RayJob")["metadata"]["name"]
    assert spec_of("RayJob")["entrypoint"].startswith(f"python -m training.supervise --run-name {name} ")


@pytest.mark.failure_mode("G1")
def test_results_go_to_the_bucket() -> None:
    assert spec_of("RayJob")["entrypoint"].endswith("--results s3://token/runs")


def _options() -> dict[str, str]:
    words = spec_of("RayJob")["entrypoint"].split()
    return dict(zip(words[3::2], words[4::2], strict=True))


def test_the_entrypoint_holds_the_settings() -> None:
    options = _options()
    assert options["--model"] == "Qwen/Qwen2.5-1.5B"
    assert options["--revision"] == "8faed761d45a263340a0528343f099c05c9a4323"
    assert (options["--data"], options["--steps"], options["--seed"]) == ("stdlib", "200", "0")
    # Not counted by the job: with a worker missing it would train on the GPUs that are there.
    assert options["--workers"] == "8"
    assert (options["--sequence-length"], options["--micro-batch"], options["--learning-rate"]) == (
        "1024",
        "1",
        "2e-05",
    )


def test_what_the_job_is_held_against_comes_from_the_instance_table() -> None:
    options = _options()
    assert options["--peak-flops"] == "121000000000000"  # one L4, bfloat16, dense
    assert float(options["--usd-per-hour"]) == pytest.approx(9.5498, abs=1e-4)


def test_checkpoints_and_failures_follow_the_settings() -> None:
    options = _options()
    assert (options["--checkpoint-every"], options["--keep-checkpoints"], options["--max-failures"]) == ("50", "2", "3")
    assert (options["--mesh"], options["--accumulation"], options["--compile"]) == ("auto", "1", "off")
    assert options["--require-transport"] == "efa"
    assert "--resume" not in options
    off = synthesise(settings_with({"training.checkpoint_every": 0}))["Training"]
    entrypoint = next(obj for obj in manifests(off) if obj["kind"] == "RayJob")["spec"]["entrypoint"]
    assert "--keep-checkpoints" not in entrypoint  # training refuses it where nothing is kept


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_training_takes_the_command_line(environment: str) -> None:
    words = the_one("RayJob", environment)["spec"]["entrypoint"].replace("s3://token", "s3://bucket").split()
    assert words[:3] == ["python", "-m", "training.supervise"]
    assert parse(words[3:]).workers == 8
