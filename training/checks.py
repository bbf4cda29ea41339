"""Everything about a run's input that can be known before a worker starts."""

import dataclasses
from pathlib import Path

from training.arguments import STDLIB, SYNTHETIC, Arguments
from training.model import build_on_meta, read_config, read_tokenizer
from training.results import RunFolder
from training.sharding import decoder_layers
from training.tokens import check_beginning


def check_inputs(args: Arguments) -> None:
    """Read the model's configuration and tokenizer and the first sequence of text. Raises InputError.

    Weights are not read and nothing is written. A hub id needs the network, unless it is in the local cache.
    """
    config = read_config(args)
    decoder_layers(build_on_meta(config))
    if args.data != SYNTHETIC:
        check_beginning(args, read_tokenizer(args, config))


def with_absolute_paths(args: Arguments) -> Arguments:
    """Return `args` with local paths made absolute: Ray Train starts workers in a folder of their own."""
    local = RunFolder(args.results, args.run_name).local
    keyword = args.data in (SYNTHETIC, STDLIB) or "://" in args.data
    return dataclasses.replace(
        args,
        model=str(Path(args.model).absolute()) if Path(args.model).exists() else args.model,
        data=args.data if keyword else str(Path(args.data).absolute()),
        results=str(local.parent) if local is not None else args.results,
    )
