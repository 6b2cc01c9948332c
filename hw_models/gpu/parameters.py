"""Names, units and meanings of the parameters of the GPU time and energy model."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Quantity:
    """Unit and meaning of a parameter."""

    unit: str
    meaning: str


PARAMETERS: dict[str, Quantity] = {
    "clock": Quantity("Hz", "clock of the multiprocessors in a burst"),
    "timer": Quantity("s", "what the timer reads when nothing is launched"),
    "launch": Quantity("s", "first launch of a call, on top of the timer"),
    "serial_launch": Quantity("s", "each further launch that waits for the kernel before it"),
    "dependent_launch": Quantity("s", "each further launch that overlaps the kernel before it"),
    "dispatch": Quantity("s/program", "starting one more program of a launch"),
    "dependent_dispatch": Quantity("s/program", "the same for an overlapping launch"),
    "memory_latency": Quantity("s", "one read from main memory, nothing else under way"),
    "l2_latency": Quantity("s", "one read from L2, nothing else under way"),
    "read_bandwidth": Quantity("B/s", "main memory, long runs, enough bytes in flight"),
    "tile_latency": Quantity("s", "from requesting a tile from main memory to the next request "
                                  "in its place, without its transfer"),
    "l2_tile_latency": Quantity("s", "the same for a tile in L2"),
    "multiprocessor_rate": Quantity("B/s", "most that one multiprocessor takes in"),
    "program_rate": Quantity("B/s", "most that one program takes in, its tile in one piece"),
    "ramp": Quantity("s", "filling and draining the memory pipeline at the ends of a launch"),
    "overlap": Quantity("1", "exponent p of (Σ time^p)^(1/p) over resources that work side by "
                             "side; ∞ would be their maximum"),
    "gather_efficiency": Quantity("1", "bandwidth of rows by index over that of long runs"),
    "line_rate": Quantity("lines/s", "most 128-byte lines that gathers touch per second"),
    "l2_bandwidth": Quantity("B/s", "reads that hit L2, whole GPU"),
    "l2_capacity": Quantity("B", "size of the L2"),
    "issue_rate": Quantity("instructions/cycle", "one scheduler with many ready warps"),
    "issue_interval": Quantity("cycles/instruction", "one warp alone on a scheduler, with "
                                                     "independent instructions at hand"),
    "step_interval": Quantity("cycles/instruction", "from one instruction of a warp to the next, "
                                                    "where results wait for each other"),
    "barrier": Quantity("cycles", "warps of a program waiting for each other, and what they pass "
                                  "on in shared memory"),
    "special_interval": Quantity("cycles/instruction", "exponentials and conversions, one "
                                                       "scheduler"),
    "tensor_interval": Quantity("cycles/instruction", "products of matrices, one scheduler"),
    "power_limit": Quantity("W", "limit of the board"),
    "idle_power": Quantity("W", "board with nothing running, clocks up"),
    "active_power": Quantity("W", "added by any load that keeps the GPU busy"),
    "memory_energy": Quantity("pJ/bit", "reading main memory in long runs, on top of L2"),
    "page_energy": Quantity("pJ/page", "opening one more page of main memory for a row by index"),
    "l2_energy": Quantity("pJ/bit", "from L2 into the multiprocessor, without instructions"),
    "instruction_energy": Quantity("pJ/instruction", "one instruction of a warp of 32 threads"),
    "tensor_energy": Quantity("pJ/flop", "tensor cores, their operands' way from shared memory "
                                         "included"),
    "exp_energy": Quantity("pJ/exp", "one exponential, on top of its instruction"),
    "voltage_exponent": Quantity("1", "exponent e of energy ∝ clock^e for L2 and multiprocessors; "
                                      "2 if voltage were proportional to the clock"),
}
"""Parameter -> unit and meaning. A calibration has all of them and no other."""
