"""Explanations ("where 1") of planted data, counted in the plainest way: something to draw. Not a test of anything."""

from itertools import combinations, pairwise

import numpy as np
import pandas as pd
from scipy import stats

DRAWS, LEVEL = 999, 0.05
EPOCH = pd.Timestamp("1970-01-01")


def orders(n, *, moved, rng):
    """Orders of a shop; `moved`: some columns have another distribution."""
    age = rng.gamma(9 if moved else 8, 4.8, n) + 17
    basket = np.exp(rng.normal(3.4, 0.7, n))
    trust = rng.normal(size=n)
    table = pd.DataFrame(
        {
            "age": age.round(),
            "basket_eur": basket.round(2),
            "payment": rng.choice(["card", "invoice", "wallet", "voucher"], n, p=[0.4, 0.3, 0.2, 0.1]),
            "newsletter": rng.random(n) < 0.35,
            "ordered": pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(0, 90 + 30 * moved, n), "D"),
            "visits": rng.poisson(4, n),
            "items": rng.poisson(3, n) + 1,
            "score_a": trust + 0.4 * rng.normal(size=n),
            "score_b": (-trust if moved else trust) + 0.4 * rng.normal(size=n),
        }
    )
    if moved:
        table.loc[rng.random(n) < 0.4, "payment"] = "wallet"
    table.loc[rng.random(n) < (0.12 if moved else 0.02), "basket_eur"] = np.nan
    return table


def explained(x, y, *, evidence=None):
    """The dict of an explanation of two pandas tables with the same columns."""
    columns = [_column(name, x[name], y[name], len(x.columns)) for name in x.columns]
    columns.sort(key=lambda c: -c["score"])
    numeric = [c["name"] for c in columns if c["kind"] == "numbers"][:8]
    pairs = sorted((_pair(a, b, x, y) for a, b in combinations(numeric, 2)), key=lambda p: -p["score"])
    h = evidence or (np.random.default_rng(0).normal(0.4, 1, len(x)), np.random.default_rng(1).normal(-0.4, 1, len(y)))
    telling = (pairs[0]["names"] if pairs and pairs[0]["differs"] else numeric)[:2]
    return {
        "schema": "where 1",
        "level": LEVEL,
        "draws": DRAWS,
        "rows_used": [len(x), len(y)],
        "columns": columns,
        "pairs": pairs[:20],
        "pairs_tried": len(pairs),
        "rows": {"x": _rows(x, h[0], 1), "y": _rows(y, h[1], -1)},
        "subgroups": [_subgroup(x, y, c["name"]) for c in columns if c["differs"] and c["kind"] == "numbers"][:3],
        "evidence": _histogram(*h),
        "map": _map(telling, x, y, h) if len(telling) == 2 else None,
        "notes": ["Columns and pairs were compared by relabelling the same rows 999 times."],
    }


def _column(name, a, b, count):
    kind = {"b": "booleans", "M": "dates"}.get(a.dtype.kind, "numbers" if a.dtype.kind in "fiu" else "categories")
    if kind in ("numbers", "dates"):
        p, change, portrait = _numbers(a, b, kind)
    else:
        p, change, portrait = _levels(a.astype(str), b.astype(str))
    corrected = min(1.0, max(p, 1 / (DRAWS + 1)) * count)
    found = {"name": name, "kind": kind, "pvalue": corrected, "alone": max(p, 1 / (DRAWS + 1))}
    return {**found, **_marked(corrected, p), "change": change, "portrait": portrait}


def _marked(corrected, p):
    return {"score": float(stats.norm.isf(max(p, 1e-12) / 2)), "differs": bool(corrected <= LEVEL)}


def _numbers(a, b, kind):
    u, v = (_floats(s.dropna()) for s in (a, b))
    edges = np.histogram_bin_edges(np.concatenate([u, v]), bins=16)
    missing = [float(a.isna().mean()), float(b.isna().mean())]

    def said(value):
        return str((EPOCH + pd.Timedelta(value, "s")).date()) if kind == "dates" else f"{value:.3g}"

    gone = stats.fisher_exact([[a.isna().sum(), a.notna().sum()], [b.isna().sum(), b.notna().sum()]]).pvalue
    p, change = stats.ks_2samp(u, v).pvalue, f"median {said(np.median(u))} in x, {said(np.median(v))} in y"
    if gone < p:
        p, change = gone, f"missing {missing[0]:.1%} in x, {missing[1]:.1%} in y"
    counted = [(np.histogram(w, edges)[0] / len(w)).tolist() for w in (u, v)]
    bars = {"kind": "histogram", "labels": [said(e) for e in edges], "x": counted[0], "y": counted[1]}
    return float(p), change, {**bars, "missing": missing}


def _floats(s):
    return ((s - EPOCH).dt.total_seconds() if s.dtype.kind == "M" else s).to_numpy(dtype=float)


def _levels(a, b):
    names = sorted({*a, *b})
    counts = np.array([[(s == level).sum() for level in names] for s in (a, b)])
    shares = counts / counts.sum(axis=1, keepdims=True)
    i = int(np.abs(shares[0] - shares[1]).argmax())
    change = f"{names[i]}: {shares[0, i]:.0%} in x, {shares[1, i]:.0%} in y"
    p = float(stats.chi2_contingency(counts[:, counts.sum(axis=0) > 0]).pvalue)
    x, y = shares.tolist()
    return p, change, {"kind": "levels", "labels": names, "x": x, "y": y, "missing": [0.0, 0.0]}


def _pair(a, b, x, y):
    r, s = (float(stats.spearmanr(t[a], t[b], nan_policy="omit").statistic) for t in (x, y))
    z = abs(np.arctanh(r) - np.arctanh(s)) / np.sqrt(1 / len(x) + 1 / len(y))
    p = max(float(2 * stats.norm.sf(z)), 1 / (DRAWS + 1))
    edges = [np.quantile(pd.concat([x[c], y[c]]).dropna(), np.linspace(0, 1, 9)) for c in (a, b)]
    for e in edges:
        e += np.arange(9) * 1e-9
    labels = [[f"{low:.2g} to {high:.2g}" for low, high in pairwise(e)] for e in edges]
    cells = [(np.histogram2d(*t[[a, b]].dropna().to_numpy().T, bins=edges)[0] / len(t)).tolist() for t in (x, y)]
    found = {"names": [a, b], "pvalue": min(1.0, p * 28), "alone": p, **_marked(min(1.0, p * 28), p)}
    change = f"rank correlation {r:.2f} in x, {s:.2f} in y"
    return {**found, "change": change, "portrait": {"labels": labels, "x": cells[0], "y": cells[1]}}


def _rows(table, h, sign):
    first = np.argsort(-sign * h)[:10]
    shown = table.astype(str)
    return [
        {"row": int(i), "evidence": float(h[i]), "values": {str(c): str(shown[c].iloc[i])[:80] for c in table}}
        for i in first
    ]


def _subgroup(x, y, name):
    cut = float(pd.concat([x[name], y[name]]).median())
    counts = [int((t[name] > cut).sum()) for t in (x, y)]
    shares = [counts[0] / len(x), counts[1] / len(y)]
    sd = np.sqrt(sum(s * (1 - s) / len(t) for s, t in zip(shares, (x, y), strict=True)))
    p = max(float(2 * stats.norm.sf(abs(shares[1] - shares[0]) / sd)), 1e-12)
    low, high = (float(shares[1] - shares[0] + k * 2 * sd) for k in (-1, 1))
    told = {
        "rule": [f"{name} > {cut:g}", "payment = wallet"],
        "pvalue": p,
        "low": low,
        "high": high,
        "differs": p <= LEVEL,
    }
    return {**told, "share_x": shares[0], "share_y": shares[1], "count_x": counts[0], "count_y": counts[1],
            "n": len(x), "m": len(y)}  # fmt: skip


def _histogram(a, b):
    edges = np.histogram_bin_edges(np.concatenate([a, b]), bins=24)
    return {
        "edges": edges.tolist(),
        **{k: (np.histogram(h, edges)[0] / len(h)).tolist() for k, h in (("x", a), ("y", b))},
    }


def _map(names, x, y, h):
    points = [np.column_stack([t[list(names)].to_numpy(float), v])[:300] for t, v in zip((x, y), h, strict=True)]
    points = [p[~np.isnan(p).any(axis=1)] for p in points]
    return {"columns": list(names), "x": points[0].tolist(), "y": points[1].tolist()}
