"""Bad input is refused when an environment is loaded: field, value, what was expected, what to do."""

from pathlib import Path
from typing import Any

import pytest

from environments.loading import FOLDER, SettingsError, environment_names, load
from environments.settings import Settings
from tests.synthesis import ENVIRONMENTS, settings_with
from training.arguments import parse as parse_flags
from training.errors import InputError


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


def test_a_file_whose_name_no_stack_can_bear(tmp_path: Path) -> None:
    (tmp_path / "My_Env.toml").write_text((FOLDER / "dev.toml").read_text())
    with pytest.raises(SettingsError) as error:
        load("My_Env", tmp_path)
    assert str(error.value) == (
        "environments/My_Env.toml is not valid: 1 problem\n"
        "\n"
        "  the file's name = My_Env.toml\n"
        "    expected: up to 22 lower-case letters, digits and hyphens before .toml: it is part of every stack's name\n"
        "    to do:    rename the file, such as to my-env.toml"
    )


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
        (
            {"gpu_nodes.instance_type": "g7.huge"},
            'gpu_nodes.instance_type = "g7.huge"',
            "a type with GPUs and EFA, such as g5.8xlarge, ",
            "python -m eks_ray_train.instance_types",
        ),
        (
            {"gpu_nodes.instance_type": "g6.4xlarge"},
            'gpu_nodes.instance_type = "g6.4xlarge"',
            "a size of g6 that has EFA: g6.8xlarge, g6.12xlarge, g6.16xlarge, g6.24xlarge, g6.48xlarge. Sizes without "
            "EFA are left out, for nodes that train together need it",
            "choose one of these",
        ),
        ({"system_nodes.instance_type": "m5.xlarge"}, '"m5.xlarge"', "without GPUs: m7i.xlarge, m7i.2", "m7i.xlarge"),
        (
            {"gpu_nodes.ami_release": "1.36.1-20261399"},
            'gpu_nodes.ami_release = "1.36.1-20261399"',
            "there is no day 20261399",
            "Pin the EKS AMI release, such as 1.36.",
        ),
        ({"system_nodes.ami_release": "1.36.1"}, 'system_nodes.ami_release = "1.36.1"', "matches", "Pin the EKS AMI"),
        (
            {"gpu_nodes.parallel_pull": True, "gpu_nodes.ami_release": "1.35.5-20260505"},
            'gpu_nodes.ami_release = "1.35.5-20260505"',
            "one of 20260610 or newer with parallel_pull = true",
            "set parallel_pull = false",
        ),
        ({"ray.worker": {"cpu": 0}}, "ray.worker.cpu = 0", "greater than or equal to 1", "whole CPU cores"),
        ({"ray.worker": 40}, "ray.worker = 40", "an object", "ray.worker"),
        (
            {"gpu_nodes.instance_type": "m7i.xlarge"},
            '"m7i.xlarge"',
            "a type with GPUs and EFA, such as",
            "instance_types",
        ),
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
            'network.availability_zones = ["us-east-2a", "us-west-2b"]',
            "zones of region us-east-2, and not us-west-2b",
            "begin with us-east-2, such as us-east-2a and us-east-2b, or change region",
        ),
        ({"network.nat_gateways": 4}, "network.nat_gateways = 4", "at most one per zone", "set nat_gateways = 3, or 1"),
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
        (
            {"network.vpc_cidr": "10.0.64.0/18"},
            'network.vpc_cidr = "10.0.64.0/18"',
            "/17 or larger (a smaller number) for 3 zones",
            'set vpc_cidr = "10.0.0.0/16"',
        ),
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
            'add FI_PROVIDER = "efa", NCCL_NET_PLUGIN = "ofi", NCCL_SOCKET_IFNAME = "eth0"',
        ),
        ({"cluster.kubernetes_version": 1.36}, "cluster.kubernetes_version = 1.36", "text, in quotes", "in quotes"),
        ({"cluster.admin_principals": ["me"]}, "cluster.admin_principals.0", "arn:aws", "full IAM role"),
        ({"capacity.mode": "guess"}, 'capacity.mode = "guess"', "'zone' or 'reservation'", "Write hold"),
        ({"capacity": {"mode": "zone"}}, "capacity.zone is missing", "one with mode zone", "name one of"),
        (
            {"capacity": {"mode": "reservation"}},
            "capacity.reservation_id is missing",
            "one with mode reservation",
            "name it, such as cr-",
        ),
        (
            {"capacity": {"mode": "reservation", "reservation_id": "lt-12345678"}},
            'capacity.reservation_id = "lt-12345678"',
            "^cr-",
            "such as cr-",
        ),
        (
            {"capacity": {"mode": "probe", "hold_minutes": 60}},
            "capacity.hold_minutes = 60",
            "none with mode probe, which does not read it; it is for hold",
            "remove it",
        ),
        (
            {"capacity.zone": "us-east-2a"},
            'capacity.zone = "us-east-2a"',
            "none with mode hold, which does not read it; it is for zone",
            "remove it",
        ),
        (
            {"capacity": {"mode": "zone", "zone": "us-east-2a", "exclude_zones": ["us-east-2b"]}},
            'capacity.exclude_zones = ["us-east-2b"]',
            "none with mode zone, which does not read it; it is for hold, probe, offerings",
            "remove it",
        ),
        (
            {"capacity": {"mode": "zone", "zone": "us-east-2a", "zones": ["us-east-2a"]}},
            'capacity.zones = ["us-east-2a"]',
            "none with mode zone",
            "remove it",
        ),
        (
            {"capacity.reservation_id": "cr-0123456789abcdef0"},
            'capacity.reservation_id = "cr-0123456789abcdef0"',
            "none with mode hold",
            "remove it",
        ),
        (
            {"capacity.reservation_type": "on-demand"},
            'capacity.reservation_type = "on-demand"',
            "none with mode hold",
            "remove it",
        ),
        ({"capacity.hold_minutes": 14}, "capacity.hold_minutes = 14", "greater than or equal to 15", "15 to 720"),
        ({"capacity.hold_minutes": 721}, "capacity.hold_minutes = 721", "less than or equal to 720", "15 to 720"),
        (
            {"capacity.zones": ["us-east-2f"]},
            'capacity.zones = ["us-east-2f"]',
            "zones of network.availability_zones (us-east-2a, us-east-2b, us-east-2c), and us-east-2f is not",
            "remove it here, or add it there",
        ),
        (
            {"capacity.zones": ["us-east-2a"], "capacity.exclude_zones": ["us-east-2b"]},
            'capacity.exclude_zones = ["us-east-2b"]',
            "zones of those to look in (us-east-2a), and us-east-2b is not",
            "remove it",
        ),
        (
            {"capacity.exclude_zones": ["us-east-2a", "us-east-2b", "us-east-2c"]},
            "capacity.exclude_zones = [",
            "a zone left to look in of us-east-2a, us-east-2b, us-east-2c",
            "remove one",
        ),
        (
            {
                "capacity": {"mode": "reservation", "reservation_id": "cr-0123456789abcdef0"},
                "gpu_nodes.placement_group": True,
            },
            "gpu_nodes.placement_group = true",
            "false with capacity.mode reservation",
            "set placement_group = false",
        ),
        (
            {"capacity": {"mode": "zone", "zone": "us-east-2d"}},
            'capacity.zone = "us-east-2d"',
            "one of network.availability_zones: us-east-2a",
            "name one of these",
        ),
        (
            {"ray.transport": {"PATH": "/"}},
            "ray.transport.PATH is no such name",
            "a name that is text that matches",
            "remove it. Give",
        ),
        ({"ray.image": "train image"}, "ray.image", "text that matches", "with a tag or a digest"),
        ({"training.model": "./my-model"}, 'training.model = "./my-model"', "matches", "make rehearse MODEL=folder"),
        ({"training.model": "a/b; rm -rf /"}, "training.model", "matches", "Hugging Face hub"),
        ({"training.data": "/data/my.txt"}, "training.data", "matches", "Write stdlib"),
        ({"training.learning_rate": 0.0}, "training.learning_rate = 0.0", "greater than 0", "2e-5"),
        (
            {"training.data": "hf://datasets/a/b"},
            "training.data_revision is missing",
            "the commit of hf://datasets/a/b",
            "pin it",
        ),
        ({"training.text_field": "body"}, 'training.text_field = "body"', 'none with data = "stdlib"', "remove it"),
        (
            {"training.checkpoint_every": 201},
            "training.checkpoint_every = 201",
            "at most training.steps, 200",
            "lower it",
        ),
        (
            {"training.schedule": "cosine", "training.warmup_steps": 200},
            "training.warmup_steps = 200",
            "fewer than training.steps, 200",
            "raise steps",
        ),
        (
            {"training.evaluate_every": 20},
            "training.evaluation_sequences = 0",
            "more than 0 with evaluate_every = 20",
            "add evaluation_sequences = 64, or remove evaluate_every",
        ),
        (
            {"training.evaluation_sequences": 8},
            "training.evaluate_every = 0",
            "more than 0 with evaluation_sequences = 8",
            "add evaluate_every = 50, or remove evaluation_sequences",
        ),
        (
            {"training.evaluate_every": 201, "training.evaluation_sequences": 8},
            "training.evaluate_every = 201",
            "at most training.steps, 200",
            "lower it",
        ),
        (
            {"training.steps": 20, "training.checkpoint_every": 10, "training.evaluation_sequences": 8},
            "training.evaluate_every = 0",
            "more than 0",
            "add evaluate_every = 20, or remove",
        ),
        (
            {"gpu_nodes.count": 1, "training.sharding": "hsdp", "training.require_transport": "none"},
            'training.sharding = "hsdp"',
            "auto or full with gpu_nodes.count = 1",
            'set sharding = "auto"',
        ),
        ({"training.profile_steps": 196}, "training.profile_steps = 196", "at most 195, for the first 5", "lower it"),
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


def test_all_that_does_not_go_together_in_a_section_is_listed_at_once() -> None:
    with pytest.raises(SettingsError) as error:
        settings_with({"network.nat_gateways": 4, "network.vpc_cidr": "10.0.0.0/20"})
    assert [refusal.field for refusal in error.value.refusals] == ["network.vpc_cidr", "network.nat_gateways"]


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        (
            {"training.checkpoint_every": 201, "training.schedule": "cosine", "training.warmup_steps": 200},
            ["training.checkpoint_every", "training.warmup_steps"],
        ),
        (
            {"training.data_revision": "0" * 40, "training.text_field": "body"},
            ["training.data_revision", "training.text_field"],
        ),
        (
            {"capacity": {"mode": "zone", "hold_minutes": 60, "exclude_zones": ["us-east-2a"]}},
            ["capacity.exclude_zones", "capacity.hold_minutes", "capacity.zone"],
        ),
    ],
)
def test_a_section_lists_each_setting_that_is_ignored_or_missing(changes: dict[str, Any], fields: list[str]) -> None:
    with pytest.raises(SettingsError) as error:
        settings_with(changes)
    assert [refusal.field for refusal in error.value.refusals] == fields


@pytest.mark.parametrize(
    "changes",
    [
        {"checkpoint_every": 201},
        {"evaluate_every": 20},
        {"evaluation_sequences": 8},
        {"evaluate_every": 201, "evaluation_sequences": 8},
        {"profile_steps": 196},
        {"schedule": "cosine", "warmup_steps": 200},
        {"data_revision": "0" * 40},
        {"text_field": "body"},
    ],
)
def test_what_the_settings_refuse_the_job_would_refuse_on_paid_nodes(changes: dict[str, Any]) -> None:
    with pytest.raises(SettingsError):
        settings_with({f"training.{name}": value for name, value in changes.items()})
    own = {"run-name": "r", "model": "org/name", "data": "stdlib", "results": "/r", "steps": "200"}
    flags = own | {name.replace("_", "-"): str(value) for name, value in changes.items()}
    with pytest.raises(InputError):
        parse_flags([word for name, value in flags.items() for word in (f"--{name}", value)])


def test_a_section_that_is_refused_hides_none_that_does_not_go_with_another() -> None:
    with pytest.raises(SettingsError) as error:
        settings_with({"region": "us-west-2", "training.steps": 0})
    assert [refusal.field for refusal in error.value.refusals] == ["network.availability_zones", "training.steps"]


def test_so_is_what_does_not_go_together_between_sections() -> None:
    with pytest.raises(SettingsError) as error:
        settings_with(
            {
                "region": "us-west-2",
                "capacity": {"mode": "reservation", "reservation_id": "cr-0123456789abcdef0"},
                "gpu_nodes.placement_group": True,
            }
        )
    assert [refusal.field for refusal in error.value.refusals] == [
        "network.availability_zones",
        "gpu_nodes.placement_group",
    ]


@pytest.mark.parametrize("release", ["1.35.4-20260423", "1.36.0-20260610", "1.36.1-20261110", None])
def test_ami_releases_that_pull_in_parallel(release: str | None) -> None:
    changes = {"gpu_nodes.ami_release": release} if release else {}
    assert settings_with({"gpu_nodes.parallel_pull": True, **changes}).gpu_nodes.parallel_pull


def test_a_broken_ami_release_without_parallel_pull() -> None:
    nodes = settings_with({"gpu_nodes.parallel_pull": False, "gpu_nodes.ami_release": "1.35.5-20260505"}).gpu_nodes
    assert nodes.ami_release == "1.35.5-20260505"


def test_capacity_s_defaults() -> None:
    assert settings_with({"capacity.hold_minutes": None}).capacity.search.hold_minutes == 60
    assert settings_with({"capacity": {"mode": "probe"}}).capacity.search.hold_minutes is None
    named = settings_with({"capacity": {"mode": "reservation", "reservation_id": "cr-0123456789abcdef0"}})
    assert named.capacity.search.reservation_type == "on-demand"


def test_settings_are_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        load("dev").gpu_nodes.count = 3  # type: ignore[misc]


def test_every_setting_says_what_to_write() -> None:
    for name, field in Settings.model_fields.items():
        model = field.annotation
        for leaf, leaf_field in getattr(model, "model_fields", {}).items():
            nested = getattr(leaf_field.annotation, "model_fields", None)
            assert nested or leaf_field.description, f"{name}.{leaf}"
