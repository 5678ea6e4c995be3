"""Samples with a known answer: the paper's problems and those it is compared on, HIGGS, and a small example.

Every generator returns a pair of samples; each has a setting in which both have the same distribution.
"""

from tellapart.datasets.clusters import circles, four_gaussians, gaussian_mixtures
from tellapart.datasets.modes import blobs, liu_blobs
from tellapart.datasets.physics import HIGGS_COLUMNS, higgs
from tellapart.datasets.readings import example_file, machine_readings
from tellapart.datasets.waves import perturbed_uniform

__all__ = [
    "HIGGS_COLUMNS",
    "blobs",
    "circles",
    "example_file",
    "four_gaussians",
    "gaussian_mixtures",
    "higgs",
    "liu_blobs",
    "machine_readings",
    "perturbed_uniform",
]
