"""What the rules know, against data and packages of others."""

import re
import subprocess
import sys

import pytest
from moto.ec2.models.availability_zones_and_regions import RegionsAndZonesBackend

from eks_ray_train import versions
from eks_ray_train.checks.model import least_memory
from eks_ray_train.checks.subnets import addresses_needed
from eks_ray_train.checks.zones import DISALLOWED_ZONE_IDS, USUAL_NAMES
from k8s.fabric_check import MINIMUM_DRIVER
from tests.synthesis import REPOSITORY, settings_with
from tests.unit.checks.drafts import TODAY
from training.plan_model import QWEN2_5_1_5B, read_model


def test_the_zones_that_eks_refuses_have_their_usual_names() -> None:
    zones = {zone.name: zone.zone_id for all_zones in RegionsAndZonesBackend.zones.values() for zone in all_zones}
    named = {name: zone_id for name, zone_id in zones.items() if zone_id in DISALLOWED_ZONE_IDS.values()}
    assert named == USUAL_NAMES


def test_the_oldest_version_that_is_created_is_the_oldest_with_support() -> None:
    creatable = [minor for minor, support in versions.SUPPORT.items() if support.extended >= TODAY]
    assert min(creatable) == versions.OLDEST_CREATABLE_MINOR
    assert max(creatable) == versions.NEWEST_MINOR


def test_the_images_pytorch_and_ray_are_those_that_the_rehearsal_runs() -> None:
    pinned = dict(
        re.findall(r"^(ray|torch)(?:\[.*\])?==([\d.]+)$", (REPOSITORY / "requirements.txt").read_text(), re.M)
    )
    for contents in versions.IMAGES.values():
        assert (contents.ray, contents.torch) == (pinned["ray"], pinned["torch"])


@pytest.mark.parametrize(("minor", "driver"), [(30, 570), (33, 570), (34, 580), (36, 580)])
def test_drivers_by_kubernetes_version(minor: int, driver: int) -> None:
    assert versions.ami_driver(minor) == driver


@pytest.mark.parametrize(("cuda", "driver"), [("12.8.1", 525), ("13.0.2", 580)])
def test_drivers_by_cuda_version(cuda: str, driver: int) -> None:
    assert versions.driver_for_cuda(cuda) == driver


def test_the_fabric_check_wants_the_driver_that_the_newest_image_wants() -> None:
    assert versions.driver_for_cuda(versions.NEWEST_CUDA) == MINIMUM_DRIVER
    assert all(versions.version_tuple(image.cuda) <= (13, 0, 2) for image in versions.IMAGES.values())


def test_addresses_of_a_subnet() -> None:
    # 2 nodes of 2 x 30 addresses, 1 of 2 x 15, and 29 of others.
    assert addresses_needed(settings_with({}), interfaces=1) == 2 * 60 + 30 + 29
    # 32 EFA interfaces with an address each would take 31 more of every node.
    assert addresses_needed(settings_with({}), interfaces=32) == 2 * 91 + 30 + 29


@pytest.mark.parametrize(("sharding", "ways"), [("full", 8), ("auto", 4)])
def test_memory_holds_at_least_the_models_state(sharding: str, ways: int) -> None:
    settings, model = settings_with({"training.sharding": sharding}), read_model(QWEN2_5_1_5B)
    state = 16 * model.parameters / ways
    assert state < least_memory(settings, model) < state + 8e9


def test_the_checks_import_no_pytorch() -> None:
    script = "import sys, eks_ray_train.checks; print(sorted({'torch', 'ray', 'transformers'} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=REPOSITORY)
    assert found.stdout == "[]\n"
