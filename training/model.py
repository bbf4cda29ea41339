"""The model: where it comes from, its configuration and tokenizer, its weights."""

import copy
import re
from pathlib import Path

import torch
from safetensors import SafetensorError
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, PretrainedConfig, PreTrainedModel
from transformers import PreTrainedTokenizerBase as Tokenizer

from training.arguments import Arguments
from training.errors import InputError
from training.loss import own_loss
from training.model_config import check_config, check_parameters, refuse_config

HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
EXPECTED = "a hub id org/name, a folder saved by transformers, or a config .json file"


def is_config_file(model: str) -> bool:
    """Whether `model` names a configuration, so that its weights start random."""
    return model.endswith(".json")


def check_source(args: Arguments) -> None:
    """Raise InputError when --model cannot be what it looks like, without any network."""
    path = Path(args.model)
    if is_config_file(args.model):
        if not path.is_file():
            raise InputError("model", args.model, EXPECTED, "There is no such file here: check the path.")
    elif path.is_dir():
        if not any(path.glob("*.safetensors")):
            raise InputError(
                "model",
                args.model,
                "a folder with config.json, *.safetensors and tokenizer",
                "It holds no *.safetensors: save it with save_pretrained, or name its config.json for random weights.",
            )
    elif not HUB_ID.fullmatch(args.model):
        raise InputError("model", args.model, EXPECTED, "There is no such folder here: check the path.")
    if args.revision is not None and (path.is_dir() or is_config_file(args.model)):
        raise InputError(
            "revision", args.revision, "no revision for a local model", "Drop --revision, or give a hub id as --model."
        )


def read_config(args: Arguments) -> PretrainedConfig:
    """Return the configuration of --model. Raises InputError."""
    check_source(args)
    with refuse_config(args.model):
        try:
            config: PretrainedConfig = AutoConfig.from_pretrained(args.model, revision=args.revision)
        except (OSError, ValueError) as error:
            raise _unreadable("configuration", args, error) from error
    check_config(args.model, config)
    length = getattr(config.get_text_config(), "max_position_embeddings", None)
    if length is not None and args.sequence_length > length:
        raise InputError(
            "sequence-length",
            args.sequence_length,
            f"at most the {length} positions of {args.model}",
            "Lower it, or choose a model with a longer context.",
        )
    return config


def read_tokenizer(args: Arguments, config: PretrainedConfig) -> Tokenizer:
    """Return the tokenizer beside --model. Raises InputError, also when its ids exceed the model's vocabulary."""
    source = str(Path(args.model).parent) if is_config_file(args.model) else args.model
    try:
        tokenizer: Tokenizer = AutoTokenizer.from_pretrained(source, revision=args.revision)
    except Exception as error:  # of any kind: of a tokenizer.json that is newer than it, tokenizers raises just that
        raise _unreadable("tokenizer", args, error) from error
    vocabulary = tokenizer.get_vocab()
    if not vocabulary.keys() - set(tokenizer.all_special_tokens):
        # Without its files, transformers 5 makes some tokenizers up, and those turn any text into nothing.
        remedy = "It is missing: put its tokenizer.json beside config.json."
        raise InputError("model", args.model, "a model with its tokenizer", remedy)
    needed, size = max(vocabulary.values()) + 1, config.get_text_config().vocab_size
    if needed > size:
        raise InputError(
            "model",
            args.model,
            f"a tokenizer whose ids lie below the model's vocab_size {size}, and it has {needed} of them",
            "The tokenizer belongs to another model: put the right tokenizer.json beside config.json.",
        )
    return tokenizer


def build_on_meta(config: PretrainedConfig) -> PreTrainedModel:
    """Return the causal language model of `config`: float32, in training mode, shapes only (no memory)."""
    name = config.name_or_path or config.model_type
    with refuse_config(name), torch.device("meta"):
        try:
            # A copy: transformers writes the dtype into the configuration that it is given.
            model: PreTrainedModel = AutoModelForCausalLM.from_config(copy.deepcopy(config), dtype=torch.float32)
        except ValueError as error:
            raise InputError(
                "model", config.model_type, "a causal language model that transformers knows", _first_line(error)
            ) from error
    check_parameters(name, model)
    model.train()
    return model


def materialise(args: Arguments, config: PretrainedConfig) -> PreTrainedModel:
    """Return the model with its weights, float32 on the CPU: loaded, or drawn from --seed for a config file.

    Raises InputError.
    """
    model: PreTrainedModel
    if is_config_file(args.model):
        torch.manual_seed(args.seed)
        with refuse_config(args.model):
            model = AutoModelForCausalLM.from_config(copy.deepcopy(config), dtype=torch.float32)
        check_head(args, model)
        return model
    try:
        model = AutoModelForCausalLM.from_pretrained(
            args.model, revision=args.revision, config=copy.deepcopy(config), dtype=torch.float32
        )
    except (OSError, ValueError, SafetensorError) as error:
        raise _unreadable("weights", args, error) from error
    check_head(args, model)
    return model


def check_head(args: Arguments, model: PreTrainedModel) -> None:
    """Raise InputError when the loss of a plain output head, which is trained, is not that of `model`'s own logits."""
    vocabulary = model.config.get_text_config().vocab_size
    model.eval()
    with refuse_config(args.model):
        theirs, ours = own_loss(model, torch.arange(1, 9).remainder(vocabulary).reshape(1, -1))
    model.train()
    if not abs(theirs - ours) <= 1e-3 * max(1.0, abs(theirs)):
        raise InputError(
            "model",
            args.model,
            f"logits that are the last hidden state times the head; here the loss is {theirs:.4f}, and so {ours:.4f}",
            "Choose another: this model scales or caps its logits, which training/loss.py does not.",
        )


def _unreadable(part: str, args: Arguments, error: Exception) -> InputError:
    at = f" at revision {args.revision}" if args.revision else ""
    remedy = f"Check the name{at}, the network and HF_TOKEN if it is a hub id; transformers says: {_first_line(error)}"
    return InputError("model", args.model, f"{EXPECTED}, with a readable {part}", remedy)


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
