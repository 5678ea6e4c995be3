"""HIGGS: collisions with and without a Higgs boson, read from a file that the user has."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tellapart import _checks as checks
from tellapart.datasets.labelled import Part, parts_of

Rows = NDArray[np.float32]

_JETS = tuple(f"jet_{j}_{what}" for j in range(1, 5) for what in ("pt", "eta", "phi", "b_tag"))
_LEPTON = ("lepton_pT", "lepton_eta", "lepton_phi", "missing_energy_magnitude", "missing_energy_phi")
_MASSES = ("m_jj", "m_jjj", "m_lv", "m_jlv", "m_bb", "m_wbb", "m_wwbb")
HIGGS_COLUMNS = (*_LEPTON, *_JETS, *_MASSES)  # in the order of UCI's file, after the label
_GROUPS = {
    "jet_phi": tuple(name for name in _JETS if name.endswith("phi")),
    "low_level": (*_LEPTON, *_JETS),
    "high_level": _MASSES,
    "all": HIGGS_COLUMNS,
}


def higgs(
    path: str | os.PathLike[str], *, columns: str | Sequence[str] = "jet_phi", rows: int | None = None
) -> tuple[Rows, Rows]:
    """Background and signal of the HIGGS data set, from a file in any of its usual forms.

    Parameters
    ----------
    path : path
        ``HIGGS.csv`` or ``HIGGS.csv.gz`` of UCI; a parquet file with its columns by name and the label in ``label``
        (pyarrow reads it); an ``.npz`` file with ``X`` and ``y`` and, if rows differ in it, a mark ``precision``, of
        which the rows marked 1 are taken; or ``HIGGS_TST.pckl`` of Liu et al.
    columns : str or sequence of str
        Names of columns in `HIGGS_COLUMNS`, or a group of them: "jet_phi", the four angles that the paper compares;
        "low_level" (21), "high_level" (7) or "all" (28).
    rows : int, optional
        At most so many rows of each sample, the first ones in the file. Of CSV and parquet no more is read than that
        takes; the other forms are read whole and cut.

    Returns
    -------
    background, signal : arrays of float32 of shape (n, d), (m, d)

    Notes
    -----
    A pickle can run any code. This one is read by :mod:`tellapart.datasets.pickled`, which knows arrays of numbers and
    nothing else; a file that asks for more gets an error and runs nothing.

    References
    ----------
    Baldi, Sadowski, Whiteson (2014). Searching for exotic particles in high-energy physics with deep learning. Nature
    Communications 5, 4308. doi:10.1038/ncomms5308.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "few.csv"
    ...     np.savetxt(path, [[label, *range(28)] for label in (1, 0, 1)], delimiter=",")
    ...     background, signal = higgs(path, columns=["jet_1_phi", "m_bb"])
    >>> background.tolist(), signal.shape
    ([[7.0, 25.0]], (2, 2))
    """
    wanted = _columns(columns)
    most = None if rows is None else checks.whole("rows", rows)
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(
            f"`path` must be a file, got {str(path)!r}. HIGGS.csv.gz (2.6 GB) is at "
            "https://archive.ics.uci.edu/dataset/280/higgs"
        )
    return _apart(parts_of(file, HIGGS_COLUMNS, wanted, "label"), len(wanted), most)


def _columns(columns: str | Sequence[str]) -> tuple[str, ...]:
    if isinstance(columns, str) and columns in _GROUPS:
        return _GROUPS[columns]
    wanted = (columns,) if isinstance(columns, str) else tuple(columns)
    if not wanted:
        raise ValueError("`columns` must name at least one column, got none.")
    for name in wanted:
        if name not in HIGGS_COLUMNS:
            groups = ", ".join(map(repr, _GROUPS))
            raise ValueError(f"`columns` must be {groups}, or names that are in `HIGGS_COLUMNS`, got {name!r}.")
    return wanted


def _apart(parts: Iterable[Part], d: int, most: int | None) -> tuple[Rows, Rows]:
    """Rows by label, until there are enough of both."""
    kept: tuple[list[Rows], list[Rows]] = ([np.empty((0, d), np.float32)], [np.empty((0, d), np.float32)])
    for labels, table in parts:
        for sample, chosen in zip(kept, (~labels, labels), strict=True):
            left = None if most is None else most - sum(map(len, sample))
            sample.append(table[chosen][:left])
        if most is not None and all(sum(map(len, sample)) >= most for sample in kept):
            break
    background, signal = map(np.concatenate, kept)
    return background, signal
