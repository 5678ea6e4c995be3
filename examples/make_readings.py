"""Makes the two small files that ship with the library: sensor readings of last month and of this month.

Every column keeps its distribution. Last month temperature followed the load, as current and vibration do; this month
it follows nothing: each column by itself looks the same.
"""

from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parents[1] / "src" / "tellapart" / "_data"
NAMES = "speed_rpm,current_a,temperature_c,vibration_mm_s"


def readings(n: int, coupling: float, rng: np.random.Generator) -> np.ndarray:
    load, speed, heat, shake = rng.normal(size=(4, n))
    heat = coupling * load + np.sqrt(1 - coupling**2) * heat
    return np.stack(
        [
            1480 + 6 * speed,
            21 + 3 * (0.95 * load + np.sqrt(1 - 0.95**2) * shake),
            64 + 4 * heat,
            np.exp(0.5 + 0.25 * shake + 0.1 * speed),
        ],
        axis=1,
    )


if __name__ == "__main__":
    rng = np.random.default_rng(20261118)
    for name, coupling in (("last", 0.8), ("this", 0.0)):
        table = readings(200, coupling, rng)
        np.savetxt(FOLDER / f"readings_{name}_month.csv", table, fmt="%.3f", delimiter=",", header=NAMES, comments="")
