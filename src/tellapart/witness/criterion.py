"""The power criterion ``J = MMD^2 / sigma`` of a kernel that is being learned, and its gradient, in few passes.

P has n rows, Q has m, ``N = n + m``, ``c = n / N``. The kernel is a mixture ``k = sum_l w_l exp(-|z^l_i - z^l_j|^2)``
with ``sum_l w_l = 1``, where the coordinates ``z^l`` are whatever is learned: features over a width, columns over a
width, or both beside each other, since a product of two Gaussian kernels is the Gaussian kernel of the joined
coordinates.

With ``a_i = mean_{j in P} k_ij``, ``b_i = mean_{j in Q} k_ij`` and the witness ``h = a - b``,

    MMD^2 = (n mean_P a - 1) / (n - 1) + (m mean_Q b - 1) / (m - 1) - mean_P b - mean_Q a       (unbiased; k_ii = 1)
    sigma^2 = 2 (var_P h / c + var_Q h / (1 - c)) + floor
    J = MMD^2 / sigma.

J is a function of the N x 2 table (a, b) only. So ``dJ = sum_ij G_ij dk_ij``, where ``G_ij`` is the derivative with
respect to ``a_i`` over n (j in P) or to ``b_i`` over m (j in Q): each block of the symmetrised ``G + G'`` is ``u_i +
v_j``. With ``W = k (G + G')`` entry by entry, the gradient with respect to the coordinates is

    dJ / dz_i = -2 (z_i sum_j W_ij - sum_j W_ij z_j),

one product of W with ``[z, 1]``. K is symmetric: the block of Q against P is never computed. Everything behind z (the
module, the widths) is left to autograd.

For n = m, Liu et al. (2020) pair row i of P with row i of Q: their variance is ours less twice the covariance of
``h(x_i)`` and ``h(y_i)``, which is noise, as rows are paired at random. Ours takes any n and m and does not depend on
the order of rows. Without `floor` and with the biased MMD, ``J = SNR / sqrt 2`` for the signal-to-noise ratio of h on
the same rows.

A leading dimension T stands for independent trainings side by side.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

_LEAST = -86.0  # of an exponent of 2: its power counts for nothing, but numbers below 1e-38 take ten times as long
_LOG2E = math.log2(math.e)  # powers of 2 are several times as fast as those of e


@dataclass(frozen=True, eq=False)
class Power:
    """J of each training, and its gradients."""

    j: Tensor  # (T,)
    coordinates: list[Tensor]  # dJ / dz^l, each (T, N, p_l)
    weights: Tensor | None  # dJ / dw, (T, L); None for a single Gaussian, whose weight is 1


class PowerCriterion:
    """J for coordinates of `n` + `m` rows. It holds its work space: fresh memory costs as much as the arithmetic."""

    def __init__(self, n: int, m: int, floor: float = 1e-8) -> None:
        self.n, self.m, self.floor = n, m, floor
        self._kernels: list[GaussianBlocks] = []
        self._constants: _Constants | None = None
        self._sums = SumsOfPairs(n)

    @torch.no_grad()
    def __call__(self, coordinates: Sequence[Tensor], weights: Tensor) -> Power:
        """J and its gradients, from the coordinates (T, N, p_l) and the weights (T, L) of each Gaussian."""
        tables = self._tables(coordinates)
        j, g = self._constants_for(weights).gradient(_mixed(tables, weights), self.floor)
        self._sums.multiply([kernel.blocks for kernel in self._kernels], g)
        pulled = [kernel.pull() for kernel in self._kernels]
        if len(pulled) == 1:
            return Power(j, pulled, None)
        by_table = torch.stack([g[..., 0] * self.n, g[..., 1] * self.m], dim=-1)
        weighted = [weights[:, i, None, None] * gradient for i, gradient in enumerate(pulled)]
        return Power(j, weighted, (tables * by_table[:, None]).sum(dim=(2, 3)))

    @torch.no_grad()
    def values(self, coordinates: Sequence[Tensor], weights: Tensor) -> tuple[Tensor, Tensor]:
        """J and the signal-to-noise ratio of the mean witness: (T,) and (T,)."""
        return self._constants_for(weights).values(_mixed(self._tables(coordinates), weights), self.floor)

    def _constants_for(self, like: Tensor) -> _Constants:
        if self._constants is None or not self._constants.alike(like):
            self._constants = _Constants.of(self.n, self.m, like)
        return self._constants

    def _tables(self, coordinates: Sequence[Tensor]) -> Tensor:
        """``(a, b)`` of each Gaussian: (T, L, N, 2)."""
        if len(self._kernels) != len(coordinates):
            self._kernels = [GaussianBlocks(self.n, self.m) for _ in coordinates]
        return torch.stack([k.means(z) for k, z in zip(self._kernels, coordinates, strict=True)], dim=1)


def _mixed(tables: Tensor, weights: Tensor) -> Tensor:
    """The table of the mixture; a single Gaussian has weight 1."""
    return tables[:, 0] if tables.shape[1] == 1 else (weights[..., None, None] * tables).sum(dim=1)


@dataclass(frozen=True, eq=False)
class _Constants:
    """What J needs of the sizes alone, as tensors: small operations cost their number, not their size."""

    averages: Tensor  # (2, N), rows -> class means
    members: Tensor  # (2, N), class -> its rows
    diagonal: Tensor  # (2, 2), what k_ii = 1 adds to the class means of (a, b)
    unbiased: Tensor  # (2, 2), from what is left of them to MMD^2
    shares: Tensor  # (N,), squares of centred h -> the noise
    slopes: Tensor  # (N, 2), G of MMD^2
    sides: Tensor  # (2,), d(a - b) over n and over m

    @classmethod
    def of(cls, n: int, m: int, like: Tensor) -> _Constants:
        c = n / (n + m)
        members = like.new_zeros(2, n + m)
        members[0, :n] = members[1, n:] = 1.0
        slopes = like.new_tensor([[1 / (n * (n - 1)), -1 / (n * m)], [-1 / (n * m), 1 / (m * (m - 1))]])
        return cls(
            members / like.new_tensor([[n], [m]]),
            members,
            like.new_tensor([[1 / n, 0.0], [0.0, 1 / m]]),
            like.new_tensor([[n / (n - 1), -1.0], [-1.0, m / (m - 1)]]),
            members.T @ like.new_tensor([1 / (c * n), 1 / ((1 - c) * m)]),
            members.T @ slopes,
            like.new_tensor([1 / n, -1 / m]),
        )

    def alike(self, like: Tensor) -> bool:
        return self.shares.dtype == like.dtype and self.shares.device == like.device

    def parts(self, table: Tensor, floor: float) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """Class means of (a, b), centred h, the noise of h, sigma and J."""
        means = self.averages @ table  # (T, 2, 2)
        mmd2 = ((means - self.diagonal) * self.unbiased).sum(dim=(1, 2))
        h = table[..., 0] - table[..., 1]
        d = torch.addmm(h, means[..., 0] - means[..., 1], self.members, alpha=-1)
        noise = (d * d) @ self.shares
        sigma = (2 * noise + floor).sqrt_()
        return means, d, noise, sigma, mmd2 / sigma

    def values(self, table: Tensor, floor: float) -> tuple[Tensor, Tensor]:
        """J and the signal-to-noise ratio."""
        means, _, noise, _, j = self.parts(table, floor)
        signal = means[:, 0, 0] - means[:, 0, 1] - means[:, 1, 0] + means[:, 1, 1]
        return j, signal / noise.sqrt().clamp_min(torch.finfo(noise.dtype).tiny)

    def gradient(self, table: Tensor, floor: float) -> tuple[Tensor, Tensor]:
        """J, and G: (T, N, 2), its derivatives by a over n and by b over m."""
        _, d, _, sigma, j = self.parts(table, floor)
        e = d * self.shares * (-2 * j / sigma**2)[:, None]  # dJ / dh, by way of sigma
        return j, torch.addcmul(e[..., None] * self.sides, (1 / sigma)[:, None, None], self.slopes)


class GaussianBlocks:
    """``exp(-|z_i - z_j|^2)`` within P, of P against Q, and within Q; later W in their place.

    All views of the work space are made once: to make one costs as much as to add a few thousand numbers.
    """

    def __init__(self, n: int, m: int) -> None:
        self.n, self.m = n, m
        self.blocks: tuple[Tensor, ...] = ()
        self.table = self.product = torch.empty(0)

    def means(self, z: Tensor) -> Tensor:
        """``(a, b)`` of every row: (T, N, 2)."""
        self._reserve(z)
        # What rows have in common changes no distance but would cost its digits, as features vary little at first.
        torch.sub(z, z.mean(dim=1, keepdim=True), out=self.z)
        torch.sum(self.z * self.z, dim=-1, keepdim=True, out=self.s)
        torch.mul(self.z, 2 * _LOG2E, out=self.left_z)
        torch.mul(self.s, -_LOG2E, out=self.left_s)
        for k, (rows, columns) in zip(self.blocks, self.factors, strict=True):
            torch.bmm(rows, columns, out=k).clamp_(_LEAST, 0.0).exp2_()
        for diagonal in self.diagonals:  # in single precision a row is not at distance 0 from itself
            diagonal.fill_(1.0)
        for k, dim, part in self.sides:
            torch.mean(k, dim=dim, out=part)
        return self.table

    def pull(self) -> Tensor:
        """``dJ / dz``, once the blocks are W."""
        xx, xy, yy = self.blocks
        (z_p, z_q), (w_p, w_q) = self.z1, self.w
        torch.bmm(xx, z_p, out=w_p).baddbmm_(xy, z_q)
        torch.bmm(yy, z_q, out=w_q).baddbmm_(xy.transpose(1, 2), z_p)
        return torch.addcmul(self.w_z, self.w_1, self.z, value=-1).mul_(2)

    def _reserve(self, z: Tensor) -> None:
        n, m, (t, total, p) = self.n, self.m, z.shape
        if self.product.shape == (t, total, p + 1) and (self.table.dtype, self.table.device) == (z.dtype, z.device):
            return
        left, right = (z.new_empty(t, total, p + 2) for _ in range(2))
        left[..., -1], right[..., -2] = -_LOG2E, 1.0  # [2 z, -s, -1] times log2 e, and [z, 1, s]
        self.z, self.s, self.left_z, self.left_s = right[..., :p], right[..., -1:], left[..., :p], left[..., p : p + 1]
        self.blocks = xx, xy, yy = z.new_empty(t, n, n), z.new_empty(t, n, m), z.new_empty(t, m, m)
        columns = right.transpose(1, 2)
        self.factors = [(left[:, i], columns[..., j]) for i, j in blocks_of(n)]
        self.diagonals = [k.diagonal(dim1=1, dim2=2) for k in (xx, yy)]
        self.table = table = z.new_empty(t, total, 2)
        self.sides = ((xx, 2, table[:, :n, 0]), (xy, 1, table[:, n:, 0]),
                      (xy, 2, table[:, :n, 1]), (yy, 2, table[:, n:, 1]))  # fmt: skip
        self.z1 = right[:, :n, :-1], right[:, n:, :-1]  # [z, 1]
        self.product = z.new_empty(t, total, p + 1)  # [W z, W 1]
        self.w, self.w_z, self.w_1 = (
            (self.product[:, :n], self.product[:, n:]),
            self.product[..., :p],
            self.product[..., p:],
        )


def blocks_of(n: int) -> tuple[tuple[slice, slice], ...]:
    """Rows and columns of the blocks: P with P, P with Q, Q with Q."""
    p, q = slice(n), slice(n, None)
    return (p, p), (p, q), (q, q)


class SumsOfPairs:
    """``u_i + v_j``, where the sides are columns of G: as a product of thin matrices the fastest way to add."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.edges = self.work = torch.empty(0)

    def multiply(self, kernels: Sequence[Sequence[Tensor]], g: Tensor) -> None:
        """Every block of every kernel times ``u_i + v_j``, in place."""
        self._reserve(g)
        self.g.copy_(g)
        for alike, (left, right) in zip(zip(*kernels, strict=True), self.factors, strict=True):
            sums = torch.bmm(left, right, out=self.work[: alike[0].numel()].view(alike[0].shape))
            for k in alike:
                k.mul_(sums)

    def _reserve(self, g: Tensor) -> None:
        n, (t, total, _) = self.n, g.shape
        if len(self.edges) == t and (self.edges.dtype, self.edges.device) == (g.dtype, g.device):
            return
        self.edges = edges = g.new_ones(t, total, 5)  # [1, g_a, 1, g_b, 1]
        self.g, columns = edges[..., 1::2], edges.transpose(1, 2)
        by_a, by_b, of_a, of_b = slice(1, 3), slice(3, 5), slice(0, 2), slice(2, 4)  # [g, 1] and [1, g]
        pairs = zip(blocks_of(n), ((by_a, of_a), (by_b, of_a), (by_b, of_b)), strict=True)
        self.factors = [(edges[:, i, u], columns[:, v, j]) for (i, j), (u, v) in pairs]
        self.work = g.new_empty(t * max(n, total - n) ** 2)
