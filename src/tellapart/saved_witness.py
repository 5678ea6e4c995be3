"""A witness that was learned from two samples, saved, and used on further samples.

The file holds the witness as a formula (kernel, centres, coefficients) and its values on the rows of the first sample
that judged it. Further rows z are compared with those values: given the rows that learned, the witness is a fixed
function, so if z has the distribution of the first sample its values on both are exchangeable and the p-value of
:class:`tellapart.Saddlepoint` or :class:`tellapart.Permutation` is valid. z must be fresh: no row that learned.

The centres of a kernel witness are the rows that learned it, encoded as numbers, of both samples: the file says as much
about them as the rows themselves. Where that must not be, save a :class:`tellapart.Reference`. What repeated use means
for the level is said there, too, and holds here.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellapart import _checks as checks
from tellapart import storage
from tellapart._randomness import as_generator
from tellapart._spec import from_spec
from tellapart._version import __version__
from tellapart.inference.null import Null, Saddlepoint
from tellapart.kernels import FromFunction, Kernel, kernel_matrix
from tellapart.moments import WitnessMoments
from tellapart.pairs import Pairs
from tellapart.result import WITNESS_KIND, WITNESS_VERSION, Rows, RowWitness, WitnessTestResult
from tellapart.tables.stored import restored_encoding
from tellapart.witness.base import KernelWitness

Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SavedWitness:
    """A learned witness, and its values on rows of the first sample that did not help to learn it.

    Made by ``result.save(path)`` of :func:`tellapart.witness_test` and read by :meth:`load`.

    Attributes
    ----------
    witness : RowWitness
        ``saved(z)`` or ``saved.witness(z)`` evaluates it on any rows.
    values : array
        Its values on fresh rows of the first sample.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from tellapart import witness_test
    >>> rng = np.random.default_rng(0)
    >>> good, worn = rng.normal(size=(200, 2)), rng.normal([0, 1.5], 1, size=(200, 2))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     witness_test(good, worn, rng=0).save(f"{folder}/wear.tap")
    ...     wear = SavedWitness.load(f"{folder}/wear.tap")
    >>> wear.test(rng.normal([0, 0.7], 1, size=(50, 2))).pvalue < 0.05     # less worn, but not good
    True
    >>> wear.test(rng.normal([0, -1], 1, size=(50, 2))).pvalue < 0.05      # it looks for this kind of wear only
    False
    """

    witness: RowWitness
    values: Values
    rows: Rows  # that learned it
    training_range: tuple[float, float]
    learner: Any
    version: str

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> SavedWitness:
        """Read a witness from a file; one that is damaged, foreign or newer is refused in one line."""
        content = storage.load(path, WITNESS_KIND, WITNESS_VERSION)
        with storage.checked(path):
            return _restored(content)

    def __call__(self, z: Any) -> Values:
        """Witness values: large where the first sample is dense, small where the second one is."""
        return self.witness(z)

    def test(self, z: Any, *, null: Null = Saddlepoint(), rng: Any = None) -> WitnessTestResult:
        """Test whether fresh rows have the distribution of the first sample, by this witness alone.

        Parameters
        ----------
        z : array-like, data frame or tensor of shape (m, d)
            Rows with the same columns that did not help to learn the witness. They play the second sample.
        null : Saddlepoint, Permutation or Normal
            How the witness values are judged. The test is one-sided: it looks for what the witness was learned for.
        rng : int, numpy.random.Generator, or None
            For what the null draws at random.
        """
        generator, record = as_generator(rng)
        h = self.witness(z)
        verdict = null.judge(self.values, h, generator)
        return WitnessTestResult(
            verdict.statistic,
            verdict.pvalue,
            verdict.statistic_name,
            verdict.how,
            moments=WitnessMoments.of(self.values, h),
            rows=self.rows,
            training_range=self.training_range,
            learner=self.learner,
            null=null,
            train_share=None,
            rng=record,
            version=__version__,
            notes=("the witness was saved; all tests with it share the luck of the rows that it is compared with",),
            witness=self.witness,
            values=(self.values, h),
            null_distribution=verdict.null_distribution,
        )


def _restored(content: storage.Stored) -> SavedWitness:
    d, arrays = content.description, content.arrays
    kernel = from_spec(d["kernel"])
    centres, coefficients, values = (arrays[name] for name in ("centres", "coefficients", "values"))
    if not isinstance(kernel, Kernel) or isinstance(kernel, FromFunction):
        raise TypeError("its kernel is none that is known")
    if centres.ndim != 2 or coefficients.shape != centres.shape[:1] or values.ndim != 1 or not len(values):
        raise ValueError(f"its witness has {centres.shape} centres and {coefficients.shape} coefficients")
    kernel_matrix(kernel, Pairs(centres[:1], centres[:1]))  # fits the columns, or says so now
    columns = None if d["columns"] is None else tuple(str(name) for name in d["columns"])
    encoding = None if d["encoding"] is None else restored_encoding(d["encoding"], arrays)
    if columns is not None and len(columns) != centres.shape[1]:
        raise ValueError(f"its {len(columns)} columns are not those of its centres")
    witness = RowWitness(KernelWitness(kernel, centres, coefficients), centres.shape[1], columns, encoding)
    rows = Rows(*(checks.whole(name, d["rows"][name], least=0) for name in ("n_train", "m_train", "columns")))
    low, high = (float(v) for v in d["training_range"])
    return SavedWitness(witness, values.astype(np.float64), rows, (low, high), d["learner"], str(d["version"]))
