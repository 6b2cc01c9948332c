"""Captured attention: q, K and V of real decode steps, read from an npz and checked.

Layout: arrays `{trace}_q` [steps, H, d], `{trace}_K` and `{trace}_V` [n, KVH, d] in float16,
float32 or bf16 (uint16), and `meta`, a JSON text with the keys of `CaptureMeta`. Step j of a trace
reads the rows [0, kv_len_of_step[j]). Other arrays and keys are ignored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from hw_models.strict_yaml import Document, Problem, SpecError, did_you_mean, validate
from santa_sim.data.attention import AttentionStep, first_not_finite
from santa_sim.data.npz import read_arrays, read_json_text
from santa_sim.storage import as_stored, decode_stored, dtype_of, encode

CAPTURES_DIR = Path(__file__).parent.parent / "captures"
"""Folder of the captures that the package ships."""

Count = Annotated[int, Field(ge=1)]


class TraceMeta(BaseModel):
    """What the metadata say about one trace: a run of decode steps over one KV cache.

    id: prefix of its array names; layer: 0-based layer of the model; n: rows of K and V;
    kv_len_of_step: rows that each step reads; text, text_licence: what was being read.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    id: Annotated[str, Field(min_length=1)]
    layer: Annotated[int, Field(ge=0)]
    n: Count
    kv_len_of_step: Annotated[tuple[int, ...], Field(min_length=1)]
    text: str = "not stated"
    text_licence: str = "not stated"

    @property
    def steps(self) -> int:
        """Number of decode steps in the trace."""
        return len(self.kv_len_of_step)


class CaptureMeta(BaseModel):
    """The metadata of a capture: the model, its geometry and the traces.

    layers, query_heads, kv_heads, head_dim: the model's geometry; scale: logits per unit of q·k.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    model: str
    licence: str = "not stated"
    layers: Count
    query_heads: Count
    kv_heads: Count
    head_dim: Count
    scale: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    max_context: Count | None = None
    traces: Annotated[tuple[TraceMeta, ...], Field(min_length=1)]


@dataclass(frozen=True, eq=False)
class Capture:
    """A capture that has been read and checked.

    name: the file's name without its ending; path: the file; sha256: hash of the file's bytes,
    for provenance; meta: geometry, licences and the traces.
    """

    name: str
    path: Path
    sha256: str
    meta: CaptureMeta
    _arrays: dict[str, NDArray[Any]] = field(repr=False)

    @property
    def traces(self) -> tuple[TraceMeta, ...]:
        """The traces, in the order of the file."""
        return self.meta.traces

    def steps(
        self,
        traces: Iterable[str] | None = None,
        layers: Iterable[int] | None = None,
        steps: Iterable[int] | None = None,
    ) -> list[AttentionStep]:
        """Return the decode steps that match every given filter, in the order of the file.

        traces: trace ids; layers: layer indices; steps: 0-based steps within a trace. None: all.
        Each step is one sequence (B = 1); K and V are views, shared by the steps of a trace.
        Raises `SpecError` for a trace, layer or step that the capture does not have, and when
        nothing matches.
        """
        wanted_traces = self._wanted("trace", traces, (t.id for t in self.traces))
        wanted_layers = self._wanted("layer", layers, (t.layer for t in self.traces))
        longest = max(t.steps for t in self.traces)
        wanted_steps = self._wanted("step", steps, range(longest))
        found = [
            self._step(trace, step)
            for trace in self.traces
            if trace.id in wanted_traces and trace.layer in wanted_layers
            for step in range(trace.steps)
            if step in wanted_steps
        ]
        if not found:
            raise SpecError(
                Problem("no trace matches the chosen traces, layers and steps", str(self.path))
            )
        return found

    def _wanted(self, what: str, chosen: Iterable[Any] | None, valid: Iterable[Any]) -> set[Any]:
        have = set(valid)
        if chosen is None:
            return have
        wanted = set(chosen)
        for item in sorted(wanted - have, key=str):
            names = map(str, sorted(have))
            raise SpecError(
                Problem(
                    f"the capture has no {what} {item!r}" + did_you_mean(str(item), names),
                    str(self.path),
                )
            )
        return wanted

    def _step(self, trace: TraceMeta, step: int) -> AttentionStep:
        rows = trace.kv_len_of_step[step]
        return AttentionStep(
            q=self._arrays[f"{trace.id}_q"][step][None],
            k=self._arrays[f"{trace.id}_K"][None, :rows],
            v=self._arrays[f"{trace.id}_V"][None, :rows],
            seq_lens=np.array([rows], dtype=np.int64),
            sm_scale=self.meta.scale,
            layer=trace.layer,
            step=step,
            label=f"{trace.id} layer {trace.layer} step {step}",
            source=f"capture:{self.name}/{trace.id}",
        )


def capture_names() -> list[str]:
    """Return the names of the captures that the package ships."""
    return sorted(path.stem for path in CAPTURES_DIR.glob("*.npz"))


def load_capture(name_or_path: str | Path) -> Capture:
    """Read and check a capture: the name of a shipped one, or the path of an npz.

    Raises `SpecError` naming file, array and fault if the name is unknown, the file is missing,
    truncated, pickled or no npz, an array is missing or has the wrong rank, shape or type, a value
    is not finite, or the metadata are broken or do not fit the arrays. Nothing is unpickled.
    """
    path = _find(name_or_path)
    arrays = read_arrays(path)
    meta = _read_meta(path, arrays)
    problems = [p for trace in meta.traces for p in _trace_problems(path, meta, trace, arrays)]
    if problems:
        raise SpecError(problems)
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    kept: dict[str, NDArray[Any]] = {}
    for trace in meta.traces:
        for letter in ("K", "V"):
            kept[f"{trace.id}_{letter}"] = as_stored(arrays[f"{trace.id}_{letter}"])
        name = f"{trace.id}_q"
        kept[name] = _rounded_like(kept[f"{trace.id}_K"], arrays[name], path, name)
    # the bare name, not the path: results must not depend on where a file lies
    return Capture(path.stem, path, sha256, meta, kept)


def _rounded_like(
    k: NDArray[Any], q: NDArray[Any], path: Path, name: str
) -> NDArray[np.float32]:
    # a query kept in more digits than K would be rounded on its way into any real kernel
    with np.errstate(over="ignore"):
        rounded = decode_stored(encode(decode_stored(q), dtype_of(k)))
    if first_not_finite(rounded) is not None:
        message = f"does not fit into K's storage format, {dtype_of(k)}"
        raise SpecError(Problem(message, str(path), path=(name,)))
    return rounded


def _find(name_or_path: str | Path) -> Path:
    text = str(name_or_path)
    is_path = isinstance(name_or_path, Path) or "/" in text or "\\" in text or text.endswith(".npz")
    if is_path:
        return Path(name_or_path)
    if text not in capture_names():
        hint = did_you_mean(text, capture_names())
        raise SpecError(Problem(f"no capture named '{text}'{hint}; files of your own end in .npz"))
    return CAPTURES_DIR / f"{text}.npz"


def _read_meta(path: Path, arrays: dict[str, NDArray[Any]]) -> CaptureMeta:
    document = Document(str(path), {"meta": read_json_text(path, arrays, "meta")})
    meta = validate(document, CaptureMeta, at=("meta",))
    ids = [trace.id for trace in meta.traces]
    for index, name in enumerate(ids):
        if name in ids[:index]:
            raise SpecError(
                document.problem(("meta", "traces", index, "id"), f"'{name}' is used twice")
            )
    if meta.query_heads % meta.kv_heads:
        raise SpecError(
            document.problem(
                ("meta", "query_heads"),
                f"must be a multiple of kv_heads, got {meta.query_heads} and {meta.kv_heads}",
            )
        )
    for index, trace in enumerate(meta.traces):
        where = ("meta", "traces", index)
        if trace.layer >= meta.layers:
            raise SpecError(
                document.problem(
                    (*where, "layer"), f"must be within 0..{meta.layers - 1}, got {trace.layer}"
                )
            )
        for step, rows in enumerate(trace.kv_len_of_step):
            if not 1 <= rows <= trace.n:
                raise SpecError(
                    document.problem(
                        (*where, "kv_len_of_step", step), f"must be within 1..{trace.n}, got {rows}"
                    )
                )
    return meta


def _trace_problems(
    path: Path, meta: CaptureMeta, trace: TraceMeta, arrays: dict[str, NDArray[Any]]
) -> list[Problem]:
    shapes = {
        f"{trace.id}_q": (trace.steps, meta.query_heads, meta.head_dim),
        f"{trace.id}_K": (trace.n, meta.kv_heads, meta.head_dim),
        f"{trace.id}_V": (trace.n, meta.kv_heads, meta.head_dim),
    }
    found = []
    for name, shape in shapes.items():
        message = _array_fault(arrays, name, shape)
        if message:
            found.append(Problem(message, str(path), path=(name,)))
    if not found and arrays[f"{trace.id}_K"].dtype != arrays[f"{trace.id}_V"].dtype:
        types = f"{arrays[f'{trace.id}_K'].dtype} and {arrays[f'{trace.id}_V'].dtype}"
        found.append(
            Problem(f"K and V must have one type, got {types}", str(path), path=(f"{trace.id}_V",))
        )
    return found


def _array_fault(
    arrays: dict[str, NDArray[Any]], name: str, shape: tuple[int, ...]
) -> str | None:
    if name not in arrays:
        return "array is missing" + did_you_mean(name, arrays)
    array = arrays[name]
    if array.ndim != len(shape):
        return f"must have {len(shape)} axes {list(shape)}, got {array.ndim}: {list(array.shape)}"
    if array.shape != shape:
        return f"must have shape {list(shape)} as the metadata say, got {list(array.shape)}"
    try:
        dtype_of(array)
    except TypeError as error:
        return str(error)
    bad = first_not_finite(array)
    if bad is not None:
        return f"must be finite, but element {list(bad)} is not"
    return None
