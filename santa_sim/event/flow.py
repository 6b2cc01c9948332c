"""The steps of a decode step on a pipeline, head by head and tile by tile.

One pass (dense values, `s2anta_flash`): a tile is scored, weighed, drawn from and accumulated
before its scores are dropped. Two passes (all methods with one softmax over the context): scores of
the whole context are stashed, then the tiles that won draws are read again. Dense values need no
draw, so their rows stream beside the keys.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hw_models.entries import OpKind, Phase
from hw_models.pipeline import Step, Transfer
from santa_sim.event.layout import CacheMap
from santa_sim.event.split import Shares
from santa_sim.event.tiles import HeadTiles
from santa_sim.methods.spec import DENSE_TILE, value_stage

WORD = 4
"""Bytes of a stashed score, half a tile mass, an accumulator or a row index."""

ONE_PASS = frozenset({"dense", "s2anta_flash"})
TILED = frozenset({"s2anta_comb", "s2anta_prop"})


def tile_of(method: Any) -> int:
    """Return the rows that a method works on at a time; `DENSE_TILE` where it does not say."""
    return int(getattr(method, "tile", DENSE_TILE))


@dataclass
class Flow:
    """Steps without their work, and who shares in which operations.

    method: a method; places: addresses; row_bytes: of K and V; group_size: query heads per KV
    head. steps, phases: what has been added so far, and the phase of each step.
    """

    method: Any
    places: CacheMap
    row_bytes: int
    head_dim: int
    group_size: int
    steps: list[Step] = field(default_factory=list)
    phases: list[Phase] = field(default_factory=list)
    shares: Shares = field(default_factory=Shares)

    def add_head(self, tiles: HeadTiles) -> None:
        """Add all steps of one KV head."""
        at = f"b{tiles.batch} h{tiles.head}"
        vector = self.group_size * self.row_bytes
        resident = self._resident_bytes(tiles)
        query = self._add(
            "stream", f"q {at}", Phase.SCORE,
            transfer=Transfer(self.places.query(tiles.batch, tiles.head), vector),
            takes=(("resident", resident),),
        )
        one_pass = value_stage(self.method) in ONE_PASS
        after: tuple[int, ...] = (query,)
        for t in range(len(tiles.keys)):
            weighed = self._scored(tiles, t, after)
            after = ()
            if one_pass:
                self._one_pass(tiles, t, weighed)
        if not one_pass:
            self._second_pass(tiles, weighed)
        final = self._add("merge", f"merge {at}", Phase.MERGE, (len(self.steps) - 1,))
        tile_merges = len(tiles.keys) if value_stage(self.method) == "s2anta_flash" else 0
        # Flash scales each tile's sum and the output, and adds only tiles
        self.shares.add(Phase.MERGE, final, 1, OpKind.MULTIPLY)
        self.shares.add(Phase.MERGE, final, int(tile_merges == 0))
        self.shares.add(Phase.MERGE, final, 1, OpKind.CONVERT)
        self._add(
            "store", f"out {at}", Phase.MERGE, (final,),
            Transfer(self.places.output(tiles.batch, tiles.head), vector, is_write=True),
            gives_back=(("resident", resident),),
        )

    def _resident_bytes(self, tiles: HeadTiles) -> int:
        """Queries, accumulators, and for two passes the stash and the masses of the tiles."""
        state = self.group_size * (self.row_bytes + self.head_dim * WORD)
        stage = value_stage(self.method)
        if stage not in ONE_PASS:
            state += self.group_size * int(tiles.keys.sum()) * WORD
        if stage in TILED:
            state += self.group_size * len(tiles.keys) * 2 * WORD
        return state

    def _scored(self, tiles: HeadTiles, t: int, after: tuple[int, ...]) -> int:
        """Add the reading, scoring and weighing of a tile of keys; return the last step."""
        at = f"b{tiles.batch} h{tiles.head} t{t}"
        rows = t * tile_of(self.method) + np.arange(tiles.keys[t])
        transfer = Transfer(*self.places.keys(tiles.batch, tiles.head, rows))
        held = (("stream", transfer.bytes),)
        scores = (("scores", self._score_bytes(tiles, t)),)
        read = self._add("stream", f"K {at}", Phase.SCORE, (), transfer, takes=held)
        score = self._add(
            "score", f"score {at}", Phase.SCORE, (*after, read), takes=scores, gives_back=held
        )
        self.shares.add(Phase.SCORE, score, int(tiles.keys[t]))
        # a stash is resident; the scores of one pass stay in their buffer until they are used up
        done = () if value_stage(self.method) in ONE_PASS else scores
        weigh = self._add("softmax", f"softmax {at}", Phase.SOFTMAX, (score,), gives_back=done)
        self.shares.add(Phase.SOFTMAX, weigh, int(tiles.keys[t]))
        return weigh

    def _score_bytes(self, tiles: HeadTiles, t: int) -> int:
        return self.group_size * int(tiles.keys[t]) * WORD

    def _one_pass(self, tiles: HeadTiles, t: int, weighed: int) -> None:
        at = f"b{tiles.batch} h{tiles.head} t{t}"
        scores = (("scores", self._score_bytes(tiles, t)),)
        if tiles.rows is None:
            rows = t * tile_of(self.method) + np.arange(tiles.keys[t])
            transfer = Transfer(*self.places.values(tiles.batch, tiles.head, rows))
            held = (("gather", transfer.bytes),)
            read = self._add("gather", f"V {at}", Phase.VALUE, (), transfer, takes=held)
            summed = self._add("value", f"add {at}", Phase.VALUE, (weighed, read),
                               gives_back=(*held, *scores))
            self.shares.add(Phase.VALUE, summed, int(tiles.keys[t]))
            return
        work = self.group_size * int(tiles.keys[t]) + int(tiles.draws[t])
        drawn = self._drawn(tiles, t, weighed, {OpKind.ADD: work, OpKind.COMPARE: work}, scores)
        self.shares.add(Phase.SAMPLE, drawn, self.group_size)
        summed = self._gathered(tiles, t, drawn)
        merged = self._add("merge", f"merge {at}", Phase.MERGE, (summed,))
        self.shares.add(Phase.MERGE, merged, 1, OpKind.MULTIPLY)
        self.shares.add(Phase.MERGE, merged, 1)

    def _second_pass(self, tiles: HeadTiles, weighed: int) -> None:
        """Find the draws of each tile once all scores are known, then gather tile by tile."""
        stage, scores = value_stage(self.method), self.group_size * tiles.keys
        scan = self._add(
            "sample", f"scan b{tiles.batch} h{tiles.head}", Phase.SAMPLE, (weighed,)
        )
        self.shares.add(Phase.SAMPLE, scan, 1)
        if stage in TILED:  # over the masses of all tiles; inside tiles only where draws fall
            adds = compares = self.group_size * len(tiles.keys)
            summed = walked = tiles.won * tiles.keys
        else:  # the prefix sum of all scores; then a walk along it, or a search per draw
            summed = np.zeros_like(scores)
            walked = summed if stage == "santa_iid" else scores
            adds, compares = int(scores.sum()), int(walked[tiles.pairs == 0].sum())
        self.shares.add(Phase.SAMPLE, scan, adds, OpKind.ADD)
        self.shares.add(Phase.SAMPLE, scan, compares, OpKind.COMPARE)
        thresholds = 0 * tiles.draws if stage == "santa_iid" else tiles.draws
        for t in np.flatnonzero(tiles.pairs).tolist():
            work = {OpKind.ADD: int(summed[t] + thresholds[t]),
                    OpKind.COMPARE: int(walked[t] + tiles.draws[t])}
            self._gathered(tiles, t, self._drawn(tiles, t, scan, work, ()))

    def _drawn(
        self, tiles: HeadTiles, t: int, after: int, work: dict[OpKind, int],
        frees: tuple[tuple[str, int], ...],
    ) -> int:
        """Add the draws from one tile, which leave a list of rows."""
        step = self._add(
            "sample", f"draw b{tiles.batch} h{tiles.head} t{t}", Phase.SAMPLE, (after,),
            takes=(("indices", WORD * int(tiles.pairs[t])),), gives_back=frees,
        )
        for kind, weight in work.items():
            self.shares.add(Phase.SAMPLE, step, weight, kind)
        return step

    def _gathered(self, tiles: HeadTiles, t: int, drawn: int) -> int:
        """Add the gathering of a tile's rows and their sum; return the latter."""
        assert tiles.rows is not None  # noqa: S101
        at = f"b{tiles.batch} h{tiles.head} t{t}"
        transfer = Transfer(*self.places.values(tiles.batch, tiles.head, tiles.rows[t]))
        held = (("gather", transfer.bytes),)
        read = self._add("gather", f"V {at}", Phase.VALUE, (drawn,), transfer, takes=held)
        self.shares.add(Phase.VALUE, read, int(tiles.pairs[t]), OpKind.ADDRESS)
        summed = self._add("value", f"add {at}", Phase.VALUE, (read,), gives_back=(
            *held, ("indices", WORD * int(tiles.pairs[t]))
        ))
        self.shares.add(Phase.VALUE, summed, int(tiles.pairs[t]))
        return summed

    def _add(
        self, track: str, label: str, phase: Phase, after: tuple[int, ...] = (),
        transfer: Transfer | None = None, takes: tuple[tuple[str, int], ...] = (),
        gives_back: tuple[tuple[str, int], ...] = (),
    ) -> int:
        self.steps.append(Step(track, label, {}, transfer, after, takes, gives_back))
        self.phases.append(phase)
        return len(self.steps) - 1
