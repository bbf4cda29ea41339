"""The package runs in the container as it is: flat, small, importing only what the image holds."""

import ast
import sys
from pathlib import Path

import pytest

import training

FILES = sorted(Path(training.__file__).parent.glob("*.py"))
# The AWS Ray Train image's own packages; no others are installed for a job.
IN_IMAGE = {"torch", "ray", "transformers", "numpy", "pyarrow", "tokenizers", "safetensors", "huggingface_hub"}
# A ConfigMap holds 1 MiB, in etcd, together with its last-applied copy; the code is to stay far from that.
LARGEST_TOTAL = 100_000


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            found.add((node.module or "").partition(".")[0])
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_module_imports_only_what_the_image_holds(path: Path) -> None:
    assert imports(path) - IN_IMAGE - {"training"} <= sys.stdlib_module_names


def test_the_walk_sees_imports() -> None:
    assert imports(Path(training.__file__).with_name("train.py")) >= {"ray", "training", "sys"}


def test_the_package_fits_a_config_map() -> None:
    package = Path(training.__file__).parent
    assert {path.name for path in package.iterdir() if path.is_dir()} <= {"__pycache__"}
    assert 10_000 < sum(path.stat().st_size for path in FILES) < LARGEST_TOTAL
