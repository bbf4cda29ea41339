"""A remedy that names a value mends what it is about: whoever follows it never meets the same finding again."""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

import pytest

from eks_ray_train.checks import Finding, check_dates, check_settings
from environments.loading import parse
from environments.settings import Settings
from tests.synthesis import settings_with
from tests.unit.checks.mutant import Mutant
from tests.unit.checks.mutants import MUTANTS

_VALUE = re.compile(r'([A-Za-z_.]+) = ("[^"]*"|true|false|[0-9]+)')


def alternatives(remedy: str) -> Iterator[dict[str, Any]]:
    """What to set, by name, for each way that ``remedy`` offers: `set a = 1 and b = 2, or c = 3` has two."""
    for part in re.split(r"; |\bor\b", remedy):
        if found := _VALUE.findall(part):
            yield {name: json.loads(value) for name, value in found}


def with_remedy(settings: Settings, finding: Finding, values: Mapping[str, Any]) -> Settings:
    """``settings`` with the remedy in place of what is there; names are of the finding's own section, or of any."""
    document = settings.model_dump(mode="json", exclude_none=True)
    for name, value in values.items():
        *path, key = _path(document, finding.field, name)
        section = document
        for part in path:
            section = section[part]
        section[key] = value
    return parse(document, source="the remedy")


def _path(document: Mapping[str, Any], field: str, name: str) -> list[str]:
    sections = field.split(",")[0].split(".")[:-1]
    if "." in name:
        return name.split(".")
    section: Any = document
    for part in sections:
        section = section[part]
    if name in section or name.isupper():
        return [*sections, name]
    (other,) = [key for key, values in document.items() if isinstance(values, dict) and name in values]
    return [other, name]


def _codes(settings: Settings, today: date) -> list[tuple[str, str]]:
    findings = [*check_settings(settings), *check_dates(settings, today)]
    return [(finding.code, finding.field) for finding in findings]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: f"{mutant.code}: {mutant.name}")
def test_what_a_remedy_sets_ends_the_finding(mutant: Mutant) -> None:
    broken = mutant.make()
    finding = broken.findings()[0]
    for values in alternatives(finding.remedy):
        mended = with_remedy(broken.settings, finding, values)
        assert mended != broken.settings, values
        assert (finding.code, finding.field) not in _codes(mended, broken.today), values


def test_remedies_that_name_a_value_are_read_at_all() -> None:
    named = {mutant.code: list(alternatives(mutant.make().findings()[0].remedy)) for mutant in MUTANTS}
    assert named["chart-version"] == [{"efa_device_plugin": "v0.5.32"}]
    assert named["transport-interface"] == [{"NCCL_SOCKET_IFNAME": "eth0"}]
    assert named["checkpoints-for-failures"] == [{"checkpoint_every": 50}, {"max_failures": 0}]
    assert {code for code, values in named.items() if values} >= {
        "kubernetes-creatable",
        "driver-fits-cuda",
        "kubectl-skew",
        "ami-version",
        "ray-version",
        "image-known",
        "capacity-block-type",
        "worker-memory",
        "head-memory",
        "gpu-memory",
        "training-deadline",
    }


@pytest.mark.parametrize(
    ("changes", "remedy"),
    [
        ({"training.micro_batch": 64}, "set micro_batch = "),
        (
            {"training.micro_batch": 1, "training.sequence_length": 32768},
            'set activation_checkpointing = "full"',
        ),
        (
            {"training.sequence_length": 5120, "training.reshard_after_forward": False},
            "set reshard_after_forward = true",
        ),
        (
            {"gpu_nodes.instance_type": "g6.8xlarge", "gpu_nodes.count": 4, "training.sharding": "hsdp"},
            'set sharding = "full"',
        ),
        (
            {"gpu_nodes.instance_type": "g6.8xlarge", "gpu_nodes.count": 1},
            "shorten training.sequence_length, or take larger GPUs",
        ),
    ],
)
def test_memory_names_the_least_change_that_fits(changes: dict[str, Any], remedy: str) -> None:
    (finding,) = [each for each in check_settings(settings_with(changes)) if each.code == "gpu-memory"]
    assert finding.remedy.startswith(remedy)


def test_the_batch_that_is_named_is_the_largest() -> None:
    (finding,) = check_settings(settings_with({"training.micro_batch": 64}))
    (values,) = alternatives(finding.remedy)
    assert check_settings(settings_with({"training.micro_batch": values["micro_batch"]})) == []
    (still,) = check_settings(settings_with({"training.micro_batch": values["micro_batch"] + 1}))
    assert still.code == "gpu-memory-room"


def test_the_deadline_counts_with_a_batch_that_fits() -> None:
    changes = {"training.micro_batch": 64, "training.sequence_length": 4096, "training.steps": 200_000}
    memory, deadline = check_settings(settings_with(changes))
    assert (memory.code, deadline.code) == ("gpu-memory", "training-deadline")
    assert "200,000 steps of 4,096 tokens per GPU" in deadline.expected
    hours, steps = alternatives(deadline.remedy)
    for values in (hours, steps):
        mended = with_remedy(with_remedy(settings_with(changes), deadline, values), memory, {"micro_batch": 1})
        assert check_settings(mended) == []


def test_dates_never_send_to_where_one_is() -> None:
    ended = check_dates(settings_with({}), date(2028, 8, 3))[0]
    assert (ended.code, ended.remedy) == (
        "kubernetes-ended",
        "update this app, whose newest Kubernetes version is 1.36",
    )
    ending = check_dates(settings_with({}), date(2027, 6, 10))[0]
    assert (ending.code, ending.remedy[:15]) == ("kubernetes-ending", "update this app")
    older = check_dates(settings_with({"cluster.kubernetes_version": "1.35"}), date(2027, 2, 1))[0]
    assert older.remedy == 'set kubernetes_version = "1.36"; a cluster that runs takes one minor at a time'
