"""What a measurement has to be read with: the machine and the versions."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import numpy as np
import scipy

import tellapart


def machine() -> dict:
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "OPENBLAS_CORETYPE": os.environ.get("OPENBLAS_CORETYPE", "unset"),
        "blas": linear_algebra(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "tellapart": tellapart.__version__,
    }


def linear_algebra() -> list[str]:
    """The libraries behind NumPy and SciPy, where threadpoolctl is there to find them."""
    try:
        from threadpoolctl import threadpool_info
    except ImportError:
        return ["unknown, threadpoolctl is not installed"]
    return sorted({f"{i['internal_api']} {i['version']} {i.get('architecture', '')}" for i in threadpool_info()})


def processor() -> str:
    listed = Path("/proc/cpuinfo")
    lines = listed.read_text().splitlines() if listed.exists() else []
    models = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor()
