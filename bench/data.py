"""Measures the training's token file beside Ray Data: ``python -m bench.data``.

The same texts, tokenizer, sequence length and batch, in turns, each with two readers on a local Ray.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console

from bench.data_report import Figures, render
from bench.data_sources import WAYS
from bench.data_task import write_task
from bench.data_turn import Turn, take_turn
from bench.errors import BenchError
from bench.synth import PROC
from training.errors import InputError

# Of Python's library, which has three times as many: 3,900 sequences.
MOST_BYTES = 4_000_000


def compare(rounds: int, most_bytes: int, tell: Callable[[str], None]) -> Figures:
    """Measure every way once in each round, the last of a round first in the next. Raises BenchError.

    `tell` is told what begins.
    """
    turns: dict[str, list[Turn]] = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory() as folder:
        try:
            task = write_task(Path(folder), most_bytes)
        except InputError as error:
            raise BenchError(error.field, error.value, error.expected, error.remedy) from error
        for number in range(rounds):
            for way in WAYS if number % 2 == 0 else reversed(WAYS):
                tell(f"round {number + 1} of {rounds}: {way}")
                turns[way].append(take_turn(way, task))
    return Figures(turns)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures, and prints tables or JSON."""
    parser = argparse.ArgumentParser(prog="python -m bench.data", description="the token file against Ray Data")
    parser.add_argument("--rounds", type=int, default=1, help="how often each is measured (default: 1)")
    parser.add_argument("--json", action="store_true", help="print all figures as JSON")
    options = parser.parse_args(arguments)
    if options.rounds < 1:
        parser.error(f"--rounds = {options.rounds}\n    expected: 1 or more\n    to do:    leave it out")
    if not (PROC / "self" / "smaps_rollup").exists():
        parser.error(
            f"platform = {sys.platform!r}\n    expected: Linux, whose /proc tells what a process shares\n"
            "    to do:    run it on Linux, or in a container"
        )
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    progress = Console(stderr=True)
    try:
        figures = compare(options.rounds, MOST_BYTES, progress.print)
    except BenchError as error:
        sys.exit(f"\n{error}\n")
    if options.json:
        print(json.dumps(figures.as_json(), indent=2))
    else:
        Console().print(render(figures))


if __name__ == "__main__":
    main()
