"""A reference that is fitted once, saved, and compared with one sample after another.

**What is kept.** A random part of the rows fixes classes for every column (:mod:`tellapart.tables.coarse`) and is
forgotten. Of at most `rows` of the others the reference keeps which class each value lies in. Everything else is
forgotten, too. A later sample is divided into the same classes, and :func:`tellapart.tell_apart` compares the two.

**Level.** Given the rows that fixed them, the classes are a fixed function. If the sample has the distribution of the
reference, the kept rows and those of the sample are exchangeable, made coarse or not, so every relabelling of them is
as likely as the observed one: the p-value is exact, at any number of rows, and it pays for all that `tell_apart` tries.
Classes fixed by the kept rows themselves would fit these better than those of the sample; that is why they are not.

**Why not a witness.** With the reference alone there is no second sample to learn a witness against. One could keep
means and scatter of features, learn a witness from these and one half of the sample, and judge it on the other half
and on witness values of kept rows. That keeps one row of features for each kept row as well, which says no less about
the row than its classes do, and spends half of the sample. Kept classes spend none of it; `benchmarks/reference.py`
measures both. A witness that has been learned from two samples is saved by
:meth:`tellapart.result.WitnessTestResult.save`.

**What the file says about people.** Each kept row stands in the file, in coarse form: of each number which of about
256 classes it lies in, of each category its level if at least five of the rows that fixed the classes had it. Names of
columns and of such levels are there in words. Edges of classes lie midway between neighbouring values of a column.
This is not anonymous: who knows most of a row can find it. Fewer `classes` and `rows` say less and see less.

**Using one reference many times.** The p-value is exact over the luck of reference and sample together. All tests of
one reference share its luck: if its kept rows happen to be unusual, every sample looks different from them, day after
day, and more so the larger the samples are. Two corrections hold however much the tests depend on each other:

- `tests` = K planned tests: alarm at ``level / K``. The chance of any false alarm in all of them is at most the level
  (Bonferroni's inequality, which needs no independence).
- for the rate of this very reference: alarm at ``level / K``, too. By Markov's inequality at most one reference in K
  has a rate of false alarms above the level, whatever comes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from tellapart import _checks as checks
from tellapart import storage
from tellapart._arrays import IndexArray
from tellapart._randomness import as_generator
from tellapart._version import __version__
from tellapart.inference.null import Permutation
from tellapart.inference.planning import relabellings_for
from tellapart.joint import tell_apart
from tellapart.joint_result import TellApartResult
from tellapart.samples import as_frame, as_table
from tellapart.tables import ReadTable
from tellapart.tables.coarse import Categories, Classes, Coarse, Codes, TextClasses, coarse_columns, coarse_for
from tellapart.tables.encoders import LeftOut, Texts
from tellapart.tables.reading import Column, Kind, columns_of
from tellapart.tables.schema import SchemaDifference, absences, other_orders, other_types

KIND, VERSION = "reference", 1

_FEWEST = 8  # rows: of which a part fixes the classes and the others are kept
_MOST_TRAINED = 20_000  # rows that fix the classes: more move no quantile that matters
_MOST_CLASSES = 4096
_LARGEST = 1e120  # as of samples


@dataclass(frozen=True, eq=False)
class Reference:
    """Rows of a reference in coarse form, to be compared with later samples.

    Make one with :meth:`fit` or :meth:`load`.

    Attributes
    ----------
    columns : tuple of str
        The columns of the table that are compared.
    n : int
        Rows that it was fitted to.
    rows : int
        Rows of these that are kept in coarse form.
    left_out : dict
        Columns that are not compared, and why.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> reference = Reference.fit(rng.normal(size=(1000, 2)), rng=0)
    >>> reference
    Reference(2 columns, 750 of 1000 rows kept in coarse form)
    >>> reference.test(rng.normal(size=(200, 2)), rng=0).pvalue > 0.05
    True
    >>> reference.test(rng.normal(size=(200, 2)) * [1, 1.5], rng=0).pvalue < 0.05
    True
    """

    coarse: tuple[Coarse, ...]
    held: tuple[Kind, ...]  # what each column was, before texts of numbers were read
    codes: Codes  # (rows, coarse columns)
    named: bool
    n: int
    left_out: dict[str, str]
    version: str = __version__

    @classmethod
    def fit(
        cls, x: Any, *, rows: int = 5000, classes: int = 256, train_share: float = 0.25, rng: Any = None
    ) -> Reference:
        """Fit a reference to a sample.

        Parameters
        ----------
        x : array-like, data frame or tensor of shape (n, d)
            At least 8 rows. Data frames may have columns of any kind that :func:`tellapart.tell_apart` takes.
        rows : int
            At most so many rows are kept, drawn at random.
        classes : int
            About so many classes for a column of numbers. Fewer say less about a row, and see less.
        train_share : float
            Share of the rows that fixes the classes and is not kept; at most 20,000 rows.
        rng : int, numpy.random.Generator, or None
            Seed or source of randomness. The same seed gives the same reference.
        """
        most, fine = checks.whole("rows", rows, least=2), int(checks.within("classes", classes, 2, _MOST_CLASSES))
        share = checks.share("train_share", train_share, usual=0.25)
        generator, _ = as_generator(rng)
        table, named = _table(x, "x")
        n = next(iter(table.values())).rows
        if n < _FEWEST:
            raise ValueError(f"`x` must have at least {_FEWEST} rows, got {n}.")
        trained = min(_MOST_TRAINED, max(2, round(n * share)), n - 2)
        order = generator.permutation(n)
        made = {c.name: coarse_for(_taken(c, order[:trained]), fine) for c in table.values()}
        kept = {name: c for name, c in made.items() if not isinstance(c, LeftOut)}
        left_out = {name: c.why for name, c in made.items() if isinstance(c, LeftOut)}
        if not kept:
            raise ValueError(f"`x` must have a column that can be compared, got {_reasons(left_out)}.")
        judging = np.sort(order[trained : trained + most])
        codes = [c.codes(_taken(table[name], judging).to(c.kind)) for name, c in kept.items()]
        held = tuple(table[name].kind for name in kept)
        return cls(tuple(kept.values()), held, np.concatenate(codes, axis=1), named, n, left_out)

    def __repr__(self) -> str:
        return f"Reference({len(self.columns)} columns, {self.rows} of {self.n} rows kept in coarse form)"

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(c.source for c in self.coarse)

    @property
    def rows(self) -> int:
        return len(self.codes)

    def test(
        self,
        y: Any,
        *,
        tests: int = 1,
        families: Sequence[str] | None = None,
        null: Permutation | None = None,
        memory: float = 2.0,
        rng: Any = None,
    ) -> TellApartResult:
        """Test whether a sample comes from the distribution of the reference.

        Parameters
        ----------
        y : array-like, data frame or tensor of shape (m, d)
            At least 2 rows. Columns are matched by name, and by place where there are no names; columns that only one
            side has and other types are reported, and the common columns are compared.
        tests : int
            How many tests of this reference are planned: then compare each p-value with ``level / tests``, and the
            chance of any false alarm is at most the level. By default as many relabellings are drawn as that needs.
        families, null, memory, rng
            As in :func:`tellapart.tell_apart`.

        Returns
        -------
        TellApartResult
            As of :func:`tellapart.tell_apart` for the kept rows and `y` in coarse form, and exact as that is.
        """
        planned = checks.whole("tests", tests)
        found, named = _table(y, "y")
        used, schema = self._matched(found, named)
        kept = self.only(used)
        codes = np.concatenate([c.codes(found[c.source].to(c.kind)) for c in kept.coarse], axis=1)
        result = tell_apart(
            ReadTable(coarse_columns(kept.coarse, kept.codes)),
            ReadTable(coarse_columns(kept.coarse, codes)),
            families=families,
            null=null or Permutation(relabellings_for(0.05 / planned), stop_after=20),
            memory=memory,
            rng=rng,
        )
        if not isinstance(result, TellApartResult):
            raise TypeError("a reference is compared with one sample")
        said = (*(d.text for d in schema), *result.schema_differences)
        return replace(result, notes=(*result.notes, *self._notes(planned)), schema_differences=said)

    def only(self, names: Sequence[str]) -> Reference:
        """The reference with these of its columns."""
        unknown = [name for name in names if name not in self.columns]
        if unknown or not names:
            raise ValueError(f"the reference has no column {unknown[:1]}; it has {', '.join(self.columns[:8])}")
        ends = np.cumsum([0, *(len(c.names) for c in self.coarse)])
        places = [i for i, name in enumerate(self.columns) if name in names]
        codes = np.concatenate([self.codes[:, ends[i] : ends[i + 1]] for i in places], axis=1)
        coarse, held = tuple(self.coarse[i] for i in places), tuple(self.held[i] for i in places)
        return replace(self, coarse=coarse, held=held, codes=codes)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the reference to a file. The same reference gives the same bytes."""
        storage.save(path, KIND, VERSION, stored(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Reference:
        """Read a reference from a file; one that is damaged, foreign or newer is refused in one line."""
        content = storage.load(path, KIND, VERSION)
        with storage.checked(path):
            return restored(content)

    def _matched(self, found: dict[str, Column], named: bool) -> tuple[list[str], list[SchemaDifference]]:
        """Which columns can be compared, and how the tables differ."""
        names = ("the reference", "y")
        if not (named and self.named):
            self._rename(found)
        own = [*self.columns, *self.left_out]
        differences = [*absences([own, [*found]], names)]
        differences += other_orders([self.columns, [c for c in found if c in self.columns]], names)
        used = []
        for coarse, held in zip(self.coarse, self.held, strict=True):
            column = found.get(coarse.source)
            if column is None:
                continue
            same = column.kind in (held, coarse.kind, "nothing")
            usable = same or {column.kind, coarse.kind} == {"numbers", "booleans"} or column.reads_as(coarse.kind)
            if not same:
                compared_as = coarse.kind if usable else None
                differences.append(other_types(coarse.source, (held, column.kind), names, compared_as))
            if usable:
                used.append(coarse.source)
        if not used:
            said = "; ".join(d.text for d in differences)
            raise ValueError(f"`y` must have a column that can be compared with the reference, but {said}.")
        return used, differences

    def _rename(self, found: dict[str, Column]) -> None:
        """Columns without names are matched by place."""
        if len(found) != len(self.columns) or self.left_out:
            raise ValueError(
                f"`y` must have the {len(self.columns) + len(self.left_out)} columns of the reference, or their names, "
                f"got {len(found)}."
            )
        columns = [replace(c, name=name) for name, c in zip(self.columns, found.values(), strict=True)]
        found.clear()
        found.update({c.name: c for c in columns})

    def _notes(self, tests: int) -> tuple[str, ...]:
        kept = f"the reference is {self.rows} of {self.n} rows, drawn at random and kept in coarse form"
        if tests > 1:
            said = f"to allow for {tests} tests of this reference, the p-value is to be compared with level / {tests}"
        else:
            said = (
                "all tests of one reference share its luck; for K of them, an alarm at level / K keeps the chance of "
                "any false alarm below the level (tests=K)"
            )
        left_out = (f"left out of the reference: {_reasons(self.left_out)}",) if self.left_out else ()
        return (*left_out, kept, said)


def stored(reference: Reference) -> storage.Stored:
    """A reference as JSON and arrays."""
    columns: list[dict[str, Any]] = []
    arrays: dict[str, NDArray[Any]] = {"codes": reference.codes}
    for i, (coarse, held) in enumerate(zip(reference.coarse, reference.held, strict=True)):
        own: dict[str, Any] = {"source": coarse.source, "held": held}
        if isinstance(coarse, Categories):
            own |= {"levels": list(coarse.levels), "buckets": coarse.buckets}
        elif isinstance(coarse, TextClasses):
            own |= {"parts": list(coarse.names)}
            arrays[f"directions_{i}"] = coarse.encoder.directions
        else:
            own |= {"kind": coarse.kind}
        for j, part in enumerate(_classes_of(coarse)):
            arrays[f"edges_{i}_{j}"], arrays[f"values_{i}_{j}"] = part.edges, part.values
        columns.append(own)
    plain = {name: getattr(reference, name) for name in ("named", "n", "left_out", "version")}
    return storage.Stored({"columns": columns, **plain}, arrays)


def _classes_of(coarse: Coarse) -> tuple[Classes, ...]:
    if isinstance(coarse, TextClasses):
        return coarse.parts
    return (coarse,) if isinstance(coarse, Classes) else ()


def restored(content: storage.Stored) -> Reference:
    """The reference again, with everything checked that could make it fail later."""
    d, arrays = content.description, content.arrays
    coarse = tuple(_restored_column(own, i, arrays) for i, own in enumerate(d["columns"]))
    codes = arrays["codes"]
    sizes = [size for c in coarse for size in c.sizes]
    names = [c.source for c in coarse]
    if codes.dtype != np.uint16 or codes.ndim != 2 or codes.shape[1] != len(sizes) or not len(codes) > 1 or not sizes:
        raise ValueError(f"its rows are {codes.dtype} of shape {codes.shape}")
    if (codes.max(axis=0) >= sizes).any() or len(set(names)) < len(names):
        raise ValueError("its rows have classes that it does not know")
    held = tuple(checks.one_of("held", own["held"], get_args(Kind)) for own in d["columns"])
    left_out = {str(name): str(why) for name, why in d["left_out"].items()}
    return Reference(coarse, held, codes, bool(d["named"]), checks.whole("n", d["n"]), left_out, str(d["version"]))


def _restored_column(own: dict[str, Any], i: int, arrays: Mapping[str, Any]) -> Coarse:
    source = own["source"]
    if not isinstance(source, str):
        raise TypeError("the name of a column is no text")
    if "levels" in own:
        levels = tuple(own["levels"])
        if not all(isinstance(level, str) for level in levels):
            raise TypeError("a level is no text")
        return Categories(source, levels, int(checks.within("buckets", own["buckets"], 1, 256)))
    if "parts" not in own:
        return _restored_classes(source, source, checks.one_of("kind", own["kind"], get_args(Kind)), (i, 0), arrays)
    directions = np.asarray(arrays[f"directions_{i}"], dtype=np.float64)
    encoder = Texts(source, directions, marked=False)
    parts = tuple(_restored_classes(source, str(p), "numbers", (i, j), arrays) for j, p in enumerate(own["parts"]))
    if directions.ndim != 2 or len(parts) != 1 + directions.shape[1]:
        raise ValueError("the directions of a text are not those of its parts")
    return TextClasses(encoder, parts)


def _restored_classes(source: str, name: str, kind: Kind, place: tuple[int, int], arrays: Mapping[str, Any]) -> Classes:
    edges, values = (
        np.asarray(arrays[f"{what}_{place[0]}_{place[1]}"], dtype=np.float64) for what in ("edges", "values")
    )
    if edges.ndim != 1 or values.shape != (len(edges) + 1,) or not (np.diff(edges) > 0).all() or len(values) >= 2**15:
        raise ValueError("the edges of classes do not rise")
    return Classes(source, name, kind, edges, values)


def _table(data: Any, name: str) -> tuple[dict[str, Column], bool]:
    """The columns of a sample of any accepted kind, and whether they have names."""
    frame = as_frame(data, name)
    if frame is not None:
        table, named = columns_of(frame, name), isinstance(frame, nw.DataFrame)
    else:
        read = as_table(data, name)
        labels = read.columns or [str(j) for j in range(read.values.shape[1])]
        values = read.values.astype(np.float64, copy=False)
        table = {label: Column.of(label, "numbers", values[:, j]) for j, label in enumerate(labels)}
        named = read.columns is not None
    for column in table.values():
        if column.kind != "text" and (np.abs(column.values[~column.missing]) > _LARGEST).any():
            raise ValueError(f"`{name}` must be finite and below {_LARGEST:g}, got larger in column '{column.name}'.")
    return table, named


def _reasons(left_out: Mapping[str, str]) -> str:
    return ", ".join(f"'{name}' ({why})" for name, why in list(left_out.items())[:5])


def _taken(column: Column, rows: IndexArray) -> Column:
    return column.taken(rows)
