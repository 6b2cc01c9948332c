"""What a figure can be at most and at least, each constant at one end of its range."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hw_models.gpu.calibration import GpuCalibration

Predict = Callable[[Mapping[str, float]], float]
"""Values of all parameters -> a figure."""


def extremes(calibration: GpuCalibration, predict: Predict) -> tuple[float, float, float]:
    """Return a figure at nominal constants, and its least and largest value.

    Each constant goes to the end that lowers (or raises) the figure when it moves alone, then all
    go there together: the widest range where the figure is monotone in each of them.
    """
    nominal = calibration.values()
    middle = predict(nominal)
    lowest, highest = dict(nominal), dict(nominal)
    for name, parameter in calibration.parameters.items():
        # a constant of 0 would be a rate of nothing
        ends = [end for end in (parameter.low, parameter.high) if end > 0]
        found = {end: predict({**nominal, name: end}) for end in ends}
        found[nominal[name]] = middle
        lowest[name] = min(found, key=lambda end: found[end])
        highest[name] = max(found, key=lambda end: found[end])
    return middle, min(middle, predict(lowest)), max(middle, predict(highest))
