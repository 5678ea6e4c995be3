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

from tellapart import datasets, kernels
from tellapart._version import __version__
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
from tellapart.witness.estimator import FromEstimator
from tellapart.witness.fisher import Fisher, Mean
from tellapart.witness.optimised import OptimisedKernel
from tellapart.witness.select import Select

__all__ = [
    "ChiSquared",
    "DegreesOfFreedom",
    "Fisher",
    "FromEstimator",
    "Mean",
    "Normal",
    "OptimisedKernel",
    "Permutation",
    "Prequential",
    "Refit",
    "Saddlepoint",
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
