"""Datasets of a study: decode steps that belong together, made only when their turn comes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hw_models.ledger import Dtype
from hw_models.strict_yaml import Problem, SpecError
from santa_sim.data.attention import AttentionStep
from santa_sim.data.capture import Capture, load_capture
from santa_sim.data.fit import Fit, fit_capture
from santa_sim.data.geometry import load_geometry
from santa_sim.data.synthetic import make_step
from santa_sim.storage import decode_stored
from santa_sim.study.arithmetic import FAULTS, repeatable
from santa_sim.study.identity import digest
from santa_sim.study.shape import Shape
from santa_sim.study.spec import CaptureData, SyntheticData


@dataclass(frozen=True)
class Dataset:
    """Decode steps over which a point averages.

    source, name: for tables; geometry: whose heads they are; context: keys of the longest step;
    caveat: what a reader must know of it, one sentence or nothing.
    content: what identifies the numbers, for people (a capture's hash, or the resolved recipe);
    identity: the hash of all that decides them. shape: of the longest step.
    make: builds the steps, where the work is done; it pickles into a few hundred bytes.
    """

    source: str
    name: str
    geometry: str
    layer: int | None
    context: int
    content: str
    caveat: str
    identity: str
    shape: Shape
    make: Callable[[], list[AttentionStep]]


def beside(text: str, folder: Path, endings: tuple[str, ...]) -> str:
    """Return a relative path as one from `folder`; a catalogue name, with no such ending, as is."""
    return str(folder / text) if text.endswith(endings) else text


def resolved(spec: CaptureData | SyntheticData, folder: Path) -> CaptureData | SyntheticData:
    """Return a `data` entry whose paths do not depend on where the program is run."""
    if isinstance(spec, CaptureData):
        return spec.model_copy(update={"capture": beside(spec.capture, folder, (".npz",))})
    return spec.model_copy(update={
        "geometry": beside(spec.geometry, folder, (".yaml", ".yml")),
        "fit": spec.fit and beside(spec.fit, folder, (".npz",)),
    })


_kept: dict[str, tuple[object, Capture]] = {}
_keeping = Lock()


def capture_of_process(name: str) -> Capture:
    """Return a capture, read once in this process unless its file changes."""
    with _keeping:
        place = Path(name)
        state = None
        if place.suffix == ".npz" and place.is_file():
            found = place.stat()
            state = found.st_mtime_ns, found.st_size, found.st_ino
        if name not in _kept or _kept[name][0] != state:
            _kept[name] = state, load_capture(name)
        return _kept[name][1]


class Sources:
    """The captures that one study names, each read and fitted once."""

    def __init__(self) -> None:
        self._captures: dict[str, Capture] = {}
        self._fits: dict[str, Fit] = {}

    def capture(self, name: str) -> Capture:
        """Return a capture; raises `SpecError` like `load_capture`."""
        if name not in self._captures:
            self._captures[name] = capture_of_process(name)
        return self._captures[name]

    def fit(self, name: str) -> Fit:
        """Return what a capture's heads have in common with made-up ones."""
        if name not in self._fits:
            self._fits[name] = fit_capture(self.capture(name))
        return self._fits[name]


def datasets(spec: CaptureData | SyntheticData, sources: Sources) -> Iterator[Dataset]:
    """Yield the datasets of one `data` entry; raises `SpecError` if it cannot be had."""
    if isinstance(spec, SyntheticData):
        yield _synthetic(spec, sources)
    else:
        yield from _captured(spec, sources)


def _captured(spec: CaptureData, sources: Sources) -> Iterator[Dataset]:
    with _at("capture"):
        capture = sources.capture(spec.capture)
    # reading the steps here reports a wrong trace, layer or step before any work is done
    try:
        steps = capture.steps(traces=spec.traces, layers=spec.layers, steps=spec.steps)
    except SpecError as error:
        # the capture is sound; what is wrong is what the study asks of it
        raise SpecError(replace(p, file="") for p in error.problems) from None
    for trace in capture.traces:
        own = [step for step in steps if step.source.endswith(f"/{trace.id}")]
        if own:
            yield Dataset(
                source=f"capture {capture.name}", name=f"{capture.name} {trace.id}",
                geometry=capture.name, layer=trace.layer, context=trace.n,
                content=capture.sha256, caveat="", shape=_shape(own),
                identity=digest({"capture": capture.sha256, "trace": trace.id,
                                 "steps": [step.step for step in own]}),
                make=partial(
                    _read_steps, spec.capture, capture.sha256, trace.id,
                    tuple(step.step for step in own),
                ),
            )


def _read_steps(
    name: str, sha256: str, trace: str, steps: tuple[int, ...]
) -> list[AttentionStep]:
    capture = capture_of_process(name)
    if capture.sha256 != sha256:
        raise SpecError(Problem(
            "this is another capture than the one with which the study began", str(capture.path)
        ))
    return capture.steps(traces=[trace], steps=steps)


def _made_steps(*arguments: Any, **named: Any) -> list[AttentionStep]:
    return [make_step(*arguments, **named)]


def _shape(steps: list[AttentionStep]) -> Shape:
    longest = max(steps, key=lambda step: int(step.seq_lens.sum()))
    return Shape(
        batch=longest.batch, num_qo_heads=longest.num_qo_heads * longest.represents,
        num_kv_heads=longest.num_kv_heads * longest.represents,
        simulated_kv_heads=longest.num_kv_heads, head_dim=longest.head_dim, dtype=longest.dtype,
        rows=int(longest.seq_lens.sum()), steps=len(steps),
    )


def _synthetic(spec: SyntheticData, sources: Sources) -> Dataset:
    with _at("geometry"):
        geometry = load_geometry(spec.geometry)
    simulated = spec.simulated_kv_heads or geometry.num_kv_heads
    if geometry.num_kv_heads % simulated:
        raise SpecError(Problem(
            f"must divide the {geometry.num_kv_heads} KV heads of {geometry.name}, "
            f"got {simulated}", path=("simulated_kv_heads",),
        ))
    if (spec.fit is None) == (spec.effective_support is None):
        raise SpecError(Problem("give either fit or effective_support"))
    if spec.effective_support is not None and spec.effective_support > spec.context:
        raise SpecError(Problem(
            f"must not be above the context, {spec.context}, got {spec.effective_support:g}",
            path=("effective_support",),
        ))
    fitted: dict[str, Any] = {"effective_support": spec.effective_support}
    content = spec.model_dump_json()
    # the geometry itself and not its name: the file behind a path may change
    numbers = spec.model_dump(mode="json", exclude={"geometry", "fit"})
    numbers["geometry"] = geometry.model_dump(mode="json")
    if spec.fit is not None:
        with _at("fit"):
            fit = sources.fit(spec.fit)
        fitted = fit.parameters(simulated * geometry.group_size, spec.context)
        content += sources.capture(spec.fit).sha256
        numbers["fit"] = sources.capture(spec.fit).sha256
    return Dataset(
        source=f"synthetic {geometry.name}", name=f"{geometry.name} {_law_name(spec)}",
        geometry=geometry.name, layer=None, context=spec.context, content=content,
        caveat=_caveat(spec, geometry.name), identity=digest(numbers),
        shape=Shape(
            batch=spec.batch, num_qo_heads=geometry.num_qo_heads,
            num_kv_heads=geometry.num_kv_heads, simulated_kv_heads=simulated,
            head_dim=geometry.head_dim, dtype=Dtype(spec.dtype), rows=spec.batch * spec.context,
            steps=1,
        ),
        make=partial(
            _made_steps, geometry, spec.context, spec.batch, spec.law, Dtype(spec.dtype),
            spec.seed, simulated_kv_heads=simulated, **fitted,
        ),
    )


def _law_name(spec: SyntheticData) -> str:
    """Return the law with all that is not default, so that datasets of a sweep stay apart."""
    chosen = spec.law.model_dump(exclude_defaults=True, exclude={"kind"})
    if spec.effective_support is not None:
        chosen["support"] = f"{spec.effective_support:g}"
    if spec.seed:
        chosen["seed"] = spec.seed
    return " ".join([spec.law.kind, *(f"{key}={value}" for key, value in chosen.items())])


def _caveat(spec: SyntheticData, geometry: str) -> str:
    support = (
        f"fitted to the capture {spec.fit}" if spec.effective_support is None
        else f"with an effective support of {spec.effective_support:g} rows"
    )
    heads = (
        f"; {spec.simulated_kv_heads} of the KV heads are simulated and stand for the others"
        if spec.simulated_kv_heads else ""
    )
    return f"{geometry} {_law_name(spec)} is made up: {spec.law.kind} scores {support}{heads}."


@contextmanager
def _at(key: str) -> Iterator[None]:
    """Place what is wrong with what `key` names, and what arithmetic makes of it, at that key."""
    try:
        with repeatable():
            yield
    except SpecError as error:
        raise SpecError(
            p if p.file else replace(p, path=(key, *p.path)) for p in error.problems
        ) from None
    except FAULTS as error:
        raise SpecError(Problem(f"cannot be used: {error}", path=(key,))) from None


def steps_of(name: str, make: Callable[[], list[AttentionStep]]) -> list[AttentionStep]:
    """Return the steps of a dataset; raises `SpecError` if numbers or memory do not allow them."""
    try:
        with repeatable():
            return make()
    except SpecError:
        raise
    except FAULTS as error:
        raise SpecError(Problem(f"{name} cannot be made: {error}")) from None


_CHUNK_ROWS = 8192


def exact_output(step: AttentionStep) -> NDArray[np.float64]:
    """Return Σ_i p_i v_i in float64, [B, H, d], against which errors are taken.

    Keys and values are decoded a few thousand rows at a time, so memory stays small.
    Raises `FloatingPointError` where a score is not finite.
    """
    with repeatable():
        return _exact_output(step)


def _exact_output(step: AttentionStep) -> NDArray[np.float64]:
    out = np.zeros(step.q.shape)
    group = step.q.shape[1] // step.k.shape[2]
    for b, n in enumerate(step.seq_lens):
        for h in range(step.k.shape[2] if n else 0):
            heads = slice(h * group, (h + 1) * group)
            query = step.q[b, heads].astype(np.float64) * step.sm_scale
            chunks = [slice(i, min(i + _CHUNK_ROWS, n)) for i in range(0, n, _CHUNK_ROWS)]
            scores = np.concatenate(
                [query @ decode_stored(step.k[b, rows, h]).astype(np.float64).T for rows in chunks],
                axis=1,
            )
            weights = np.exp(scores - scores.max(axis=1, keepdims=True))
            weights /= weights.sum(axis=1, keepdims=True)
            for rows in chunks:
                out[b, heads] += weights[:, rows] @ decode_stored(step.v[b, rows, h]).astype(
                    np.float64
                )
    return out
