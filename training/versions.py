"""What a result depends on besides its settings."""

import platform

import ray
import torch
import transformers


def versions() -> dict[str, str]:
    """Return the versions that a result depends on."""
    found = {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "ray": ray.__version__,
        "transformers": transformers.__version__,
    }
    if torch.cuda.is_available():
        found |= {"cuda": str(torch.version.cuda), "nccl": ".".join(map(str, torch.cuda.nccl.version()))}
    return found


def device_name(device: torch.device) -> str:
    """Return the name of the GPU, or of the CPU's architecture."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else platform.machine() + " CPU"
