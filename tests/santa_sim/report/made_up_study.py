"""A made-up study with the shape of a real one: round costs, so that sums can be done by hand."""

from dataclasses import dataclass, field, replace

import pandas as pd

from santa_sim.report.tables import (
    BUSY_COLUMNS,
    CONSTANT_COLUMNS,
    ENERGY_COLUMNS,
    OPERATION_COLUMNS,
    POINT_COLUMNS,
    STREAM_COLUMNS,
    ReportTables,
)

QO_HEADS, KV_HEADS, HEAD_DIM, ROW_BYTES = 8, 2, 64, 128
PJ_PER_OP = {"multiply": 0.3, "add": 0.1, "exp": 1.0, "random_bits": 0.1, "divide": 1.0,
             "shift": 0.02}
PARTS = {"multiply": "multiply", "add": "add", "exp": "exp", "random_bits": "random bits"}
UNIT = "arithmetic.units.vector"
CONSTANTS = {
    "main memory read": "memory.energy.{1}.read", "buffer": "buffer.energy.device.read",
    "multiply": "{0}.energy.{1}.ops.multiply.bf16", "static": "static.{1}.power",
}
"""Part -> the constant behind it; all others share one."""
LOW, HIGH = 0.5, 2.0


@dataclass(frozen=True)
class Machine:
    name: str
    title: str
    pj_per_bit: float
    multiplies: bool
    accounts: tuple[str, ...] = ("device",)
    bandwidth: float = 50e9
    rate: float = 1e12


@dataclass(frozen=True)
class Data:
    source: str
    dataset: str
    context: int
    peaked: float  # multiplies errors of sampled values
    batch: int = 1


@dataclass(frozen=True)
class Method:
    value: str
    samples: int | None = None
    trials: int | None = None

    @property
    def label(self) -> str:
        value = self.value + (f" S={self.samples}" if self.samples else "")
        value += " tile=64" if self.value.startswith("s2anta") else ""
        return f"bernoulli_qk R={self.trials} 2^k + {value}" if self.trials else value


MACHINES = (
    Machine("edge_bf16_7nm_lpddr5", "Edge part, bf16, LPDDR5", 4.0, True),
    Machine("edge_ternary_7nm_lpddr5", "Edge part, ternary, LPDDR5", 4.0, False),
    Machine("gpu_hbm3", "GPU with HBM3", 5.0, True, ("device", "board"), 3e12, 5e14),
)
DATA = (
    Data("capture tiny", "tiny t0", 2048, 1.0), Data("capture tiny", "tiny t1", 2048, 2.0),
    Data("capture tiny", "tiny t2", 8192, 1.0),
    Data("synthetic llama", "llama lognormal", 8192, 0.5),
    Data("synthetic llama", "llama lognormal", 131072, 0.5),
)
METHODS = (
    Method("dense"), Method("santa_iid", 256), Method("santa_stratified", 256),
    *(Method(v, s) for v in ("santa_systematic", "s2anta_comb", "s2anta_flash", "s2anta_prop")
      for s in (64, 256, 1024)),
    *(Method("s2anta_comb", s, r) for r in (4, 16, 64) for s in (256, 1024)),
)


@dataclass
class Rows:
    points: list = field(default_factory=list)
    operations: list = field(default_factory=list)
    streams: list = field(default_factory=list)
    energy: list = field(default_factory=list)
    busy: list = field(default_factory=list)


def relative_error(data: Data, method: Method) -> float:
    if method.value == "dense" and method.trials is None:
        return 1e-7
    error = 0.0
    if method.samples:
        error = data.peaked * 0.8 / method.samples**0.5
        error *= {"s2anta_flash": 12.0, "s2anta_comb": 0.5, "santa_systematic": 0.5}.get(
            method.value, 1.0)
    return error + (4.0 / method.trials**0.5 if method.trials else 0.0)


def operations(data: Data, method: Method) -> dict[tuple[str, str, str], int]:
    n, heads, d = data.context * data.batch, QO_HEADS, HEAD_DIM
    pairs = n * heads * d
    ops = {("softmax", "exp", "fp32"): n * heads, ("softmax", "add", "fp32"): n * heads}
    if method.trials:
        ops["score", "add", "bf16"] = pairs * method.trials // 4
        ops["score", "random_bits", "bit"] = method.trials * heads * d * 24
        ops["score", "shift", "fp32"] = n * heads
    else:
        ops |= {("score", "multiply", "bf16"): pairs, ("score", "add", "fp32"): pairs}
    if method.samples is None:
        ops |= {("value", "multiply", "bf16"): pairs, ("value", "add", "fp32"): pairs,
                ("merge", "divide", "fp32"): heads * d}
    else:
        ops["value", "add", "fp32"] = method.samples * heads * d
        ops["sample", "random_bits", "bit"] = 24 * heads
        ops["merge", "shift", "fp32"] = heads * d
        if method.value == "s2anta_flash":
            ops["merge", "multiply", "fp32"] = n // 64 * heads * d
    return ops


def streams(data: Data, method: Method) -> list[tuple]:
    full = data.context * data.batch * KV_HEADS * ROW_BYTES
    value = (full, full, full) if method.samples is None else (
        method.samples * QO_HEADS * ROW_BYTES,
        *[min(full, method.samples * KV_HEADS * 3 * ROW_BYTES)] * 2,
    )
    small = QO_HEADS * ROW_BYTES
    stash = data.context * QO_HEADS * 4
    rows = [("k", "main", "read", "stream", full, full, full, 0),
            ("v", "main", "read", "stream" if method.samples is None else "gather", *value, 0),
            ("q", "main", "read", "stream", small, small, small, 0),
            ("out", "main", "write", "stream", small * 2, small * 2, small * 2, 0)]
    if method.samples:
        rows += [("stash", "scratch", way, "stream", stash, stash, stash, stash)
                 for way in ("write", "read")]
    return rows


def put(rows: Rows, number: int, data: Data, method: Method, machine: Machine) -> None:
    ops, moved = operations(data, method), streams(data, method)
    missing = {k: n for k, n in ops.items() if k[1] == "multiply"} if not machine.multiplies else {}
    fits = not missing
    error = relative_error(data, method)
    main = [s for s in moved if s[1] == "main"]
    bytes_moved = sum(s[6] for s in main)
    nan = float("nan")
    work = sum(ops.values()) / machine.rate
    transfer = bytes_moved / machine.bandwidth
    time_s = max(work, transfer)
    of = {t: sum(s[6] for s in main if s[0] == t) for t in ("k", "v", "q", "out")}
    row = {
        "point": number, "source": data.source, "dataset": data.dataset, "geometry": "tiny",
        "layer": None, "context": data.context, "batch": data.batch, "num_qo_heads": QO_HEADS,
        "num_kv_heads": KV_HEADS, "head_dim": HEAD_DIM, "dtype": "bf16", "method": method.label,
        "score_stage": "bernoulli_qk" if method.trials else "exact", "value_stage": method.value,
        "samples_requested": method.samples, "samples_effective": method.samples or data.context,
        "trials": method.trials, "tile": 64, "offsets": "own" if method.samples else None,
        "seeds": 8, "rel_error": error, "rel_error_low": 0.9 * error, "rel_error_high": 1.1 * error,
        "unique_row_fraction": of["v"] / of["k"], "k_bytes": of["k"], "v_bytes": of["v"],
        "q_out_bytes": of["q"] + of["out"], "workspace_bytes": sum(s[7] for s in moved),
        "logical_bytes": sum(s[4] for s in main), "unique_bytes": sum(s[5] for s in main),
        "moved_bytes": bytes_moved, "kv_cache_bytes": 2 * of["k"],
        "multiplies": sum(n for k, n in ops.items() if k[1] == "multiply") if fits else nan,
        "adds": sum(n for k, n in ops.items() if k[1] == "add") if fits else nan,
        "accelerator": machine.name, "accelerator_title": machine.title, "fits": fits,
        "misfit": "" if fits else f"does not fit {machine.name}: no unit executes " + "; ".join(
            f"{n:,} {kind} ({dtype}) in phase {phase}" for (phase, kind, dtype), n in
            missing.items()),
        "time_s": time_s if fits else nan, "time_low_s": 0.9 * time_s if fits else nan,
        "time_high_s": 1.3 * time_s if fits else nan,
        "time_no_overlap_s": work + transfer if fits else nan,
        "bound": ("memory" if transfer >= work else "vector") if fits else "",
    }
    if fits:
        rows.busy += [
            dict(zip(BUSY_COLUMNS, (number, machine.name, r, 0.9 * s, s, 1.3 * s), strict=True))
            for r, s in (("memory", transfer), ("vector", work))
        ]
    rows.operations += [
        dict(zip(OPERATION_COLUMNS, (number, machine.name, *key, n), strict=True))
        for key, n in ops.items()
    ]
    for account in ("device", "board"):
        parts: dict[tuple[str, str], float] = {}
        if fits and account in machine.accounts:
            outer = {"device": 1.0, "board": 3.0}[account]
            where = "dram_device" if account == "device" else "board_dynamic"
            parts["main memory read", where] = outer * 8e-12 * machine.pj_per_bit * bytes_moved
            parts["buffer", "on_chip_sram"] = 0.1 * 8e-12 * sum(s[7] for s in moved)
            for (_, kind, _), n in ops.items():
                key = PARTS.get(kind, "other arithmetic"), "functional_unit"
                parts[key] = parts.get(key, 0.0) + n * PJ_PER_OP[kind] * 1e-12 * outer
            if account == "board":
                parts["static", "board_static"] = 100.0 * time_s
        for (part, boundary), joules in parts.items():
            rows.energy.append(dict(zip(ENERGY_COLUMNS, (
                number, machine.name, account, part, boundary,
                CONSTANTS.get(part, "{0}.energy.{1}.ops.add.fp32").format(UNIT, account),
                LOW * joules, joules, HIGH * joules,
            ), strict=True)))
        total = sum(parts.values()) if parts else nan
        row |= {f"{account}_energy_j": total, f"{account}_energy_low_j": LOW * total,
                f"{account}_energy_high_j": HIGH * total}
    rows.points.append(row)


def constants(machine: Machine) -> list[dict]:
    def one(path, value, unit, boundary, confidence="read in the source text"):
        unverified = confidence in ("judgement", "from memory, unverified")
        return dict(zip(CONSTANT_COLUMNS, (
            machine.name, path, value, LOW * value, HIGH * value, unit, boundary,
            f"Maker & Co, '{machine.title}', table 2", confidence, unverified), strict=True))

    accounts, unit = machine.accounts, UNIT
    return [
        one("memory.peak_bandwidth", machine.bandwidth, "B/s", ""),
        one("memory.streaming_efficiency", 1.0, "1", ""),
        *(one(f"memory.energy.{a}.read", machine.pj_per_bit, "pJ/bit", "dram_device")
          for a in accounts),
        *([one("static.board.power", 100.0, "W", "board_static")] if "board" in accounts else []),
        one("buffer.energy.device.read", 0.1, "pJ/bit", "on_chip_sram", "judgement"),
        one(f"{unit}.rate", machine.rate, "op/s", "", "judgement"),
        *(one(f"{unit}.energy.{a}.ops.add.fp32", 0.1, "pJ/op", "functional_unit")
          for a in accounts),
        *(one(f"{unit}.energy.{a}.ops.multiply.bf16", 0.3, "pJ/op", "functional_unit")
          for a in accounts if machine.multiplies),
    ]


def make_tables(data=DATA, methods=METHODS, machines=MACHINES) -> ReportTables:
    """Build the tables of a study over every combination."""
    rows = Rows()
    number = 0
    for d in data:
        for m in methods:
            for machine in machines:
                put(rows, number, d, m, machine)
            number += 1
    streamed = [
        dict(zip(STREAM_COLUMNS, (i, *s), strict=True))
        for i, (d, m) in enumerate((d, m) for d in data for m in methods)
        for s in streams(d, m)
    ]
    return ReportTables(
        title="What would a multiplier-free machine gain?",
        question="Does it pay to drop the multiplier?", study_name="made_up",
        points=pd.DataFrame(rows.points, columns=list(POINT_COLUMNS)),
        operations=pd.DataFrame(rows.operations, columns=list(OPERATION_COLUMNS)),
        streams=pd.DataFrame(streamed, columns=list(STREAM_COLUMNS)),
        energy=pd.DataFrame(rows.energy, columns=list(ENERGY_COLUMNS)),
        busy=pd.DataFrame(rows.busy, columns=list(BUSY_COLUMNS)),
        constants=pd.DataFrame([r for m in machines for r in constants(m)],
                               columns=list(CONSTANT_COLUMNS)),
        notes=["Scores are those of a model with 4-bit weights."],
        provenance={"version": "0.1.0", "seeds": {"first": 0, "count": 8},
                    "packages": {"numpy": "2.0"}},
        study_text="name: made_up\ndata: []\n",
    )


def without_errors(tables: ReportTables) -> ReportTables:
    """Return the same study at the expected level: no output, so no error."""
    points = tables.points.copy()
    points[["rel_error", "rel_error_low", "rel_error_high"]] = float("nan")
    return replace(tables, points=points)
