"""Least squares on the logarithm of what is measured, with standard errors."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from gpu_kernels.calibration.rows import Row

Model = Callable[[Row, Mapping[str, float]], float]
"""Row and parameters -> what the row measured, in the row's own unit (s or W)."""


@dataclass(frozen=True)
class Fitted:
    """Value and standard error of each parameter."""

    values: dict[str, float]
    errors: dict[str, float]


def fit(
    rows: Sequence[Row], model: Model, measured: Callable[[Row], float],
    names: Sequence[str], values: Mapping[str, float],
) -> Fitted:
    """Fit `names` to the rows, all other parameters as in `values`.

    Minimises Σ log²(model / measured) over log(parameter), so that all stay positive. Standard
    errors: value × √diag(s² (JᵀJ)⁻¹), s² = RSS / (n − k).
    """
    import numpy as np
    from scipy.optimize import least_squares

    def residuals(logs: np.ndarray) -> np.ndarray:
        trial = {**values, **dict(zip(names, map(math.exp, logs), strict=True))}
        return np.array([math.log(model(row, trial) / measured(row)) for row in rows])

    start = [math.log(values[name]) for name in names]
    found = least_squares(residuals, start, method="trf", x_scale="jac", xtol=1e-13, ftol=1e-13,
                          gtol=1e-13, max_nfev=400)
    jacobian = np.asarray(found.jac, dtype=np.float64)
    variance = 2 * found.cost / max(1, len(rows) - len(names))
    spread = np.sqrt(np.diag(variance * np.linalg.pinv(jacobian.T @ jacobian)))
    best = {name: math.exp(log) for name, log in zip(names, found.x, strict=True)}
    return Fitted(best, {name: best[name] * float(s) for name, s in
                         zip(names, spread, strict=True)})


def absolute_errors(
    rows: Sequence[Row], model: Model, measured: Callable[[Row], float],
    values: Mapping[str, float],
) -> list[float]:
    """Return |predicted / measured − 1| of each row."""
    return [abs(model(row, values) / measured(row) - 1) for row in rows]


def summary(errors: Sequence[float]) -> dict[str, float]:
    """Return n, median, P90 and maximum of absolute relative errors."""
    import numpy as np

    return {"n": len(errors), "median": float(np.median(errors)),
            "p90": float(np.quantile(errors, 0.9)), "max": max(errors)}
