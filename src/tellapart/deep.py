"""What needs torch: kernels and networks trained by gradients. Install it with ``pip install 'tellapart[torch]'``.

Examples
--------
>>> from tellapart import Mean, witness_test
>>> from tellapart.datasets import blobs
>>> from tellapart.deep import DeepKernel, Training
>>> x, y = blobs(200, theta=0.785, rng=0)
>>> kernel = DeepKernel(training=Training(epochs=100))  # a thousand by default
>>> witness_test(x, y, learner=Mean(kernel), rng=0).pvalue <= 0.05
True
"""

from tellapart.witness.deep_kernel import DeepFeatureKernel, DeepKernel, LearnedKernel, OptimisedGaussian
from tellapart.witness.network import EarlyStopping, Network, NetworkWitness
from tellapart.witness.training import History, Step, Training

__all__ = [
    "DeepFeatureKernel",
    "DeepKernel",
    "EarlyStopping",
    "History",
    "LearnedKernel",
    "Network",
    "NetworkWitness",
    "OptimisedGaussian",
    "Step",
    "Training",
]
