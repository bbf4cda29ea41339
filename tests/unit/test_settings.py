"""An environment's file, loaded: what is wrong with it is told at once, setting by setting.

The settings of each table have tests of their own beside this one.
"""

from pathlib import Path
from typing import Any

import pytest

from environments.loading import FOLDER, SettingsError, environment_names, load
from environments.settings import Settings
from tests.synthesis import ENVIRONMENTS, settings_with
from tests.unit.refusals import check_refusal, refused_fields


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
        ({"ray.worker": 40}, "ray.worker = 40", "an object", "ray.worker"),
        ({"account": "12"}, 'account = "12"', "matches", "12 digits in quotes"),
    ],
)
def test_what_no_table_takes(changes: dict[str, Any], field: str, expected: str, remedy: str) -> None:
    check_refusal(changes, field, expected, remedy)


def test_every_problem_is_listed_at_once() -> None:
    with pytest.raises(SettingsError, match="2 problems"):
        settings_with({"gpu_nodes.count": 0, "training.steps": 0})


def test_a_section_that_is_refused_hides_none_that_does_not_go_with_another() -> None:
    changes = {"region": "us-west-2", "training.steps": 0}
    assert refused_fields(changes) == ["network.availability_zones", "training.steps"]


def test_so_is_what_does_not_go_together_between_sections() -> None:
    changes = {
        "region": "us-west-2",
        "capacity": {"mode": "reservation", "reservation_id": "cr-0123456789abcdef0"},
        "gpu_nodes.placement_group": True,
    }
    assert refused_fields(changes) == ["network.availability_zones", "gpu_nodes.placement_group"]


def test_settings_are_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        load("dev").gpu_nodes.count = 3  # type: ignore[misc]


def test_every_setting_says_what_to_write() -> None:
    for name, field in Settings.model_fields.items():
        model = field.annotation
        for leaf, leaf_field in getattr(model, "model_fields", {}).items():
            nested = getattr(leaf_field.annotation, "model_fields", None)
            assert nested or leaf_field.description, f"{name}.{leaf}"
