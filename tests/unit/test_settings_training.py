"""[training]: what would have no effect, never be reached, or be refused by the job on nodes that are paid for."""

from typing import Any

import pytest

from environments.loading import SettingsError
from tests.synthesis import settings_with
from tests.unit.refusals import check_refusal, refused_fields
from training.arguments import parse
from training.errors import InputError


@pytest.mark.parametrize(
    ("changes", "field", "expected", "remedy"),
    [
        ({"training.seed": 2**32}, "training.seed", "less than or equal to 4294967295", "32 bits"),
        ({"training.deadline_hours": 169}, "training.deadline_hours", "less than or equal to 168", "stops itself"),
        ({"training.attempt": 0}, "training.attempt = 0", "greater than or equal to 1", "run the same job again"),
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
    ],
)
def test_bad_values(changes: dict[str, Any], field: str, expected: str, remedy: str) -> None:
    check_refusal(changes, field, expected, remedy)


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
    ],
)
def test_each_setting_that_is_ignored_or_missing_is_listed(changes: dict[str, Any], fields: list[str]) -> None:
    assert refused_fields(changes) == fields


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
        parse([word for name, value in flags.items() for word in (f"--{name}", value)])
