"""Bad input is refused when an environment is loaded: field, value, what was expected, what to do."""

from pathlib import Path
from typing import Any

import pytest

from environments.loading import SettingsError, environment_names, load
from environments.settings import Settings
from tests.synthesis import ENVIRONMENTS, settings_with


def test_the_shipped_environments_load() -> None:
    assert tuple(environment_names()) == ENVIRONMENTS
    assert [load(name).world_size for name in ENVIRONMENTS] == [8, 8]


def test_dev_and_prod_differ_where_it_matters() -> None:
    dev, prod = load("dev"), load("prod")
    assert (dev.network.nat_gateways, prod.network.nat_gateways) == (1, 3)
    assert (dev.termination_protection, prod.termination_protection) == (False, True)
    assert (dev.results.keep, prod.results.keep) == (False, True)
    assert dev.region == "us-east-2"
    assert len(dev.network.availability_zones) == 3


def test_unknown_environment() -> None:
    with pytest.raises(SettingsError) as error:
        load("staging")
    assert str(error.value) == (
        "environment = 'staging'\n"
        "    expected: one of dev, prod\n"
        "    to do:    pass -c environment=NAME (with make: ENV=NAME), or copy environments/dev.toml to "
        "environments/staging.toml"
    )


def test_a_file_that_is_not_toml(tmp_path: Path) -> None:
    (tmp_path / "odd.toml").write_text("project = \n")
    with pytest.raises(SettingsError, match=r"environments/odd.toml is not TOML: .*line 1"):
        load("odd", tmp_path)


def test_the_whole_text_of_one_error() -> None:
    with pytest.raises(SettingsError) as error:
        settings_with({"gpu_nodes.count": 0})
    assert str(error.value) == (
        "environments/dev.toml is not valid: 1 problem\n"
        "\n"
        "  gpu_nodes.count = 0\n"
        "    expected: greater than or equal to 1\n"
        "    to do:    Give the number of GPU nodes, 1 to 64."
    )


@pytest.mark.parametrize(
    ("changes", "field", "expected", "remedy"),
    [
        ({"gpu_nodes.cuont": 2}, "gpu_nodes.cuont is unknown", "count, disk_gib", "write count instead"),
        ({"shoe_size": 43}, "shoe_size is unknown", "capacity, charts", "remove it: nothing reads it"),
        ({"region": None}, "region is missing", "a value", "Name the AWS region"),
        ({"results": None}, "results is missing", "a value", "write the table [results]"),
        ({"gpu_nodes.count": "2"}, 'gpu_nodes.count = "2"', "a valid integer", "number of GPU nodes"),
        ({"gpu_nodes.count": 1.5}, "gpu_nodes.count = 1.5", "a valid integer", "number of GPU nodes"),
        ({"gpu_nodes.placement_group": "no"}, 'gpu_nodes.placement_group = "no"', "a valid boolean", "Write true"),
        ({"gpu_nodes.instance_type": "g7.huge"}, '"g7.huge"', "of the table: g6.12xlarge, m7i.xlarge", "GPUs and EFA"),
        ({"gpu_nodes.instance_type": "m7i.xlarge"}, '"m7i.xlarge"', "with GPUs and EFA interfaces", "g6.12xlarge"),
        ({"system_nodes.instance_type": "g6.12xlarge"}, '"g6.12xlarge"', "without GPUs", "m7i.xlarge"),
        ({"gpu_nodes.disk_gib": 20}, "gpu_nodes.disk_gib = 20", "greater than or equal to 200", "DiskPressure"),
        ({"network.availability_zones": ["us-east-2a"]}, "availability_zones", "at least 2 items", "two to six"),
        (
            {"network.availability_zones": ["us-east-2a", "us-east-2a"]},
            "network.availability_zones",
            "each zone once",
            "two to six zones",
        ),
        (
            {"network.availability_zones": ["us-east-2a", "us-west-2b"]},
            "settings does not fit together",
            "region us-east-2: us-west-2b is not",
            "change one of them",
        ),
        ({"network.nat_gateways": 4}, "network does not fit together", "at most one per zone, 3 here", "change one"),
        ({"network.vpc_cidr": "10.0.0.1/16"}, '"10.0.0.1/16"', "no host bits set", "private IPv4 network"),
        (
            {"cluster.public_endpoint_cidrs": ["0.0.0.0/0"]},
            "cluster.public_endpoint_cidrs",
            "0.0.0.0/0 opens the API to the internet",
            "your office's address",
        ),
        (
            {"cluster.public_endpoint_cidrs": ["203.0.113.0/24"]},
            "cluster.public_endpoint_cidrs",
            "203.0.113.0/24 is reserved for documentation",
            "your office's address",
        ),
        ({"network.vpc_cidr": "8.8.0.0/16"}, '"8.8.0.0/16"', "a private network of /16", "private IPv4 network"),
        ({"network.vpc_cidr": "10.0.0.0/8"}, '"10.0.0.0/8"', "a private network of /16", "private IPv4 network"),
        ({"network.vpc_cidr": "10.0.0.0/18"}, "network does not fit", "/17 or larger for 3 zones", "change one"),
        (
            {"cluster.public_endpoint_cidrs": ["10.0.0.0/8"]},
            "cluster.public_endpoint_cidrs",
            "10.0.0.0/8 is private",
            "your office's address",
        ),
        ({"gpu_nodes.count": 65}, "gpu_nodes.count = 65", "less than or equal to 64", "1 to 64"),
        ({"training.seed": 2**32}, "training.seed", "less than or equal to 4294967295", "32 bits"),
        ({"training.deadline_hours": 169}, "training.deadline_hours", "less than or equal to 168", "stops itself"),
        ({"training.attempt": 0}, "training.attempt = 0", "greater than or equal to 1", "run the same job again"),
        (
            {"ray.transport": {"NCCL_DEBUG": "INFO"}},
            "ray.transport",
            "also FI_PROVIDER, NCCL_NET_PLUGIN, NCCL_SOCKET_IFNAME",
            "each value in quotes",
        ),
        ({"cluster.kubernetes_version": 1.36}, "cluster.kubernetes_version = 1.36", "a valid string", "in quotes"),
        ({"cluster.admin_principals": ["me"]}, "cluster.admin_principals.0", "arn:aws", "full IAM role"),
        ({"capacity.mode": "guess"}, 'capacity.mode = "guess"', "'probe' or 'zone'", "Write probe"),
        ({"capacity.mode": "zone"}, "capacity does not fit together", "capacity.zone with mode zone", "change one"),
        (
            {"capacity.mode": "zone", "capacity.zone": "us-east-2d"},
            "settings does not fit together",
            "capacity.zone of network.availability_zones: us-east-2a",
            "change one of them",
        ),
        ({"ray.transport": {"PATH": "/"}}, "ray.transport.PATH", "NCCL", "each value in quotes"),
        ({"ray.image": "train image"}, "ray.image", "text that matches", "with a tag or a digest"),
        ({"training.model": "./my-model"}, 'training.model = "./my-model"', "matches", "make rehearse MODEL=folder"),
        ({"training.model": "a/b; rm -rf /"}, "training.model", "matches", "Hugging Face hub"),
        ({"training.data": "/data/my.txt"}, "training.data", "'stdlib' or 'synthetic'", "Write stdlib"),
        ({"training.learning_rate": 0.0}, "training.learning_rate = 0.0", "greater than 0", "2e-5"),
        ({"account": "12"}, 'account = "12"', "matches", "12 digits in quotes"),
    ],
)
def test_bad_values(changes: dict[str, Any], field: str, expected: str, remedy: str) -> None:
    with pytest.raises(SettingsError) as error:
        settings_with(changes)
    header, _, what, expectation, to_do = str(error.value).split("\n")
    assert header == "environments/dev.toml is not valid: 1 problem"
    assert field in what
    assert expectation.startswith("    expected: ")
    assert expected in expectation
    assert to_do.startswith("    to do:    ")
    assert remedy in to_do


def test_every_problem_is_listed_at_once() -> None:
    with pytest.raises(SettingsError, match="2 problems"):
        settings_with({"gpu_nodes.count": 0, "training.steps": 0})


def test_settings_are_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        load("dev").gpu_nodes.count = 3  # type: ignore[misc]


def test_every_setting_says_what_to_write() -> None:
    for name, field in Settings.model_fields.items():
        model = field.annotation
        for leaf, leaf_field in getattr(model, "model_fields", {}).items():
            nested = getattr(leaf_field.annotation, "model_fields", None)
            assert nested or leaf_field.description, f"{name}.{leaf}"
