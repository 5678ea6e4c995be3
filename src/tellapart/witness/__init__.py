"""Stage I: learn a witness. Each learner is one value with ``learn(train, rng) -> witness``."""

from tellapart.witness.base import KernelLearner, KernelWitness, Learner, Witness, snr_scorer
from tellapart.witness.estimator import FromEstimator, Given
from tellapart.witness.fisher import Fisher, Mean
from tellapart.witness.nystrom import Nystrom
from tellapart.witness.optimised import OptimisedKernel
from tellapart.witness.select import Select, Selection

__all__ = [
    "Fisher",
    "FromEstimator",
    "Given",
    "KernelLearner",
    "KernelWitness",
    "Learner",
    "Mean",
    "Nystrom",
    "OptimisedKernel",
    "Select",
    "Selection",
    "Witness",
    "snr_scorer",
]
