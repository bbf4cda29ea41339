"""Commits as folders."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cdk_diff.errors import CallError


def git(*arguments: str) -> str:
    """Runs git in the current directory.

    Raises:
        CallError: it failed.
    """
    command = ["git", *arguments]
    done = subprocess.run(command, capture_output=True, text=True)  # noqa: S603 - no shell, and the command is ours
    if done.returncode:
        raise CallError(f"{' '.join(command)} failed:\n{done.stderr.strip()}")
    return done.stdout.strip()


@contextmanager
def checked_out(commit: str, folder: Path) -> Iterator[Path]:
    """``commit`` as a git worktree in ``folder``, for as long as the context lasts."""
    git("worktree", "add", "--detach", str(folder), commit)
    try:
        yield folder
    finally:
        git("worktree", "remove", "--force", str(folder))
