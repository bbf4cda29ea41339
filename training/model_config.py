"""What is wrong with a config.json: transformers checks some of its values, and falls over others where it uses one."""

import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from huggingface_hub.errors import StrictDataclassError
from transformers import PretrainedConfig, PreTrainedModel

from training.errors import InputError

# What weights may be saved in: training keeps float32 ones, and the trained model is converted back.
DTYPES = ("bfloat16", "float16", "float32", "float64")
# Not OSError and ValueError, which also say that something cannot be found or read.
FALLS = (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, StrictDataclassError, TypeError)
# A file of transformers that holds one architecture.
MODEL_CODE = re.compile(r"/models/\w+/modeling_\w+\.py$")
# One of the hub cannot be corrected there.
REMEDY = "Choose another model, or correct a local copy"


@contextmanager
def refuse_config(model: str) -> Iterator[None]:
    """Raise InputError when the block, which may do nothing but use the config.json of `model`, falls over it."""
    try:
        yield
    except torch.OutOfMemoryError:
        raise
    except FALLS as error:
        if "can't allocate memory" in str(error):  # torch's on a CPU, which has no class of its own
            raise
        if isinstance(error, AttributeError) and error.obj is torch:  # transformers takes the dtype for a name there
            raise _wrong_dtype(model, error.name) from error
        expected = "a config.json that transformers can build and run a model from"
        raise InputError("model", model, expected, f"{REMEDY}: {_what_fell(error)}") from error


def check_config(model: str, config: PretrainedConfig) -> None:
    """Raise InputError when the weights are saved in what float32 ones cannot be made from, or converted back to."""
    if config.dtype not in [None, *(getattr(torch, name) for name in DTYPES)]:
        raise _wrong_dtype(model, config.dtype)
    if getattr(config, "quantization_config", None) is not None:
        raise InputError(
            "model",
            model,
            "weights that are not quantised, and its config.json has a quantization_config",
            "Choose the model that it was made from.",
        )


def check_parameters(name: str, model: PreTrainedModel) -> None:
    """Raise InputError when one of the parameters of `model`, which is called `name`, is empty."""
    for parameter, values in model.named_parameters():
        if not values.numel():
            expected = f"parameters that are not empty, and {parameter} has the shape {tuple(values.shape)}"
            raise InputError("model", name, expected, f"{REMEDY}: one of its sizes is 0.")


def _wrong_dtype(model: str, dtype: object) -> InputError:
    return InputError(
        "model", model, f"a dtype of {' or '.join(DTYPES)} in its config.json, and it is {dtype}", f"{REMEDY}."
    )


def _what_fell(error: Exception) -> str:
    said = f"{type(error).__name__}: {' '.join(str(error).split())}"
    # That may be "division by zero": the line of the model's own code names the field.
    lines = [frame.line for frame in traceback.extract_tb(error.__traceback__) if MODEL_CODE.search(frame.filename)]
    return f"{said}, in `{lines[-1]}`" if lines else said
