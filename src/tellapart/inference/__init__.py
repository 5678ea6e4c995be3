"""Stage II: judge a witness. Each null is one value with ``judge(h_x, h_y, rng) -> verdict``."""

from tellapart.inference.null import Normal, Null, Permutation, Saddlepoint, Verdict
from tellapart.inference.pvalue import permutation_pvalue

__all__ = ["Normal", "Null", "Permutation", "Saddlepoint", "Verdict", "permutation_pvalue"]
