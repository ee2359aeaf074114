"""Where a run ran. Thread count and instruction set change the bits of a result, so both are pinned and recorded."""

import os
import platform
import sys
from typing import Any

from maskprior.errors import UserError

# One thread and AVX2 everywhere: the same bits on any machine of the class. Must be set before torch is imported.
PINNED = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "ATEN_CPU_CAPABILITY": "avx2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "MKL_CBWR": "AVX2",
    "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
}


def pin() -> None:
    """Set the variables above. RuntimeError when torch is already imported and they differ: it would be too late."""
    if "torch" in sys.modules and any(os.environ.get(name) != value for name, value in PINNED.items()):
        raise RuntimeError("torch was imported before the thread count and the instruction set were pinned")
    os.environ.update(PINNED)


def choose_device(wanted: str) -> str:
    """`cpu` or `cuda` for `auto`, `cpu` or `cuda`. UserError when CUDA is asked for and there is none."""
    if wanted == "cpu":
        return "cpu"
    import torch

    if torch.cuda.is_available():
        return "cuda"
    if wanted == "cuda":
        raise UserError("device: cuda was asked for, and this machine has no usable CUDA device (allowed: auto, cpu)")
    return "cpu"


def describe(device: str) -> dict[str, Any]:
    """Versions, device class, threads and instruction set of this process. No host names, no paths."""
    import numpy
    import torch

    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": numpy.__version__,
        "platform": f"{platform.system()}-{platform.machine()}",
        "device": torch.cuda.get_device_name() if device == "cuda" else cpu_family(),
        "threads": torch.get_num_threads(),
        "instruction_set": torch.backends.cpu.get_cpu_capability(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "pinned": {name: os.environ.get(name) for name in PINNED},
    }


def device_class(environment: dict[str, Any]) -> tuple[Any, ...]:
    """What must agree for two results to agree bit for bit."""
    versions = tuple(environment[key] for key in ("torch", "platform", "device", "threads", "instruction_set"))
    return (*versions, *sorted(environment["pinned"].items()))


def cpu_family() -> str:
    """The processor's vendor, family and model, `GenuineIntel-6-143`; its architecture where Linux does not tell."""
    try:
        with open("/proc/cpuinfo") as lines:
            fields = dict(line.split(":", 1) for line in lines if ":" in line)
    except OSError:
        return platform.machine()
    found = {key.strip(): value.strip() for key, value in fields.items()}
    parts = [found.get(key, "") for key in ("vendor_id", "cpu family", "model")]
    return "-".join(parts) if all(parts) else platform.machine()
