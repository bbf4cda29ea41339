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
    try:
        done = subprocess.run(command, capture_output=True, text=True)  # noqa: S603 - no shell, and the command is ours
    except FileNotFoundError:
        raise CallError("git = not found\n    expected: git on PATH\n    to do:    install it") from None
    if done.returncode:
        raise CallError(
            f"{' '.join(command)} = {done.stderr.strip() or f'exit code {done.returncode}'}\n"
            f"    expected: exit code 0, in a git repository; this is {Path.cwd()}\n"
            "    to do:    run it inside the repository; if it was, mend what git says"
        )
    return done.stdout.strip()


@contextmanager
def checked_out(commit: str, folder: Path) -> Iterator[Path]:
    """``commit`` as a git worktree in ``folder``, for as long as the context lasts."""
    git("worktree", "add", "--detach", str(folder), commit)
    try:
        yield folder
    finally:
        git("worktree", "remove", "--force", str(folder))
