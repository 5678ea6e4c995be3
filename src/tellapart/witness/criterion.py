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

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

_LEAST = -60.0  # of an exponent: its exponential counts for nothing, but numbers below 1e-38 take ten times as long


@dataclass(frozen=True, eq=False)
class Power:
    """J of each training, the signal-to-noise ratio of its mean witness, and gradients of J."""

    j: Tensor  # (T,)
    snr: Tensor  # (T,)
    coordinates: list[Tensor]  # dJ / dz^l, each (T, N, p_l)
    weights: Tensor  # dJ / dw, (T, L)


class PowerCriterion:
    """J for coordinates of `n` + `m` rows. It holds its work space: fresh memory costs as much as the arithmetic."""

    def __init__(self, n: int, m: int, floor: float = 1e-8) -> None:
        self.n, self.m, self.floor = n, m, floor
        self._kernels: list[GaussianBlocks] = []

    @torch.no_grad()
    def __call__(self, coordinates: Sequence[Tensor], weights: Tensor) -> Power:
        """J and its gradients, from the coordinates (T, N, p_l) and the weights (T, L) of each Gaussian."""
        tables = self._tables(coordinates)
        j, snr, g = self._value(_mixed(tables, weights))
        pulled = [self._kernels[i].pull(g) for i in range(len(coordinates))]
        if len(pulled) > 1:
            pulled = [weights[:, i, None, None] * gradient for i, gradient in enumerate(pulled)]
        by_table = torch.stack([g[..., 0] * self.n, g[..., 1] * self.m], dim=-1)
        return Power(j, snr, pulled, (tables * by_table[:, None]).sum(dim=(2, 3)))

    @torch.no_grad()
    def values(self, coordinates: Sequence[Tensor], weights: Tensor) -> tuple[Tensor, Tensor]:
        """J and the signal-to-noise ratio alone: (T,) and (T,)."""
        return self._value(_mixed(self._tables(coordinates), weights))[:2]

    def _tables(self, coordinates: Sequence[Tensor]) -> Tensor:
        """``(a, b)`` of each Gaussian: (T, L, N, 2)."""
        while len(self._kernels) < len(coordinates):
            self._kernels.append(GaussianBlocks(self.n, self.m))
        return torch.stack([k.means(z) for k, z in zip(self._kernels, coordinates, strict=False)], dim=1)

    def _value(self, table: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """J, the signal-to-noise ratio, and G: (T, N, 2), the derivatives by a over n and by b over m."""
        n, m = self.n, self.m
        c = n / (n + m)
        p, q = table[:, :n].mean(dim=1), table[:, n:].mean(dim=1)  # (T, 2), the means of a and b on either sample
        mmd2 = (n * p[:, 0] - 1) / (n - 1) + (m * q[:, 1] - 1) / (m - 1) - p[:, 1] - q[:, 0]
        h = table[..., 0] - table[..., 1]
        d_p, d_q = (part - part.mean(dim=1, keepdim=True) for part in (h[:, :n], h[:, n:]))
        noise = (d_p * d_p).mean(dim=1) / c + (d_q * d_q).mean(dim=1) / (1 - c)
        sigma = (2 * noise + self.floor).sqrt()
        j = mmd2 / sigma
        snr = (p[:, 0] - p[:, 1] - q[:, 0] + q[:, 1]) / noise.sqrt().clamp_min(torch.finfo(h.dtype).tiny)
        up, slope = (1 / sigma)[:, None], (-2 * j / sigma**2)[:, None]  # dJ / dMMD^2, and 4 dJ / dsigma^2
        e_p, e_q = slope * d_p / (c * n), slope * d_q / ((1 - c) * m)
        by_a = torch.cat([(up / (n - 1) + e_p) / n, (e_q - up / m) / n], dim=1)
        by_b = torch.cat([-(up / n + e_p) / m, (up / (m - 1) - e_q) / m], dim=1)
        return j, snr, torch.stack([by_a, by_b], dim=-1)


def _mixed(tables: Tensor, weights: Tensor) -> Tensor:
    """The table of the mixture; a single Gaussian has weight 1."""
    return tables[:, 0] if tables.shape[1] == 1 else (weights[..., None, None] * tables).sum(dim=1)


class GaussianBlocks:
    """``exp(-|z_i - z_j|^2)`` within P, of P against Q, and within Q."""

    def __init__(self, n: int, m: int) -> None:
        self.n, self.m = n, m
        self.z1 = self.one = self.xx = self.xy = self.yy = self.work = torch.empty(0)

    def means(self, z: Tensor) -> Tensor:
        """``(a, b)`` of every row: (T, N, 2)."""
        n = self.n
        self._reserve(z)
        # What rows have in common changes no distance but would cost its digits, as features vary little at first.
        z = z - z.mean(dim=1, keepdim=True)
        s = (z * z).sum(dim=-1, keepdim=True)
        joined = torch.cat([z, self.one, s], dim=-1)
        left, right = torch.cat([2 * z, -s, -self.one], dim=-1), joined.transpose(1, 2)
        self.z1 = joined[..., :-1]  # [z, 1]
        blocks = ((self.xx, left[:, :n], right[..., :n]), (self.xy, left[:, :n], right[..., n:]),
                  (self.yy, left[:, n:], right[..., n:]))  # fmt: skip
        for k, rows, columns in blocks:
            torch.bmm(rows, columns, out=k).clamp_(_LEAST, 0.0).exp_()
        for k in (self.xx, self.yy):  # in single precision a row is not at distance 0 from itself
            k.diagonal(dim1=1, dim2=2).fill_(1.0)
        a = torch.cat([self.xx.mean(dim=2), self.xy.mean(dim=1)], dim=1)
        b = torch.cat([self.xy.mean(dim=2), self.yy.mean(dim=2)], dim=1)
        return torch.stack([a, b], dim=-1)

    def pull(self, g: Tensor) -> Tensor:
        """``dJ / dz`` from G; the kernel is overwritten by W."""
        n, z1 = self.n, self.z1
        g_a, g_b = g[..., 0], g[..., 1]
        self._times_sum(self.xx, g_a[:, :n], g_a[:, :n])
        self._times_sum(self.xy, g_b[:, :n], g_a[:, n:])
        self._times_sum(self.yy, g_b[:, n:], g_b[:, n:])
        z_p, z_q = z1[:, :n], z1[:, n:]
        w_p = torch.baddbmm(torch.bmm(self.xx, z_p), self.xy, z_q)
        w_q = torch.baddbmm(torch.bmm(self.yy, z_q), self.xy.transpose(1, 2), z_p)
        w = torch.cat([w_p, w_q], dim=1)  # [W z, W 1]
        return 2 * torch.addcmul(w[..., :-1], w[..., -1:], z1[..., :-1], value=-1)

    def _times_sum(self, k: Tensor, u: Tensor, v: Tensor) -> None:
        """``k_ij (u_i + v_j)`` in place."""
        outer = self.work[: k.numel()].view(k.shape)
        torch.add(u[:, :, None], v[:, None, :], out=outer)
        k.mul_(outer)

    def _reserve(self, z: Tensor) -> None:
        n, m, t = self.n, self.m, len(z)
        if self.xx.shape[0] == t and (self.xx.dtype, self.xx.device) == (z.dtype, z.device):
            return
        self.xx, self.xy, self.yy = (z.new_empty(t, *shape) for shape in ((n, n), (n, m), (m, m)))
        self.work, self.one = z.new_empty(t * max(n, m) ** 2), z.new_ones(t, n + m, 1)
