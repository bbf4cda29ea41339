"""`constructs/` is a source root. As a package it would shadow the PyPI package that aws_cdk imports."""

import ast
import subprocess
import sys
from pathlib import Path

import constructs
import pytest

from tests.synthesis import REPOSITORY


def _imports(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    return names | {
        node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module and not node.level
    }


def _top_level_imports(folder: str) -> dict[Path, set[str]]:
    return {path: {name.partition(".")[0] for name in _imports(path)} for path in (REPOSITORY / folder).rglob("*.py")}


def test_constructs_is_the_pypi_package() -> None:
    assert constructs.__file__ is not None
    assert not Path(constructs.__file__).is_relative_to(REPOSITORY / "constructs")


def test_the_source_root_is_no_package() -> None:
    assert not (REPOSITORY / "constructs" / "__init__.py").exists()
    assert [path.name for path in (REPOSITORY / "constructs").iterdir() if path.is_dir() and path.name[0] != "_"] == [
        "eks_ray_train"
    ]


@pytest.mark.parametrize(
    ("folder", "refused"),
    [
        ("training", {"aws_cdk", "constructs", "cdk8s", "eks_ray_train", "environments"}),
        ("k8s", {"aws_cdk", "torch", "ray", "environments", "eks_ray_train"}),
        ("stacks", {"torch", "ray"}),
        ("constructs", {"torch", "ray"}),  # the checks use training/plan_*.py, which import neither
        ("environments", {"aws_cdk", "constructs", "torch", "ray"}),
    ],
)
def test_layers_do_not_import_what_is_not_theirs(folder: str, refused: set[str]) -> None:
    files = _top_level_imports(folder)
    assert files
    assert {path: names & refused for path, names in files.items() if names & refused} == {}


def test_the_command_line_starts_without_jsii() -> None:
    loaded = "import sys, ops.main; print(sorted({'aws_cdk', 'cdk8s', 'jsii', 'torch', 'ray'} & sys.modules.keys()))"
    run = subprocess.run([sys.executable, "-c", loaded], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_only_the_app_reads_context_and_attaches_nag() -> None:
    for folder in ("stacks", "constructs", "k8s", "environments"):
        for path in (REPOSITORY / folder).rglob("*.py"):
            text = path.read_text()
            assert "get_context" not in text, path
            assert "AwsSolutionsChecks" not in text, path
