"""Drift reports of other packages on two Parquet files: run by `benchmarks.reports`, in the interpreter that has them.

``python benchmarks/reports_peers.py ARM REFERENCE CURRENT [REFERENCE CURRENT ...]`` prints what was found, as JSON. It
imports nothing of tellapart, so that it measures the other package and nothing else. Settings are the defaults of each
package at level 0.05, where it has a level.
"""

import json
import sys
import tempfile
import time

import numpy as np
import pandas as pd

LEVEL = 0.05


def evidently(x: pd.DataFrame, y: pd.DataFrame, **options: object) -> dict:
    from evidently import Report
    from evidently.presets import DataDriftPreset

    run = Report([DataDriftPreset(**options)]).run(y, x)
    with tempfile.TemporaryDirectory() as folder:
        run.save_html(f"{folder}/report.html")
    columns, share = [], None
    for metric in run.dict()["metrics"]:
        config, value = metric["config"], metric["value"]
        if "column" not in config:
            share = value["share"]
            continue
        # The defaults for this many rows are distances, which alarm above their threshold; p-values do below.
        if value < config["threshold"] if options else value >= config["threshold"]:
            columns.append(config["column"])
    return {"differ": bool(columns), "columns": columns, "said": f"drift in {share:.0%} of the columns"}


def tabular(x: pd.DataFrame, y: pd.DataFrame) -> dict:
    from alibi_detect.cd import TabularDrift

    both, codes = pd.concat([x, y]), {}
    for j, name in enumerate(x.columns):
        if both[name].dtype == object or str(both[name].dtype) in ("str", "string", "category"):
            both[name] = pd.Categorical(both[name]).codes
            codes[j] = None
    z = both.to_numpy(dtype=np.float64)
    data = TabularDrift(z[: len(x)], p_val=LEVEL, categories_per_feature=codes).predict(z[len(x) :])["data"]
    flagged = [name for name, p in zip(x.columns, data["p_val"], strict=True) if p < data["threshold"]]
    return {"differ": bool(data["is_drift"]), "columns": flagged, "said": f"smallest p {min(data['p_val']):.2g}"}


def mmd(x: pd.DataFrame, y: pd.DataFrame, rows: int) -> dict:
    from alibi_detect.cd import MMDDrift

    z = pd.get_dummies(pd.concat([x, y])).to_numpy(dtype=np.float32)
    z = (z - z.mean(axis=0)) / z.std(axis=0)
    a, b = z[: len(x)][:rows], z[len(x) :][:rows]
    data = MMDDrift(a, backend="pytorch", p_val=LEVEL).predict(b)["data"]
    return {"differ": bool(data["is_drift"]), "columns": [], "said": f"p {data['p_val']:.2g}"}


ARMS = {
    "evidently": evidently,
    "evidently-p": lambda x, y: evidently(x, y, num_method="ks", cat_method="chisquare", threshold=LEVEL),
    "alibi-tabular": tabular,
    "alibi-mmd-2000": lambda x, y: mmd(x, y, 2000),
}

if __name__ == "__main__":
    started = time.process_time()
    for first, second in zip(sys.argv[2::2], sys.argv[3::2], strict=True):
        found = ARMS[sys.argv[1]](pd.read_parquet(first), pd.read_parquet(second))
        ended = time.process_time()
        print(json.dumps({**found, "cpu": round(ended - started, 2)}), flush=True)
        started = ended
