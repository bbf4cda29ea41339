"""Everything that must be there before the first step: data, model, optimizer, and where an earlier attempt stopped."""

import uuid
from dataclasses import dataclass

import torch
from torch.distributed.device_mesh import DeviceMesh
from transformers import PretrainedConfig, PreTrainedModel

from training.argument_checks import STEPS_BEFORE_PROFILE
from training.arguments import Arguments
from training.checkpoint import Checkpoint, CheckpointFolder, Checkpoints
from training.data import Samples
from training.errors import InputError
from training.loss import CausalLMLoss
from training.mesh import build_mesh
from training.model import build_on_meta, materialise
from training.optimisation import make_optimizer
from training.ranks import Ranks
from training.results import RunFolder
from training.resume import check_can_resume, check_same_run, fingerprint
from training.sharding import count_parameters, load, parallelise
from training.tokens import TokenFile, fetch, prepare, synthetic

PROBE = "shared.txt"


@dataclass
class Run:
    """One process's part of a run. `done` is the number of steps that lie behind it, `batch` the global batch."""

    args: Arguments
    device: torch.device
    ranks: Ranks
    folder: RunFolder
    config: PretrainedConfig
    samples: Samples
    mesh: DeviceMesh
    root: CausalLMLoss
    optimizer: torch.optim.Optimizer
    checkpoints: Checkpoints
    fingerprint: dict[str, object]
    done: int

    @property
    def model(self) -> PreTrainedModel:
        """The sharded model inside the root."""
        return self.root.model

    @property
    def batch(self) -> int:
        """Sequences of one optimizer step, over all ranks."""
        return self.args.global_batch(self.ranks.world_size)


@dataclass
class Data:
    """The samples, and the file they come from (None for synthetic ones)."""

    samples: Samples
    tokens: TokenFile | None


def check_shared(folder: RunFolder, ranks: Ranks) -> None:
    """Raise InputError (another rank: FollowerError) unless every rank sees what rank 0 writes to `folder`.

    Else each node would keep its own part of every checkpoint, and lose it with its pod.
    """
    written = ranks.from_rank0(lambda: _probe(folder))
    failure = None
    if folder.read(PROBE) != written:
        failure = InputError(
            "results",
            folder.uri,
            f"a folder that all nodes share, and rank {ranks.rank} does not see what rank 0 wrote there",
            "Give s3://bucket/prefix, or a shared file system.",
        )
    ranks.agree(failure)


def _probe(folder: RunFolder) -> str:
    text = uuid.uuid4().hex
    folder.write(PROBE, text)
    return text


def prepare_data(args: Arguments, config: PretrainedConfig, ranks: Ranks) -> Data:
    """Return the run's samples: rank 0 tokenises, unless that was done before, and each node has one copy."""
    tokens = ranks.from_rank0(lambda: prepare(args, config))
    if tokens is None:
        sequences = args.steps * args.global_batch(ranks.world_size) + args.evaluation_sequences
        ids, end = synthetic(args, config, sequences), None
    else:
        ids, end = ranks.once_per_node(lambda: fetch(args, tokens)), tokens.end
    return Data(Samples(ids, args.sequence_length, args.seed, args.evaluation_sequences, end), tokens)


def sharded_model(
    args: Arguments, config: PretrainedConfig, device: torch.device, ranks: Ranks, mesh: DeviceMesh
) -> CausalLMLoss:
    """Return the model with its weights, sharded; only rank 0 ever holds all of them, on its CPU."""
    root = parallelise(build_on_meta(config), mesh, args)
    load(root.model, ranks.on_rank0(lambda: materialise(args, config)), device)
    return root


def build_run(args: Arguments, device: torch.device, ranks: Ranks, config: PretrainedConfig, data: Data) -> Run:
    """Build model and optimizer, and load the newest checkpoint of this run, or of the one that it resumes."""
    mesh = build_mesh(args, device)
    root = sharded_model(args, config, device, ranks, mesh)
    optimizer = make_optimizer(root, args)
    folder = RunFolder(args.results, args.run_name)
    own = Checkpoints(folder, args.kept_checkpoints)
    now = fingerprint(args, config, data.tokens, ranks.world_size, count_parameters(root))
    run = Run(args, device, ranks, folder, config, data.samples, mesh, root, optimizer, own, now, 0)
    found = ranks.from_rank0(lambda: find_checkpoint(run))
    if found is not None:
        own.load(found, root, optimizer)
        run.done = found.step
    return run


def find_checkpoint(run: Run) -> Checkpoint | None:
    """Return the checkpoint to go on from, None to begin. Raises InputError; for one rank.

    This run's own, that an attempt before this one left, is newer than the one which it was told to resume.
    """
    run.checkpoints.remove_partial()
    found, name = run.checkpoints.newest(), run.args.run_name
    if found is None and run.args.resume is not None:
        name = run.args.resume
        check_can_resume(run.args)
        found = CheckpointFolder(RunFolder(run.args.results, name)).newest()
    if found is not None:
        check_same_run(name, found.fingerprint, run.fingerprint)
        # This run's own may be of its last step: then only the model folder is still missing.
        if found.step >= run.args.steps and name != run.args.run_name:
            raise InputError(
                "steps", run.args.steps, f"more than the {found.step} that run {name} has done", "Raise it."
            )
        left = run.args.steps - found.step - STEPS_BEFORE_PROFILE
        if run.args.profile_steps > max(0, left) and name != run.args.run_name:
            raise InputError(
                "profile-steps",
                run.args.profile_steps,
                f"at most {max(0, left)}: run {name} has done {found.step} steps, and {STEPS_BEFORE_PROFILE} warm up",
                "Lower it, or raise --steps.",
            )
    return found
