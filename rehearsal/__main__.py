"""`python -m rehearsal`: deploy the app to an emulated AWS and run the RayJob that lands.

Exit code 0: every stack was deployed, the job trained and its loss fell, and nothing was left after the destroy.
"""

import argparse
import signal
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from rich.console import Console

from rehearsal.assembly import read_assembly
from rehearsal.cluster import job_status, report_end, wait_for_job
from rehearsal.deployment import Deployment, Settings, expected_to_stay, load_environment, new_account
from rehearsal.errors import RehearsalError
from rehearsal.phases import Phases
from rehearsal.processes import Interrupted, OwnProcesses, interruptible, supervised
from rehearsal.report import NOT_SHOWN_BY_THE_DEPLOY, NOT_SHOWN_BY_THE_JOB, show_results
from rehearsal.runner import Options, check_options, run, run_folder
from rehearsal.shape import cluster_shape
from rehearsal.submission import existing_path, whole_number

REPOSITORY = Path(__file__).resolve().parent.parent


def main(argv: Sequence[str] | None = None, guard: Callable[[Callable[[], int]], int] | None = None) -> int:
    """Run a rehearsal from its command line, under `guard` if there is one, and return the exit code."""
    arguments = _parse(argv)
    # With a guard two processes have the folder, and both remove it.
    with run_folder() as folder:
        work = partial(_attempt, arguments, folder)
        return guard(work) if guard is not None else work()


def _attempt(arguments: argparse.Namespace, folder: Path) -> int:
    # Wide enough for tables when the output goes to a file, which has no width.
    console = Console(width=None if sys.stdout.isatty() else 120)
    try:
        with interruptible(), OwnProcesses() as processes:
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
    if arguments.assembly is not None:
        with phases.phase("read the cloud assembly"):
            objects = read_assembly(arguments.assembly)
            cluster_shape(objects.ray_cluster)
        done = run(objects, options, processes, folder, phases, console)
        show_results(console, done.facts, done.results, phases.finished, NOT_SHOWN_BY_THE_JOB)
    else:
        deploy_and_run(arguments, options, processes, folder, phases, console)
    console.print(f"[green]The rehearsal succeeded[/green] in {phases.total:.0f} s.", highlight=False)


def deploy_and_run(
    arguments: argparse.Namespace,
    options: Options,
    processes: OwnProcesses,
    folder: Path,
    phases: Phases,
    console: Console,
) -> None:
    """Deploy, run the job that landed, and destroy; with --keep, wait instead of destroying. Raises RehearsalError."""

    def show(line: str) -> None:
        console.print(line, markup=False, highlight=False, soft_wrap=True)

    environment = load_environment(arguments.environment)
    settings = Settings(
        arguments.environment,
        environment.region,
        environment.cost.idle_minutes,
        options.output.absolute() / "tools",
        arguments.charts,
        arguments.crds,
    )
    deployment = new_account(processes, REPOSITORY, folder, settings, phases, show)
    with phases.phase(f"cdk deploy --all -c environment={arguments.environment}"):
        deployment.deploy(folder / "outputs.json")
    with phases.phase("the RayJob lands"):
        landed = wait_for_job(deployment.account, show)
    try:
        done = run(landed.objects, options, processes, folder, phases, console)
    except RehearsalError as error:
        report_end(deployment.account, landed, succeeded=False, message=error.field)
        raise
    report_end(deployment.account, landed, succeeded=True)
    facts = deployment.facts(landed) | done.facts | {"RayJob's status": job_status(deployment.account, landed)}
    for number, note in enumerate(deployment.notes(), 1):
        facts[f"note {number}"] = note
    if arguments.keep:
        _keep(deployment, show)
    else:
        with phases.phase("time passes without training"):
            facts["idle GPU nodes"] = deployment.idle()
        with phases.phase("cdk destroy --all"):
            left = deployment.destroy()
        facts["left after destroy"] = ", ".join(left) or "nothing"
        if unexpected := [item for item in left if not expected_to_stay(item)]:
            raise RehearsalError(
                "cdk destroy --all",
                ", ".join(unexpected),
                "nothing left in the account",
                "Give it an owner that ends it.",
            )
    show_results(console, facts, done.results, phases.finished, NOT_SHOWN_BY_THE_DEPLOY)


def _keep(deployment: Deployment, show: Callable[[str], None]) -> None:
    """Leave the account up until Ctrl-C, and say how to reach it."""
    show("The account stays until Ctrl-C. In another shell, with .venv activated:")
    for name, value in deployment.account.variables.items():
        show(f"  export {name}={value}")
    show("  npx cdk diff -c environment=NAME; kubectl get pods -A")
    signal.pause()


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m rehearsal", description=__doc__, allow_abbrev=False)
    parser.add_argument("--environment", default="dev", help="environment to deploy (default dev)")
    parser.add_argument(
        "--assembly", type=Path, help="folder of a `cdk synth --output`: run its RayJob, deploy nothing"
    )
    parser.add_argument("--keep", action="store_true", help="leave the emulated account up until Ctrl-C")
    parser.add_argument(
        "--charts", type=Path, help="Helm charts, a folder each by name (default: their repositories, else stand-ins)"
    )
    parser.add_argument("--crds", type=Path, help="KubeRay's CRDs (default: stand-ins)")
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
    sys.exit(main(guard=supervised))
