"""Blocks judged by what was learned before them: level, combination, what each block is judged by, degenerate cases."""

import numpy as np
import pytest
from scipy.stats import combine_pvalues

import oracles
from tellapart.datasets import liu_blobs
from tellapart.inference.null import Permutation, Saddlepoint
from tellapart.inference.prequential import Prequential, allotted
from tellapart.inference.pvalue import SMALLEST, sequential_pvalue
from tellapart.kernels import Gaussian
from tellapart.samples import Samples
from tellapart.witness import Fisher


class Direction:
    """Difference of the two means as a direction; remembers what it learned from."""

    def __init__(self):
        self.seen = []

    def learn(self, train, rng):
        self.seen.append((train.x, train.y))
        d = train.x.mean(axis=0) - train.y.mean(axis=0)
        return lambda rows: rows @ d


class Places:
    """Looks at nothing but where a row stands in the table."""

    def learn(self, train, rng):
        return lambda rows: -np.arange(len(rows), dtype=float)


class Stump:
    """One sign: ties everywhere, and constant where the blocks are small."""

    def learn(self, train, rng):
        middle = (train.x.mean() + train.y.mean()) / 2
        side = 1.0 if train.x.mean() >= train.y.mean() else -1.0
        return lambda rows: side * (rows[:, 0] > middle)


def normals(rng, n, m, shift=0.0, d=2):
    return Samples(rng.normal(size=(n, d)) + shift, rng.normal(size=(m, d)))


NULLS = {
    "few rows": (Direction(), lambda rng: normals(rng, 4, 4)),
    "10 to 1": (Direction(), lambda rng: normals(rng, 100, 10)),
    "heavy tails": (Direction(), lambda rng: Samples(rng.standard_cauchy((30, 2)), rng.standard_cauchy((20, 2)))),
    "discrete": (
        Stump(),
        lambda rng: Samples(rng.integers(3, size=(20, 1)) * 1.0, rng.integers(3, size=(30, 1)) * 1.0),
    ),
    "places": (Places(), lambda rng: normals(rng, 20, 20)),
    "d > n": (Direction(), lambda rng: normals(rng, 20, 15, d=50)),
}


@pytest.mark.parametrize("null", NULLS)
def test_level(null):
    learner, draw = NULLS[null]
    trials, rng = 700, np.random.default_rng(1)
    pvalues = np.array([Prequential(blocks=4).judge(draw(rng), learner, rng).pvalue for _ in range(trials)])
    for level in (0.01, 0.05, 0.1, 0.25, 0.5):
        assert (pvalues <= level).sum() <= oracles.binomial_bounds(trials, level)[1], level


def test_each_block_is_judged_by_what_was_learned_before_it():
    samples, learner = normals(np.random.default_rng(2), 30, 60), Direction()
    result = Prequential(blocks=5).judge(samples, learner, np.random.default_rng(0))
    judged_x, judged_y = (np.concatenate([getattr(b, name) for b in result.blocks]) for name in ("rows_x", "rows_y"))
    assert len(set(judged_x)) == len(judged_x) == 24
    assert len(set(judged_y)) == len(judged_y) == 48
    for block, (x, y) in zip(result.blocks, learner.seen, strict=True):
        later_x = samples.x[block.rows_x]
        assert not (x[:, None] == later_x).all(axis=2).any()
        d = x.mean(axis=0) - y.mean(axis=0)
        np.testing.assert_allclose(block.h_x, later_x @ d)
        np.testing.assert_allclose(block.learned_y, y @ d)
        assert Saddlepoint().judge(block.h_x, block.h_y, np.random.default_rng(0)).pvalue in result.block_pvalues
    assert np.isnan(result.evidence_x).sum() == 6
    assert np.isnan(result.evidence_y).sum() == 12


def test_two_blocks_are_a_split():
    samples = normals(np.random.default_rng(3), 20, 30, shift=0.5)
    result = Prequential(blocks=2).judge(samples, Direction(), np.random.default_rng(0))
    assert len(result.blocks) == 1
    assert result.pvalue == result.block_pvalues[0]
    few = Prequential().judge(normals(np.random.default_rng(4), 9, 200), Direction(), np.random.default_rng(0))
    assert len(few.blocks) == 1  # blocks of fewer than 5 rows could not reject


def test_more_rows_learn_and_judge_than_in_a_split():
    learner, found = Fisher(kernel=Gaussian(0.2)), np.zeros(2)
    for seed in range(60):
        samples = Samples(*liu_blobs(12, rng=seed))
        for i, blocks in enumerate((2, 6)):
            found[i] += Prequential(blocks).judge(samples, learner, np.random.default_rng(seed)).pvalue <= 0.05
    assert found[1] >= found[0] + 4


def test_constant_blocks_say_nothing():
    samples = Samples(np.ones((20, 1)), np.ones((30, 1)))
    result = Prequential().judge(samples, Direction(), np.random.default_rng(0))
    assert result.pvalue == 1.0
    assert (result.block_pvalues == 1).all()
    assert result.evidence_x[~np.isnan(result.evidence_x)].tolist() == [0.0] * 15


def test_a_constant_block_gives_its_weight_to_the_later_ones():
    weights = [3.0, 5.0, 7.0, 1.0]
    assert allotted(weights, [False] * 4).sum() == pytest.approx(64)
    late = allotted(weights, [True, False, True, False])
    assert late[0] == late[2] == 0
    assert late.sum() == pytest.approx(64)
    assert allotted(weights, [False, False, False, True]).sum() < 64  # nobody is left: the p-value stays valid


def test_the_combination_lies_between_fisher_and_stouffer():
    rng = np.random.default_rng(5)
    for p in rng.random((20, 4)):
        fisher, stouffer = (combine_pvalues(p, method).pvalue for method in ("fisher", "stouffer"))
        assert sequential_pvalue(p, np.ones(4), 4.0) == pytest.approx(fisher)
        assert sequential_pvalue(p, np.full(4, 1e7), 4e7) == pytest.approx(stouffer, abs=1e-3)
    assert sequential_pvalue([SMALLEST] * 3, [5.0] * 3, 15.0) == SMALLEST
    assert sequential_pvalue([0.05], [2.0], 2.0) == 0.05
    assert sequential_pvalue([1.0, 0.3], [0.0, 2.0], 2.0) == 0.3


def test_the_combination_keeps_the_level_when_shapes_follow_the_past():
    """Discrete p-values, and a second and third shape that depend on the first p-value."""
    trials, rng = 20_000, np.random.default_rng(6)
    pvalues = []
    for first, second, third in np.ceil(rng.random((trials, 3)) * [20, 7, 50]) / [20, 7, 50]:
        middle = 3.0 if first < 0.3 else 11.0
        pvalues.append(sequential_pvalue([first, second, third], [4.0, middle, 14.0 - middle], 18.0))
    for level in (0.01, 0.05, 0.3):
        assert np.sum(np.array(pvalues) <= level) <= oracles.binomial_bounds(trials, level)[1]


def test_evidence_points_to_its_sample():
    samples = normals(np.random.default_rng(7), 60, 40, shift=2.0)
    result = Prequential(null=Permutation(199)).judge(samples, Direction(), np.random.default_rng(0))
    assert np.nanmean(result.evidence_x) > np.nanmean(result.evidence_y) + 1
    assert result.pvalue < 1e-4
    assert "5 blocks" in result.how


def test_same_seed_same_result():
    samples = normals(np.random.default_rng(8), 20, 20)
    first, again = (Prequential().judge(samples, Direction(), np.random.default_rng(0)) for _ in range(2))
    assert first.pvalue == again.pvalue
    np.testing.assert_array_equal(first.evidence_x, again.evidence_x)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Prequential(blocks=1), ValueError, "`blocks` must be a whole number of at least 2"),
        (lambda: Prequential(null=Saddlepoint), TypeError, "`null` must be"),
        (lambda: sequential_pvalue([0.0], [1.0], 1.0), ValueError, r"must lie in \(0, 1\]"),
        (lambda: sequential_pvalue([0.5], [2.0], 1.0), ValueError, "sum up to at most 1.0"),
        (
            lambda: Prequential().judge(normals(np.random.default_rng(9), 3, 9), Direction(), np.random.default_rng(0)),
            ValueError,
            "`x` must have at least 4 rows",
        ),
    ],
)
def test_bad_input_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
