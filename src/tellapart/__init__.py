"""Tells whether two samples come from the same distribution, and where they differ.

    samples -> split -> witness (stage I) -> inference (stage II) -> result -> report

Examples
--------
>>> import numpy as np
>>> import tellapart
>>> rng = np.random.default_rng(0)
>>> x, y = rng.normal(size=(200, 2)), rng.normal(size=(200, 2)) * [1.0, 2.0]
>>> result = tellapart.witness_test(x, y, rng=0)
>>> result.pvalue <= 0.05
True
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tellapart._version import __version__

if TYPE_CHECKING:
    from tellapart import datasets, kernels
    from tellapart.classical import kfda_test, mmd_test
    from tellapart.inference.hotelling import ChiSquared
    from tellapart.inference.leave_one_out import DegreesOfFreedom
    from tellapart.inference.null import Normal, Permutation, Saddlepoint
    from tellapart.inference.prequential import Prequential
    from tellapart.inference.pvalue import permutation_pvalue
    from tellapart.inference.refit import Refit
    from tellapart.joint import tell_apart
    from tellapart.locations import mean_embedding_test, smooth_cf_test
    from tellapart.moments import snr
    from tellapart.procedure import power, sample_size, witness_test
    from tellapart.reference import Reference
    from tellapart.saved_witness import SavedWitness
    from tellapart.witness.estimator import FromEstimator
    from tellapart.witness.fisher import Fisher, Mean
    from tellapart.witness.nystrom import Nystrom
    from tellapart.witness.optimised import OptimisedKernel
    from tellapart.witness.select import Select

__all__ = [
    "ChiSquared",
    "DegreesOfFreedom",
    "Fisher",
    "FromEstimator",
    "Mean",
    "Normal",
    "Nystrom",
    "OptimisedKernel",
    "Permutation",
    "Prequential",
    "Reference",
    "Refit",
    "Saddlepoint",
    "SavedWitness",
    "Select",
    "__version__",
    "datasets",
    "kernels",
    "kfda_test",
    "mean_embedding_test",
    "mmd_test",
    "permutation_pvalue",
    "power",
    "sample_size",
    "smooth_cf_test",
    "snr",
    "tell_apart",
    "witness_test",
]

# Names are imported when they are first asked for, so that `tellapart --help` need not wait for SciPy.
_HOMES = {
    "classical": ("kfda_test", "mmd_test"),
    "inference.hotelling": ("ChiSquared",),
    "inference.leave_one_out": ("DegreesOfFreedom",),
    "inference.null": ("Normal", "Permutation", "Saddlepoint"),
    "inference.prequential": ("Prequential",),
    "inference.pvalue": ("permutation_pvalue",),
    "inference.refit": ("Refit",),
    "joint": ("tell_apart",),
    "locations": ("mean_embedding_test", "smooth_cf_test"),
    "moments": ("snr",),
    "procedure": ("power", "sample_size", "witness_test"),
    "reference": ("Reference",),
    "saved_witness": ("SavedWitness",),
    "witness.estimator": ("FromEstimator",),
    "witness.fisher": ("Fisher", "Mean"),
    "witness.nystrom": ("Nystrom",),
    "witness.optimised": ("OptimisedKernel",),
    "witness.select": ("Select",),
}
_HOME_OF = {name: f"{__name__}.{home}" for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """A public name, from the module that it lives in; or a module of the package."""
    if name in _HOME_OF:
        found = getattr(import_module(_HOME_OF[name]), name)
    elif name in ("datasets", "kernels"):
        found = import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
