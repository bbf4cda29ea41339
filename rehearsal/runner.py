"""Runs a RayJob on a local Ray cluster in the shape of its RayCluster."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from rehearsal.assembly import RayObjects, name_of
from rehearsal.errors import RehearsalError
from rehearsal.job import run_job
from rehearsal.phases import Phases
from rehearsal.plot import save_png
from rehearsal.processes import OwnProcesses
from rehearsal.ray_processes import LocalRay, socket_paths_fit
from rehearsal.report import show_changes, transport_line
from rehearsal.results import Results, check_results, check_saved, read_results
from rehearsal.shape import GIB, Shape, cluster_shape, scale_to_memory
from rehearsal.stand_in_model import write_stand_in_model
from rehearsal.submission import Local, Submission, check_local_inputs, shard_size, submission
from rehearsal.working_dir import write_submitter_files

# Twenty seconds are usual for a head and two workers on two cores.
CLUSTER_SECONDS = 180.0


@dataclass(frozen=True)
class Options:
    """What the user chooses. `model` None is the stand-in; `deadline` is the job's, in seconds."""

    model: str | None = None
    data: str = "stdlib"
    steps: int = 40
    output: Path = Path(".rehearsal")
    deadline: float = 600.0


@dataclass(frozen=True)
class Run:
    """A run that succeeded: its results, and what a reader asks of it."""

    results: Results
    facts: dict[str, str]


def check_options(options: Options) -> None:
    """Raise RehearsalError when the user's own model or data cannot be trained with, before anything starts."""
    with run_folder() as folder:
        check_local_inputs(_local(options, 1, None, folder))


def run(
    objects: RayObjects, options: Options, processes: OwnProcesses, folder: Path, phases: Phases, console: Console
) -> Run:
    """Run the job to its end. `folder` is for files that need not stay. Raises RehearsalError."""
    wanted = cluster_shape(objects.ray_cluster)
    shape = scale_to_memory(wanted, available_memory())
    if shape != wanted:
        console.print(
            f"[yellow]Scaled down[/yellow]: the RayCluster has {wanted}, which needs {wanted.bytes / GIB:.1f} GiB; "
            f"this machine's memory holds {shape}."
        )
    working_dir = write_submitter_files(objects.ray_job, objects.config_map, folder / "submitter")
    ray = LocalRay(processes, folder, objects.ray_cluster)
    shards = shard_size(objects.ray_job["spec"]["entrypoint"], shape)
    local = _local(options, shape.world_size, shards, folder)
    todo = submission(objects.ray_job, working_dir, local, ray.gcs_address)
    results_folder = options.output.absolute() / todo.run_name
    shutil.rmtree(results_folder, ignore_errors=True)  # an earlier rehearsal of the same job
    results_folder.mkdir(parents=True)

    with phases.phase(f"start Ray: head and {shape}"):
        ray.start(shape, CLUSTER_SECONDS, lambda line: console.print(line, highlight=False))
        if ray.token is not None and not ray.refuses_strangers():
            raise RehearsalError(
                "Ray's job API",
                "answers without the token",
                "to refuse, for the RayCluster's authOptions.mode is token",
                "Whoever reaches it runs code: check what Ray's release notes say of token authentication.",
            )
    show_changes(console, todo.changes)
    with phases.phase(f"run job {todo.run_name}"):
        _follow(ray, todo, options.deadline, results_folder / "job.log", console)
    results = read_results(results_folder)
    check_results(results, shape, shards)
    check_saved(results_folder)

    png = results_folder / "loss.png"
    save_png(results.losses, f"{todo.run_name}, {shape}", png)
    return Run(results, _facts(objects, wanted, shape, ray, results, results_folder))


@contextmanager
def run_folder() -> Iterator[Path]:
    """Make a folder with a short path, for Ray's sockets, and remove it at the end."""
    # TMPDIR may be long, as on macOS; /tmp is short everywhere.
    where = tempfile.gettempdir() if socket_paths_fit(Path(tempfile.gettempdir(), "rr-12345678")) else "/tmp"  # noqa: S108
    with tempfile.TemporaryDirectory(prefix="rr-", dir=where, ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def available_memory() -> int:
    """Return the bytes that new processes may use, within the container's limit if there is one."""
    # Ray's own figures, for these decide whether it ends a worker for want of memory.
    from ray._common.utils import get_system_memory
    from ray._private.utils import get_used_memory

    return int(get_system_memory() - get_used_memory())


def _local(options: Options, workers: int, shards: int | None, folder: Path) -> Local:
    model = options.model if options.model is not None else str(write_stand_in_model(folder / "model"))
    return Local(model, options.data, options.steps, workers, shards, options.output.absolute())


def _follow(ray: LocalRay, todo: Submission, deadline: float, log: Path, console: Console) -> None:
    with log.open("w", encoding="utf-8") as file:

        def show(line: str) -> None:
            file.write(f"{line}\n")
            console.print(f"  | {line}", markup=False, highlight=False, soft_wrap=True)

        run_job(ray, todo, deadline, show)


def _facts(
    objects: RayObjects, wanted: Shape, shape: Shape, ray: LocalRay, results: Results, folder: Path
) -> dict[str, str]:
    result = results.result
    fall = 1 - result["last_loss"] / result["first_loss"]
    return {
        "RayCluster": name_of(objects.ray_cluster),
        "RayJob": name_of(objects.ray_job),
        "world size": f"{result['world_size']} ({'as' if shape == wanted else 'scaled down; not'} in the RayCluster)",
        "backend": str(result.get("backend")),
        "token": "the job API refused a request without it" if ray.token else "not asked for by the RayCluster",
        "parameters": f"{result['parameters']:,}",
        "loss": f"{result['first_loss']:.4f} -> {result['last_loss']:.4f} ({fall:.0%} lower)",
        "mesh": result["mesh"],
        "transport": transport_line(result["transport"]),
        "saved": f"{len(list(folder.glob('checkpoints/*')))} checkpoints; the model folder, loaded by transformers",
        "tokens/s": f"{result['tokens_per_second']:,.0f}",
        "files": str(folder),
    }
