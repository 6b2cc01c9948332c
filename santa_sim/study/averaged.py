"""The mean of ledgers whose sequences differ in length, as the steps of one trace do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from hw_models.ledger import Ledger, Segments, StreamKey, mean


def averaged(ledgers: Sequence[Ledger]) -> Ledger:
    """Return the mean of ledgers; a stream that only grows with the sequence stays one stream.

    One KV head's keys are one stretch of n·d numbers: over four steps `mean` alone would find four
    sizes of stretch with three quarters of a read each, and round each up to a whole one. So sizes
    (and footprints) that differ between ledgers are first replaced by their mean, weighted by
    reads. ledgers: at least one, of equal granularity. Raises `ValueError` for none.
    """
    places: defaultdict[StreamKey, list[list[StreamKey]]] = defaultdict(
        lambda: [[] for _ in ledgers]
    )
    for i, ledger in enumerate(ledgers):
        for key in ledger.streams:
            places[replace(key, segment_bytes=1, footprint_bytes=0)][i].append(key)
    renamed: list[dict[StreamKey, StreamKey]] = [{} for _ in ledgers]
    for per_ledger in places.values():
        ordered = [sorted(keys, key=_size) for keys in per_ledger]
        if len(set(map(len, ordered))) > 1:
            continue  # sizes that come and go are no stretch of the sequence
        for same in zip(*ordered, strict=True):
            if len(set(same)) > 1:
                common = _common(same, ledgers)
                for i, key in enumerate(same):
                    renamed[i][key] = common
    pairs = zip(ledgers, renamed, strict=True)
    return mean([_with_names(ledger, names) for ledger, names in pairs])


def _size(key: StreamKey) -> tuple[int, int]:
    return key.segment_bytes, key.footprint_bytes


def _common(keys: Sequence[StreamKey], ledgers: Sequence[Ledger]) -> StreamKey:
    reads = [ledger.streams[key].unique for key, ledger in zip(keys, ledgers, strict=True)]
    total = max(1, sum(reads))
    size = sum(n * key.segment_bytes for n, key in zip(reads, keys, strict=True))
    footprint = sum(key.footprint_bytes for key in keys)
    return replace(
        keys[0], segment_bytes=max(1, round(size / total)),
        footprint_bytes=round(footprint / len(keys)),
    )


def _with_names(ledger: Ledger, names: dict[StreamKey, StreamKey]) -> Ledger:
    streams: dict[StreamKey, Segments] = {}
    for key, segments in ledger.streams.items():
        name = names.get(key, key)
        before = streams.get(name, Segments(0, 0))
        streams[name] = Segments(
            before.logical + segments.logical, before.unique + segments.unique
        )
    return Ledger(ledger.ops, streams, ledger.granularity_bytes)
