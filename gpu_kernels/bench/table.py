"""The bench's progress on the terminal: one line per measurement, with its speed-up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpu_kernels.bench.peers import NAMES

if TYPE_CHECKING:
    from gpu_kernels.bench.call_energy import CallEnergy
    from gpu_kernels.bench.run import Measurement

DENSE = (*NAMES, "dense")


def print_row(m: Measurement, fastest: dict[tuple[object, ...], float]) -> None:
    """Print one measurement; `fastest` keeps the best dense time of each point for the ratio.

    The ratio is against the fastest dense kernel measured so far at the same point, so peers and
    our dense kernel should come first.
    """
    point = (m.batch, m.context, m.head_dim, m.dtype, m.kv_layout, m.inputs, m.l2)
    if m.kernel in DENSE:
        fastest[point] = min(m.time_us, fastest.get(point, m.time_us))
    ratio = fastest[point] / m.time_us if point in fastest else float("nan")
    spread = "" if m.time_us_p20 is None else f" [{m.time_us_p20:.2f}, {m.time_us_p80:.2f}]"
    print(  # noqa: T201 - the command's answer
        f"B={m.batch:<3} n={m.context:<7} d={m.head_dim:<4} {m.dtype[:8]} {m.kv_layout}"
        f" {m.inputs:<10} {m.l2:<6} {m.kernel:<13}"
        f" S={m.samples:<6} tile={m.tile:<4} R={m.trials:<3} {m.offsets:<6} {m.time_us:9.2f} us"
        f"{spread} {ratio:5.2f}x {m.moved_gb_per_s:7.0f} GB/s moved, error {m.rel_error:.2e}"
        f"{_energy(m.energy)}", flush=True,
    )


def _energy(found: CallEnergy | None) -> str:
    if found is None:
        return ""
    mj, watts = found.energy_counter_mj, found.power_counter_w
    if mj is None:
        mj, watts = found.energy_integral_mj, found.power_integral_w
    known = "energy unknown" if mj is None else f"{mj:.3f} mJ, {watts:.0f} W"
    return f", {known}{' (' + found.note + ')' if found.note else ''}"
