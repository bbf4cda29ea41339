"""`python -m rehearsal`: synthesise the app and run its RayJob here. Exit code 0: it trained, and its loss fell."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from rehearsal.assembly import read_assembly
from rehearsal.errors import RehearsalError
from rehearsal.phases import Phases
from rehearsal.processes import Interrupted, OwnProcesses, interruptible
from rehearsal.runner import Options, check_options, run, run_folder
from rehearsal.shape import cluster_shape
from rehearsal.submission import existing_path, whole_number
from rehearsal.synthesis import synthesise

REPOSITORY = Path(__file__).resolve().parent.parent


def main(argv: Sequence[str] | None = None) -> int:
    """Run a rehearsal from its command line and return the exit code."""
    arguments = _parse(argv)
    # Wide enough for tables when the output goes to a file, which has no width.
    console = Console(width=None if sys.stdout.isatty() else 120)
    try:
        with interruptible(), run_folder() as folder, OwnProcesses() as processes:
            rehearse(arguments, processes, folder, console)
    except RehearsalError as error:
        console.print("[red]The rehearsal failed.[/red]")
        console.print(str(error), markup=False, highlight=False, soft_wrap=True)
        return 1
    except Interrupted as signal:
        console.print(f"Ended by {signal}; nothing is left running.")
        return signal.exit_code
    return 0


def rehearse(arguments: argparse.Namespace, processes: OwnProcesses, folder: Path, console: Console) -> None:
    """Do the steps of a rehearsal. Raises RehearsalError."""
    options = Options(arguments.model, arguments.data, arguments.steps, arguments.output, arguments.deadline)
    phases = Phases(lambda line: console.print(line, highlight=False))
    if options.model is not None or options.data != Options.data:
        with phases.phase("check --model and --data"):
            check_options(options)
    assembly = arguments.assembly
    if assembly is None:
        assembly = options.output.absolute() / "cdk.out"
        with phases.phase(f"cdk synth -c environment={arguments.environment}"):
            synthesise(processes, REPOSITORY, arguments.environment, assembly, folder / "synth.log")
    with phases.phase("read the cloud assembly"):
        objects = read_assembly(assembly)
        cluster_shape(objects.ray_cluster)
    run(objects, options, processes, folder, phases, console)
    console.print(f"[green]The rehearsal succeeded[/green] in {phases.total:.0f} s.", highlight=False)


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m rehearsal", description=__doc__, allow_abbrev=False)
    parser.add_argument("--environment", default="dev", help="environment to synthesise (default dev)")
    parser.add_argument("--assembly", type=Path, help="folder of an earlier `cdk synth --output`, instead of a new one")
    parser.add_argument(
        "--model", type=existing_path, help="model folder or config .json of yours (default: a stand-in)"
    )
    parser.add_argument(
        "--data", type=existing_path, default=Options.data, help="'stdlib', 'synthetic', a text file or a folder"
    )
    parser.add_argument(
        "--steps", type=whole_number, default=Options.steps, help="optimizer steps (default %(default)s)"
    )
    parser.add_argument("--output", type=Path, default=Options.output, help="where results stay (default %(default)s)")
    parser.add_argument(
        "--deadline", type=whole_number, default=int(Options.deadline), help="seconds for the job (default %(default)s)"
    )
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
