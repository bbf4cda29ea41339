"""The package runs in the container as it is: flat, small, importing only what the image holds."""

import ast
import json
import sys
from pathlib import Path

import pytest

import training
from eks_ray_train.training_job import PLANNING, read_code

FILES = sorted(Path(training.__file__).parent.glob("*.py"))
# The AWS Ray Train image's own packages; no others are installed for a job.
IN_IMAGE = {"torch", "ray", "transformers", "numpy", "pyarrow", "tokenizers", "safetensors", "huggingface_hub"}
# What of it travels to the cluster; the rest is for the checks at synth.
IN_THE_JOB = read_code(Path(training.__file__).parent)
# As JSON. The check at synth refuses more than 200 KiB: they travel inside a CloudFormation resource.
LARGEST_TOTAL = 195_000


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            found.add((node.module or "").partition(".")[0])
    return found


def own_modules(path: Path) -> set[str]:
    """The files of training/ that it imports: always as `from training.module import name`."""
    nodes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
    named = [f"training.{alias.name}" for node in nodes if node.module == "training" for alias in node.names]
    named += [node.module for node in nodes if node.module and node.module.startswith("training.")]
    return {f"{name.partition('.')[2]}.py" for name in named}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_module_imports_only_what_the_image_holds(path: Path) -> None:
    assert imports(path) - IN_IMAGE - {"training"} <= sys.stdlib_module_names


def test_the_walk_sees_imports() -> None:
    assert imports(Path(training.__file__).with_name("train.py")) >= {"ray", "training", "sys"}


def test_what_stays_at_home_is_there_and_nothing_in_the_job_imports_it() -> None:
    assert {path.name for path in FILES} - IN_THE_JOB.keys() == PLANNING
    wanted = {name for path in FILES if path.name in IN_THE_JOB for name in own_modules(path)}
    assert {"loop.py", "plan_bytes.py"} <= wanted <= IN_THE_JOB.keys()


def test_the_package_fits_a_config_map() -> None:
    package = Path(training.__file__).parent
    assert {path.name for path in package.iterdir() if path.is_dir()} <= {"__pycache__"}
    assert 10_000 < len(json.dumps(IN_THE_JOB)) < LARGEST_TOTAL
